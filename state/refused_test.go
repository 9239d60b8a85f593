package state

import (
	"testing"
	"time"
)

// The server refuses what another teapost than the one that sends was asked to do: both say it, and both show it as it was.
func TestRefusalIsToldWhereTheChangeWasMade(t *testing.T) {
	inWorld(t, "PATCH /threads/*: 403, ok", func(w *world) {
		id := w.arrive("Dinner?", "Sunday?")
		w.load()
		p := w.process(w.options)
		defer w.end(p)
		second := &world{t: t, mail: p.mail}
		second.load()
		p.mail.Do([]ThreadID{id}, Change{Kind: ChangeArchive})
		if second.shows(View{}, id) {
			t.Error("still in the inbox right after the key")
		}
		w.until("told in both", func() bool {
			return w.hasNotice("Could not archive “Dinner?”: permission denied") && second.hasNotice("Could not archive “Dinner?”: permission denied")
		})
		if !second.shows(View{}, id) || !w.shows(View{}, id) {
			t.Error("it is not back in place")
		}
		w.pass(time.Minute)
		p.mail.Do([]ThreadID{id}, Change{Kind: ChangeStar})
		w.until("starred", func() bool { return w.inbox()[0].Starred && p.mail.Status().Unsent == 0 })
		if n := len(p.mail.Status().Failures); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// A question about what may be done once is put where the change was made, too, and answered in either place.
func TestQuestionIsAskedWhereTheChangeWasMade(t *testing.T) {
	for _, answer := range []string{"dismissed there", "again there", "dismissed here", "again here"} {
		t.Run(answer, func(t *testing.T) {
			inWorld(t, "POST /threads/*: reset, ok", func(w *world) {
				id := w.arrive("List", "noise")
				w.load()
				p := w.process(w.options)
				defer w.end(p)
				second := &world{t: t, mail: p.mail}
				second.load()
				p.mail.Do([]ThreadID{id}, Change{Kind: ChangeMute})
				w.until("asked in both", func() bool { return w.hasNotice(answerLost) && second.hasNotice(answerLost) })
				at := w.mail
				if answer == "dismissed there" || answer == "again there" {
					at = p.mail
				}
				for _, n := range at.Status().Failures {
					if answer[:5] == "again" {
						at.RetryNotice(n.ID)
					} else {
						at.Dismiss(n.ID)
					}
				}
				w.until("answered in both", func() bool {
					return !w.hasNotice(answerLost) && !second.hasNotice(answerLost) && w.mail.Status().Unsent+p.mail.Status().Unsent == 0
				})
				n := w.player.Count("POST", "/threads/"+string(id)+"/mute")
				if answer[:5] == "again" && n != 2 || answer[:5] != "again" && n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}
