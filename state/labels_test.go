package state

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// labelled is a thread with the label "home", everything on the server.
func (w *world) labelled() (ThreadID, Label) {
	w.t.Helper()
	id := w.arrive("Dinner?", "at seven")
	w.load()
	w.mail.NewLabel("home", []ThreadID{id})
	w.until("labelled", func() bool { return len(w.inbox()[0].Labels) == 1 })
	w.settled()
	w.load()
	return id, w.mail.Labels()[0]
}

// names are the label of the row, of the list of labels and of the sidebar; they must never differ.
func (w *world) names() []string {
	var out []string
	for _, l := range w.inbox()[0].Labels {
		out = append(out, l.Name+l.Color)
	}
	for _, l := range w.mail.Labels() {
		out = append(out, l.Name+l.Color)
	}
	for _, f := range w.mail.Folders() {
		if f.Role == RoleLabel {
			out = append(out, f.Name+f.Color)
		}
	}
	return out
}

func (w *world) named(want ...string) {
	w.t.Helper()
	if got := w.names(); !slices.Equal(got, want) {
		w.t.Errorf("labels %q, want %q", got, want)
	}
}

func TestLabelIsRenamedAtOnceAndUndone(t *testing.T) {
	inWorld(t, "PATCH /labels/*: delay:5s, ok", func(w *world) {
		_, l := w.labelled()
		l.Name = " house "
		w.mail.EditLabel(l)
		w.named("house", "house", "house")
		w.settled()
		w.named("house", "house", "house")
		w.load()
		w.restart()
		w.load()
		w.named("house", "house", "house")
		l = w.mail.Labels()[0]
		l.Color = "#188038"
		w.mail.EditLabel(l)
		w.named("house#188038", "house#188038", "house#188038")
		w.settled()
		w.load()
		w.named("house#188038", "house#188038", "house#188038")
		if !w.mail.Undo() {
			t.Fatal("nothing to undo")
		}
		w.named("house", "house", "house")
		w.settled()
		w.load()
		w.named("house", "house", "house")
	})
}

// What another device does to the colour meanwhile is not overwritten by a new name.
func TestLabelEditTellsOnlyWhatDiffers(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		_, l := w.labelled()
		l.Name = "house"
		w.mail.EditLabel(l)
		w.settled()
		for _, r := range w.player.Requests() {
			if r.Method == http.MethodPatch && len(bodyOf(r)) == 1 && bodyOf(r)["name"] == "house" {
				return
			}
		}
		t.Error("the new name did not go alone")
	})
}

func TestLabelEditWaitsForTheServer(t *testing.T) {
	inWorld(t, "PATCH /labels/*: 503*4, ok", func(w *world) {
		_, l := w.labelled()
		l.Name = "house"
		w.mail.EditLabel(l)
		w.until("told", func() bool { return w.hasNotice("Changing the label “#home” later") })
		w.restart()
		w.load()
		w.named("house", "house", "house")
		w.settled()
		w.load()
		w.named("house", "house", "house")
	})
}

func TestLabelEditThatIsRefused(t *testing.T) {
	inWorld(t, "PATCH /labels/*: 409, ok", func(w *world) {
		_, l := w.labelled()
		l.Name = "house"
		w.mail.EditLabel(l)
		w.until("told", func() bool { return w.hasNotice("Could not change the label “#home”") })
		w.named("home", "home", "home")
	})
}

func TestLabelNamesAreOfOne(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		_, l := w.labelled()
		w.mail.NewLabel("work", nil)
		w.until("both", func() bool { return len(w.mail.Labels()) == 2 })
		l.Name = "WORK"
		w.mail.EditLabel(l)
		if !w.hasNotice("There is a label #work already") || w.mail.Status().Unsent != 0 {
			t.Errorf("two labels of one name: %s", w.describe())
		}
	})
}

func TestLabelIsDeleted(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id, l := w.labelled()
		w.mail.DeleteLabel(l.ID)
		w.named()
		w.settled()
		w.named()
		w.load()
		w.named()
		if !w.hasNotice("Deleted the label “#home”") {
			t.Error(w.describe())
		}
		w.restart()
		w.load()
		w.named()
		w.mail.OpenThread(id)
		w.pass(time.Second)
		w.named()
	})
}

// A deletion runs once. When its answer is lost the labels are looked at, and the person is asked only when it is there.
func TestLabelDeletionWithoutAnAnswer(t *testing.T) {
	for script, arrived := range map[string]bool{"reset:after, ok": true, "503, ok": false} {
		inWorld(t, "DELETE /labels/*: "+script, func(w *world) {
			_, l := w.labelled()
			w.mail.DeleteLabel(l.ID)
			if arrived {
				w.until("nobody is asked", func() bool { s := w.mail.Status(); return s.Unsent == 0 && len(s.Failures) == 0 })
				w.named()
				return
			}
			w.until("asked", func() bool { return w.hasNotice("Deleting the label “#home”: " + answerLost) })
			w.pass(time.Hour)
			if n := len(w.mail.Status().Failures); n != 1 {
				t.Fatalf("%d questions", n)
			}
			w.mail.RetryNotice(w.mail.Status().Failures[0].ID)
			w.settled()
			w.load()
			w.named()
		})
	}
}

// The picker of colours asks with every frame, and every answer draws one.
func TestLabelColorsThatDoNotComeAreNotAskedForAtOnce(t *testing.T) {
	inWorld(t, "GET /labels/colors: 404, ok", func(w *world) {
		w.load2()
		for range 20 {
			w.mail.LabelColors()
			time.Sleep(500 * time.Millisecond)
		}
		if n := w.player.Count(http.MethodGet, "/labels/colors"); n != 1 {
			t.Errorf("asked for %d times", n)
		}
		time.Sleep(10 * time.Second)
		w.until("the colours", func() bool { return len(w.mail.LabelColors()) > 3 })
	})
}

func TestLabelColorsAreAskedForOnce(t *testing.T) {
	inWorld(t, "GET /labels/colors: delay:2s, ok", func(w *world) {
		w.load2()
		if len(w.mail.LabelColors()) != 0 {
			t.Error("colours from nowhere")
		}
		w.mail.LabelColors()
		w.until("the colours", func() bool { return len(w.mail.LabelColors()) > 3 })
		if n := w.player.Count(http.MethodGet, "/labels/colors"); n != 1 {
			t.Errorf("asked for %d times", n)
		}
		if c := w.mail.LabelColors()[0]; c.Name != "Red" || c.Value != "#d93025" {
			t.Errorf("%+v", c)
		}
	})
}
