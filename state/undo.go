package state

import "fmt"

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
		if m.undoChanges(s.changes) {
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

func (m *Mail) undoChanges(cs []*change) bool {
	var undone []*change
	var inverse []*change
	again := newID()
	for _, c := range cs {
		if c.dropped {
			continue
		}
		if m.owner && c.open() && !c.Attempted && c.call == "" { // another owner may be sending it now
			c.dropped = true
			m.deleteChange(c)
			undone = append(undone, c)
			continue
		}
		if c.State == changeAsked { // the inverse is the answer
			m.dropAsked(c)
		}
		if c.Inverse != nil {
			i := m.newChange(again, c.Thread, *c.Inverse, nil, c.Subject)
			i.Home, i.Change.Quiet, i.Undoes = c.Home, true, c.ID
			inverse = append(inverse, i)
			undone = append(undone, c)
		}
	}
	if len(undone) == 0 {
		return false
	}
	m.forgetSnoozes(undone)
	if len(inverse) > 0 {
		m.enqueue(inverse)
	}
	m.replaceResult(Notice{Kind: NoticeResult, Text: "Undone: " + lowerFirst(fmt.Sprintf(changeWords[undone[0].Change.Kind].done, m.object(undone)))})
	m.listsChanged()
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
