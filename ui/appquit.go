package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

const quitAnyway = "quit"

// quit ends the program, unless typed text would be lost or somebody should know what happens to a send.
func (a *app) quit() tea.Cmd {
	if n := len(a.dialogs); n > 0 {
		if q, ok := a.dialogs[n-1].(*confirm); ok && q.label == quitAnyway {
			return tea.Quit
		}
	}
	sending := 0
	var subject string
	for _, e := range a.o.Mail.Outbox() {
		if e.State == state.EntrySending || e.State == state.EntrySaving {
			sending++
			subject = e.Subject
		}
	}
	if sending > 0 {
		question := "“" + short(subject) + "” is being sent."
		if sending > 1 {
			question = plural(sending, "message is", "messages are") + " being sent."
		}
		question += " If you quit now it stays in the outbox, and the next start finds out whether it arrived. It will not be sent twice."
		return a.push(&a.dialogs, newConfirm(question, quitAnyway, func() tea.Msg { return quitMsg{} }))
	}
	if a.quitting {
		// Asked again while the disk takes its time.
		a.quitting = false
		return a.push(&a.dialogs, newConfirm("What you wrote is not on disk yet. Quit and lose it?", quitAnyway,
			func() tea.Msg { return quitMsg{} }))
	}
	a.quitting = true
	return a.tryQuit()
}

// tryQuit quits once everything typed is on disk.
func (a *app) tryQuit() tea.Cmd {
	if !a.quitting {
		return nil
	}
	for _, s := range a.screens {
		d, ok := s.(drafter)
		if !ok {
			continue
		}
		switch st := a.o.Mail.DraftStatus(d.DraftID()); st.State {
		case state.SaveDirty:
			return nil
		case state.SaveFailed:
			a.quitting = false
			why := clean.Line(st.Problem)
			if why == "" {
				why = "the disk refused it"
			}
			return a.push(&a.dialogs, newConfirm("What you wrote is not on disk: "+why+". Quit and lose it?", quitAnyway,
				func() tea.Msg { return quitMsg{} }))
		}
	}
	return tea.Quit
}
