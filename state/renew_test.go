package state

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// renewable has a mailbox whose credential can be asked for again, and counts how often it is. With other set there is
// another one.
type renewable struct {
	asked atomic.Int32
	other atomic.Bool
	slow  time.Duration
}

func (w *world) renewable() *renewable {
	w.t.Helper()
	r := &renewable{}
	next := w.client("oe_test_other")
	w.options.Renew = func(ctx context.Context) (*api.Client, string, error) {
		r.asked.Add(1)
		select {
		case <-time.After(r.slow):
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		}
		if !r.other.Load() {
			return nil, "", errors.New("there is no other one")
		}
		return next, "another origin", nil
	}
	return r
}

// A key that the server refuses is asked for again once, and with another one everything goes on as if nothing had been.
func TestRefusedKeyIsAskedForAgain(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Dinner?", "at seven")
		w.close()
		r := w.renewable()
		r.other.Store(true)
		r.slow = 3 * time.Second
		w.options.Origin = "test"
		w.open()
		w.load()
		d := w.draft("hello")
		if err := w.player.Set("PATCH /threads/*: 401, ok; POST /emails: 401, ok; GET /*: 401, ok; POST /drafts: 401, ok"); err != nil {
			t.Fatal(err)
		}
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
		w.mail.SaveDraft(d)
		w.mail.Refresh()
		w.pass(time.Second)
		if !w.inbox()[0].Starred {
			t.Error("the star is gone while the key is asked for")
		}
		w.settled()
		w.until("saved", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
		if n := r.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		e := w.mail.Send(d, SendOptions{Undo: -1})
		w.untilState(e, EntrySent)
		w.oneKey()
		if n := len(w.sends()); n != 2 {
			t.Errorf("%d sends", n)
		}
		if n := r.asked.Load(); n != 2 {
			t.Errorf("asked %d times", n)
		}
		if f := w.mail.Status().Failures; len(f) != 0 {
			t.Errorf("failures: %+v", f)
		}
	})
}

// Where there is no other key, nothing is asked again and again: not at every look for mail, only as the person says.
func TestKeyThatStaysRefusedIsAskedForOnce(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.close()
		r := w.renewable()
		w.open()
		w.load2()
		if err := w.player.Set("401, ..."); err != nil {
			t.Fatal(err)
		}
		e := w.mail.Send(w.draft("held"), SendOptions{Undo: -1})
		w.untilState(e, EntryHeld)
		w.pass(time.Hour)
		if n, sends := r.asked.Load(), len(w.sends()); n != 1 || sends != 1 {
			t.Errorf("asked %d times, %d sends", n, sends)
		}
		if !w.hasNotice("Held: “held”") {
			t.Errorf("not told\n%s", w.describe())
		}
		r.other.Store(true)
		if err := w.player.Set("POST /emails: 401, ok"); err != nil {
			t.Fatal(err)
		}
		w.mail.SendNow(e)
		w.untilState(e, EntrySent)
		w.oneKey()
	})
}

// A server that refuses every key for sending is not asked for ever, whatever the command gives.
func TestEveryKeyRefused(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.close()
		r := w.renewable()
		r.other.Store(true)
		w.open()
		if err := w.player.Set("POST /emails: 401, ...; ok"); err != nil {
			t.Fatal(err)
		}
		r.slow = 2 * time.Second
		e := w.mail.Send(w.draft("refused"), SendOptions{Undo: -1})
		for range 60 { // the other calls go through
			w.mail.OpenView(View{})
			w.pass(time.Second)
		}
		if n := len(w.sends()); n != 2 || w.entry(e).State != EntryHeld {
			t.Errorf("%d sends, %s", n, w.entry(e).State)
		}
	})
}

func TestStoppedAndClosedWhileTheKeyIsAskedFor(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.close()
		if err := w.player.Set("GET /threads: 401, ok; POST /emails: 401, ok"); err != nil {
			t.Fatal(err)
		}
		r := w.renewable()
		r.slow = time.Hour
		w.open()
		w.until("asked", func() bool { return r.asked.Load() == 1 })
		w.mail.esc()
		w.pass(time.Second)
		if w.mail.List(View{}).Loading {
			t.Error("esc does not stop the wait for the key")
		}
		e := w.mail.Send(w.draft("waits"), SendOptions{Undo: -1})
		w.until("tried", func() bool { return len(w.sends()) == 1 })
		w.pass(time.Second)
		began := time.Now()
		w.close()
		if d := time.Since(began); d > time.Second {
			t.Errorf("the end took %v", d)
		}
		w.options.Renew = nil
		w.open()
		w.untilState(e, EntrySent)
		w.oneKey()
		if n := w.player.Count(http.MethodPost, "/emails"); n != 2 {
			t.Errorf("%d sends", n)
		}
	})
}
