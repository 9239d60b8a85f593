package api

import "time"

// ThreadsService holds the calls on threads.
type ThreadsService struct{ core *core }

// ThreadListParams narrows a list of threads. Zero fields are left out.
type ThreadListParams struct {
	Folder       string
	Query        string // the server's search operators
	LabelIDs     []string
	Sort         ThreadSort // empty: the server's order
	DateFrom     time.Time
	DateTo       time.Time
	FromContacts *bool
	Semantic     *bool // order by meaning; ignores Sort
	Category     InboxCategory
	Address      string // threads delivered to one address
	Limit        int    // 0: the server's default of 25; at most 100
	PageToken    string
}

func (p ThreadListParams) query() query {
	var q query
	q.text("folder", p.Folder)
	q.text("query", p.Query)
	q.list("labelIds", p.LabelIDs)
	q.text("sort", string(p.Sort))
	q.instant("dateFrom", p.DateFrom)
	q.instant("dateTo", p.DateTo)
	q.flag("fromContacts", p.FromContacts)
	q.flag("semantic", p.Semantic)
	q.text("category", string(p.Category))
	q.text("address", p.Address)
	q.number("limit", p.Limit)
	q.text("pageToken", p.PageToken)
	return q
}

// ThreadSummary is a row of a list of threads: its id and nothing else.
type ThreadSummary struct {
	ID string `json:"id"`
}

// Thread is a conversation. Messages are ordered by ReceivedAt, oldest first.
type Thread struct {
	ID           string        `json:"id"`
	Messages     []Message     `json:"messages"`
	Labels       []ThreadLabel `json:"labels"`
	MessageCount int           `json:"messageCount"`
	HasUnread    bool          `json:"hasUnread"`
	TotalReplies int           `json:"totalReplies"`
	DeliveredTo  string        `json:"deliveredTo"`  // empty: not known
	SnoozedUntil *time.Time    `json:"snoozedUntil"` // nil: not snoozed, or the server does not say
	Muted        *bool         `json:"muted"`        // nil: the server does not say
}

// ThreadLabel is a label as a thread carries it.
type ThreadLabel struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Color string `json:"color"`
}

// ThreadPatch changes a thread. What is left zero stays as it is.
type ThreadPatch struct {
	Read           Opt[bool] `json:"read,omitzero"`
	AddLabelIDs    []string  `json:"addLabelIds,omitempty"`
	RemoveLabelIDs []string  `json:"removeLabelIds,omitempty"`
}

// UpdatedThread says which labels changed.
type UpdatedThread struct {
	ID              string   `json:"id"`
	AddedLabelIDs   []string `json:"addedLabelIds"`
	RemovedLabelIDs []string `json:"removedLabelIds"`
}

// TrashedThread is the answer of Trash.
type TrashedThread struct {
	ID      string `json:"id"`
	Trashed bool   `json:"trashed"`
}

// RestoredThread is the answer of Restore.
type RestoredThread struct {
	ID       string `json:"id"`
	Restored bool   `json:"restored"`
}

// Deleted is the answer of a call that deletes.
type Deleted struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// SnoozedThread is the answer of Snooze and Unsnooze.
type SnoozedThread struct {
	ID           string     `json:"id"`
	SnoozedUntil *time.Time `json:"snoozedUntil"` // nil: not snoozed
}

// MutedThread is the answer of Mute and Unmute.
type MutedThread struct {
	ID    string `json:"id"`
	Muted bool   `json:"muted"`
}

// CountsParams narrows the counts to one address; empty: all.
type CountsParams struct {
	Address string
}

func (p CountsParams) query() query {
	var q query
	q.text("address", p.Address)
	return q
}

// MailboxCounts holds the numbers beside folders and labels.
type MailboxCounts struct {
	Folders    []FolderCount   `json:"folders"`
	Addresses  []AddressCount  `json:"addresses"`
	Labels     []LabelCount    `json:"labels"`
	Categories []CategoryCount `json:"categories"`
}

// FolderCount counts the threads of a folder.
type FolderCount struct {
	Label  string `json:"label"` // the folder's name
	Count  int    `json:"count"`
	Unread int    `json:"unread"`
}

// AddressCount counts the threads delivered to an address; empty: none known.
type AddressCount struct {
	Address string `json:"address"`
	Count   int    `json:"count"`
}

// LabelCount counts the threads with a label.
type LabelCount struct {
	ID     string `json:"id"`
	Folder string `json:"folder"`
	Count  int    `json:"count"`
	Unread int    `json:"unread"`
}

// CategoryCount counts the threads of a category.
type CategoryCount struct {
	Category InboxCategory `json:"category"`
	Count    int           `json:"count"`
	Unread   int           `json:"unread"`
}
