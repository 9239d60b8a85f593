package ui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/state"
)

func TestSidebarStaysBesideDraftsAndOutbox(t *testing.T) {
	for _, tt := range []struct {
		keys    []string
		title   string
		current string
	}{
		{[]string{"g", "d"}, "Drafts", "▏Drafts"},
		{[]string{"g", "o"}, "Outbox", "▏Outbox"},
	} {
		m := sampleMail()
		m.drafts = []state.DraftRow{{ID: "d1", To: "Grace Hall", Subject: "Half a letter", Filled: true}}
		m.outbox = []state.Entry{{ID: "e1", State: state.EntryHeld, Subject: "Half a letter"}}
		s := startTest(t, m, 140, 40)
		s.keys(tt.keys...)
		s.has("Half a letter", " Inbox        12 │", tt.current)
		if top := s.frame(); !strings.HasPrefix(top, " "+tt.title) {
			t.Errorf("the title is not %s:\n%s", tt.title, top)
		}
		s.keys("tab")
		if s.app.focus != paneFolders || len(s.app.screens) > 0 {
			t.Errorf("tab goes to the sidebar, not to pane %d", s.app.focus)
		}
		s.keys("enter") // the cursor is on its line
		s.has("Half a letter")
		s.keys("esc")
		s.has("Grace Hall", "Re: Compiler notes")

		s.keys(tt.keys...)
		s.send(tea.MouseMsg{Action: tea.MouseActionPress, Button: tea.MouseButtonLeft, X: 3, Y: 1})
		s.has("Re: Compiler notes")
		s.hasNot("Half a letter")

		s.keys(tt.keys...)
		s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		s.has("Half a letter")
		s.hasNot("Inbox        12")
	}
}

func TestSidebarGoesWhileADraftIsWritten(t *testing.T) {
	m := sampleMail()
	m.drafts = []state.DraftRow{{ID: "d1", Subject: "Half a letter", Filled: true}}
	m.texts["d1"] = state.Draft{ID: "d1", Subject: "Half a letter"}
	s := startTest(t, m, 140, 40)
	s.keys("g", "d", "enter")
	s.has("To", "Subject")
	s.hasNot("Inbox        12")
	s.keys("esc")
	s.has("Inbox        12", "Half a letter")
}

func TestDraftsThatAreNotHereYet(t *testing.T) {
	s := startTest(t, sampleMail(), 80, 24) // the server counts one
	s.keys("g", "d")
	s.has("Loading…")
	s.hasNot("No drafts.")
	s.mail.folders[3].Count = 0
	s.refresh()
	s.has("No drafts. c begins a message.")
}
