package state

import (
	"net/http"
	"testing"
	"time"
)

// inboxCounts are the numbers of the sidebar.
func (w *world) inboxCounts() [2]int {
	for _, f := range w.mail.Folders() {
		if f.Role == RoleInbox {
			return [2]int{f.Count, f.Unread}
		}
	}
	return [2]int{-1, -1}
}

// A deletion whose answer was lost is looked for; when the thread is gone it was done, and is said to be.
func TestLostDeletionIsFound(t *testing.T) {
	inWorld(t, "DELETE /threads/*: reset:after, ok", func(w *world) {
		id := w.arrive("Tea", "text")
		w.arrive("Other", "text")
		w.load()
		w.until("counted", func() bool { return w.inboxCounts() == [2]int{2, 2} })
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeDelete})
		w.until("told", func() bool { return w.hasNotice("Deleted “Tea” for good") && !w.hasNotice(answerLost) })
		if n := w.player.Count(http.MethodDelete, ""); n != 1 {
			t.Errorf("%d deletions", n)
		}
		for range 100 {
			if got := w.inboxCounts(); got != [2]int{1, 1} {
				t.Fatalf("the inbox counts %v", got)
			}
			w.pass(100 * time.Millisecond)
		}
	})
}

// Done again it finds nothing to delete: that is no failure.
func TestDeletionDoneAgainFindsNothing(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Tea", "text")
		w.load()
		if err := w.player.Set("DELETE /threads/*: reset:after, ok; GET /threads/" + string(id) + ": 503, ..."); err != nil {
			t.Fatal(err)
		}
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeDelete})
		w.until("asked", func() bool { return w.hasNotice("Deleting “Tea”: " + answerLost) })
		for _, n := range w.mail.Status().Failures {
			w.mail.RetryNotice(n.ID)
		}
		w.until("done", func() bool { return w.mail.Status().Unsent == 0 })
		if !w.hasNotice("Deleted “Tea” for good") || w.hasNotice("Could not") {
			t.Errorf("news: %s", w.describe())
		}
		w.until("counted", func() bool { return w.inboxCounts() == [2]int{0, 0} })
	})
}

// The client's own second attempt, and the next call, may find that the first one did it.
func TestWhatALostAttemptDidIsDone(t *testing.T) {
	for name, script := range map[string]string{
		"the next attempt": "POST /threads/*: reset:after, 404, ...",
		"the next call":    "POST /threads/*: reset:after, reset:read, reset:read, 404, ...",
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, script, func(w *world) {
				id := w.arrive("Tea", "text")
				w.load()
				w.mail.Do([]ThreadID{id}, Change{Kind: ChangeTrash})
				w.until("settled", func() bool { return w.mail.Status().Unsent == 0 })
				if w.hasNotice("Could not") {
					t.Errorf("news: %s", w.describe())
				}
			})
		})
	}
	inWorld(t, "POST /threads/*: 404, ...", func(w *world) {
		id := w.arrive("Tea", "text")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeTrash})
		w.until("refused", func() bool { return w.hasNotice("Could not trash “Tea”") })
	})
}

// What may run only once and never had a connection is not asked about: it goes when there is one.
func TestUnsentChangeIsNotAskedAbout(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Tea", "text")
		w.load()
		w.off.set(true)
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeMute})
		w.until("tried", func() bool { return w.mail.Status().Offline })
		if w.hasNotice(answerLost) {
			t.Error("asked about what was never sent")
		}
		w.restart()
		w.pass(time.Minute)
		if w.hasNotice(answerLost) {
			t.Error("asked about it after a restart")
		}
		w.off.set(false)
		w.until("muted", func() bool { return w.mail.Status().Unsent == 0 })
		if n := w.player.Count(http.MethodPost, "/threads/"+string(id)+"/mute"); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}
