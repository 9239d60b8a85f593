package state

import (
	"testing"
	"time"
)

// line is the line of news of the call whose title begins so.
func (w *world) line(title string) (Call, bool) {
	for _, c := range w.mail.Status().Calls {
		if c.Title == title {
			return c, true
		}
	}
	return Call{}, false
}

// untilLine waits for such a line.
func (w *world) untilLine(title string) Call {
	w.t.Helper()
	w.until(title, func() bool { _, ok := w.line(title); return ok })
	c, _ := w.line(title)
	return c
}

// What the person did goes to the server whatever is stopped, and is taken back by undoing it.
func TestEscStopsNoChange(t *testing.T) {
	for kind, title := range map[ChangeKind]string{
		ChangeStar: "Starring “Dinner?”", ChangeArchive: "Archiving “Dinner?”", ChangeTrash: "Trashing “Dinner?”",
	} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, "PATCH /threads/*: 503, stall:2s, ok; POST /threads/*: 503, stall:2s, ok", func(w *world) {
				id := w.arrive("Dinner?", "at seven")
				w.load()
				w.mail.Do([]ThreadID{id}, Change{Kind: kind})
				c := w.untilLine(title)
				if c.Stoppable || w.mail.StopLine(c.ID) || w.mail.esc() {
					t.Errorf("esc stops %+v", c)
				}
				w.until("at the server", func() bool { return w.mail.Status().Unsent == 0 })
				if w.hasNotice("Stopped") || w.hasNotice("Could not") {
					t.Errorf("news: %s", w.describe())
				}
			})
		})
	}
}

// Nor what the person asked for besides: saving a draft, taking a message back, a new label.
func TestEscStopsNoOtherWrite(t *testing.T) {
	inWorld(t, "POST /drafts: stall:5s, ok; POST /labels: stall:5s, ok; POST /emails/*: stall:5s, ok", func(w *world) {
		w.load2()
		d := w.draft("kept")
		w.mail.SaveDraft(d)
		w.untilLine("Saving draft")
		if w.mail.esc() {
			t.Error("esc stops the saving of a draft")
		}
		id := w.mail.Send(w.draft("back"), SendOptions{Undo: time.Minute})
		w.untilState(id, EntryAccepted)
		w.mail.TakeBack(id)
		w.untilLine("Taking back “back”")
		if w.mail.esc() {
			t.Error("esc stops the taking back")
		}
	})
}

// A list that was left goes on behind, and its line with it.
func TestEscStopsOnlyWhatTheScreenWaitsFor(t *testing.T) {
	inWorld(t, "GET /threads: stall:5s, ...", func(w *world) {
		w.until("loading", func() bool { c, ok := w.line("Loading inbox"); return ok && c.Stoppable })
		w.mail.OpenView(View{Query: "budget"})
		if c := w.untilLine("Searching “budget”"); !c.Stoppable || !c.Foreground {
			t.Errorf("the search is %+v", c)
		}
		if c := w.untilLine("Loading inbox"); c.Stoppable || c.Foreground {
			t.Errorf("the list that was left is %+v", c)
		}
		w.mail.OpenView(View{})
		if c := w.untilLine("Searching “budget”"); c.Stoppable || c.Foreground || w.mail.StopLine(c.ID) {
			t.Errorf("the search that was left is %+v", c)
		}
		if c := w.untilLine("Loading inbox"); !c.Stoppable || !w.mail.StopLine(c.ID) {
			t.Errorf("the list that is shown again is %+v", c)
		}
	})
}

// A send is stopped.
func TestEscStopsASend(t *testing.T) {
	inWorld(t, "POST /emails: stall", func(w *world) {
		w.load2()
		id := w.mail.Send(w.draft("stopped"), SendOptions{})
		if c := w.untilLine("Sending to Grace"); !c.Stoppable || !w.mail.StopLine(c.ID) {
			t.Errorf("the send is %+v", c)
		}
		w.untilState(id, EntryUnknown)
	})
}
