package state

import (
	"strconv"
	"testing"
	"time"
)

func TestCallsOfOnePurposeShareALine(t *testing.T) {
	inWorld(t, "GET /threads/counts: ok, ...; GET /threads/*: 503, 503, ok", func(w *world) {
		w.arrive("One", "text")
		w.arrive("Two", "text")
		w.arrive("Three", "text")
		w.load()
		w.until("rows", func() bool { return w.mail.Status().Running == 0 })
		var rows []Call
		retried := false
		for _, c := range w.mail.Activity() {
			if c.Op == "threads.get" {
				rows = append(rows, c)
				for i, try := range c.Tries {
					retried = true
					if try.N != i+1 || try.Status != 503 || try.Wait <= 0 || try.EndedAt.IsZero() {
						t.Errorf("the try before a wait is told as %+v", try)
					}
				}
				if len(c.Tries) != c.Attempt-1 {
					t.Errorf("%d attempts and %d tries that failed", c.Attempt, len(c.Tries))
				}
			} else if c.LineTitle != c.Title || c.Line == "" {
				t.Errorf("%s: a line of its own is named %q %q", c.Op, c.Line, c.LineTitle)
			}
		}
		lines := map[string][]Call{}
		for _, c := range rows {
			lines[c.Line] = append(lines[c.Line], c)
		}
		most := 0
		for _, calls := range lines {
			most = max(most, len(calls))
			for _, c := range calls {
				if want := "Loading " + strconv.Itoa(len(calls)) + " threads"; len(calls) > 1 && c.LineTitle != want {
					t.Errorf("a line of %d calls is named %q, want %q", len(calls), c.LineTitle, want)
				}
			}
		}
		if most < 3 || !retried {
			t.Fatalf("at most %d rows share a line, retried %v", most, retried)
		}

		// What is asked for later, when nothing of the kind runs any more, is another line.
		w.pass(time.Minute)
		w.arrive("Four", "text")
		w.mail.Refresh()
		w.until("the new row", func() bool {
			for _, c := range w.mail.Activity() {
				if c.Op == "threads.get" && lines[c.Line] == nil && !c.Running() {
					return true
				}
			}
			return false
		})
	})
}
