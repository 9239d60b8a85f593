package state

import (
	"context"
	"fmt"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// A change of very many threads is whole, and so is its undo: nothing comes back on the screen meanwhile, and in the end the
// server has all of it.
func TestBulkIsWhole(t *testing.T) {
	if slower > 1 {
		t.Skip("many threads take too long under the race detector")
	}
	const many = 620
	inWorld(t, "ok", func(w *world) {
		ids := make([]ThreadID, many)
		for i := range ids {
			ids[i] = w.arrive(fmt.Sprintf("t%d", i), "x")
			time.Sleep(time.Second)
		}
		w.load()
		w.until("all pages", func() bool {
			w.mail.LoadMore(View{})
			l := w.mail.List(View{})
			return !l.More && len(l.Rows) == many
		})
		inInbox := func() int {
			p := api.ThreadListParams{Folder: "inbox", Limit: 100}
			n := 0
			for {
				page, err := w.client("oe_test_look").Threads.List(context.Background(), p)
				if err != nil {
					t.Fatal(err)
				}
				n += len(page.Items)
				if p.PageToken = page.Next; !page.HasMore {
					return n
				}
			}
		}
		w.mail.Do(ids, Change{Kind: ChangeArchive})
		most := 0
		w.until("all settled", func() bool {
			most = max(most, len(w.inbox()))
			return w.mail.Status().Unsent == 0
		})
		for range 20 {
			w.pass(200 * time.Millisecond)
			most = max(most, len(w.inbox()))
		}
		if most != 0 {
			t.Errorf("%d archived threads were back on the screen", most)
		}
		if n := inInbox(); n != 0 {
			t.Errorf("%d are still in the server's inbox", n)
		}
		w.mail.Undo()
		if !w.hasNotice(fmt.Sprintf("Undone: archived %d threads", many)) {
			w.until("told", func() bool { return w.hasNotice(fmt.Sprintf("Undone: archived %d threads", many)) })
		}
		w.settled()
		if n := inInbox(); n != many {
			t.Errorf("%d of %d are in the server's inbox again", n, many)
		}
	})
}

// Wherever the process dies after z: the undo is whole or there is none, and what the screen called undone is.
func TestUndoOutlivesADeath(t *testing.T) {
	for writes := int64(1); writes <= 6; writes++ {
		inWorld(t, "PATCH /threads/*: delay:10s, ...", func(w *world) {
			ids := []ThreadID{w.arrive("a", "x"), w.arrive("b", "x"), w.arrive("c", "x")}
			w.load()
			w.close()
			p := w.process(w.options)
			w.mail = p.mail
			w.load()
			w.mail.Do(ids[1:2], Change{Kind: ChangeStar})
			w.mail.Do(ids, Change{Kind: ChangeArchive}) // that of b waits behind its star: its call is not begun
			w.pass(time.Second)
			p.left.Store(writes)
			w.mail.Undo()
			told := w.hasNotice("Undone")
			w.until("dead", func() bool {
				told = told || w.hasNotice("Undone")
				return p.dead.Load()
			})
			w.die(p)
			if err := w.player.Set("ok"); err != nil {
				t.Fatal(err)
			}
			w.open()
			w.settled()
			w.load2()
			w.pass(5 * time.Second)
			n := len(w.inbox())
			if n != 0 && n != len(ids) {
				t.Errorf("dead at write %d: %d of %d threads were brought back", writes, n, len(ids))
			}
			if told && n != len(ids) {
				t.Errorf("dead at write %d: it was called undone, and is not", writes)
			}
			if !told && writes > 1 {
				t.Errorf("dead at write %d: not told that it was undone", writes)
			}
		})
	}
}

// What the disk does not take is not undone, and says so; z does it when the disk can.
func TestUndoThatTheDiskRefuses(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.arrive("Dinner?", "x")
		w.load()
		w.close()
		p := w.process(w.options)
		w.mail = p.mail
		w.load()
		w.mail.Do([]ThreadID{id}, Change{Kind: ChangeArchive})
		w.settled()
		p.full.Store(true)
		w.mail.Undo()
		w.until("told", func() bool { return w.hasNotice("Not undone") })
		w.pass(time.Minute)
		if w.hasNotice("Undone:") || w.shows(View{}, id) {
			t.Error("it is called undone, or shown so")
		}
		p.full.Store(false)
		if !w.mail.Undo() || !w.shows(View{}, id) {
			t.Error("it cannot be undone any more")
		}
		w.settled()
	})
}
