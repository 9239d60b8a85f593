package state

import (
	"os"
	"testing"
	"time"
)

// other starts a second teapost that does not send, and ends it with the test.
func (w *world) other(f func(p *process)) {
	w.t.Helper()
	o := w.options
	o.Passive = true
	w.pass(200 * time.Millisecond) // it looks at another time than the first
	p := w.process(o)
	defer w.end(p)
	f(p)
}

func TestDiskFullForAMinuteStopsNothingForEver(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.close()
		p := w.process(w.options)
		w.mail = p.mail
		id := w.mail.Send(w.draft("full"), SendOptions{Undo: -1})
		w.until("a request", func() bool { return w.entry(id).State != EntrySaving })
		p.full.Store(true)
		second := w.draft("second")
		w.mail.EditDraft(second)
		w.pass(time.Second)
		if s := w.mail.DraftStatus(second.ID); s.State != SaveFailed {
			t.Errorf("the draft is said to be %s", s.State)
		}
		before := p.wrote.Load()
		w.pass(time.Minute)
		if n := p.wrote.Load() - before; n > 120 {
			t.Errorf("%d writes were tried in a minute", n)
		}
		p.full.Store(false)
		w.untilState(id, EntrySent)
		w.until("the draft is safe", func() bool { return w.mail.DraftStatus(second.ID).State == SaveServer })
		w.restart()
		if e := w.entry(id); e.State != EntrySent {
			t.Errorf("the disk says %s", e.State)
		}
		w.oneKey()
	})
}

func TestNothingIsTriedWhileTheDiskCannotRecordIt(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.close()
		p := w.process(w.options)
		w.mail = p.mail
		w.off.set(true)
		id := w.mail.Send(w.draft("unrecorded"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.off.set(false)
		p.full.Store(true)
		n := len(w.sends())
		w.mail.SendNow(id)
		w.pass(time.Minute)
		if got := len(w.sends()); got != n {
			t.Errorf("%d attempts that the disk does not know", got-n)
		}
		if got := p.wrote.Load(); got > 200 {
			t.Errorf("%d writes were tried", got)
		}
		p.full.Store(false)
		w.untilState(id, EntrySent)
	})
}

func TestTakingBackGoesOnAfterQuit(t *testing.T) {
	inWorld(t, "POST /emails/*: stall:30s, ...", func(w *world) {
		id := w.mail.Send(w.draft("hasty"), SendOptions{Undo: time.Minute})
		w.untilState(id, EntryAccepted)
		w.mail.TakeBack(id)
		w.pass(time.Second)
		w.close()
		if err := w.player.Set("ok"); err != nil {
			t.Fatal(err)
		}
		w.open()
		w.untilState(id, EntryCancelled)
		w.pass(5 * time.Minute)
		if n := w.copies("hasty"); n != 0 {
			t.Errorf("%d copies of what was taken back", n)
		}
		if len(w.mail.Drafts()) != 1 {
			t.Error("its text is not among the drafts")
		}
	})
}

func TestCancelThatIsAnsweredWithoutCancellingIsNoStorm(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		sending := `{"object":"email","id":"em_1","status":"sending","mode":"live","from":"a@b.c","attempts":1,"tags":{},"createdAt":"2000-01-01T00:00:00.000Z"}`
		w.off.through(answers{w.off.next, map[string]string{"POST /emails/": sending}})
		id := w.mail.Send(w.draft("gone"), SendOptions{Undo: time.Minute})
		w.untilState(id, EntryAccepted)
		w.mail.TakeBack(id)
		w.untilState(id, EntrySent)
		n := 0
		for _, c := range w.mail.Activity() {
			if c.Op == "emails.cancel" {
				n++
			}
		}
		if n != 1 || !w.hasNotice("Too late") {
			t.Errorf("%d cancellations\n%s", n, w.describe())
		}
	})
}

func TestEmptyAnswerTakesNothingAway(t *testing.T) {
	inWorld(t, "POST /emails/*: 200:empty, ok; GET /emails/*: 200:empty, ok", func(w *world) {
		id := w.mail.Send(w.draft("kept"), SendOptions{Undo: 20 * time.Second})
		w.untilState(id, EntryAccepted)
		w.mail.TakeBack(id)
		w.untilState(id, EntrySent)
		if !w.hasNotice("Too late") {
			t.Errorf("sent without a word\n%s", w.describe())
		}
	})
}

func TestAnotherProcessTakesBackWhatIsBeingSent(t *testing.T) {
	inWorld(t, "POST /emails: delay:5s, ok", func(w *world) {
		w.other(func(p *process) {
			id := w.mail.Send(w.draft("hasty"), SendOptions{Undo: time.Minute})
			w.until("an attempt", func() bool { return len(w.sends()) == 1 })
			w.until("seen", func() bool { e, _ := p.mail.Entry(id); return e.State == EntrySending })
			p.mail.TakeBack(id)
			w.untilState(id, EntryCancelled)
			w.until("told", func() bool {
				for _, n := range p.mail.Status().Results {
					if n.Entry == id {
						return true
					}
				}
				return false
			})
			w.pass(5 * time.Minute)
			if n := w.copies("hasty"); n != 0 {
				t.Errorf("%d copies of what was taken back", n)
			}
		})
	})
}

// What another process shows may be half a second old: what is done on the strength of it must not change what was begun.
func TestAnotherProcessIsTooLate(t *testing.T) {
	for what, do := range map[string]func(*Mail, EntryID){
		"drop":      (*Mail).Drop,
		"take back": (*Mail).TakeBack,
		"edit": func(m *Mail, id EntryID) {
			if d, ok := m.EditEntry(id); ok {
				m.Send(d, SendOptions{Undo: -1})
			}
		},
		"hold": (*Mail).Hold,
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, "POST /emails: delay:5s, ok", func(w *world) {
				w.other(func(p *process) {
					d := w.draft("race")
					id := p.mail.Send(d, SendOptions{Undo: -1})
					w.until("an attempt", func() bool { return len(w.sends()) == 1 })
					if e, _ := p.mail.Entry(id); e.State != EntryQueued {
						t.Errorf("the other process knows already that it is %s", e.State)
					}
					do(p.mail, id)
					w.untilState(id, EntrySent)
					w.pass(time.Minute)
					if e, ok := p.mail.Entry(id); !ok || e.State != EntrySent {
						t.Errorf("the other process shows %+v, %v", e, ok)
					}
					if n := w.copies("race"); n != 1 {
						t.Errorf("%d copies", n)
					}
					if n := len(p.mail.Drafts()); n != 0 {
						t.Errorf("%d drafts of what was sent", n)
					}
				})
			})
		})
	}
}

func TestTheNextOwnerEndsWhatTheOneBeforeBegan(t *testing.T) {
	inWorld(t, "POST /emails: stall:30s, ok", func(w *world) {
		w.close()
		first := w.process(w.options)
		o := w.options
		o.Passive = true
		second := w.process(o)
		w.mail = second.mail
		id := first.mail.Send(w.draft("handed on"), SendOptions{Undo: -1})
		w.until("an attempt", func() bool { return len(w.sends()) == 1 })
		w.die(first)
		w.untilWithin(time.Minute, "sent", func() bool { return w.entry(id).State == EntrySent })
		w.oneKey()
		if n := w.copies("handed on"); n != 1 {
			t.Errorf("%d copies", n)
		}
	})
}

func TestAnAttemptBeforeACrashIsNotForgotten(t *testing.T) {
	inWorld(t, "POST /emails: reset:after, 401, ...", func(w *world) {
		w.close()
		p := w.process(w.options)
		id := p.mail.Send(w.mustDraft(p.mail, "doubt"), SendOptions{Undo: -1})
		w.until("an attempt", func() bool { return len(w.sends()) == 1 })
		w.die(p)
		w.open() // tried again at once, and refused
		w.untilState(id, EntryHeld)
		if e := w.entry(id); e.CanEdit || e.CanDrop {
			t.Errorf("a message that has arrived can be edited and sent again: %+v", e)
		}
		if err := w.player.Set("ok"); err != nil {
			t.Fatal(err)
		}
		w.mail.SendNow(id)
		w.untilState(id, EntrySent)
		if n := w.copies("doubt"); n != 1 {
			t.Errorf("%d copies", n)
		}
	})
}

func (w *world) mustDraft(m *Mail, subject string) Draft {
	d := m.NewDraft("")
	d.To, d.Subject, d.Body = "grace@example.org", subject, "text"
	return d
}

// A refusal of the repetition says nothing about an attempt whose answer was lost.
func TestRefusedRepetitionIsLookedUp(t *testing.T) {
	inWorld(t, "POST /emails: reset:after, 409, ok", func(w *world) {
		id := w.mail.Send(w.draft("arrived"), SendOptions{Undo: -1})
		w.untilState(id, EntrySent)
		if n := w.copies("arrived"); n != 1 {
			t.Errorf("%d copies", n)
		}
	})
	inWorld(t, "POST /emails: reset:read, 422, ok", func(w *world) {
		id := w.mail.Send(w.draft("refused"), SendOptions{Undo: -1})
		w.untilState(id, EntryFailed)
	})
}

func TestOverdueMessageGoesOnceWhereverAProcessDies(t *testing.T) {
	for at := range int64(4) {
		inWorld(t, "ok", func(w *world) {
			w.close()
			w.off.set(true)
			o := w.options
			o.Watch = true
			p := w.process(o)
			id := p.mail.Send(w.mustDraft(p.mail, "overdue"), SendOptions{At: time.Now().Add(time.Minute)})
			w.until("on disk", func() bool { e, _ := p.mail.Entry(id); return e.State == EntryQueued })
			w.end(p)
			w.pass(time.Hour)
			w.off.set(false)
			p = w.process(w.options)
			w.until("the question", func() bool { e, _ := p.mail.Entry(id); return e.Ask == AskOverdue })
			p.left.Store(at + 1)
			p.mail.SendNow(id)
			w.pass(time.Second)
			w.die(p)
			w.open()
			w.pass(time.Minute)
			for _, e := range w.mail.Outbox() {
				w.mail.SendNow(e.ID)
			}
			w.until("sent", func() bool { return w.copies("overdue") == 1 })
			w.pass(time.Minute)
			if n := w.copies("overdue"); n != 1 {
				t.Errorf("death at write %d: %d copies", at, n)
			}
		})
	}
}

func TestLookingAtTheOutboxSendsNothing(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.close()
		o := w.options
		o.Passive, o.Watch = true, true
		p := w.process(o)
		id := p.mail.Send(w.mustDraft(p.mail, "kept"), SendOptions{Undo: -1})
		w.pass(time.Minute)
		if e, _ := p.mail.Entry(id); len(w.sends()) != 0 || e.State != EntryQueued || !e.CanDrop {
			t.Errorf("%d requests, %+v", len(w.sends()), e)
		}
		w.end(p)
	})
}

func TestLookThatFailsLeavesAMessageWaiting(t *testing.T) {
	inWorld(t, "POST /emails: 503, 503, 503, ok", func(w *world) {
		id := w.mail.Send(w.draft("waits"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.off.set(true)
		w.mail.EditEntry(id)
		w.until("the look failed", func() bool { return w.hasNotice("Could not look for") })
		w.off.set(false)
		w.untilState(id, EntrySent)
	})
}

func TestTextOfAnotherProcessIsKept(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.off.set(true)
		d := w.draft("shared")
		w.mail.EditDraft(d)
		w.until("on the disk", func() bool { return w.mail.DraftStatus(d.ID).State == SaveDisk })
		w.other(func(p *process) {
			there, ok := p.mail.Draft(d.ID)
			if !ok {
				t.Fatal("not read")
			}
			there.Body = "written there"
			p.mail.EditDraft(there)
			d.Body = "written here"
			w.mail.EditDraft(d)
			w.pass(2 * time.Second)
			there.Body = "written there, and more"
			p.mail.EditDraft(there)
			w.pass(2 * time.Second)
			p.mail.CloseDraft(d.ID)
			w.mail.CloseDraft(d.ID)
			w.pass(2 * time.Second)
		})
		w.restart()
		texts := map[string]bool{}
		for _, row := range w.mail.Drafts() {
			got, _ := w.mail.Draft(row.ID)
			texts[got.Body] = true
		}
		if !texts["written here"] || !texts["written there, and more"] {
			t.Errorf("kept are %v", texts)
		}
	})
}

func TestDraftSentThereIsGoneHere(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.other(func(p *process) {
			d := w.mustDraft(p.mail, "once")
			p.mail.EditDraft(d)
			p.mail.CloseDraft(d.ID)
			w.until("seen", func() bool { _, ok := w.mail.Draft(d.ID); return ok })
			id := p.mail.Send(d, SendOptions{Undo: -1})
			again := w.mail.Send(d, SendOptions{Undo: -1}) // at the same time
			w.until("sent", func() bool { return w.copies("once") == 1 })
			w.pass(time.Minute)
			if n := w.copies("once"); n != 1 {
				t.Errorf("%d copies of %s, %s", n, id, again)
			}
			if n := len(w.mail.Drafts()) + len(p.mail.Drafts()); n != 0 {
				t.Errorf("%d drafts", n)
			}
			w.mail.Send(d, SendOptions{Undo: -1}) // from a screen that was open all the while
			w.pass(time.Minute)
			if n := w.copies("once"); n != 1 {
				t.Errorf("%d copies after another press in the other terminal", n)
			}
		})
	})
}

func TestClockThatIsSetBack(t *testing.T) {
	inWorld(t, "POST /emails: 503:retry-after=120, ok", func(w *world) {
		w.close()
		var c clock
		w.options.Now = c.now
		w.open()
		id := w.mail.Send(w.draft("patient"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		d := w.draft("typed")
		w.mail.EditDraft(d)
		c.jump(-24 * time.Hour)
		w.untilWithin(time.Second, "typed text is on the disk", func() bool { return w.mail.DraftStatus(d.ID).State == SaveDisk })
		w.untilWithin(5*time.Minute, "sent", func() bool { return w.entry(id).State == EntrySent })
	})
}

func TestClockThatWasSetBackBetweenTwoStarts(t *testing.T) {
	inWorld(t, "POST /emails: 503:retry-after=120, ok", func(w *world) {
		w.close()
		var c clock
		w.options.Now = c.now
		w.open()
		id := w.mail.Send(w.draft("patient"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.close()
		c.jump(-24 * time.Hour)
		w.open()
		w.untilWithin(5*time.Minute, "sent", func() bool { return w.entry(id).State == EntrySent })
	})
}

func TestEditorTextBesideNewerText(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.off.set(true)
		d := w.draft("two texts")
		w.mail.EditDraft(d)
		w.until("on the disk", func() bool { return w.mail.DraftStatus(d.ID).State == SaveDisk })
		path, err := w.mail.EditorFile(d.ID)
		if err != nil {
			t.Fatal(err)
		}
		d.Body = "typed after that" // the program died, and the editor lives on
		w.mail.EditDraft(d)
		w.until("on the disk", func() bool { return w.mail.DraftStatus(d.ID).State == SaveDisk })
		w.kill()
		if err := os.WriteFile(path, []byte("written in the editor\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.open()
		texts := map[string]bool{}
		for _, row := range w.mail.Drafts() {
			got, _ := w.mail.Draft(row.ID)
			texts[got.Body] = true
		}
		if !texts["typed after that"] || !texts["written in the editor"] {
			t.Errorf("kept are %v", texts)
		}
		w.until("the file is gone", func() bool { _, err := os.Stat(path); return err != nil })
	})
}

func TestServersDraftOfAMessageInTheOutbox(t *testing.T) {
	inWorld(t, "POST /emails: 503, ...", func(w *world) {
		d := w.draft("one place")
		w.mail.SaveDraft(d)
		w.until("at the server", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
		id := w.mail.Send(d, SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.mail.Drafts()
		w.mail.Refresh()
		w.pass(10 * time.Second)
		if n := len(w.mail.Drafts()); n != 0 {
			t.Error("it is in the outbox, and among the drafts to be sent again")
		}
	})
}

func TestServersDraftIsDeletedAtTheNextStart(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		d := w.draft("quick")
		w.mail.SaveDraft(d)
		w.until("at the server", func() bool { return w.mail.DraftStatus(d.ID).State == SaveServer })
		id := w.mail.Send(d, SendOptions{Undo: -1})
		w.until("accepted", func() bool {
			w.mail.mu.Lock()
			defer w.mail.mu.Unlock()
			e := w.mail.entry(id)
			if e.EmailID == "" {
				return false
			}
			for _, c := range w.mail.calls { // as if the program had ended before the delete had its turn
				if c.Op == "drafts.delete" {
					w.mail.async.Cancel(c.ID)
				}
			}
			return true
		})
		w.restart()
		w.until("deleted there", func() bool { return len(w.serverDrafts()) == 0 })
	})
}

func TestAttachmentsThatOnlyTheServerHasAreTold(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.off.through(answers{w.off.next, map[string]string{
			"GET /drafts/": `{"object":"draft","id":"dr_9","to":["grace@example.org"],"cc":[],"bcc":[],"subject":"plans","html":"<p>see the file</p>","attachments":[{"filename":"plan.pdf","contentType":null,"size":null}]}`,
			"GET /drafts":  `{"object":"list","data":[{"object":"draft","id":"dr_9"}],"hasMore":false,"nextPageToken":null}`,
		}})
		w.mail.Drafts()
		w.until("here", func() bool { d := w.mail.Drafts(); return len(d) == 1 && d[0].Filled })
		id := w.mail.Drafts()[0].ID
		w.mail.OpenDraft(id)
		if !w.hasNotice("plan.pdf") {
			t.Error("nothing says that a file does not go along")
		}
		d, _ := w.mail.Draft(id)
		d.From = "ada@example.com"
		entry := w.mail.Send(d, SendOptions{Undo: -1})
		w.untilState(entry, EntrySent)
		w.pass(time.Minute)
		if n := w.player.Count("DELETE", "/drafts/dr_9"); n != 0 {
			t.Error("the only copy of the file was deleted")
		}
	})
}
