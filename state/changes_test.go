package state

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"
)

func (w *world) inbox() []Row { return w.mail.List(View{}).Rows }

func (w *world) shows(v View, id ThreadID) bool {
	for _, r := range w.mail.List(v).Rows {
		if r.ID == id {
			return true
		}
	}
	return false
}

func (w *world) load() {
	w.t.Helper()
	w.mail.Refresh()
	w.until("inbox with its rows", func() bool {
		l := w.mail.List(View{})
		for _, r := range l.Rows {
			if !r.Filled {
				return false
			}
		}
		return l.Known && !l.Loading && len(l.Rows) > 0
	})
}

func (w *world) settled() {
	w.t.Helper()
	w.until("everything is on the server", func() bool { return w.mail.Status().Unsent == 0 })
}

func TestRowsAreFilledBehindTheIDs(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.arrive("First", "hello there")
		w.load()
		r := w.inbox()[0]
		if r.Subject != "First" || r.From.Name != "Grace Hall" || !r.Unread || r.Snippet == "" || r.At.IsZero() {
			t.Errorf("row %+v", r)
		}
		f := w.mail.Folders()
		if f[0].Role != RoleInbox {
			t.Errorf("the first folder is %v", f[0])
		}
	})
}

func TestArchiveShowsAtOnceAndUndoBringsBack(t *testing.T) {
	inWorld(t, "PATCH /threads/*: delay:5s, ok", func(w *world) {
		id := w.arrive("Dinner?", "Sunday?")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeArchive})
		if w.shows(View{}, id) {
			t.Error("still in the inbox right after the key")
		}
		if !w.hasNotice("Archived “Dinner?”") {
			t.Errorf("news: %s", w.describe())
		}
		w.settled()
		w.load2()
		if w.shows(View{}, id) {
			t.Error("back in the inbox after the server's answer")
		}
		if !w.mail.Undo() || !w.shows(View{}, id) {
			t.Error("undo does not bring it back at once")
		}
		w.settled()
		w.load()
		if !w.shows(View{}, id) {
			t.Error("not in the inbox after the undo was settled")
		}
	})
}

// load2 refreshes without wanting rows.
func (w *world) load2() {
	w.t.Helper()
	w.mail.Refresh()
	w.until("refreshed", func() bool { return !w.mail.List(View{}).Loading })
}

// The line of a send offers to take it back after a restart too.
func TestUndoOfASendAfterARestart(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.mail.Send(w.draft("hasty"), SendOptions{Undo: 10 * time.Second})
		w.until("accepted", func() bool { return w.entry(id).State == EntryAccepted })
		w.restart()
		w.untilWithin(5*time.Second, "the line", func() bool { return w.hasNotice("Sending to Grace") })
		if !w.mail.Undo() {
			t.Fatal("there is nothing to undo")
		}
		w.until("taken back", func() bool { return w.entry(id).State == EntryCancelled })
		if n := w.copies("hasty"); n != 0 {
			t.Errorf("%d copies were sent", n)
		}
		if w.mail.Undo() {
			t.Error("it was undone twice")
		}
	})
}

// A change that is kept and goes later has not failed.
func TestChangeThatWaitsIsNotCalledFailed(t *testing.T) {
	for step, why := range map[string]string{"503, 503, 503, ok": "server busy (503)", "429:retry-after=180, ok": "server asks for 3 min"} {
		inWorld(t, "PATCH /threads/*: "+step, func(w *world) {
			id := w.arrive("Dinner?", "at seven")
			w.mail.Refresh()
			w.until("the thread", func() bool { return len(w.mail.List(View{}).Rows) == 1 })
			w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
			w.until("told", func() bool { return w.hasNotice("Starring “Dinner?” later by itself · " + why) })
			if w.hasNotice("failed") {
				t.Error("it is called failed")
			}
			w.until("it goes", func() bool { return w.mail.Status().Unsent == 0 })
		})
	}
}

func TestRefusedChangeIsRolledBackInPlace(t *testing.T) {
	inWorld(t, "PATCH /threads/*: 403, ok", func(w *world) {
		id := w.arrive("Dinner?", "Sunday?")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
		if !w.inbox()[0].Starred {
			t.Error("not starred at once")
		}
		w.until("told", func() bool { return w.hasNotice("Could not star “Dinner?”: permission denied") })
		if w.inbox()[0].Starred {
			t.Error("still starred after the refusal")
		}
	})
}

func TestChangesWaitForTheConnection(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Report", "numbers")
		w.load()
		w.off.set(true)
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeTrash})
		w.until("offline", func() bool { return w.mail.Status().Offline })
		if s := w.mail.Status(); s.Unsent != 2 || s.NextTry.IsZero() {
			t.Errorf("status %+v", s)
		}
		w.restart() // still without a connection: the inbox is readable and the changes are shown
		if w.shows(View{}, id) {
			t.Error("the trashed thread is back after a start")
		}
		w.off.set(false)
		w.settled()
		var order []string
		for _, r := range w.player.Requests() {
			if r.Method != http.MethodGet {
				order = append(order, r.Method+" "+r.Path)
			}
		}
		if len(order) != 2 || order[0] != "PATCH /threads/"+string(id) || order[1] != "POST /threads/"+string(id)+"/trash" {
			t.Errorf("requests %v, want the star and then the trash, once each", order)
		}
	})
}

func TestUndoOfAnUnsentChangeDeletesIt(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Report", "numbers")
		w.load()
		w.off.set(true)
		w.mail.Refresh()
		w.until("offline", func() bool { return w.mail.Status().Offline })
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar}) // tried, fails
		w.until("tried", func() bool { return len(w.mail.Activity()) > 0 && w.mail.Status().Running == 0 })
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeTrash}) // behind it: never tried
		w.mail.Undo()
		w.off.set(false)
		w.mail.Refresh()
		w.settled()
		for _, r := range w.player.Requests() {
			if r.Method == http.MethodPost {
				t.Errorf("%s %s for a change that was undone before it was sent", r.Method, r.Path)
			}
		}
		if !w.shows(View{}, id) {
			t.Error("not back in the inbox")
		}
	})
}

func TestMuteRunsOnce(t *testing.T) {
	inWorld(t, "POST /threads/*: reset:after, ok", func(w *world) {
		id := w.arrive("List", "noise")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeMute})
		w.until("asked", func() bool { return w.hasNotice(answerLost) })
		w.pass(time.Hour)
		n := w.player.Count(http.MethodPost, "/threads/"+string(id)+"/mute")
		if n != 1 {
			t.Errorf("%d requests for a call that may run only once", n)
		}
		w.restart()
		w.until("asked again", func() bool { return w.hasNotice(answerLost) })
		if got := w.player.Count(http.MethodPost, "/threads/"+string(id)+"/mute"); got != 1 {
			t.Errorf("%d requests after a restart, want 1", got)
		}
	})
}

func TestSnoozedThreadWakes(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.close()
		w.poke = true
		w.open()
		id := w.arrive("Nightly report", "3 failed")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeSnooze, Until: time.Now().Add(time.Minute)})
		if w.shows(View{}, id) {
			t.Error("still in the inbox")
		}
		w.settled()
		w.untilWithin(2*time.Minute, "awake in the inbox", func() bool { return w.shows(View{}, id) })
	})
}

func TestLateAnswerNeverOverwritesAChange(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Race", "x")
		w.load()
		if err := w.player.Set("GET /threads: delay:10s, ok; PATCH /threads/*: ok"); err != nil {
			t.Fatal(err)
		}
		w.mail.Refresh() // asked for before the change, answered after it
		w.pass(time.Second)
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeArchive})
		w.settled()
		w.pass(30 * time.Second)
		if w.shows(View{}, id) {
			t.Error("an old answer brought the archived thread back")
		}
	})
}

func TestCacheShowsTheInboxBeforeAnyAnswer(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Kept", "text of it")
		w.load()
		w.mail.OpenThread(id)
		w.until("read", func() bool { return w.mail.Thread(id).Known })
		w.pass(time.Second)
		w.close()
		w.off.set(true)
		w.open()
		l := w.mail.List(View{})
		if !l.Known || len(l.Rows) != 1 || !l.Rows[0].Filled || l.Rows[0].Subject != "Kept" {
			t.Fatalf("right after the start: %+v", l)
		}
		w.mail.OpenThread(id)
		w.until("the conversation from the cache", func() bool { th := w.mail.Thread(id); return th.Known && th.Messages[0].Text != "" })
	})
}

func TestStopInAWaitEndsAtOnce(t *testing.T) {
	inWorld(t, "GET /threads: 503, ...", func(w *world) {
		var seen Call
		w.until("a wait", func() bool {
			for _, c := range w.mail.Status().Calls {
				if c.Op == "threads.list" && !c.Until.IsZero() {
					seen = c
					return true
				}
			}
			return false
		})
		if seen.Attempt != 2 || seen.Limit != 3 || seen.Status != 503 || !seen.Foreground || seen.Title != "Loading inbox" {
			t.Errorf("the wait shows %+v", seen)
		}
		n := w.player.Count(http.MethodGet, "/threads")
		if !w.mail.esc() {
			t.Fatal("nothing to stop")
		}
		w.untilWithin(time.Second, "stopped", func() bool { return w.hasNotice("Stopped: loading inbox") })
		w.pass(20 * time.Second)
		if got := w.player.Count(http.MethodGet, "/threads"); got != n {
			t.Errorf("%d further requests", got-n)
		}
		for _, c := range w.mail.Activity() {
			if c.ID == seen.ID && !c.Stopped {
				t.Errorf("the activity says %+v", c)
			}
		}
	})
}

func TestNewLabel(t *testing.T) {
	inWorld(t, "POST /labels: reset:after, ok", func(w *world) {
		id := w.arrive("Garden", "roses")
		w.load()
		w.mail.NewLabel(" garden party ", []ThreadID{id})
		w.until("told that the answer is lost", func() bool { return w.hasNotice("answer lost") })
		w.pass(time.Hour)
		if n := w.player.Count(http.MethodPost, "/labels"); n != 1 {
			t.Errorf("%d requests for a call that may run only once", n)
		}
		w.mail.RetryNotice(w.mail.Status().Failures[0].ID)
		w.until("labelled", func() bool { l := w.inbox()[0].Labels; return len(l) == 1 && l[0].Name == "garden party" })
		w.settled()
		if n := w.player.Count(http.MethodPost, "/labels"); n != 1 {
			t.Errorf("%d creates, want 1: the label was there", n)
		}
		w.mail.NewLabel("GARDEN party", nil) // known by any case: no second one
		w.mail.NewLabel("second", []ThreadID{id})
		w.until("both", func() bool { return len(w.inbox()[0].Labels) == 2 })
	})
}

// A row shows that it is muted at once, after the server's answer, and at the next start; also where the server does not say
// it with the thread.
func TestMutedIsSeen(t *testing.T) {
	for name, silent := range map[string]bool{"told": false, "not told": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, "ok", func(w *world) {
				id := w.arrive("List", "noise")
				if silent {
					w.off.through(withoutMuted{w.off.next})
				}
				w.load()
				if w.inbox()[0].Muted {
					t.Error("muted from the beginning")
				}
				w.mail.Do([]ThreadID{id}, Change{Kind: ChangeMute})
				if !w.inbox()[0].Muted {
					t.Error("not muted at once")
				}
				w.settled()
				w.load()
				if !w.inbox()[0].Muted {
					t.Error("not muted after the answer")
				}
				w.restart()
				w.load()
				if !w.inbox()[0].Muted {
					t.Error("not muted after a restart")
				}
				w.mail.Do([]ThreadID{id}, Change{Kind: ChangeUnmute})
				w.settled()
				w.load()
				if w.inbox()[0].Muted {
					t.Error("still muted")
				}
			})
		})
	}
}

// withoutMuted is a server that does not say whether a thread is muted.
type withoutMuted struct{ next http.RoundTripper }

func (s withoutMuted) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.next.RoundTrip(r)
	if err != nil || r.Method != http.MethodGet {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	body = regexp.MustCompile(`"muted":(true|false),`).ReplaceAll(body, nil)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res.Header.Del("Content-Length")
	return res, nil
}
