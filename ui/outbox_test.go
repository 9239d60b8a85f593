package ui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
)

func outboxDesk() *desk {
	d := newDesk()
	ada := []state.Address{{Name: "Grace Hall", Email: "grace@example.org"}}
	made := deskNow.Add(-20 * time.Minute)
	d.entries = []state.Entry{
		{ID: "e1", State: state.EntrySending, Subject: "Re: Compiler notes", To: ada, CreatedAt: made, Attempts: 1},
		{ID: "e2", State: state.EntryWaiting, Subject: "Dinner?", To: append(ada, ada...), Until: deskNow.Add(14 * time.Second), Why: "server busy (503)", Status: 503, Request: "req_7f3a", Attempts: 3, CanSend: true, CreatedAt: made},
		{ID: "e3", State: state.EntryAccepted, Subject: "Hello", To: ada, Until: deskNow.Add(9 * time.Second), CanTakeBack: true},
		{ID: "e4", State: state.EntryHeld, Subject: "Numbers", To: ada, Why: "sign in again", CanSend: true, CanEdit: true, CanDrop: true},
		{ID: "e5", State: state.EntryUnknown, Subject: "来週の打ち合わせ", To: ada, Why: "the connection broke", CanSend: true},
		{ID: "e6", State: state.EntryFailed, Subject: "Big one", To: ada, Why: "the message is too large (413)", CanEdit: true, CanDrop: true},
		{ID: "e7", State: state.EntrySent, Subject: "Done", To: ada, SettledAt: deskNow.Add(-3 * time.Minute), ThreadID: "t1", CanDrop: true},
		{ID: "e8", State: state.EntryQueued, Subject: "Old one", To: ada, Ask: state.AskOverdue, ScheduledAt: deskNow.Add(-48 * time.Hour), CanSend: true, CanEdit: true, CanDrop: true},
		{ID: "e9", State: state.EntryUnknown, Subject: "Old try", To: ada, Ask: state.AskTryAgain, CanSend: true, CanDrop: true, CreatedAt: deskNow.Add(-50 * time.Hour)},
		{ID: "e10", State: state.EntryUnknown, Subject: "Not found", To: ada, Ask: state.AskEditAsNew, CanSend: true},
		{ID: "e11", State: state.EntryAccepted, Subject: "Later", To: ada, ScheduledAt: deskNow.Add(100 * time.Hour), CanTakeBack: true},
		{ID: "e12", State: state.EntryCancelled, Subject: "\x1b[2J", CanDrop: true},
	}
	return d
}

// openOutbox shows the outbox with the cursor on an entry.
func openOutbox(t *testing.T, d *desk, id state.EntryID, width, height int) *stage {
	t.Helper()
	s := newStage(t, d, width, height)
	s.send(pushScreenMsg{&outbox{listing: listing[state.EntryID]{cursor: id}}})
	s.frame()
	return s
}

func TestOutboxDoes(t *testing.T) {
	for _, c := range []struct {
		name string
		id   state.EntryID
		keys []string
		want string // a call, or empty
		sees string
	}{
		{"send now", "e2", []string{"s"}, "send-now e2", ""},
		{"send now by retry", "e2", []string{"R"}, "send-now e2", ""},
		{"nothing to send", "e7", []string{"s"}, "", "it was sent"},
		{"already sending", "e1", []string{"s"}, "", "is being sent already"},
		{"hold", "e2", []string{"h"}, "hold e2", ""},
		{"hold what is held", "e4", []string{"h"}, "", "is held already"},
		{"take back", "e3", []string{"z"}, "take-back e3", ""},
		{"drop asks", "e4", []string{"#"}, "", "Drop “Numbers”?"},
		{"drop", "e4", []string{"#", "y"}, "drop e4", ""},
		{"drop not free", "e1", []string{"#"}, "", "cannot be dropped now"},
		{"sent goes off the list", "e7", []string{"#"}, "drop e7", ""},
		{"edit free", "e4", []string{"e"}, "edit e4", "New message"},
		{"edit not free", "e5", []string{"e"}, "edit e5", "Finding out first"},
		{"edit as new warns", "e5", []string{"E"}, "", "two may arrive"},
		{"edit as new", "e5", []string{"E", "y"}, "as-new e5", "New message"},
		{"edit as new by its question", "e10", []string{"e"}, "", "two may arrive"},
		{"overdue now", "e8", []string{"s"}, "send-now e8", ""},
		{"overdue later", "e8", []string{"e"}, "edit e8", "New message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := outboxDesk()
			s := openOutbox(t, d, c.id, 80, 24)
			s.press(c.keys...)
			if c.want == "" && len(d.calls) > 0 || c.want != "" && !d.did(c.want) {
				t.Errorf("calls %v, want %q", d.calls, c.want)
			}
			if c.sees != "" {
				s.sees(c.sees)
			}
		})
	}
}

func TestOutboxEditWaitsForTheAnswer(t *testing.T) {
	d := outboxDesk()
	s := openOutbox(t, d, "e5", 80, 24)
	s.press("e")
	d.entries[4].Ask = state.AskEditAsNew
	s.send(mailMsg{})
	s.sees("two may arrive")

	d = outboxDesk()
	s = openOutbox(t, d, "e5", 80, 24)
	s.press("e")
	d.entries[4].State, d.entries[4].CanEdit = state.EntryHeld, true
	s.send(mailMsg{})
	if !s.composing() {
		t.Error("the text must open once it is free")
	}

	d = outboxDesk()
	s = openOutbox(t, d, "e5", 80, 24)
	s.press("e")
	d.entries[4].State = state.EntrySent
	s.send(mailMsg{})
	if s.composing() || len(s.app.dialogs) > 0 {
		t.Error("what was sent must not open")
	}
}

func TestOutboxSendOfWhatWasRefused(t *testing.T) {
	s := openOutbox(t, outboxDesk(), "e6", 80, 24)
	s.press("s")
	s.sees("it was refused; edited, it goes as a new message")
}

func TestOutboxWords(t *testing.T) {
	d := outboxDesk()
	want := map[state.EntryID]string{
		"e1": "sending", "e2": "tries again in 14 s", "e3": "goes in 9 s", "e4": "held", "e5": "not known if it arrived", "e6": "refused",
		"e7": "sent 3 min ago", "e8": "asks: its time has passed", "e9": "asks: send again?", "e10": "asks: edit as new?",
		"e11": "goes Fri 4 Dec 13:41", "e12": "taken back",
	}
	for _, e := range d.entries {
		if got := entryWords(e, deskNow); got != want[e.ID] {
			t.Errorf("%s: %q, want %q", e.ID, got, want[e.ID])
		}
		if s := entryStory(e, deskNow); s == "" || !strings.ContainsAny(s[len(s)-1:], ".?") {
			t.Errorf("%s has no story: %q", e.ID, s)
		}
	}
	if got := entryWords(state.Entry{State: state.EntryCancelled, TakingBack: true}, deskNow); got != "taken back" {
		t.Errorf("after it was taken back: %q", got)
	}
	if got := entryStory(state.Entry{State: state.EntrySent, TestMode: true}, deskNow); !strings.Contains(got, "not delivered") {
		t.Errorf("test mode: %q", got)
	}
}

func TestOutboxCursorHoldsToTheEntry(t *testing.T) {
	d := outboxDesk()
	s := openOutbox(t, d, "e3", 80, 24)
	d.entries = slices.Concat([]state.Entry{{ID: "e0", State: state.EntryQueued, Subject: "Newer"}}, d.entries)
	s.send(mailMsg{})
	s.press("z")
	if !d.did("take-back e3") {
		t.Errorf("calls %v", d.calls)
	}
	d.entries = nil
	s.press("s", "j", "#", "e")
	s.sees("Nothing waits to be sent.")
}

func TestOutboxFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {140, 40}, {60, 15}} {
		name := itoa(size[0]) + "x" + itoa(size[1])
		s := openOutbox(t, outboxDesk(), "e2", size[0], size[1])
		goldenFrame(t, "outbox-"+name, s.frame())
		s = openOutbox(t, outboxDesk(), "e9", size[0], size[1])
		goldenFrame(t, "outbox-ask-"+name, s.frame())
	}
	for _, size := range [][2]int{{40, 10}, {24, 5}, {1, 1}} {
		d := outboxDesk()
		for _, e := range d.entries {
			openOutbox(t, d, e.ID, size[0], size[1])
		}
	}
}
