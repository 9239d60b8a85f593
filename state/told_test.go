package state

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Who wrote a message that another process sends is offered to take it back as well.
func TestUndoIsOfferedWhereTheMessageWasWritten(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.other(func(p *process) {
			d := p.mail.NewDraft("")
			d.To, d.Subject, d.Body = "grace@example.org", "over there", "text"
			id := p.mail.Send(d, SendOptions{Undo: 20 * time.Second})
			there := world{t: t, mail: p.mail}
			w.untilWithin(5*time.Second, "told there", func() bool { return there.hasNotice("Sending to grace@example.org") })
			if !p.mail.Undo() {
				t.Error("nothing to undo there")
			}
			w.until("taken back", func() bool { return there.hasNotice("Taken back") })
			if e := w.entry(id); e.State == EntrySent || w.copies("over there") != 0 {
				t.Errorf("taken back it is %+v", e)
			}
		})
	})
}

// After the first 429 nothing more is begun, though many rows were asked for.
func TestRowsStopAtTheFirst429(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		for i := range 40 {
			w.arrive("Thread "+strconv.Itoa(i), "text")
		}
		w.mail.SetVisible(View{}, 0, 30)
		w.load()
		w.until("quiet", func() bool { return w.mail.Status().Running == 0 })
		w.close()
		if err := w.player.Set("/*: 429:retry-after=120, ..."); err != nil {
			t.Fatal(err)
		}
		var n atomic.Int64
		next := w.off.next
		w.off.through(roundTrip(func(r *http.Request) (*http.Response, error) {
			n.Add(1)
			time.Sleep(50 * time.Millisecond)
			return next.RoundTrip(r)
		}))
		w.open()
		w.mail.SetVisible(View{}, 0, 30)
		w.pass(2 * time.Second)
		w.mail.OpenView(View{})
		w.pass(time.Minute)
		if n := n.Load(); n > 20 { // all that were begun before the first answer, and as many more
			t.Errorf("%d requests within a minute of a 429 that asked for two", n)
		}
	})
}

// When something new is in the mailbox, what was accepted is looked after: an answer to it must not stand beside “being delivered”.
func TestNewMailLooksAfterWhatWasAccepted(t *testing.T) {
	inWorld(t, "GET /emails/*: 503*9, ok", func(w *world) {
		w.arrive("Tea", "text")
		w.load()
		id := w.mail.Send(w.draft("asked"), SendOptions{Undo: 10 * time.Second})
		w.until("looked after in vain", func() bool { return strings.Count(w.gets(), "/emails/") == 9 && w.mail.Status().Running == 0 })
		if w.entry(id).State != EntryAccepted {
			t.Fatalf("it is %+v", w.entry(id))
		}
		w.arrive("Re: asked", "yes")
		w.mail.Refresh()
		w.untilWithin(2*time.Second, "known", func() bool { return w.entry(id).State == EntrySent })
	})
}

// gets are the paths that were read.
func (w *world) gets() string {
	var b strings.Builder
	for _, r := range w.player.Requests() {
		if r.Method == http.MethodGet {
			b.WriteString(r.Path + "\n")
		}
	}
	return b.String()
}

// What waits is told in plain words, without the server's numbers.
func TestLaterIsToldPlainly(t *testing.T) {
	inWorld(t, "PATCH /threads/*: 503, 503, 503, ok", func(w *world) {
		id := w.arrive("Tea", "text")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
		w.until("told", func() bool { return w.hasNotice("Starring “Tea” later by itself · server busy (503)") })
		if w.hasNotice("req_") {
			t.Errorf("news: %s", w.describe())
		}
	})
}
