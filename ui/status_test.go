package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

func newsOf(t *testing.T, st state.Status, now time.Time) newsInput {
	t.Helper()
	keys, err := keymap.New("", nil)
	if err != nil {
		t.Fatal(err)
	}
	return newsInput{
		Status: st, Now: now, Zone: time.UTC, Theme: NewTheme("dark", ColorsNone, false), Esc: true,
		Key: func(a keymap.Action) string { return firstKey(keys, keymap.InThreads, a) },
	}
}

func TestNewsWords(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)
	call := func(title string, foreground bool, change func(*state.Call)) state.Status {
		c := state.Call{ID: "c", Title: title, Phase: api.Started, Attempt: 1, Limit: 3, Began: now.Add(-500 * time.Millisecond), Foreground: foreground, Stoppable: foreground}
		change(&c)
		return state.Status{Calls: []state.Call{c}, Running: 1}
	}
	wait := func(d time.Duration, cause string, status int) func(*state.Call) {
		return func(c *state.Call) {
			c.Phase, c.Attempt, c.Until, c.Wait, c.Cause, c.Status = api.Waiting, 2, now.Add(d), 20*time.Second, cause, status
		}
	}
	result := func(n state.Notice) state.Status {
		n.Kind, n.At = state.NoticeResult, now
		return state.Status{Results: []state.Notice{n}}
	}
	failure := func(n state.Notice) state.Status {
		n.Kind, n.At = state.NoticeFailure, now.Add(-time.Minute)
		return state.Status{Failures: []state.Notice{n}}
	}
	for _, tt := range []struct {
		name string
		st   state.Status
		want string
	}{
		{"nothing", state.Status{}, ""},
		{"runs", call("Loading inbox", true, func(*state.Call) {}), "Loading inbox…"},
		{"runs, too short to tell", call("Loading inbox", true, func(c *state.Call) { c.Began = now.Add(-299 * time.Millisecond) }), ""},
		{"runs long", call("Loading inbox", true, func(c *state.Call) { c.Began = now.Add(-2 * time.Second) }), "Loading inbox… · esc stops"},
		{"runs very long", call("Loading inbox", true, func(c *state.Call) { c.Began = now.Add(-12500 * time.Millisecond) }), "Loading inbox… · esc stops · 12 s"},
		{"a change runs", call("Starring “Dinner?”", true, func(c *state.Call) { c.Stoppable = false; c.Began = now.Add(-2 * time.Second) }), "Starring “Dinner?”…"},
		{"by itself, several", state.Status{Calls: []state.Call{
			{Op: "threads.counts", Title: "Counting messages", Phase: api.Started, Began: now.Add(-time.Second)},
			{Op: "threads.get", Title: "Loading 9 threads", Phase: api.Waiting, Attempt: 2, Limit: 3, Status: 503, Until: now.Add(time.Second), Began: now.Add(-time.Second)},
		}}, "Fetching mail · server busy (503) · try 2 of 3 in 1.0 s" + strings.Repeat(" ", 55) + "! 1 more"},
		{"runs again", call("Loading inbox", true, func(c *state.Call) { c.Attempt = 2 }), "Loading inbox · try 2 of 3"},
		{"waits", call("Loading inbox", true, wait(1400*time.Millisecond, "503", 503)), "Loading inbox · server busy (503) · try 2 of 3 in 1.4 s · esc stops"},
		{"asked to wait", call("Sending to Grace", true, wait(19*time.Second, "Retry-After", 503)), "Sending to Grace · server asks for 20 s · try 2 of 3 in 19 s · esc stops"},
		{"network", call("Loading inbox", true, wait(700*time.Millisecond, "connection reset", 0)), "Loading inbox · connection reset · try 2 of 3 in 0.7 s · esc stops"},
		{"by itself", call("Loading 25 rows", false, wait(700*time.Millisecond, "timeout", 0)), "Loading 25 rows · no answer in time · try 2 of 3 in 0.7 s"},
		{
			"asked too much", failure(state.Notice{Text: "Loading inbox stopped · server asks for 3 min", Retry: true, RetryTo: "tries again"}),
			"Loading inbox stopped · server asks for 3 min · R tries again · ctrl+x dismisses",
		},
		{"rate limited", state.Status{LimitedUntil: now.Add(time.Minute)}, "Too many requests · slowed down · R tries again · goes on in 60 s"},
		{"told how long to wait", state.Status{LimitedUntil: now.Add(time.Minute), AskedUntil: now.Add(time.Minute)}, "Too many requests · the server asked to wait · goes on in 60 s"},
		{
			"offline",
			state.Status{Offline: true, AsOf: now.Add(-29 * time.Minute), NextTry: now.Add(24 * time.Second)},
			"No connection · showing mail from 09:12 · trying again in 24 s",
		},
		{"undo window", result(state.Notice{Text: "Sending to Grace", Undo: true, UndoTo: "takes it back", Until: now.Add(9 * time.Second)}), "Sending to Grace in 9 s · z takes it back"},
		{"sent", result(state.Notice{Text: "Sent to Grace"}), "Sent to Grace"},
		{"can be undone", result(state.Notice{Text: "Trashed 3 threads", Undo: true, UndoTo: "brings them back"}), "Trashed 3 threads · z brings them back"},
		{"hostile", result(state.Notice{Text: "Sent to \x1b]0;x\x07Eve\x1b[2J\nnew"}), "Sent to Eve new"},
		{"outbox", state.Status{Outbox: 2, Unsent: 1}, "2 messages wait in the outbox · 1 change not on the server yet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := newsOf(t, tt.st, now)
			got := strings.TrimRight(ansi.Strip(news(in, 120)), " ")
			if strings.TrimSpace(got) != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			for width := 10; width < 120; width++ {
				line := ansi.Strip(news(in, width))
				if w := cells.Width(line); w > width {
					t.Fatalf("%d cells in %d: %q", w, width, line)
				}
			}
		})
	}
}

func TestNewsIsCutByWholeParts(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)
	c := state.Call{
		ID: "c", Title: "Loading inbox", Phase: api.Waiting, Attempt: 2, Limit: 3, Began: now.Add(-time.Second), Foreground: true, Stoppable: true,
		Until: now.Add(1400 * time.Millisecond), Status: 503,
	}
	in := newsOf(t, state.Status{Calls: []state.Call{c}}, now)
	for width, want := range map[int]string{
		80: "Loading inbox · server busy (503) · try 2 of 3 in 1.4 s · esc stops",
		60: "Loading inbox · busy · try 2 of 3 in 1.4 s · esc stops",
		45: "Loading inbox · busy · try 2 of 3 in 1.4 s",
		24: "Loading inbox",
	} {
		if got := strings.TrimSpace(ansi.Strip(news(in, width))); got != want {
			t.Errorf("%d: got %q, want %q", width, got, want)
		}
	}
}

// Why something failed stays in the line, if need be cut; the keys go before it.
func TestNewsKeepsTheReason(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)
	fail := state.Notice{ID: 1, Kind: state.NoticeFailure, Retry: true, Text: "Loading inbox failed · the answer is larger than 64 MiB (req_fault_1)", At: now}
	in := newsOf(t, state.Status{Failures: []state.Notice{fail}}, now)
	for width, want := range map[int]string{
		120: "Loading inbox failed · the answer is larger than 64 MiB (req_fault_1) · R tries again · ctrl+x dismisses",
		100: "Loading inbox failed · the answer is larger than 64 MiB · R tries again · ctrl+x dismisses",
		80:  "Loading inbox failed · the answer is larger than 64 MiB · R tries again",
		60:  "Loading inbox failed · the answer is larger than 64 MiB",
		50:  "Loading inbox failed · the answer is larger…",
		40:  "Loading inbox failed · the answer is…",
	} {
		if got := strings.TrimSpace(ansi.Strip(news(in, width))); got != want {
			t.Errorf("%d: got %q, want %q", width, got, want)
		}
	}
}

func TestNewsOrder(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)
	fail := state.Notice{ID: 1, Kind: state.NoticeFailure, Text: "Could not archive “Dinner?”: permission denied (req_9c1) · it is back in place", At: now.Add(-time.Minute)}
	done := state.Notice{ID: 2, Kind: state.NoticeResult, Text: "Archived", Undo: true, At: now.Add(-2 * time.Minute)}
	run := state.Call{ID: "c", Title: "Loading inbox", Began: now.Add(-2 * time.Minute), Foreground: true, Stoppable: true}
	first := func(st state.Status) string {
		return strings.TrimSpace(ansi.Strip(news(newsOf(t, st, now), 140)))
	}
	all := state.Status{Failures: []state.Notice{fail}, Results: []state.Notice{done}, Calls: []state.Call{run}}
	if got := first(all); !strings.HasPrefix(got, "Could not archive “Dinner?”: permission denied (req_9c1) · it is back in place") || !strings.HasSuffix(got, "! 1 more") {
		t.Errorf("a failure stands first: %q", got)
	}
	if got := first(state.Status{Failures: []state.Notice{fail}, Results: []state.Notice{done}}); strings.Contains(got, "more") {
		t.Errorf("what is said and done is not to be seen among the calls: %q", got)
	}
	done.At = now
	all.Results[0] = done
	if got := first(all); !strings.HasPrefix(got, "Archived · z undoes it") {
		t.Errorf("what is newer than the failure is shown for its few seconds: %q", got)
	}
	all.Failures = nil
	if got := first(all); !strings.HasPrefix(got, "Loading inbox… · esc stops") {
		t.Errorf("what runs stands before results: %q", got)
	}
	if stoppable(newsOf(t, all, now), 140) != "c" {
		t.Error("the line says that esc stops it")
	}
	all.Failures = []state.Notice{fail}
	if stoppable(newsOf(t, all, now), 140) != "" {
		t.Error("esc stops only what the line in sight says")
	}
}

func TestNewsTicksOnlyWhileSomethingCounts(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)
	every := func(st state.Status) time.Duration { return newsEvery(newsOf(t, st, now)) }
	if d := every(state.Status{Outbox: 3}); d != 0 {
		t.Errorf("nothing counts, but it ticks every %v", d)
	}
	if d := every(state.Status{Calls: []state.Call{{Began: now.Add(-100 * time.Millisecond), Foreground: true}}}); d != 200*time.Millisecond {
		t.Errorf("a young call is to be shown at 300 ms, tick in %v", d)
	}
	if d := every(state.Status{Calls: []state.Call{{Began: now.Add(-time.Minute), Until: now.Add(2 * time.Second)}}}); d != 100*time.Millisecond {
		t.Errorf("tenths count down every %v", d)
	}
	if d := every(state.Status{Offline: true, NextTry: now.Add(90500 * time.Millisecond)}); d != 500*time.Millisecond {
		t.Errorf("whole seconds change in %v", d)
	}
}

// A long name leaves room for why a send waits, when it goes on and how to stop it.
func TestNewsCutsTheTitleBeforeTheReason(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)
	send := state.Call{
		ID: "c", Op: "emails.send", Title: "Sending to grace.hall@example.org", Phase: api.Waiting, Attempt: 3, Limit: 3,
		Began: now.Add(-time.Second), Foreground: true, Stoppable: true, Until: now.Add(500 * time.Millisecond), Status: 503,
	}
	other := state.Call{ID: "d", Title: "Counting messages", Began: now.Add(-time.Second)}
	in := newsOf(t, state.Status{Calls: []state.Call{send, other}}, now)
	for width, want := range map[int]string{
		120: "Sending to grace.hall@example.org · server busy (503) · try 3 of 3 in 0.5 s · esc stops",
		80:  "Sending to grace.hall@exam… · busy · try 3 of 3 in 0.5 s · esc stops",
		70:  "Sending to grace… · busy · try 3 of 3 in 0.5 s · esc stops",
		60:  "Sending to grace.h… · busy · try 3 of 3 in 0.5 s",
	} {
		got, _, _ := strings.Cut(ansi.Strip(news(in, width)), "  ")
		if got = strings.TrimSpace(got); got != want {
			t.Errorf("%d: got %q, want %q", width, got, want)
		}
		if stops := strings.Contains(want, "esc stops"); (stoppable(in, width) == "c") != stops {
			t.Errorf("%d: esc stops %v, the line says %v", width, !stops, stops)
		}
	}
}

func TestFlashYieldsToWhatIsToSee(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("ctrl+r")
	s.has("Looking for new mail")
	m.status = state.Status{Calls: []state.Call{{Title: "Checking inbox", Began: m.now.Add(-time.Second), Until: m.now.Add(time.Second), Status: 503, Attempt: 2, Limit: 3}}}
	s.refresh()
	s.has("Checking inbox · server busy (503)")
	s.hasNot("Looking for new mail")
}

func TestOneKeyDismissesEveryFailure(t *testing.T) {
	m := sampleMail()
	m.status = state.Status{Failures: []state.Notice{
		{ID: 3, Kind: state.NoticeFailure, Text: "Loading sent failed"}, {ID: 2, Kind: state.NoticeFailure, Text: "Loading inbox failed"},
	}}
	s := startTest(t, m, 80, 24)
	s.has("ctrl+x dismisses all 2")
	s.keys("ctrl+x")
	if got := m.took(); got != "dismiss 3; dismiss 2" {
		t.Errorf("got %q", got)
	}
}

func TestEscTakesNoChangeBack(t *testing.T) {
	m := sampleMail()
	s := startTest(t, m, 80, 24)
	s.keys("enter")
	m.status = state.Status{Calls: []state.Call{{ID: "star", Title: "Starring “Dinner?”", Foreground: true, Began: m.now.Add(-5 * time.Second)}}}
	s.refresh()
	m.took()
	s.keys("esc")
	if got := m.took(); got != "" || s.app.focus != paneThreads {
		t.Errorf("esc in the reader did %q and stayed in pane %d", got, s.app.focus)
	}
	m.status.Calls[0] = state.Call{ID: "list", Title: "Loading inbox", Foreground: true, Stoppable: true, Began: m.now.Add(-5 * time.Second)}
	for _, open := range []string{"c", "?", "!"} { // screens that do not wait for it
		s.keys(open)
		m.took()
		s.keys("esc")
		if got := m.took(); strings.Contains(got, "stop") || len(s.app.screens) != 0 {
			t.Errorf("esc after %s did %q", open, got)
		}
	}
	s.keys("esc")
	if got := m.took(); got != "stop list" {
		t.Errorf("esc in the list did %q", got)
	}
}
