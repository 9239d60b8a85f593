package state

// wish is how a person wants a thread to be.
type wish struct {
	inbox, starred, unread, spam, trash, snoozed, label, deleted bool
}

func (w wish) with(k ChangeKind) wish {
	switch k {
	case ChangeArchive:
		w.inbox = false
	case ChangeInbox:
		w.inbox, w.spam = true, false
	case ChangeStar:
		w.starred = true
	case ChangeUnstar:
		w.starred = false
	case ChangeRead:
		w.unread = false
	case ChangeUnread:
		w.unread = true
	case ChangeTrash:
		w.trash = true
	case ChangeRestore:
		w.trash = false
	case ChangeSpam:
		w.spam = true
	case ChangeSnooze:
		w.snoozed = true
	case ChangeUnsnooze:
		w.snoozed, w.inbox = false, true
	case ChangeDelete:
		w.deleted = true
	case changeLabel:
		w.label = true
	case changeUnlabel:
		w.label = false
	}
	return w
}

// A change of labels is one of two things.
const (
	changeLabel   ChangeKind = "label"
	changeUnlabel ChangeKind = "unlabel"
)

// hidden is what a thread is listed by nowhere but in one place.
func (w wish) hidden() bool { return w.trash || w.spam || w.snoozed || w.deleted }

// seen leaves of a wish what the server shows of it.
func (w wish) seen() wish {
	switch {
	case w.deleted:
		return wish{deleted: true}
	case w.trash:
		w.spam, w.snoozed, w.inbox = false, false, false
	case w.spam:
		w.snoozed, w.inbox = false, false
	case w.snoozed:
		w.inbox = false
	}
	return w
}

// done is one thing that the person did to a thread and did not take back.
type done struct {
	batch string
	kind  ChangeKind
	proc  int
}
