package ui

import (
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
)

func TestComposeSendButton(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.press("tab")
	s.sees("⟦[ Send ]⟧", "enter sends the message · shift+tab goes back")
	d.now = d.now.Add(unseen)
	s.press("enter")
	if len(d.sends) != 1 {
		t.Error("enter on the button must send")
	}
}

// Who means to indent with tab and goes on typing sends nothing, and the words are in the text.
func TestComposeTabAndEnterAtOnceSendNothing(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.press("tab", "enter", "enter", "space")
	if len(d.sends) != 0 {
		t.Fatal("sent before the button could be seen")
	}
	s.sees("Not sent yet · enter sends it")
	s.press("indented", "enter", "more")
	if got := s.compose().draft.Body; !strings.HasPrefix(got, "indented\nmore") || len(d.sends) != 0 {
		t.Errorf("the text is %q", got)
	}
	s.press("shift+tab", "tab", "tab", "up", "x") // there and back
	if len(d.sends) != 0 {
		t.Error("sent")
	}
}

// Before an answer to many one sees who gets it.
func TestComposeShowsAllRecipients(t *testing.T) {
	draft := replyDraft()
	draft.To = "Grace Hall <grace@example.org>, Lin Wei <lin@example.net>, Ana Ro <ana@example.com>, Bob <bob@example.com>, Eve <eve@example.com>"
	for _, c := range []struct {
		width, height int
		see           []string
	}{
		{80, 24, []string{"Grace Hall <grace@example.org>", "Lin Wei <lin@example.net>", "Bob <bob@example.com>", "Eve <eve@example.com>"}},
		{60, 15, []string{"Grace Hall, ", "Lin Wei", "Bob", "Eve"}},
	} {
		d := newDesk()
		s := newStage(t, d, c.width, c.height)
		s.send(openDraftMsg{draft})
		s.sees(c.see...)
		s.press("shift+tab", "shift+tab")
		s.sees("…")
	}
}

// That a draft is only on this machine is worth a word when it stays so.
func TestSaveWords(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)
	for _, c := range []struct {
		state state.SaveState
		age   time.Duration
		want  string
	}{
		{state.SaveDisk, 3 * time.Second, "draft saved 3 s ago"},
		{state.SaveDisk, 2 * time.Minute, "draft saved on this machine 2 min ago"},
		{state.SaveServer, 2 * time.Minute, "draft saved 2 min ago"},
		{state.SaveDirty, 0, "saving"},
	} {
		if got := saveWords(state.DraftStatus{State: c.state, At: now.Add(-c.age)}, now); got != c.want {
			t.Errorf("%v after %v: %q, want %q", c.state, c.age, got, c.want)
		}
	}
}
