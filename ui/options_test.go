package ui

import (
	"testing"
	"time"

	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/state"
)

func TestOptionConfirmSend(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.app.o.ConfirmSend = true
	s.press("ctrl+d")
	s.sees("Send this message now?")
	s.press("n")
	if len(d.sends) != 0 || !s.composing() {
		t.Fatalf("no must send nothing: %d sends", len(d.sends))
	}
	s.press("ctrl+d", "y")
	if len(d.sends) != 1 || s.composing() {
		t.Errorf("yes must send: %d sends", len(d.sends))
	}

	d = newDesk()
	s = openCompose(t, d, state.Draft{ID: "d", To: "bob@example.org"})
	s.app.o.ConfirmSend = true
	s.press("ctrl+d", "y")
	if len(d.sends) != 1 {
		t.Errorf("the question for the subject is question enough: %d sends", len(d.sends))
	}

	d = newDesk()
	s = openCompose(t, d, replyDraft())
	s.app.o.ConfirmSend = true
	s.press("ctrl+t", "fri 9", "enter")
	if len(d.sends) != 1 {
		t.Errorf("choosing a time is answer enough: %d sends", len(d.sends))
	}
}

func TestOptionDiscardUnasked(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.app.o.DiscardUnasked = true
	s.press("text", "alt+k")
	if !d.did("discard d1") || s.composing() {
		t.Error("the draft must go without a question")
	}
}

func TestOptionSnooze(t *testing.T) {
	d := newDesk()
	s := openCompose(t, d, replyDraft())
	s.app.o.Snooze = &when.Options{
		Morning: when.Clock{Hour: 7, Minute: 30}, Evening: when.Clock{Hour: 19, Minute: 15}, Weekend: when.Clock{Hour: 10, Minute: 45},
		WeekDay: time.Tuesday, WeekendDay: time.Friday,
	}
	s.press("ctrl+t")
	s.sees("today 19:15", "Tue 1 Dec 07:30", "Fri 4 Dec 10:45", "Tue 8 Dec 07:30")
	s.press("tomorrow", "enter")
	if want := time.Date(2026, 12, 1, 7, 30, 0, 0, time.UTC); len(d.sendAt) != 1 || !d.sendAt[0].Equal(want) {
		t.Errorf("sent at %v, want %v", d.sendAt, want)
	}
}
