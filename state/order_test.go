package state

import (
	"net/http"
	"testing"
	"time"
)

func TestUndoOfWhatWasSettledLongAgo(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Star", "x")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
		w.settled()
		for range 3 { // every answer holds it now
			w.load()
			w.pass(time.Minute)
		}
		if !w.mail.Undo() || w.inbox()[0].Starred {
			t.Error("it cannot be undone")
		}
		w.settled()
		w.load()
		if w.inbox()[0].Starred {
			t.Error("the server did not hear of it")
		}
	})
}

func TestQuestionHoldsNothingUp(t *testing.T) {
	inWorld(t, "POST /threads/*: reset:after, ok", func(w *world) {
		id := w.arrive("List", "noise")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeMute})
		w.until("asked", func() bool { return w.hasNotice(answerLost) })
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeArchive})
		w.until("archived", func() bool { return w.player.Count(http.MethodPatch, "/threads/"+string(id)) == 1 })
		for _, f := range w.mail.Status().Failures {
			w.mail.Dismiss(f.ID)
		}
		w.settled()
		w.restart()
		w.pass(time.Minute)
		if w.hasNotice(answerLost) || w.mail.Status().Unsent != 0 {
			t.Error("asked again after it was let go")
		}
		if n := w.player.Count(http.MethodPost, "/threads/"+string(id)+"/mute"); n != 1 {
			t.Errorf("%d requests for a call that may run only once", n)
		}
	})
}

func TestUndoAnswersTheQuestion(t *testing.T) {
	inWorld(t, "POST /threads/*: reset:after, ok", func(w *world) {
		id := w.arrive("List", "noise")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeMute})
		w.until("asked", func() bool { return w.hasNotice(answerLost) })
		w.mail.Undo()
		w.settled()
		if w.hasNotice(answerLost) {
			t.Error("still asked")
		}
		if n := w.player.Count(http.MethodPost, "/threads/"+string(id)+"/unmute"); n != 1 {
			t.Errorf("%d requests to unmute", n)
		}
	})
}

func TestUndoWhileAnotherProcessSends(t *testing.T) {
	inWorld(t, "PATCH /threads/*: delay:5s, ok", func(w *world) {
		id := w.arrive("Dinner?", "Sunday?")
		w.load()
		w.other(func(p *process) {
			p.mail.OpenView(View{})
			p.mail.Do([]ThreadID{id}, Change{Kind: ChangeArchive})
			w.until("sent by the owner", func() bool { return w.player.Count(http.MethodPatch, "/threads/"+string(id)) == 1 })
			p.mail.Undo()
			w.until("everything is on the server", func() bool { return p.mail.Status().Unsent == 0 && w.mail.Status().Unsent == 0 })
			w.load()
			if !w.shows(View{}, id) {
				t.Error("archived though it was undone")
			}
		})
	})
}

func TestSettledChangeIsInTheCache(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		a, b := w.arrive("Archived", "x"), w.arrive("Starred", "x")
		w.load()
		if err := w.player.Set("GET /*: stall, ..."); err != nil {
			t.Fatal(err)
		}
		w.mail.Do([]ThreadID{a}, Change{Kind: ChangeArchive})
		w.mail.Do([]ThreadID{b}, Change{Kind: ChangeStar})
		w.settled()
		w.pass(time.Second)
		w.close()
		w.off.set(true)
		w.open()
		rows := w.inbox()
		if len(rows) != 1 || rows[0].ID != b || !rows[0].Starred {
			t.Errorf("without a connection the next start shows %+v", rows)
		}
	})
}

func TestPokeDuringACallIsNotLost(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.arrive("First", "x")
		w.close()
		w.poke = true
		w.open()
		w.load()
		w.pass(time.Second)
		if err := w.player.Set("GET /threads: slow:5s, ok"); err != nil { // the answer is made at once and comes late
			t.Fatal(err)
		}
		w.mail.Refresh()
		w.pass(time.Second)
		id := w.arrive("Second", "x")
		w.untilWithin(20*time.Second, "shown", func() bool { return w.shows(View{}, id) })
	})
}

func TestLoopSleepsWhileTheServerWantsQuiet(t *testing.T) {
	inWorld(t, "GET /threads: 429:retry-after=3600, ok", func(w *world) {
		w.until("slowed down", func() bool { return !w.mail.Status().LimitedUntil.IsZero() })
		w.pass(10 * time.Minute) // the next look at page one is long due
		w.mail.mu.Lock()
		wake := w.mail.tick()
		w.mail.mu.Unlock()
		if wake < 100*time.Millisecond {
			t.Errorf("the loop sleeps for %v", wake)
		}
	})
}

func TestNextPageIsNotAskedForAgainAndAgain(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		for range pageSize + 5 {
			w.arrive("One of many", "x")
		}
		w.mail.Refresh()
		w.until("page one", func() bool { return w.mail.List(View{}).More && !w.mail.List(View{}).Loading })
		if err := w.player.Set("GET /threads: 403, ..."); err != nil {
			t.Fatal(err)
		}
		n := w.player.Count(http.MethodGet, "/threads")
		for range 100 { // as a screen does after each piece of news
			if l := w.mail.List(View{}); l.More && !l.Loading && l.Problem == "" {
				w.mail.LoadMore(View{})
			}
			w.pass(100 * time.Millisecond)
		}
		if got := w.player.Count(http.MethodGet, "/threads") - n; got != 1 {
			t.Errorf("%d requests", got)
		}
		if !w.hasNotice("Loading more of inbox failed") {
			t.Error("nothing says so")
		}
		if err := w.player.Set("ok"); err != nil {
			t.Fatal(err)
		}
		w.mail.RetryNotice(w.mail.Status().Failures[0].ID)
		w.until("all", func() bool { return len(w.inbox()) == pageSize+5 })
	})
}

func TestOwnSnoozesFollowUndo(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Later", "x")
		w.load()
		until := time.Now().Add(time.Hour)
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeSnooze, Until: until})
		w.settled()
		w.pass(5 * time.Second)
		w.mail.OpenView(View{Folder: "snoozed"})
		w.until("asleep", func() bool { return !w.mail.Thread(id).Row.SnoozedUntil.IsZero() })
		for _, kind := range []ChangeKind{ChangeUnsnooze, ChangeTrash} {
			w.mail.Do([]ThreadID{id}, Change{Kind: kind})
			w.settled()
			w.mail.Undo()
			w.settled()
			w.mail.mu.Lock()
			own, at := w.mail.ownSnoozes(), w.mail.snoozes[id]
			w.mail.mu.Unlock()
			if len(own) != 1 || !at.Equal(until) {
				t.Errorf("after the undo of %s own snoozes are %v until %v", kind, own, at)
			}
		}
	})
}

// What z brought back is on the screen at the next start too, before the server has heard of it.
func TestUndoneShowsAtTheNextStart(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Dinner?", "Sunday?")
		w.arrive("Another", "x")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeArchive})
		w.settled()
		w.load()
		w.pass(time.Minute)
		w.off.set(true)
		w.mail.Undo()
		w.until("undone", func() bool { return w.hasNotice("Undone") })
		w.restart()
		if !w.shows(View{}, id) {
			t.Error("it is not in the list")
		}
	})
}

// Of what a search shows and is archived, z brings only that back which was in the inbox.
func TestUndoBringsBackOnlyWhatWasThere(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		old, fresh := w.arrive("Report of May", "numbers"), w.arrive("Report of June", "numbers")
		w.load()
		w.mail.Do([]ThreadID{old}, Change{Kind: ChangeArchive})
		w.settled()
		search := View{Query: "numbers"}
		w.mail.OpenView(search)
		w.until("found", func() bool {
			rows := w.mail.List(search).Rows
			return len(rows) == 2 && rows[0].Filled && rows[1].Filled
		})
		w.pass(10 * time.Second)
		w.mail.Do([]ThreadID{old, fresh}, Change{Kind: ChangeArchive})
		w.settled()
		w.mail.Undo()
		w.settled()
		w.mail.OpenView(View{})
		w.pass(10 * time.Second)
		if w.shows(View{}, old) || !w.shows(View{}, fresh) {
			t.Errorf("the inbox is %+v", w.inbox())
		}
	})
}

// Taking back “spam” takes the label off: a server may keep it beside that of the inbox.
func TestUndoOfSpamTakesTheLabelOff(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Offer", "x")
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeSpam})
		w.settled()
		w.mail.Undo()
		w.settled()
		var last map[string]any
		for _, r := range w.player.Requests() {
			if r.Method == http.MethodPatch {
				last = bodyOf(r)
			}
		}
		if removed, _ := last["removeLabelIds"].([]any); len(removed) != 1 || removed[0] != "SPAM" {
			t.Errorf("the undo sends %v", last)
		}
	})
}
