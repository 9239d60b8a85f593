// Package state is what teapost knows and wants: the mailbox as it is shown, the cache that paints the
// next start, the outbox, the changes that the server has not confirmed yet, undo, and the sync that keeps
// all of it current. It holds no screens and no keys.
//
// A [Mail] is safe for concurrent use. Each of its methods that a screen calls returns at once: it changes
// memory, queues what must be written or asked, and announces itself on [Mail.Updates]. What it returns is a
// snapshot that is never changed afterwards; slices in it must not be modified. Text in it is foreign and is
// not cleaned: whoever draws it cleans it.
package state

import (
	"time"

	"codeberg.org/teapost/teapost/api"
)

// ThreadID names a thread; the server makes it.
type ThreadID string

// DraftID names a message that is being written; this program makes it, and it never changes.
type DraftID string

// EntryID names a message in the outbox; this program makes it.
type EntryID string

// Address is a person's name and address. Either may be empty.
type Address struct {
	Name  string
	Email string
}

// View names a list of threads. The zero value is the inbox. Views are compared with ==.
type View struct {
	Folder string // a folder of the server, such as "inbox"; empty with Label and Query empty means the inbox
	Label  string // the id of a user's label, or empty
	Query  string // a search in the words of the server, or empty
}

// Role says what a folder is for, whatever the server calls it.
type Role string

// The roles of folders. A folder with another name has the role [RoleOther].
const (
	RoleInbox   Role = "inbox"
	RoleSnoozed Role = "snoozed"
	RoleStarred Role = "starred"
	RoleDrafts  Role = "drafts"
	RoleOutbox  Role = "outbox"
	RoleSent    Role = "sent"
	RoleArchive Role = "archive"
	RoleSpam    Role = "spam"
	RoleTrash   Role = "trash"
	RoleAll     Role = "all"
	RoleLabel   Role = "label"
	RoleOther   Role = "other"
)

// Folder is one line of the sidebar.
type Folder struct {
	View   View
	Role   Role
	Name   string // as a person reads it: "Inbox", or the label's name without "#"
	Count  int    // threads, or messages for drafts and outbox; 0 when unknown
	Unread int
	Color  string // "#rrggbb" of a label, or empty
}

// Label is a label on a thread.
type Label struct {
	ID    string
	Name  string
	Color string // "#rrggbb", or empty
}

// Row is one line of a list of threads, with the person's own changes already applied.
type Row struct {
	ID           ThreadID
	Filled       bool // false: only the id is known yet
	From         Address
	Others       int // further people in the thread beside From
	Subject      string
	Snippet      string
	At           time.Time // of the newest message
	Messages     int
	Unread       bool
	Starred      bool
	Answered     bool // the newest message, or one after the newest foreign one, is the person's own
	Attachment   bool
	Invite       bool
	Labels       []Label // the user's labels only
	SnoozedUntil time.Time
	Muted        bool // what is answered to it stays out of the inbox
	Pending      bool // a change to it is not on the server yet
}

// List is a snapshot of a list of threads.
type List struct {
	View    View
	Rows    []Row
	Known   bool // false: nothing is known yet, not even from the cache
	Loading bool // a call for it is running or waiting
	More    bool // there are more rows than these; see [Mail.LoadMore]
	AsOf    time.Time
	Problem string // why the last try to load it failed, or empty
	Rev     uint64 // changes whenever Rows does
}

// Thread is a snapshot of a conversation, oldest message first.
type Thread struct {
	Row      Row
	Messages []api.Message
	Event    *api.CalendarEvent // the invitation in it, when there is one and it is known
	NoEvent  bool               // the server has no event for it
	Answer   ChangeKind         // the person's own answer to it, on its way or at the server; empty: none yet
	Known    bool               // false: the messages are not here yet
	Loading  bool
	AsOf     time.Time
	Problem  string
	Rev      uint64
}

// ChangeKind is one thing that a person does to threads.
type ChangeKind string

// The kinds of changes.
const (
	ChangeRead     ChangeKind = "read"
	ChangeUnread   ChangeKind = "unread"
	ChangeStar     ChangeKind = "star"
	ChangeUnstar   ChangeKind = "unstar"
	ChangeArchive  ChangeKind = "archive"
	ChangeInbox    ChangeKind = "inbox" // back to the inbox, also out of the spam folder
	ChangeSpam     ChangeKind = "spam"
	ChangeTrash    ChangeKind = "trash"
	ChangeRestore  ChangeKind = "restore" // out of the trash
	ChangeSnooze   ChangeKind = "snooze"
	ChangeUnsnooze ChangeKind = "unsnooze"
	ChangeMute     ChangeKind = "mute"
	ChangeUnmute   ChangeKind = "unmute"
	ChangeLabels   ChangeKind = "labels"
	ChangeDelete   ChangeKind = "delete" // for good; ask the person first

	// Answers to the invitation of a conversation: [Change.Event] names it. The organizer is told, so nothing undoes them.
	ChangeAccept    ChangeKind = "accept"
	ChangeTentative ChangeKind = "tentative"
	ChangeDecline   ChangeKind = "decline"

	// Changes to a label; see [Mail.EditLabel] and [Mail.DeleteLabel].
	ChangeLabelEdit   ChangeKind = "label-edit"
	ChangeLabelDelete ChangeKind = "label-delete"
)

// Change is what to do to one or more threads.
type Change struct {
	Kind   ChangeKind
	Until  time.Time // [ChangeSnooze]: when it wakes
	Add    []Label   // [ChangeLabels]; [ChangeLabelEdit]: the label as it is to be
	Remove []Label   // [ChangeLabels]; [ChangeLabelEdit], [ChangeLabelDelete]: the label as it was
	Event  string    // [ChangeAccept], [ChangeTentative], [ChangeDecline]: the id of [Thread.Event]
	Quiet  bool      // no line of news and no place in the undo list: reading marks as read
}

// EntryState is where a message in the outbox stands. See the table in docs/architecture.md.
type EntryState string

// The states of an outbox entry. An entry is in exactly one.
const (
	EntrySaving    EntryState = "saving"    // on its way to the disk
	EntryQueued    EntryState = "queued"    // on disk, no attempt begun
	EntrySending   EntryState = "sending"   // an attempt is open, or one of its waits runs
	EntryAccepted  EntryState = "accepted"  // the API has it: undo window, schedule, delivery
	EntrySent      EntryState = "sent"      // out
	EntryWaiting   EntryState = "waiting"   // tried, goes again by itself at Until
	EntryHeld      EntryState = "held"      // stopped before an attempt, or needs a new sign-in
	EntryUnknown   EntryState = "unknown"   // an attempt may have arrived
	EntryFailed    EntryState = "failed"    // refused
	EntryCancelled EntryState = "cancelled" // taken back, or cancelled at the server
)

// Ask is a question that an outbox entry puts to the person before anything else happens to it.
type Ask string

// The questions of outbox entries.
const (
	AskNothing   Ask = ""
	AskTryAgain  Ask = "try-again" // first attempt over 24 h ago, or the account changed since: it may have arrived
	AskOverdue   Ask = "overdue"   // its scheduled time has passed and nothing was tried
	AskEditAsNew Ask = "edit-new"  // it was looked for and not found: edited as a new message, two may arrive
	// AskSendAgain: the server handed it over and does not know whether it arrived. Sent again, it may arrive twice.
	AskSendAgain Ask = "send-again"
)

// Entry is a message in the outbox.
type Entry struct {
	ID          EntryID
	State       EntryState
	Subject     string
	To          []Address // everybody it goes to
	ThreadID    ThreadID
	CreatedAt   time.Time
	AskedUntil  time.Time // the server asked (Retry-After) not to be tried before; zero: it did not
	Until       time.Time // [EntryWaiting]: when it is tried again; [EntryAccepted]: when its undo window ends, or zero
	ScheduledAt time.Time // "send later", or zero
	Why         string    // a short reason for waiting, held, unknown and failed: "server busy (503)"
	Status      int       // last HTTP status, 0 when none came
	Code        string
	Request     string // the server's request id
	Attempts    int    // tries so far, over all starts
	Call        string // the id of the call that runs for it, or empty; see [Mail.Activity]
	EmailID     string
	Replayed    bool // the server already had it
	TestMode    bool // accepted in test mode: it did not leave the machine
	Ask         Ask
	TakingBack  bool // the person asked to take it back and the answer is still open
	CanEdit     bool // dropping it and opening its text again is free
	CanDrop     bool
	CanSend     bool // "send now" makes sense
	CanTakeBack bool
	SettledAt   time.Time
}

// DraftKind says how a message began.
type DraftKind string

// The kinds of drafts.
const (
	DraftNew      DraftKind = "new"
	DraftReply    DraftKind = "reply"
	DraftReplyAll DraftKind = "reply-all"
	DraftForward  DraftKind = "forward"
)

// File is an attachment of a message that is being written. Its bytes are kept by [Mail] from the moment
// that it is attached.
type File struct {
	ID          string // made by Mail
	Name        string
	ContentType string
	SizeBytes   int64
}

// Draft is a message that is being written. To, Cc and Bcc are as typed: addresses parted by commas, the last
// one perhaps unfinished.
type Draft struct {
	ID        DraftID
	ServerID  string // the id of the server's copy, or empty
	Kind      DraftKind
	ThreadID  ThreadID // the thread that it answers or forwards from
	MessageID string   // the message that it answers or forwards
	From      string
	To        string
	Cc        string
	Bcc       string
	Subject   string
	Body      string // plain text, lines end in "\n"
	Files     []File
	Elsewhere []string // attachments that only the server's copy has: they do not go along
	UpdatedAt time.Time
}

// SaveState says how safe a draft is.
type SaveState string

// The states of saving.
const (
	SaveNone    SaveState = ""        // nothing to save
	SaveDirty   SaveState = "dirty"   // typed, not on disk yet
	SaveDisk    SaveState = "disk"    // on disk here
	SaveServer  SaveState = "server"  // on disk here and at the server
	SaveUnknown SaveState = "unknown" // on disk here; the server's answer was lost, it may or may not have it
	SaveFailed  SaveState = "failed"  // not even on disk: Problem says why
)

// DraftStatus is what the compose screen says about saving.
type DraftStatus struct {
	State   SaveState
	At      time.Time // of the last save
	Problem string
}

// DraftRow is one line of the list of drafts.
type DraftRow struct {
	ID        DraftID // the local id; made also for a draft that only the server has
	To        string
	Subject   string
	Snippet   string
	UpdatedAt time.Time
	Files     int
	Filled    bool // false: only the server's id is known yet
	OnServer  bool
	Status    DraftStatus
}

// SendOptions are a person's wishes for one send.
type SendOptions struct {
	At   time.Time     // "send later"; zero: now
	Undo time.Duration // how long it can be taken back, whole seconds; zero: the configured time; negative: none
}

// Person is somebody whom an address field may be completed to.
type Person struct {
	Address
	Mails  int // 0 when unknown
	LastAt time.Time
}

// Phase is where a call stands; see the constants of package api.
type Phase = api.Phase

// Call is a call to the API as the activity screen and the status line show it.
type Call struct {
	ID         string
	Op         string // "threads.list"
	Title      string // what it does for the person: "Loading inbox"
	Phase      Phase
	Attempt    int // the try that runs, or that the wait leads to; 1 is the first
	Limit      int
	Wait       time.Duration // of the wait that runs
	Until      time.Time     // when it ends
	Cause      string        // "503", "connection reset", "Retry-After", …
	Status     int
	Code       string
	Request    string
	Began      time.Time
	Ended      time.Time // zero while it runs
	Bytes      int64
	Foreground bool   // the person asked for it and waits for it here
	Stoppable  bool   // esc stops it: a send, or what this screen waits to read; never what takes a change to the server
	Stopped    bool   // ended because the person stopped it
	Note       string // what became of it when that needs words: "answer lost: it may be saved"
	CanRetry   bool   // [Mail.RetryCall] does it again
	Tries      []Try  // those that a wait followed, oldest first
	Line       string // names the line that it shares with the calls of its purpose that ran with it; see [Mail.Activity]
	LineTitle  string // what all of these do: "Loading 25 threads"
}

// Try is an attempt of a call that did not do, and was followed by a wait.
type Try struct {
	N       int // 1 is the first
	EndedAt time.Time
	Cause   string // as in [Call]
	Status  int
	Code    string
	Request string
	Wait    time.Duration // before the next one
}

// Running reports whether the call has not ended.
func (c Call) Running() bool { return c.Ended.IsZero() }

// NoticeKind says how a notice is shown.
type NoticeKind string

// The kinds of notices. Failures stay until they are dismissed; results go after a few seconds.
const (
	NoticeResult  NoticeKind = "result"
	NoticeFailure NoticeKind = "failure"
	NoticeInfo    NoticeKind = "info"
)

// Notice is one line of news that is not a running call.
type Notice struct {
	ID      uint64
	Kind    NoticeKind
	Text    string // a sentence, without key hints; may hold foreign text
	Undo    bool   // z undoes it
	UndoTo  string // what z does, in words: "brings them back", "takes it back"
	Retry   bool   // r tries again: [Mail.RetryNotice]
	RetryTo string // "tries again", "looks again"
	At      time.Time
	Until   time.Time // counts down to this instant when set (undo window)
	Entry   EntryID
	Thread  ThreadID
}

// Status is what the line of news is made from.
type Status struct {
	Failures     []Notice  // newest first
	Results      []Notice  // newest first
	Calls        []Call    // running calls that deserve a line, most important first; one per purpose
	Running      int       // all calls that run
	Waiting      int       // calls in a wait
	Outbox       int       // messages that have not left yet
	Unsent       int       // changes that are not on the server yet
	Offline      bool      // the last calls found no connection
	OfflineFor   string    // the reason in few words: "connection refused"
	AsOf         time.Time // what is shown is from then, when Offline
	NextTry      time.Time // the next try by itself, when Offline
	LimitedUntil time.Time // slowed down by the server until then
	AskedUntil   time.Time // the time that the server named itself; the person cannot shorten it
	Owner        bool      // this process sends and syncs; false: another teapost does
}
