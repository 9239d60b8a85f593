package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// rowCalls are the calls that load the rows of a list over a bad network, beside a send.
func rowCalls(now time.Time) []state.Call {
	calls := []state.Call{
		{ID: "send", Op: "emails.send", Title: "Sending to Grace", Line: "send e1/send", LineTitle: "Sending to Grace", Phase: api.Started, Attempt: 1, Limit: 3, Began: now.Add(-400 * time.Millisecond)},
	}
	for i := range 25 {
		c := state.Call{
			ID: fmt.Sprintf("row%02d", i), Op: "threads.get", Title: "Loading 1 thread", Line: "rows/row00", LineTitle: "Loading 25 threads",
			Attempt: 1, Limit: 3, Began: now.Add(-2 * time.Second), Request: fmt.Sprintf("req_%02d", i),
		}
		switch {
		case i < 3:
			c.Phase, c.Request = api.Started, ""
		case i == 3:
			c.Phase, c.Attempt, c.Status, c.Until, c.Request = api.Waiting, 3, 503, now.Add(800*time.Millisecond), "req_b2"
			c.Tries = []state.Try{
				{N: 1, EndedAt: now.Add(-1800 * time.Millisecond), Cause: "connection reset", Wait: 500 * time.Millisecond},
				{N: 2, EndedAt: now.Add(-200 * time.Millisecond), Cause: "503", Status: 503, Code: "unavailable", Request: "req_b2", Wait: time.Second},
			}
		case i == 4:
			c.Phase, c.Attempt, c.Status, c.Ended, c.CanRetry = api.GaveUp, 3, 503, now, true
		default:
			c.Phase, c.Ended = api.Done, now.Add(-time.Second)
		}
		calls = append(calls, c)
	}
	return calls
}

func startActivity(t *testing.T, width, height int) *screenTest {
	t.Helper()
	m := sampleMail()
	m.activity = rowCalls(m.now)
	s := startTest(t, m, width, height)
	s.keys("!")
	m.took()
	return s
}

func TestActivityFrames(t *testing.T) {
	for _, size := range sizes {
		s := startActivity(t, size.width, size.height)
		golden(t, "activity-lines-"+size.name, s.frame())
		s.keys("enter", "j", "enter")
		golden(t, "activity-open-"+size.name, s.frame())
	}
}

func TestActivityHasOneLineAPurpose(t *testing.T) {
	s := startActivity(t, 100, 24)
	s.has("Activity  4 running · 1 waiting", "Loading 25 threads ▸", "3 running · 1 waits · next try in 0.8 s", "Sending to Grace")
	s.hasNot("Loading 1 thread")
	s.keys("enter")
	s.has("Loading 25 threads ▾", "Loading 1 thread")
	s.keys("enter")
	s.hasNot("Loading 1 thread")
}

func TestActivityActsOnLinesAndCalls(t *testing.T) {
	retried := "retry row04"
	for _, tt := range []struct {
		name, keys, want string
	}{
		{"cancel a line", "x", "stop row03; stop row00; stop row01; stop row02"},
		{"cancel a call", "enter j x", "stop row03"},
		{"cancel the next call", "enter j j x", "stop row00"},
		{"cancel all", "X", "stop all"},
		{"again for a line", "R", retried},
		{"again for a call that runs", "enter j R", ""},
		{"again for the call that failed", "enter j j j j j R", retried},
		{"cancel what has ended", "enter j j j j j x", ""},
		{"a single call", "j x", "stop send"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startActivity(t, 80, 40)
			s.keys(strings.Fields(strings.ReplaceAll(tt.keys, "R", firstKey(s.app.o.Keys, keymap.InActivity, keymap.Retry)))...)
			if got := s.mail.took(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestActivityCopies(t *testing.T) {
	var copied string
	m := sampleMail()
	m.activity = rowCalls(m.now)
	s := startTest(t, m, 80, 24, func(o *Options) { o.Copy = func(text string) error { copied = text; return nil } })
	s.keys("!", "y")
	s.has("Copied the details")
	if n := strings.Count(copied, "operation   threads.get"); n != 25 {
		t.Errorf("of 25 calls %d were copied", n)
	}
	s.keys("enter", "j", "y")
	for _, want := range []string{"connection reset", "waited 500 ms", "server busy (503)", "req_b2", "try 3 of 3  in 0.8 s"} {
		if !strings.Contains(copied, want) {
			t.Errorf("the copy lacks %q:\n%s", want, copied)
		}
	}
}

func TestActivityGoesBackStepByStep(t *testing.T) {
	s := startActivity(t, 80, 40)
	s.keys("enter", "j", "enter")
	s.has("operation   threads.get")
	s.keys("esc")
	s.hasNot("operation")
	s.has("Loading 1 thread")
	s.keys("esc")
	s.hasNot("Loading 1 thread")
	s.has("▌◷ Loading 25 threads")
	s.keys("esc")
	s.hasNot("Activity")
}

func TestActivityHoldsToTheCall(t *testing.T) {
	s := startActivity(t, 80, 40)
	s.keys("enter", "j", "j")
	before := s.app.screen().(*activity).cursor
	// The call ends and goes down among the others that have.
	for i := range s.mail.activity {
		if s.mail.activity[i].ID == before {
			s.mail.activity[i].Phase, s.mail.activity[i].Ended = api.Done, s.mail.now
		}
	}
	s.refresh()
	a := s.app.screen().(*activity)
	if a.cursor != before || a.at < 4 {
		t.Errorf("the cursor is on %s in row %d, not on %s", a.cursor, a.at, before)
	}
	s.mail.activity = nil
	s.refresh()
	s.keys("enter", "x", "y", "j", "esc")
	s.hasNot("Activity")
}

func TestActivityOfEndedLines(t *testing.T) {
	m := sampleMail()
	call := func(id string, change func(*state.Call)) state.Call {
		c := state.Call{ID: id, Line: "l/1", LineTitle: "Loading 2 threads", Title: "Loading 1 thread", Phase: api.Done, Attempt: 1, Limit: 3, Began: m.now.Add(-time.Second), Ended: m.now}
		change(&c)
		return c
	}
	none := func(*state.Call) {}
	stopped := func(c *state.Call) { c.Phase, c.Stopped = api.Cancelled, true }
	failed := func(c *state.Call) { c.Phase = api.GaveUp; c.CanRetry = true }
	for _, tt := range []struct {
		a, b func(*state.Call)
		want string
	}{
		{none, none, "✓ Loading 2 threads ▸               2 done · 1.0 s"},
		{none, stopped, "✓ Loading 2 threads ▸               1 stopped · 1 done · 1.0 s"},
		{stopped, stopped, "⦸ Loading 2 threads ▸               2 stopped"},
		{failed, none, "✗ Loading 2 threads ▸               1 failed · 1 done · r tries again"},
	} {
		m.activity = []state.Call{call("a", tt.a), call("b", tt.b)}
		s := startTest(t, m, 80, 24)
		s.keys("!")
		s.has(tt.want)
	}
}
