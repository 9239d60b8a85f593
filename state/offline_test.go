package state

import (
	"net/http"
	"testing"
	"time"
)

// offlineWithin reports whether "No connection" is shown at any time within d.
func (w *world) offlineWithin(d time.Duration) bool {
	for range int(d / (100 * time.Millisecond)) {
		if w.mail.Status().Offline {
			return true
		}
		w.pass(100 * time.Millisecond)
	}
	return false
}

// Lost answers to one call while the others go through are no lost connection: what waits is said instead.
func TestLostAnswersAreNoLostConnection(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		act    func(w *world)
		told   string
	}{
		"a send": {
			"POST /emails: reset:after, reset:read, reset:read, reset:read, ...",
			func(w *world) { w.mail.Send(w.draft("lost"), SendOptions{}) },
			"Not sent yet: “lost” · connection reset · it waits in the outbox",
		},
		"a draft":  {"POST /drafts: reset:after, ...", func(w *world) { w.mail.SaveDraft(w.draft("lost")) }, "Draft: answer lost"},
		"a change": {"PATCH /threads/*: reset:read, ...", func(w *world) { w.mail.Do(w.ids(), Change{Kind: ChangeStar}) }, ""},
		"a list": {
			"GET /threads: reset, ...",
			func(w *world) { w.mail.Refresh() },
			"Loading inbox failed · connection reset",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "ok", func(w *world) {
				w.arrive("Tea", "text")
				w.load()
				w.until("quiet", func() bool { return w.mail.Status().Running == 0 })
				if err := w.player.Set(tt.script); err != nil {
					t.Fatal(err)
				}
				n := w.player.Count("", "")
				tt.act(w)
				if tt.told != "" {
					w.until("told", func() bool { return w.hasNotice(tt.told) })
				}
				if w.offlineWithin(5 * time.Minute) {
					t.Error("said to be without a connection")
				}
				if n := w.player.Count("", "") - n; n > 120 {
					t.Errorf("%d requests in five minutes", n)
				}
			})
		})
	}
}

func (w *world) ids() (ids []ThreadID) {
	for _, r := range w.mail.List(View{}).Rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// What finds no connection, or loses every answer, is without one; the first answer ends that.
func TestNoConnection(t *testing.T) {
	for name, cut := range map[string]func(w *world, back bool){
		"refused": func(w *world, back bool) { w.off.set(!back) },
		"every answer is lost": func(w *world, back bool) {
			script := "reset:read, ..."
			if back {
				script = "ok"
			}
			if err := w.player.Set(script); err != nil {
				w.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "ok", func(w *world) {
				w.arrive("Tea", "text")
				w.load()
				cut(w, false)
				id := w.mail.Send(w.draft("later"), SendOptions{Undo: -1})
				w.until("offline", func() bool { return w.mail.Status().Offline })
				w.mail.Do(w.ids(), Change{Kind: ChangeStar})
				w.pass(20 * time.Minute)
				if !w.mail.Status().Offline {
					t.Error("the connection is said to be back")
				}
				cut(w, true)
				w.untilWithin(30*time.Minute, "all there", func() bool { return w.entry(id).State == EntrySent && w.mail.Status().Unsent == 0 })
				if n := w.player.Count(http.MethodPost, "/emails"); w.copies("later") != 1 || w.mail.Status().Offline {
					t.Errorf("%d copies after %d tries", w.copies("later"), n)
				}
			})
		})
	}
}
