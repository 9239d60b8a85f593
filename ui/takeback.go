package ui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/state"
)

// takeBackFor is how long the text of a message that was taken back is waited for: the server has to let go of it first.
const takeBackFor = 15 * time.Second

// takeBackMsg takes a message of the outbox back.
type takeBackMsg struct{ entry state.EntryID }

// takeback waits for the text of a message that was taken back, to open it: who takes a message back wants to change it.
// Whatever key is pressed meanwhile is for something else, and the text stays among the drafts.
type takeback struct {
	before []state.DraftID // the drafts that there were; nil: nothing is waited for
	until  time.Time
}

func draftIDs(rows []state.DraftRow) []state.DraftID {
	ids := make([]state.DraftID, 0, len(rows))
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// awaitText begins to wait for the text of a message that is taken back next, if there is one to take back.
func (a *app) awaitText() {
	if slices.ContainsFunc(a.o.Mail.Outbox(), func(e state.Entry) bool { return e.CanTakeBack }) {
		a.takeback = takeback{draftIDs(a.o.Mail.Drafts()), a.now.Add(takeBackFor)}
	}
}

// openTakenBack opens the text that was waited for, once it is among the drafts.
func (a *app) openTakenBack() tea.Cmd {
	t := a.takeback
	if t.before == nil {
		return nil
	}
	there := len(a.screens) == 0
	switch a.screen().(type) {
	case *outbox, *drafts:
		there = true
	}
	if !there || len(a.dialogs) > 0 || a.now.After(t.until) {
		a.takeback = takeback{}
		return nil
	}
	for _, r := range a.o.Mail.Drafts() {
		if r.OnServer || slices.Contains(t.before, r.ID) {
			continue
		}
		if d, ok := a.o.Mail.Draft(r.ID); ok {
			a.takeback = takeback{}
			return a.push(&a.screens, newCompose(d))
		}
	}
	return nil
}
