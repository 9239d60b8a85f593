package state

import (
	"fmt"
	"maps"
)

// undoStep is what one press of z takes back: changes, which may be settled and forgotten long since, or a message.
type undoStep struct {
	changes []*change
	entry   EntryID
}

func (m *Mail) pushUndo(s undoStep) {
	m.undo = append(m.undo, s)
	if len(m.undo) > 100 {
		m.undo = append([]undoStep(nil), m.undo[len(m.undo)-100:]...)
	}
}

// Undo takes back the newest thing that can be: a batch of changes, or a message within its undo window. It reports
// whether there was one.
func (m *Mail) Undo() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.undo) > 0 {
		s := m.undo[len(m.undo)-1]
		m.undo = m.undo[:len(m.undo)-1]
		if s.entry != "" {
			if e := m.entry(s.entry); e != nil && e.canTakeBack(m.now()) {
				m.takeBack(e)
				return true
			}
			continue
		}
		if m.undoChanges(s) {
			return true
		}
	}
	// A send of the process before this one: its line offers the same.
	for i := len(m.outbox) - 1; i >= 0; i-- {
		if e := m.outbox[i]; e.State == EntryAccepted && m.now().Before(e.CancelUntil) && e.canTakeBack(m.now()) {
			m.takeBack(e)
			return true
		}
	}
	return false
}

// undoChanges takes back what still holds of a step, all of it in one transaction. It is told once it is on the disk.
func (m *Mail) undoChanges(s undoStep) bool {
	var undone, gone, inverse []*change
	again := newID()
	for _, c := range s.changes {
		if c.dropped {
			continue
		}
		if m.owner && c.open() && !c.Attempted && c.call == "" { // another owner may be sending it now
			gone, undone = append(gone, c), append(undone, c)
			continue
		}
		if c.State == changeAsked { // the inverse is the answer
			gone = append(gone, c)
			m.hideQuestion(c)
		}
		if c.Inverse != nil {
			i := m.newChange(again, c.Thread, *c.Inverse, nil, c.Subject)
			i.Home, i.Change.Quiet, i.Undoes = c.Home, true, c.ID
			if c.Change.Kind == ChangeSpam {
				i.Home = RoleSpam // it takes the label off again
			}
			inverse = append(inverse, i)
			undone = append(undone, c)
		}
	}
	if len(undone) == 0 {
		return false
	}
	snoozes := m.endedSnoozes(undone)
	for _, c := range undone {
		if c.Change.Kind == ChangeTrash && !c.Slept.IsZero() {
			snoozes[c.Thread] = c.Slept
		}
	}
	maps.Copy(snoozes, noteSnoozes(inverse))
	m.removeNotices(func(n *notice) bool { return n.Kind == NoticeResult && n.Undo && n.Entry == "" })
	what := fmt.Sprintf(changeWords[undone[0].Change.Kind].done, m.object(undone))
	m.storeChanges(inverse, gone, snoozes, func(err error) {
		if err == nil {
			m.replaceResult(Notice{Kind: NoticeResult, Text: "Undone: " + lowerFirst(what)})
			return
		}
		for _, c := range gone {
			if c.State == changeAsked && !c.dropped {
				m.askChange(c, answerLost)
			}
		}
		m.pushUndo(s)
		m.addNotice(Notice{Kind: NoticeFailure, Text: "Not undone: " + diskReason(err) + " · " + what})
	})
	return true
}

// inverse is the change that takes c back on a row as it is now; ok is false when c would change nothing.
func (m *Mail) inverse(c Change, row Row) (inv *Change, ok bool) {
	switch c.Kind {
	case ChangeRead:
		return &Change{Kind: ChangeUnread}, row.Unread || !row.Filled
	case ChangeUnread:
		return &Change{Kind: ChangeRead}, !row.Unread
	case ChangeStar:
		return &Change{Kind: ChangeUnstar}, !row.Starred
	case ChangeUnstar:
		return &Change{Kind: ChangeStar}, row.Starred
	case ChangeArchive:
		return &Change{Kind: ChangeInbox}, true
	case ChangeInbox:
		if roleOf(m.current.folder()) == RoleSpam {
			return &Change{Kind: ChangeSpam}, true
		}
		return &Change{Kind: ChangeArchive}, true
	case ChangeSpam:
		return &Change{Kind: ChangeInbox}, true
	case ChangeTrash:
		return &Change{Kind: ChangeRestore}, true
	case ChangeRestore:
		return &Change{Kind: ChangeTrash}, true
	case ChangeSnooze:
		if !row.SnoozedUntil.IsZero() {
			return &Change{Kind: ChangeSnooze, Until: row.SnoozedUntil}, true
		}
		return &Change{Kind: ChangeUnsnooze}, true
	case ChangeUnsnooze:
		if row.SnoozedUntil.IsZero() {
			return nil, true
		}
		return &Change{Kind: ChangeSnooze, Until: row.SnoozedUntil}, true
	case ChangeMute:
		return &Change{Kind: ChangeUnmute}, !row.Muted
	case ChangeUnmute:
		return &Change{Kind: ChangeMute}, true // not every server says what is muted
	case ChangeLabels:
		out := Change{Kind: ChangeLabels}
		for _, l := range c.Add {
			if !hasLabel(row.Labels, l.ID) {
				out.Remove = append(out.Remove, l)
			}
		}
		for _, l := range c.Remove {
			if hasLabel(row.Labels, l.ID) {
				out.Add = append(out.Add, l)
			}
		}
		return &out, len(out.Add)+len(out.Remove) > 0
	}
	return nil, true
}

// undoWords fits the words of an undo to how many threads it is about.
func undoWords(words string, n int) string {
	if words == "brings back" {
		if n == 1 {
			return "brings it back"
		}
		return "brings them back"
	}
	if words == "moves back" && n > 1 {
		return "moves them back"
	}
	return words
}
