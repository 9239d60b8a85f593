package state

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// failures are the failures that are told now, the newest first.
func (w *world) failures() (texts []string) {
	for _, n := range w.mail.Status().Failures {
		texts = append(texts, n.Text)
	}
	return texts
}

// Of what fails again and again the newest is told, and nothing once it went well, whoever asked for it.
func TestOneFailureAPurpose(t *testing.T) {
	inWorld(t, "GET /threads: garbage, 400, garbage, 400, garbage, ok; GET /threads/*: ok", func(w *world) {
		w.until("told", func() bool { return len(w.failures()) == 1 })
		for range 4 {
			before := w.mail.Status().Failures[0]
			w.mail.RetryCall(w.mail.Activity()[0].ID)
			w.mail.Refresh()
			w.until("told anew", func() bool {
				f := w.mail.Status().Failures
				return len(f) > 0 && f[0].ID != before.ID
			})
			if f := w.failures(); len(f) != 1 || !strings.HasPrefix(f[0], "Loading inbox failed") {
				t.Fatalf("told: %q", f)
			}
		}
		w.untilWithin(time.Hour, "gone by itself", func() bool { return len(w.failures()) == 0 && w.mail.List(View{}).Known })
	})
}

// Different things that fail are told beside each other.
func TestFailuresOfDifferentThings(t *testing.T) {
	inWorld(t, "PATCH /threads/*: 403, 403, ok; GET /threads: ok", func(w *world) {
		a, b := w.arrive("Tea", "text"), w.arrive("Coffee", "text")
		w.load()
		star := func(id ThreadID) { w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar}) }
		star(a)
		star(b)
		w.until("both told", func() bool { return len(w.failures()) == 2 })
		star(a)
		w.until("one went", func() bool { return len(w.failures()) == 1 })
		if f := w.failures()[0]; !strings.Contains(f, "Coffee") {
			t.Errorf("left: %s", f)
		}
	})
}

// What becomes of a new message stands before failures that are older, for a while or until it went.
func TestNewSendIsToldOverOldFailures(t *testing.T) {
	for step, told := range map[string]string{
		"422":       "Not sent: “new”",
		"500*3":     "Not sent yet: “new” · server error (500)",
		"429":       "Not sent yet: “new” · too many requests",
		"garbage":   "Not sent yet: “new” · the answer was not understood",
		"200:empty": "Not sent yet: “new” · the answer was empty",
		"401":       "Held: “new”",
	} {
		t.Run(step, func(t *testing.T) {
			inWorld(t, fmt.Sprintf("POST /emails: 422, %s, ok", step), func(w *world) {
				old := w.mail.Send(w.draft("old"), SendOptions{})
				w.untilState(old, EntryFailed)
				w.pass(time.Second)
				w.mail.Send(w.draft("new"), SendOptions{})
				newest := func() string {
					s := w.mail.Status()
					var n Notice
					for _, o := range append(s.Failures, s.Results...) {
						if o.ID > n.ID {
							n = o
						}
					}
					return n.Text
				}
				w.untilWithin(time.Minute, told, func() bool { return strings.HasPrefix(newest(), told) })
			})
		})
	}
}
