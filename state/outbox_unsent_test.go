package state

import (
	"testing"
	"time"
)

// A message that never had a connection has not been sent: it may be opened, dropped, held and taken back, offline too.
func TestUnsentMessageIsFree(t *testing.T) {
	for name, act := range map[string]func(w *world, id EntryID){
		"edit": func(w *world, id EntryID) {
			d, ok := w.mail.EditEntry(id)
			if !ok || d.Subject != "edit" {
				w.t.Errorf("opened %+v, %v", d, ok)
			}
		},
		"drop": func(w *world, id EntryID) {
			w.mail.Drop(id)
			w.until("dropped", func() bool { return w.hasNotice("Dropped “drop”") })
		},
		"back": func(w *world, id EntryID) {
			w.mail.TakeBack(id)
			w.until("back", func() bool { return w.hasNotice("Taken back: “back”") && len(w.mail.Drafts()) == 1 })
		},
		"undo": func(w *world, id EntryID) {
			w.mail.Undo()
			w.until("back", func() bool { return w.hasNotice("Taken back: “undo”") })
		},
		"hold": func(w *world, id EntryID) {
			w.mail.Hold(id)
			if e := w.entry(id); e.State != EntryHeld || !e.CanEdit || !e.CanDrop {
				w.t.Errorf("held it is %+v", e)
			}
			w.mail.Drop(id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "ok", func(w *world) {
				w.off.set(true)
				id := w.mail.Send(w.draft(name), SendOptions{Undo: -1})
				w.untilState(id, EntryWaiting)
				if e := w.entry(id); !e.CanEdit || !e.CanDrop || !e.CanTakeBack || e.Why != "connection refused" {
					t.Fatalf("waiting it is %+v", e)
				}
				act(w, id)
				w.pass(time.Second)
				w.off.set(false)
				w.pass(time.Hour)
				if n := w.copies(name); n != 0 {
					t.Errorf("%d copies went out", n)
				}
			})
		})
	}
}

// It goes by itself all the same, and one that was stopped in between stays free.
func TestUnsentMessageGoes(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.off.set(true)
		id := w.mail.Send(w.draft("goes"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.restart()
		w.until("still free", func() bool { return w.entry(id).State == EntryWaiting && w.entry(id).CanEdit })
		w.off.set(false)
		w.untilState(id, EntrySent)
		if n := w.copies("goes"); n != 1 {
			t.Errorf("%d copies", n)
		}
		w.off.set(true)
		id = w.mail.Send(w.draft("stopped"), SendOptions{Undo: -1})
		w.until("between tries", func() bool { c, _ := w.line("Sending to Grace"); return !c.Until.IsZero() })
		if c, _ := w.line("Sending to Grace"); !w.mail.StopLine(c.ID) {
			t.Fatal("nothing to stop")
		}
		w.untilState(id, EntryHeld)
		if e := w.entry(id); !e.CanEdit || !e.CanDrop {
			t.Errorf("stopped it is %+v", e)
		}
	})
}

// Any attempt that had a connection makes its fate unknown, whatever those before and after it were.
func TestOneConnectionMakesItUnknown(t *testing.T) {
	for name, play := range map[string]struct{ refused, sends int }{
		"first":            {0, 1},
		"between refusals": {1, 1},
		"in a call before": {0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "POST /emails: reset:after, reset:read, reset:read, ok", func(w *world) {
				w.until("loaded", func() bool { return len(w.mail.Status().Calls) == 0 })
				w.off.refuse(play.refused)
				id := w.mail.Send(w.draft("maybe"), SendOptions{})
				w.until("some left", func() bool { return len(w.sends()) == play.sends })
				w.off.set(true)
				w.pass(2 * time.Minute) // more calls find no connection
				w.untilState(id, EntryWaiting)
				if e := w.entry(id); e.CanEdit || e.CanDrop {
					t.Errorf("it may have arrived, and is %+v", e)
				}
				w.off.set(false)
				w.untilState(id, EntrySent)
				if n := w.copies("maybe"); n != 1 {
					t.Errorf("%d copies", n)
				}
			})
		})
	}
}

// A death while nobody knows yet whether there will be a connection leaves it unknown.
func TestDeathBeforeARefusalIsUnknown(t *testing.T) {
	inWorld(t, "POST /emails: stall, ok", func(w *world) {
		id := w.mail.Send(w.draft("dead"), SendOptions{})
		w.until("tried", func() bool { return len(w.sends()) == 1 })
		w.kill()
		w.off.set(true)
		w.open()
		if e := w.entry(id); e.CanDrop || e.State != EntrySending && e.State != EntryUnknown {
			t.Errorf("after a death it is %+v", e)
		}
		w.pass(time.Minute)
		if e := w.entry(id); e.CanDrop {
			t.Errorf("after refused tries it is %+v", e)
		}
	})
}
