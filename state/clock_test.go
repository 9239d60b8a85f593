package state

import (
	"net/http"
	"testing"
	"time"
)

// What waits for a time that this program chose itself goes on within half a minute after the computer slept for hours, and
// no later than it would have when somebody sets the clock back.
func TestWaitsOverAJumpOfTheClock(t *testing.T) {
	type waits struct {
		script string
		wait   time.Duration // the longest that it waits without a jump
		begin  func(w *world) (over func() bool)
	}
	send := func(w *world) func() bool {
		id := w.mail.Send(w.draft("patient"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		return func() bool { return w.entry(id).State == EntrySent }
	}
	star := func(w *world) func() bool {
		id := w.arrive("Dinner?", "x")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
		w.until("later", func() bool { return w.hasNotice("later") })
		return func() bool { return w.mail.Status().Unsent == 0 }
	}
	for name, c := range map[string]waits{
		"a message, 503":         {"POST /emails: 503, 503, 503, ok", 20 * time.Second, send},
		"a message, Retry-After": {"POST /emails: 503:retry-after=120, ok", 2*time.Minute + 30*time.Second, send},
		"a message, 429":         {"POST /emails: 429:retry-after=120, ok", 2*time.Minute + 30*time.Second, send},
		"a change, 503":          {"PATCH /threads/*: 503, 503, 503, ok", 20 * time.Second, star},
		"a change, Retry-After":  {"PATCH /threads/*: 503:retry-after=120, ok", 2*time.Minute + 30*time.Second, star},
		"a list, too many requests": {"GET /threads: 429:retry-after=120, ok", 2*time.Minute + 30*time.Second, func(w *world) func() bool {
			w.until("limited", func() bool { return !w.mail.Status().LimitedUntil.IsZero() })
			return func() bool { return w.mail.List(View{}).Known }
		}},
		"the look for mail": {"ok", 80 * time.Second, func(w *world) func() bool {
			w.load2()
			id := w.arrive("New", "x")
			return func() bool { return w.shows(View{}, id) }
		}},
		"the connection": {"ok", 80 * time.Second, func(w *world) func() bool {
			w.off.set(true)
			w.load2()
			w.until("offline", func() bool { return w.mail.Status().Offline })
			w.off.set(false)
			return func() bool { return !w.mail.Status().Offline }
		}},
		"a draft for the server": {"ok", 5 * time.Second, func(w *world) func() bool {
			d := w.draft("typed")
			w.mail.EditDraft(d)
			return func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer }
		}},
		"a line of news": {"ok", 7 * time.Second, func(w *world) func() bool {
			id := w.arrive("Dinner?", "x")
			w.load()
			w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
			w.until("told", func() bool { return w.hasNotice("Starred") })
			return func() bool { return !w.hasNotice("Starred") }
		}},
		"what became of a message": {"ok", 20 * time.Second, func(w *world) func() bool {
			id := w.mail.Send(w.draft("hasty"), SendOptions{Undo: 10 * time.Second})
			w.untilState(id, EntryAccepted)
			return func() bool { return w.entry(id).State == EntrySent }
		}},
		"the next owner": {"ok", 2 * time.Second, func(w *world) func() bool {
			second := w.process(w.options)
			w.pass(5 * time.Second)
			w.close()
			w.mail = second.mail
			return func() bool { return w.mail.Status().Owner }
		}},
	} {
		for _, jump := range []time.Duration{8 * time.Hour, -time.Hour, -8 * time.Hour} {
			t.Run(name+" "+jump.String(), func(t *testing.T) {
				inWorld(t, "ok", func(w *world) {
					w.close()
					if err := w.player.Set(c.script); err != nil {
						t.Fatal(err)
					}
					var clk clock
					w.options.Now = clk.now
					w.open()
					over := c.begin(w)
					clk.jump(jump)
					limit := c.wait + 2*time.Second
					if jump > 0 {
						limit = min(limit, 35*time.Second)
					}
					w.untilWithin(limit, "over", over)
					w.oneKey()
				})
			})
		}
	}
}

// What waits for a time that the person named comes at that time of the clock, whichever way it got there.
func TestTimesThatThePersonNamed(t *testing.T) {
	for name, jump := range map[string]time.Duration{"slept through it": 8 * time.Hour, "set back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			var clk clock
			inWorldAt(t, "ok", clk.now, func(w *world) {
				w.close()
				w.poke = true
				w.options.Now = clk.now
				w.open()
				snoozed := w.arrive("Sleeps", "x")
				w.load()
				at := clk.now().Add(2 * time.Hour)
				w.mail.Do([]ThreadID{snoozed}, Change{Kind: ChangeSnooze, Until: at})
				later := w.mail.Send(w.draft("later"), SendOptions{At: at})
				w.untilState(later, EntryAccepted)
				w.settled()
				w.off.set(true) // this one does not reach the server before its time
				overdue := w.mail.Send(w.draft("overdue"), SendOptions{At: at})
				w.untilState(overdue, EntryWaiting)
				w.off.set(false)
				clk.jump(jump)
				begun := time.Now()
				limit := 2 * time.Minute // the server looks at the clock every 30 s, and is asked in growing pauses
				if jump < 0 {
					limit += at.Sub(clk.now())
				}
				w.untilWithin(limit, "the snoozed thread is back, the message is sent", func() bool {
					return w.shows(View{}, snoozed) && w.entry(later).State == EntrySent
				})
				if clk.now().Before(at) {
					t.Errorf("done %v before its time", at.Sub(clk.now()))
				}
				if jump < 0 && time.Since(begun) < 2*time.Hour+50*time.Minute {
					t.Errorf("done after %v", time.Since(begun))
				}
				if n := w.copies("later"); n != 1 {
					t.Errorf("%d copies", n)
				}
				w.pass(time.Minute)
				if n := w.copies("overdue"); n > 1 {
					t.Errorf("%d copies of what was scheduled without a connection", n)
				}
			})
		})
	}
}

// The window of an undo is over when its time is: after hours of sleep nothing offers to take the message back.
func TestUndoWindowOverASleep(t *testing.T) {
	var clk clock
	inWorldAt(t, "ok", clk.now, func(w *world) {
		w.close()
		w.options.Now = clk.now
		w.open()
		id := w.mail.Send(w.draft("hasty"), SendOptions{Undo: time.Minute})
		w.untilState(id, EntryAccepted)
		clk.jump(8 * time.Hour)
		if w.entry(id).CanTakeBack {
			t.Error("it can be taken back hours later")
		}
		w.untilWithin(2*time.Minute, "sent", func() bool { return w.entry(id).State == EntrySent })
		if w.hasNotice("Sending to") {
			t.Errorf("still offered\n%s", w.describe())
		}
	})
}

// What a change was asked to wait for does not grow by what the clock was set back between two starts.
func TestChangeWhenTheClockWasSetBackBetweenTwoStarts(t *testing.T) {
	inWorld(t, "PATCH /threads/*: 503:retry-after=120, ok", func(w *world) {
		w.close()
		var clk clock
		w.options.Now = clk.now
		w.open()
		id := w.arrive("Dinner?", "x")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
		w.until("later", func() bool { return w.hasNotice("later") })
		w.close()
		clk.jump(-24 * time.Hour)
		w.open()
		w.untilWithin(5*time.Minute, "settled", func() bool { return w.mail.Status().Unsent == 0 })
	})
}

// A conversation is checked again when it is opened, also after the clock was set back.
func TestConversationIsCheckedAfterTheClockWasSetBack(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.close()
		var clk clock
		w.options.Now = clk.now
		w.open()
		id := w.arrive("Dinner?", "x")
		w.load()
		clk.jump(-time.Hour)
		w.pass(20 * time.Second)
		before := w.player.Count(http.MethodGet, "/threads/"+string(id))
		w.mail.OpenThread(id)
		w.pass(time.Second)
		if w.player.Count(http.MethodGet, "/threads/"+string(id)) == before {
			t.Error("it is taken for new")
		}
	})
}
