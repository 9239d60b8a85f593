package state

import (
	"context"
	"strings"
	"testing"
	"time"
)

// The tests named after scenes are the rows of testdata/scenes.tsv.

func TestScene1AnswerHeldBack(t *testing.T) {
	// Accepted, and the answer comes after the time limit of 30 s.
	inWorld(t, "POST /emails: stall:40s, ok", func(w *world) {
		id := w.mail.Send(w.draft("one"), SendOptions{Undo: -1})
		w.until("second try in the status", func() bool {
			for _, c := range w.mail.Status().Calls {
				if c.Op == "emails.send" && c.Attempt == 2 {
					return true
				}
			}
			return false
		})
		w.untilState(id, EntrySent)
		w.oneKey()
		if n := len(w.sends()); n != 2 {
			t.Errorf("%d send requests, want 2", n)
		}
		if n := w.copies("one"); n != 1 {
			t.Errorf("%d copies, want 1", n)
		}
	})
}

func TestAcceptedButAnswerLost(t *testing.T) {
	inWorld(t, "POST /emails: reset:after, ok", func(w *world) {
		id := w.mail.Send(w.draft("lost"), SendOptions{Undo: -1})
		w.untilState(id, EntrySent)
		w.oneKey()
		if n := w.copies("lost"); n != 1 {
			t.Errorf("%d copies, want 1", n)
		}
		if !w.entry(id).Replayed {
			t.Error("the server had it already, and the entry does not say so")
		}
	})
}

func TestScene2CutAndRestarted(t *testing.T) {
	inWorld(t, "POST /emails: reset:after, ...", func(w *world) {
		id := w.mail.Send(w.draft("two"), SendOptions{Undo: -1})
		w.until("first attempt", func() bool { return len(w.sends()) > 0 })
		w.off.set(true)
		w.close()
		w.off.set(false)
		if err := w.player.Set("ok"); err != nil {
			t.Fatal(err)
		}
		w.open()
		if w.entry(id).State == "" {
			t.Fatal("the entry is not there after the start")
		}
		w.untilState(id, EntrySent)
		w.oneKey()
		if n := w.copies("two"); n != 1 {
			t.Errorf("%d copies, want 1", n)
		}
	})
}

func TestScene3RefusedThenEdited(t *testing.T) {
	inWorld(t, "POST /emails: 422, ok", func(w *world) {
		id := w.mail.Send(w.draft("three"), SendOptions{Undo: -1})
		w.untilState(id, EntryFailed)
		d, ok := w.mail.EditEntry(id)
		if !ok || d.Body == "" {
			t.Fatalf("a refused message cannot be edited: %+v, %v", d, ok)
		}
		d.To = "grace@example.net"
		next := w.mail.Send(d, SendOptions{Undo: -1})
		w.untilState(next, EntrySent)
		s := w.sends()
		if len(s) != 2 || s[0].Key == s[1].Key {
			t.Errorf("an edited message went under the old key")
		}
	})
}

func TestScene4ServerOffThenOn(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.off.set(true)
		id := w.mail.Send(w.draft("four"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		if e := w.entry(id); e.Until.IsZero() || e.Why == "" {
			t.Errorf("a waiting entry says neither until when nor why: %+v", e)
		}
		w.off.set(false)
		w.untilState(id, EntrySent)
		w.oneKey()
	})
}

func TestScene5PressedTwice(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		d := w.draft("five")
		w.mail.EditDraft(d)
		a := w.mail.Send(d, SendOptions{})
		time.Sleep(30 * time.Millisecond)
		b := w.mail.Send(d, SendOptions{})
		if a != b {
			t.Errorf("two entries: %s, %s", a, b)
		}
		w.untilState(a, EntrySent)
		if n := w.copies("five"); n != 1 {
			t.Errorf("%d copies, want 1", n)
		}
	})
}

func TestScene6TakenBackAndEdited(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		id := w.mail.Send(w.draft("six"), SendOptions{Undo: 10 * time.Second})
		w.untilState(id, EntryAccepted)
		w.pass(9 * time.Second)
		if !w.mail.Undo() {
			t.Fatal("nothing to undo")
		}
		w.untilState(id, EntryCancelled)
		if !w.hasNotice("Taken back") {
			t.Error("the news does not say that it was taken back")
		}
		drafts := w.mail.Drafts()
		if len(drafts) != 1 {
			t.Fatalf("%d drafts, want the text that was taken back", len(drafts))
		}
		d, ok := w.mail.Draft(drafts[0].ID)
		if !ok {
			t.Fatal("the draft is not here")
		}
		d.Subject, d.Body = "six edited", "better"
		next := w.mail.Send(d, SendOptions{Undo: -1})
		w.untilState(next, EntrySent)
		w.pass(time.Minute)
		if first, second := w.copies("six"), w.copies("six edited"); first != 0 || second != 1 {
			t.Errorf("%d of the first text and %d of the edited one arrived, want 0 and 1", first, second)
		}
	})
}

func TestScene7KilledBeforeTheFirstTry(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		// A process that holds the lock keeps the other from trying: what it writes is as a killed one leaves it.
		other := w.openAs(w.options)
		id := other.Send(w.draft("seven"), SendOptions{Undo: -1})
		w.until("on disk", func() bool { e, _ := other.Entry(id); return e.State != EntrySaving })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := other.Close(ctx); err != nil {
			t.Fatal(err)
		}
		w.restart()
		w.untilState(id, EntrySent)
		if n := w.copies("seven"); n != 1 {
			t.Errorf("%d copies, want 1", n)
		}
	})
}

func TestScene11StoppedThenEdited(t *testing.T) {
	inWorld(t, "POST /emails: reset:after, ...; GET /emails: 503, 503, 503, ok", func(w *world) {
		id := w.mail.Send(w.draft("eleven"), SendOptions{Undo: -1})
		w.until("a wait", func() bool { return w.mail.Status().Waiting > 0 && len(w.sends()) > 0 })
		if !w.mail.esc() {
			t.Fatal("nothing to stop")
		}
		w.untilState(id, EntryUnknown)
		if !w.hasNotice("Not known if “eleven” arrived") {
			t.Error("the news does not say that it may have been accepted")
		}
		n := len(w.sends())
		w.pass(time.Hour)
		if len(w.sends()) != n {
			t.Error("a stopped message went by itself")
		}
		if _, ok := w.mail.EditEntry(id); ok {
			t.Error("a message of unknown fate can be edited without a look")
		}
		w.until("the failed look is told", func() bool { return w.hasNotice("Could not look for") })
		w.mail.EditEntry(id)
		w.untilState(id, EntrySent)
		if n := w.copies("eleven"); n != 1 {
			t.Errorf("%d copies, want 1", n)
		}
	})
}

func TestUnknownNotFoundIsEditedWithAWarning(t *testing.T) {
	inWorld(t, "POST /emails: stall:1h, ...", func(w *world) {
		id := w.mail.Send(w.draft("gone"), SendOptions{Undo: -1})
		w.until("an attempt", func() bool { return len(w.sends()) == 1 })
		w.mail.esc()
		w.untilState(id, EntryUnknown)
		if _, ok := w.mail.EditAsNew(id); ok {
			t.Error("edited as new without the question")
		}
		w.mail.EditEntry(id)
		w.until("the question", func() bool { return w.entry(id).Ask == AskEditAsNew })
		d, ok := w.mail.EditAsNew(id)
		if !ok || d.Subject != "gone" {
			t.Fatalf("got %+v, %v", d, ok)
		}
		if _, still := w.mail.Entry(id); still {
			t.Error("the old message is still in the outbox")
		}
	})
}

func TestScene12KeyMended(t *testing.T) {
	inWorld(t, "POST /emails: 401, ok", func(w *world) {
		id := w.mail.Send(w.draft("twelve"), SendOptions{Undo: -1})
		w.untilState(id, EntryHeld)
		w.pass(time.Hour)
		if n := len(w.sends()); n != 1 {
			t.Errorf("%d requests with a key that is not accepted, want 1", n)
		}
		w.restart()
		w.untilState(id, EntrySent)
		w.oneKey()
	})
}

func TestScene13RateLimited(t *testing.T) {
	inWorld(t, "POST /emails: 429, ok", func(w *world) {
		began := time.Now()
		id := w.mail.Send(w.draft("thirteen"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.untilState(id, EntrySent)
		s := w.sends()
		if len(s) != 2 || s[1].At.Sub(began) < time.Minute {
			t.Errorf("%d tries, the last after %v; want 2, a minute apart", len(s), s[len(s)-1].At.Sub(began))
		}
		w.oneKey()
	})
}

func TestRetryAfterIsNeverCutShort(t *testing.T) {
	inWorld(t, "POST /emails: 503:retry-after=300, ok", func(w *world) {
		began := time.Now()
		id := w.mail.Send(w.draft("asked"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.untilState(id, EntrySent)
		if s := w.sends(); len(s) != 2 || s[1].At.Sub(began) < 5*time.Minute {
			t.Errorf("came back after %v, asked for 5 min", s[len(s)-1].At.Sub(began))
		}
	})
}

func TestScene14TwoProcesses(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		o := w.options
		o.Passive = true
		other := w.openAs(o)
		if other.Status().Owner {
			t.Fatal("two owners")
		}
		d := other.NewDraft("")
		d.To, d.Subject, d.Body = "grace@example.org", "fourteen", "from the other"
		id := other.Send(d, SendOptions{Undo: -1})
		w.untilState(id, EntrySent)
		w.until("the other process sees it", func() bool { e, _ := other.Entry(id); return e.State == EntrySent })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := other.Close(ctx); err != nil {
			t.Error(err)
		}
		if n := w.copies("fourteen"); n != 1 {
			t.Errorf("%d copies, want 1", n)
		}
	})
}

func TestAnotherProcessTakesOver(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		second := w.openAs(w.options)
		w.close()
		w.mail = second
		w.untilWithin(2*time.Second, "takes over", func() bool { return second.Status().Owner })
	})
}

func TestScene15TakenBackWithLostAnswer(t *testing.T) {
	inWorld(t, "POST /emails: reset:after, ok", func(w *world) {
		id := w.mail.Send(w.draft("fifteen"), SendOptions{Undo: 10 * time.Second})
		w.until("an attempt", func() bool { return len(w.sends()) > 0 })
		if !w.mail.Undo() {
			t.Fatal("nothing to undo")
		}
		w.until("an answer", func() bool { s := w.entry(id).State; return s == EntryCancelled || s == EntrySent })
		if w.entry(id).State == EntryCancelled && (!w.hasNotice("Taken back") || w.copies("fifteen") != 0) {
			t.Errorf("said to be taken back, %d copies\n%s", w.copies("fifteen"), w.describe())
		}
		if w.entry(id).State == EntrySent && !w.hasNotice("Too late") {
			t.Error("sent in silence after it was taken back")
		}
	})
}

func TestTakeBackTooLate(t *testing.T) {
	inWorld(t, "POST /emails/*: 409", func(w *world) {
		id := w.mail.Send(w.draft("late"), SendOptions{Undo: 10 * time.Second})
		w.untilState(id, EntryAccepted)
		w.mail.TakeBack(id)
		w.until("told", func() bool { return w.hasNotice("Too late, it was sent") })
		w.untilState(id, EntrySent)
	})
}

func TestScene16AcceptedThenFailed(t *testing.T) {
	failed := `{"object":"email","id":"em_1","status":"failed","mode":"live","from":"ada@example.com","subject":"sixteen","attempts":3,"lastError":"mailbox full","tags":{},"createdAt":"2000-01-01T00:00:00.000Z"}`
	inWorld(t, "ok", func(w *world) {
		w.off.through(answers{w.off.next, map[string]string{"GET /emails/": failed}})
		id := w.mail.Send(w.draft("sixteen"), SendOptions{Undo: 5 * time.Second})
		w.untilState(id, EntryFailed)
		if !w.hasNotice("mailbox full") || !w.hasNotice("sixteen") {
			t.Errorf("not told which message failed and why\n%s", w.describe())
		}
	})
}

func TestScene17ReplayOfACancelledMessage(t *testing.T) {
	cancelled := `{"object":"email","id":"em_1","status":"cancelled","mode":"live","from":"ada@example.com","subject":"seventeen","attempts":0,"tags":{},"createdAt":"2000-01-01T00:00:00.000Z","replayed":true}`
	inWorld(t, "POST /emails: 503*3, ok", func(w *world) {
		id := w.mail.Send(w.draft("seventeen"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.off.through(answers{w.off.next, map[string]string{"POST /emails": cancelled}})
		w.restart()
		w.untilState(id, EntryCancelled)
	})
}

func TestAskedAfterADay(t *testing.T) {
	inWorld(t, "POST /emails: reset:read, ...", func(w *world) {
		w.close()
		var c clock
		w.options.Now = c.now
		w.open()
		id := w.mail.Send(w.draft("old"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		c.jump(23 * time.Hour)
		n := len(w.sends())
		w.untilWithin(20*time.Minute, "tried after less than a day", func() bool { return len(w.sends()) > n })
		w.untilState(id, EntryWaiting)
		c.jump(time.Hour)
		w.until("the question", func() bool { return w.entry(id).Ask == AskTryAgain })
		n = len(w.sends())
		for range 10 {
			c.jump(time.Hour)
			w.pass(time.Minute)
		}
		if len(w.sends()) != n {
			t.Error("it went by itself though the person is asked")
		}
		if err := w.player.Set("ok"); err != nil {
			t.Fatal(err)
		}
		w.mail.SendNow(id)
		w.untilState(id, EntrySent)
		w.oneKey()
	})
}

func TestAskedWhenTheAccountChanged(t *testing.T) {
	inWorld(t, "POST /emails: reset:read, ...", func(w *world) {
		id := w.mail.Send(w.draft("moved"), SendOptions{Undo: -1})
		w.untilState(id, EntryWaiting)
		w.close()
		w.options.Origin = "elsewhere"
		if err := w.player.Set("ok"); err != nil {
			t.Fatal(err)
		}
		n := len(w.sends())
		w.open()
		w.until("the question", func() bool { return w.entry(id).Ask == AskTryAgain })
		if len(w.sends()) != n {
			t.Error("it went to another account by itself")
		}
	})
}

func TestOverdueAsks(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		w.off.set(true)
		other := w.options
		other.Passive = true
		m := w.openAs(other) // never the owner: nothing is tried
		d := m.NewDraft("")
		d.To, d.Subject, d.Body = "grace@example.org", "overdue", "x"
		id := m.Send(d, SendOptions{At: time.Now().Add(time.Minute)})
		w.until("on disk", func() bool { e, _ := m.Entry(id); return e.State == EntryQueued })
		w.close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour)
		w.off.set(false)
		w.open()
		w.until("the question", func() bool { return w.entry(id).Ask == AskOverdue })
		if len(w.sends()) != 0 {
			t.Error("tried though its time has passed")
		}
		w.mail.SendNow(id)
		w.until("sent as a new message", func() bool { return w.copies("overdue") == 1 })
		if b := bodyOf(w.sends()[0]); b["scheduledAt"] != nil {
			t.Errorf("sent with a time in the past: %v", b)
		}
	})
}

// Of a server elsewhere nobody says that a message did not leave this machine.
func TestTestModeSaysWhereTheMessageIs(t *testing.T) {
	for poke, want := range map[bool]string{true: "did not leave this machine", false: "the server does not deliver it"} {
		inWorld(t, "ok", func(w *world) {
			if w.poke != poke {
				w.close()
				w.poke = poke
				w.open()
			}
			w.mail.Send(w.draft("a test"), SendOptions{})
			w.until(want, func() bool { return w.hasNotice(want) })
		})
	}
}

func TestSendLaterSaysWhen(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		later := func(in time.Duration) time.Time { return w.mail.Now().Add(in) }
		for _, at := range []time.Time{later(time.Minute), later(72 * time.Hour)} {
			id := w.mail.Send(w.draft("later"), SendOptions{At: at})
			want := "Goes to Grace at " + at.Format("15:04")
			if at.Sub(later(0)) > time.Hour {
				want = "Goes to Grace on " + at.Format("Mon 2 Jan 15:04")
			}
			w.until("accepted", func() bool { return w.entry(id).State == EntryAccepted })
			w.until(want, func() bool { return w.hasNotice(want) })
		}
	})
}

func TestSendStoppedBeforeAnAttemptIsFree(t *testing.T) {
	inWorld(t, "GET /threads: stall:1h, ...", func(w *world) {
		id := w.mail.Send(w.draft("free"), SendOptions{Undo: 10 * time.Second})
		if !w.mail.Undo() {
			// It is on its way to the disk: the entry itself can be taken back.
			w.mail.TakeBack(id)
		}
		w.until("taken back", func() bool { return w.hasNotice("Taken back") })
		w.pass(time.Minute)
		if n := len(w.sends()); n != 0 {
			t.Errorf("%d requests for a message that was taken back before it was tried", n)
		}
	})
}

func TestBodyHoldsWhatAPersonWrote(t *testing.T) {
	inWorld(t, "ok", func(w *world) {
		d := w.draft("Größe 漢字\r\nBcc: evil@example.org")
		d.Cc, d.Bcc = `"Byron, Ada" <byron@example.com>`, "joan@example.net; lin@example.net"
		id := w.mail.Send(d, SendOptions{})
		w.untilState(id, EntryAccepted)
		b := bodyOf(w.sends()[0])
		if got := b["subject"].(string); strings.ContainsAny(got, "\r\n") {
			t.Errorf("subject %q", got)
		}
		if n := len(b["bcc"].([]any)); n != 2 {
			t.Errorf("%d blind copies, want 2", n)
		}
		if got := b["cc"].([]any)[0].(map[string]any); got["name"] != "Byron, Ada" || got["email"] != "byron@example.com" {
			t.Errorf("cc %v", got)
		}
		if b["cancellableForSeconds"] != 10.0 || b["tags"].(map[string]any)["teapost"] != string(id) {
			t.Errorf("window %v, tags %v", b["cancellableForSeconds"], b["tags"])
		}
	})
}
