package ui

import (
	"context"
	"time"

	"codeberg.org/teapost/teapost/state"
)

// Mail is what the screens need of the state of the mail. [state.Mail] is it; tests use a fake.
// Every method but Prepare, EditorFile and AdoptEditorFile returns at once and may be called from Update.
type Mail interface {
	// Updates receives a value after anything changed, at most one waiting; it is closed by Close.
	Updates() <-chan struct{}

	// What is known. Snapshots; nothing in them changes later.
	Folders() []state.Folder
	Labels() []state.Label // the user's labels
	List(v state.View) state.List
	Thread(id state.ThreadID) state.Thread
	Outbox() []state.Entry
	Entry(id state.EntryID) (state.Entry, bool)
	Drafts() []state.DraftRow
	Draft(id state.DraftID) (state.Draft, bool)
	DraftStatus(id state.DraftID) state.DraftStatus
	Activity() []state.Call // newest first, running ones before ended ones
	Status() state.Status
	Identities() []state.Address // own addresses that may send, best first
	IsMe(email string) bool
	Complete(prefix string, limit int) []state.Person
	Can(kind state.ChangeKind, v state.View) (ok bool, reason string) // what the server lacks

	// What the person looks at. OpenView loads or refreshes as needed; SetVisible says which rows are on the screen.
	OpenView(v state.View)
	SetVisible(v state.View, first, last int)
	LoadMore(v state.View)
	OpenThread(id state.ThreadID)
	Refresh()              // everything that is shown, now
	SetFocus(focused bool) // the terminal has the focus, or a key came

	// What the person does.
	Do(ids []state.ThreadID, c state.Change)
	NewLabel(name string, ids []state.ThreadID)                                        // makes a label and puts it on the threads
	EditLabel(l state.Label)                                                           // another name or colour for the label with that id
	DeleteLabel(id string)                                                             // for good, off every thread; ask first
	LabelColors() []state.LabelColor                                                   // none while they are not known; then they are asked for
	Undo() bool                                                                        // the newest thing that can be undone, a send too; false: there is nothing
	SaveFiles(thread state.ThreadID, message string, attachments []string, dir string) // empty attachments: all of them
	SaveFileAs(thread state.ThreadID, message, attachment, path string)                // under that name, or in that folder
	ReadFile(thread state.ThreadID, message, attachment string)                        // to a private temporary file; Opened tells its path
	ViewHTML(thread state.ThreadID, message string)                                    // to a page in a private temporary file that loads nothing; Opened tells its path
	Opened() (path string, ok bool)                                                    // the newest file that ReadFile or ViewHTML made ready, once

	// Writing. NewDraft makes a draft in memory; nothing is stored before the first EditDraft.
	NewDraft(from string) state.Draft
	Reply(thread state.ThreadID, message string, all bool) (state.Draft, error)
	Forward(thread state.ThreadID, message string) (state.Draft, error)
	DraftAnswering(message string) (id state.DraftID, ok bool) // an answer to the message that is being written, the newest
	OpenDraft(id state.DraftID) bool                           // fetches a draft that only the server has; then Draft(id) has it
	EditDraft(d state.Draft)                                   // the newest text; on disk within a second, at the server later
	SaveDraft(d state.Draft)                                   // the person asked: on disk and at the server now
	CloseDraft(id state.DraftID)                               // compose is left; the draft stays
	DiscardDraft(id state.DraftID)
	Attach(id state.DraftID, path string) // the draft's Files grow when the bytes are kept, else a failure notice
	Detach(id state.DraftID, file string)
	CheckDraft(d state.Draft) (problem string)             // why it cannot be sent as it stands, or empty
	Send(d state.Draft, o state.SendOptions) state.EntryID // Entry leaves EntrySaving when it is on disk, or is EntryFailed with Why
	Recovered() []state.Draft                              // being written when the program last died; offered once
	EditorFile(id state.DraftID) (path string, err error)  // writes the body for $EDITOR; blocks on the disk
	AdoptEditorFile(id state.DraftID) (state.Draft, error) // reads it back; blocks on the disk

	// The outbox.
	SendNow(id state.EntryID)
	Hold(id state.EntryID)
	Drop(id state.EntryID)
	TakeBack(id state.EntryID)
	EditEntry(id state.EntryID) (state.Draft, bool) // the text opens again where that is free; else it is looked for first: see Entry.Ask
	EditAsNew(id state.EntryID) (state.Draft, bool) // after the warning that two may arrive

	// Calls and news.
	StopLine(id string) bool // esc: stops the call whose line says so; false: it is over
	StopCall(id string)
	StopAll()
	RetryCall(id string)
	Dismiss(notice uint64)
	RetryNotice(notice uint64)

	// Close ends what runs and writes what must be written, within the context's time.
	Close(ctx context.Context) error
	Now() time.Time
}
