package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/state"
)

// newRecovered offers the messages that were being written when the program last died.
func newRecovered(list []state.Draft) Screen {
	if len(list) == 1 {
		d := list[0]
		return newOffer("teapost ended while you were writing “"+short(d.Subject)+"”. The text is safe. Go on writing it?", "go on",
			openDraftCmd(d))
	}
	items := make([]string, len(list))
	for i, d := range list {
		items[i] = short(d.Subject)
	}
	return newPicker("These were being written when teapost ended", items, func(i int, f *Frame) tea.Cmd {
		f.Ask(openDraftMsg{list[i]})
		return nil
	})
}
