package ui

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/state"
)

// previewMail is the sample mailbox in which every conversation of the inbox and of the archive is here.
func previewMail() *fakeMail {
	m := sampleMail()
	archive := state.View{Folder: "archive"}
	old := state.Row{ID: "old", Filled: true, From: state.Address{Name: "Lin"}, Subject: "Long ago", At: m.now, Messages: 1, Unread: true}
	m.lists[archive] = state.List{View: archive, Known: true, Rev: 1, Rows: []state.Row{old}}
	for _, r := range append(m.lists[inboxView].Rows[2:9:9], old) {
		m.threads[r.ID] = state.Thread{Row: r, Known: true, Rev: 1, Messages: []api.Message{
			{ID: "m-" + string(r.ID), ReceivedAt: m.now, Unread: r.Unread, Text: "The text of " + string(r.ID) + "."},
		}}
	}
	return m
}

// rest lets the cursor rest on its row.
func (s *screenTest) rest() {
	s.t.Helper()
	s.mail.now = s.mail.now.Add(time.Second)
	s.send(tickMsg{s.app.tick})
}

func TestReaderFollowsTheList(t *testing.T) {
	m := previewMail()
	s := startTest(t, m, 140, 40)
	s.has("The second pass is done.")
	s.rest()
	s.keys("j")
	s.has("You are invited.")
	if got := m.took(); got != "" {
		t.Errorf("looking at a conversation beside the list did %q", got)
	}
	s.rest()
	s.keys("g", "a")
	s.rest()
	s.hasNot("You are invited.")
	s.has("Archive", "The text of old.")
	m.took()

	s.keys("enter")
	if got := m.took(); got != "open thread old; read [old]" {
		t.Errorf("opening it did %q", got)
	}
	s.keys("esc", "g", "t") // nothing is there
	s.hasNot("The text of old.", "enter opens a conversation here")
	s.keys("g", "i", "G", "k") // a row of which nothing is known yet
	s.rest()
	s.has("enter opens a conversation here")
}

func TestReaderWaitsForTheCursorToRest(t *testing.T) {
	m := previewMail()
	s := startTest(t, m, 140, 40)
	s.rest()
	s.keys("j", "j", "j", "j")
	s.has("You are invited.") // of the first step; the others came too soon after it
	s.hasNot("The text of t5.")
	s.rest()
	s.has("The text of t5.")
}

func TestReaderTakesTheKeysFromTheList(t *testing.T) {
	for _, key := range []string{"tab", "right", "enter"} {
		m := previewMail()
		s := startTest(t, m, 140, 40)
		s.rest()
		s.keys("j", "j")
		s.rest()
		m.took()
		s.keys(key)
		if got := m.took(); got != "open thread t3; read [t3]" || s.app.focus != paneReader {
			t.Errorf("%s: %q, the keys are in pane %d", key, got, s.app.focus)
		}
	}
	m := previewMail()
	s := startTest(t, m, 140, 40)
	s.send(tea.MouseMsg{Action: tea.MouseActionPress, Button: tea.MouseButtonLeft, X: 120, Y: 20})
	if got := m.took(); got != "open thread t1; read [t1]" {
		t.Errorf("a click into it did %q", got)
	}
}

func TestReaderShowsWhatIsNextAtOnce(t *testing.T) {
	m := previewMail()
	s := startTest(t, m, 140, 40)
	s.keys("j", "j")
	s.rest()
	s.rest()
	s.keys("e")
	s.hasNot("The text of t3.")
	s.has("The text of t4.")
}

func TestReaderLeavesWhatIsOpenAlone(t *testing.T) {
	m := previewMail()
	s := startTest(t, m, 140, 40)
	s.keys("enter")
	m.setRows(func(rows []state.Row) []state.Row { return rows[1:] }) // another program archived it
	s.refresh()
	s.rest()
	s.has("The second pass is done.")
	s.keys("esc")
	s.rest()
	s.has("You are invited.")
}

func TestNarrowReaderIsClosedWithItsList(t *testing.T) {
	s := startTest(t, previewMail(), 80, 24)
	s.keys("enter", "g", "a", "right")
	s.hasNot("The second pass is done.")
}
