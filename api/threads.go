package api

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// ThreadsService holds the calls on threads.
type ThreadsService struct{ core *core }

// ThreadListParams narrows a list of threads. Zero fields are left out.
type ThreadListParams struct {
	Folder       string
	Query        string // the server's search operators
	LabelIDs     []string
	Sort         string // newest, oldest, sender, subject
	DateFrom     time.Time
	DateTo       time.Time
	FromContacts *bool
	Semantic     *bool  // order by meaning; ignores Sort
	Category     string // primary, promotions, updates, social, forums
	Address      string // threads delivered to one address
	Limit        int    // 0: the server's default of 25; at most 100
	PageToken    string
}

func (p ThreadListParams) query() query {
	var q query
	q.text("folder", p.Folder)
	q.text("query", p.Query)
	q.list("labelIds", p.LabelIDs)
	q.text("sort", p.Sort)
	q.instant("dateFrom", p.DateFrom)
	q.instant("dateTo", p.DateTo)
	q.flag("fromContacts", p.FromContacts)
	q.flag("semantic", p.Semantic)
	q.text("category", p.Category)
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

// UnmarshalJSON reads the wire form.
func (s *SnoozedThread) UnmarshalJSON(b []byte) error {
	var w struct {
		ID           string  `json:"id"`
		SnoozedUntil Instant `json:"snoozedUntil"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*s = SnoozedThread{ID: w.ID, SnoozedUntil: w.SnoozedUntil.pointer()}
	return nil
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
	Category string `json:"category"`
	Count    int    `json:"count"`
	Unread   int    `json:"unread"`
}

// List returns one page of threads.
func (s ThreadsService) List(ctx context.Context, p ThreadListParams, options ...CallOption) (*Page[ThreadSummary], error) {
	return fetch[Page[ThreadSummary]](ctx, s.core, "threads.list", nil, p.query(), nil, options)
}

// All walks every page from p.PageToken on. It stops after the first error.
func (s ThreadsService) All(ctx context.Context, p ThreadListParams, options ...CallOption) iter.Seq2[ThreadSummary, error] {
	return walk(ctx, p.PageToken, options, func(ctx context.Context, cursor string, options []CallOption) (*Page[ThreadSummary], error) {
		p.PageToken = cursor
		return s.List(ctx, p, options...)
	})
}

// Get returns a thread with its messages.
func (s ThreadsService) Get(ctx context.Context, id string, options ...CallOption) (*Thread, error) {
	return fetch[Thread](ctx, s.core, "threads.get", []string{id}, query{}, nil, options)
}

// Update marks a thread read or unread and changes its labels.
func (s ThreadsService) Update(ctx context.Context, id string, patch ThreadPatch, options ...CallOption) (*UpdatedThread, error) {
	return fetch[UpdatedThread](ctx, s.core, "threads.update", []string{id}, query{}, patch, options)
}

// Trash puts a thread into the trash.
func (s ThreadsService) Trash(ctx context.Context, id string, options ...CallOption) (*TrashedThread, error) {
	return fetch[TrashedThread](ctx, s.core, "threads.trash", []string{id}, query{}, nil, options)
}

// Restore takes a thread out of the trash.
func (s ThreadsService) Restore(ctx context.Context, id string, options ...CallOption) (*RestoredThread, error) {
	return fetch[RestoredThread](ctx, s.core, "threads.restore", []string{id}, query{}, nil, options)
}

// Delete removes a thread for good. It is tried once.
func (s ThreadsService) Delete(ctx context.Context, id string, options ...CallOption) (*Deleted, error) {
	return fetch[Deleted](ctx, s.core, "threads.delete", []string{id}, query{}, nil, options)
}

// Snooze hides a thread until wakeAt.
func (s ThreadsService) Snooze(ctx context.Context, id string, wakeAt time.Time, options ...CallOption) (*SnoozedThread, error) {
	body := struct {
		WakeAt Instant `json:"wakeAt"`
	}{At(wakeAt)}
	return fetch[SnoozedThread](ctx, s.core, "threads.snooze", []string{id}, query{}, body, options)
}

// Unsnooze brings a snoozed thread back.
func (s ThreadsService) Unsnooze(ctx context.Context, id string, options ...CallOption) (*SnoozedThread, error) {
	return fetch[SnoozedThread](ctx, s.core, "threads.unsnooze", []string{id}, query{}, nil, options)
}

// Mute silences a thread. It is tried once.
func (s ThreadsService) Mute(ctx context.Context, id string, options ...CallOption) (*MutedThread, error) {
	return fetch[MutedThread](ctx, s.core, "threads.mute", []string{id}, query{}, nil, options)
}

// Unmute undoes Mute. It is tried once.
func (s ThreadsService) Unmute(ctx context.Context, id string, options ...CallOption) (*MutedThread, error) {
	return fetch[MutedThread](ctx, s.core, "threads.unmute", []string{id}, query{}, nil, options)
}

// Counts returns the numbers beside folders and labels.
func (s ThreadsService) Counts(ctx context.Context, p CountsParams, options ...CallOption) (*MailboxCounts, error) {
	var q query
	q.text("address", p.Address)
	return fetch[MailboxCounts](ctx, s.core, "threads.counts", nil, q, nil, options)
}

// ListAttachments returns the attachments of one message with their content.
func (s ThreadsService) ListAttachments(ctx context.Context, threadID, messageID string, options ...CallOption) ([]Attachment, error) {
	page, err := fetch[Page[Attachment]](ctx, s.core, "threads.listAttachments", []string{threadID, messageID}, query{}, nil, options)
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// GetEvent returns the calendar event of a thread. The error matches ErrNotFound when there is none.
func (s ThreadsService) GetEvent(ctx context.Context, id string, options ...CallOption) (*CalendarEvent, error) {
	return fetch[CalendarEvent](ctx, s.core, "threads.getEvent", []string{id}, query{}, nil, options)
}

// fetch makes a typed call and returns a fresh T.
func fetch[T any](ctx context.Context, c *core, op string, args []string, q query, body any, options []CallOption) (*T, error) {
	out := new(T)
	if _, err := c.invoke(ctx, op, args, q, body, out, options); err != nil {
		return nil, err
	}
	return out, nil
}
