package state

import (
	"net/http"
	"testing"
	"time"
)

// Whoever wishes it, and however: a message is not tried before the time that the server named.
func TestNothingCutsRetryAfterShort(t *testing.T) {
	for name, wish := range map[string]func(*world, EntryID){
		"send now":         func(w *world, id EntryID) { w.mail.SendNow(id) },
		"held and send":    func(w *world, id EntryID) { w.mail.Hold(id); w.mail.SendNow(id) },
		"look for mail":    func(w *world, _ EntryID) { w.mail.Refresh() },
		"take back":        func(w *world, id EntryID) { w.mail.TakeBack(id) },
		"restart":          func(w *world, _ EntryID) { w.restart() },
		"another's answer": func(w *world, _ EntryID) { w.mail.OpenView(View{Folder: "archive"}) },
		"another teapost": func(w *world, id EntryID) {
			w.other(func(p *process) { p.mail.SendNow(id); w.pass(3 * time.Second) })
		},
	} {
		for _, step := range []string{"503:retry-after=300", "429:retry-after=300"} {
			t.Run(name+" "+step[:3], func(t *testing.T) {
				inWorld(t, "POST /emails: "+step+", ok", func(w *world) {
					began := time.Now()
					id := w.mail.Send(w.draft("asked"), SendOptions{Undo: 20 * time.Second})
					w.untilState(id, EntryWaiting)
					wish(w, id)
					w.until("tried again", func() bool { return len(w.sends()) == 2 })
					if d := w.sends()[1].At.Sub(began); d < 5*time.Minute || d > 7*time.Minute {
						t.Errorf("came back after %v, asked for 5 min", d)
					}
					w.until("done", func() bool { s := w.entry(id).State; return s == EntrySent || s == EntryCancelled })
					w.oneKey()
				})
			})
		}
	}
}

func TestSendNowSaysUntilWhenTheServerAskedToWait(t *testing.T) {
	inWorld(t, "POST /emails: 503:retry-after=300, ok", func(w *world) {
		id := w.mail.Send(w.draft("asked"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.mail.SendNow(id)
		until := time.Now().Add(5 * time.Minute)
		if e := w.entry(id); e.AskedUntil.Sub(until).Abs() > time.Second || !e.Until.Equal(e.AskedUntil) || e.State != EntryWaiting {
			t.Errorf("the entry is %+v", e)
		}
		if !w.hasNotice("the server asked to wait until " + until.Format("15:04")) {
			t.Errorf("nothing says until when\n%s", w.describe())
		}
	})
}

// A change obeys what the server named, too: when the connection comes back, and at the next start.
func TestChangeObeysRetryAfter(t *testing.T) {
	for name, wish := range map[string]func(*world){
		"look for mail": func(w *world) { w.mail.Refresh() },
		"restart":       func(w *world) { w.restart() },
		"the connection is back": func(w *world) {
			w.off.set(true)
			w.mail.Refresh()
			w.until("offline", func() bool { return w.mail.Status().Offline })
			w.off.set(false)
			w.mail.Refresh()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "PATCH /threads/*: 503:retry-after=300, ok", func(w *world) {
				id := w.arrive("Dinner?", "at seven")
				w.load()
				began := time.Now()
				w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
				w.until("later", func() bool { return w.hasNotice("later") })
				wish(w)
				w.settled()
				if d := time.Since(began); d < 5*time.Minute || d > 7*time.Minute {
					t.Errorf("settled after %v, asked for 5 min", d)
				}
			})
		})
	}
}

// What the person wanted in vain is asked as soon as the server's time is over, not at the next look for mail.
func TestWhatWasHeldBackGoesWhenTheTimeIsOver(t *testing.T) {
	inWorld(t, "GET /threads: 429:retry-after=61, ok", func(w *world) {
		w.until("limited", func() bool { return !w.mail.Status().LimitedUntil.IsZero() })
		began := time.Now()
		w.pass(55 * time.Second)
		w.mail.Refresh()
		w.until("loaded", func() bool { return w.mail.List(View{}).Known })
		if d := time.Since(began); d < time.Minute || d > 63*time.Second {
			t.Errorf("loaded after %v, asked for 61 s", d)
		}
	})
}

// A list that was answered with “too many requests” is not asked for again at once, by whatever is shown first, comes into
// focus or comes back; the person may insist unless the server named a time. Then it comes by itself.
func TestListIsNotAskedForAgainAtOnce(t *testing.T) {
	at := func(w *world) (all []time.Duration) {
		for _, r := range w.player.Requests() {
			if r.Method == http.MethodGet && r.Path == "/threads" {
				all = append(all, time.Since(r.At))
			}
		}
		return all
	}
	for step, pause := range map[string]time.Duration{"429": time.Minute, "429:retry-after=300": 5 * time.Minute} {
		t.Run(step, func(t *testing.T) {
			inWorld(t, "GET /threads: "+step+", ok", func(w *world) {
				w.arrive("First", "hello")
				w.until("limited", func() bool { return !w.mail.Status().LimitedUntil.IsZero() })
				w.mail.OpenView(View{})
				w.mail.OpenView(View{Folder: "archive"})
				w.mail.OpenView(View{})
				w.mail.SetFocus(false)
				w.pass(6 * time.Second)
				w.mail.SetFocus(true)
				w.off.set(true)
				w.mail.Complete("gr", 5)
				w.pass(20 * time.Second)
				w.off.set(false)
				w.pass(25 * time.Second)
				if n := len(at(w)); n != 1 {
					t.Fatalf("%d requests: %v ago", n, at(w))
				}
				if l := w.mail.List(View{}); l.Known || l.Problem == "" {
					t.Errorf("the list says %+v", l)
				}
				w.untilWithin(pause+30*time.Second, "loaded by itself", func() bool { return len(w.inbox()) == 1 })
				if all := at(w); all[0]-all[1] < pause {
					t.Errorf("asked again after %v", all[0]-all[1])
				}
			})
		})
		t.Run(step+" and r", func(t *testing.T) {
			inWorld(t, "GET /threads: "+step+", ok", func(w *world) {
				w.until("limited", func() bool { return !w.mail.Status().LimitedUntil.IsZero() })
				w.mail.Refresh()
				w.pass(time.Second)
				asked := pause > time.Minute
				if n := len(at(w)); n != 1 && asked || n != 2 && !asked {
					t.Errorf("%d requests", n)
				}
				if w.hasNotice("the server asked to wait until") != asked {
					t.Errorf("news: %s", w.describe())
				}
			})
		})
	}
}
