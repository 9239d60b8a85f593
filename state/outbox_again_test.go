package state

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// lostAnswer is a server that handed each message over and does not know whether it arrived, until it is told to send
// it again.
type lostAnswer struct {
	next http.RoundTripper

	mu     sync.Mutex
	asked  []string // the times that PATCH named
	answer int      // what PATCH answers; 0 means 200
	stuck  bool     // instead, the message waits at the server for its next attempt
}

func (l *lostAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Path, "/emails") {
		return l.next.RoundTrip(r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	status, recipient, code := "partial", "uncertain", 200
	if l.stuck {
		status, recipient = "queued", "pending"
	}
	if r.Method == http.MethodPatch {
		var body struct{ ScheduledAt string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		if l.answer != 0 {
			code = l.answer
		} else {
			l.asked = append(l.asked, body.ScheduledAt)
			status = "scheduled"
		}
		r = r.Clone(r.Context())
		r.Method, r.Body, r.ContentLength = http.MethodGet, http.NoBody, 0
	} else if len(l.asked) > 0 {
		status, recipient = "sent", "delivered"
	}
	res, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var email map[string]any
	if err := json.NewDecoder(res.Body).Decode(&email); err != nil {
		return nil, err
	}
	if list, ok := email["recipients"].([]any); ok {
		email["status"], email["mode"], email["transport"] = status, "live", "dev"
		if email["lastError"] = nil; status == "queued" {
			email["lastError"] = "The relay is busy."
		}
		to := list[0].(map[string]any)
		to["status"], to["error"] = recipient, nil
		if recipient == "uncertain" {
			to["error"] = "The answer of the relay did not come."
		}
	}
	if code != 200 {
		email = map[string]any{"error": map[string]any{"type": "conflict_error", "code": "email_not_changeable", "message": "It is on its way."}}
	}
	raw, err := json.Marshal(email)
	if err != nil {
		return nil, err
	}
	res.StatusCode, res.Body, res.ContentLength = code, io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	res.Header.Set("Content-Length", "")
	res.Header.Del("Content-Length")
	return res, nil
}

func TestUncertainDeliveryAsks(t *testing.T) {
	inWorld(t, "", func(w *world) {
		lost := &lostAnswer{next: w.off.next}
		w.off.through(lost)
		w.close()
		var c clock
		w.options.Now = c.now
		w.open()
		id := w.mail.Send(w.draft("lost"), SendOptions{})
		w.until("the question", func() bool { return w.entry(id).Ask == AskSendAgain })
		e := w.entry(id)
		if e.State != EntryUnknown || !strings.Contains(e.Why, "The answer of the relay did not come.") || !e.CanSend || !e.CanDrop || e.CanEdit || e.CanTakeBack {
			t.Errorf("entry: %+v", e)
		}
		if !w.hasNotice("Not known whether") {
			t.Error("nothing says that it is not known")
		}
		// Nothing is repeated by itself, by a start of the program, or by what else can be done.
		w.mail.Hold(id)
		for range 25 {
			c.jump(time.Hour)
			w.pass(10 * time.Second)
		}
		w.restart()
		w.pass(time.Hour)
		if e := w.entry(id); e.Ask != AskSendAgain || len(lost.asked) != 0 || w.copies("lost") > 1 {
			t.Fatalf("after a day: %+v, asked %v", e, lost.asked)
		}
		// A refusal of the server is told, and the question stays.
		lost.mu.Lock()
		lost.answer = 409
		lost.mu.Unlock()
		w.mail.SendNow(id)
		w.until("the refusal", func() bool { return w.hasNotice("Not sent again") })
		w.until("the question", func() bool { return w.entry(id).Ask == AskSendAgain && w.entry(id).Call == "" })
		lost.mu.Lock()
		lost.answer = 0
		lost.mu.Unlock()
		w.mail.SendNow(id)
		w.untilState(id, EntrySent)
		if len(lost.asked) != 1 {
			t.Errorf("asked to send again at %v", lost.asked)
		}
	})
}

func TestUncertainDeliveryCanBeLetGo(t *testing.T) {
	inWorld(t, "", func(w *world) {
		lost := &lostAnswer{next: w.off.next}
		w.off.through(lost)
		id := w.mail.Send(w.draft("lost"), SendOptions{})
		w.until("the question", func() bool { return w.entry(id).Ask == AskSendAgain })
		w.mail.Drop(id)
		w.pass(time.Hour)
		if _, ok := w.mail.Entry(id); ok || len(lost.asked) != 0 {
			t.Errorf("it is still there, or was sent again: %v", lost.asked)
		}
	})
}

func TestWhatTheServerCannotDeliverYet(t *testing.T) {
	inWorld(t, "", func(w *world) {
		lost := &lostAnswer{next: w.off.next, stuck: true}
		w.off.through(lost)
		id := w.mail.Send(w.draft("stuck"), SendOptions{Undo: -1})
		w.until("the reason", func() bool { return w.entry(id).Why == "The relay is busy." })
		if e := w.entry(id); e.State != EntryAccepted || !e.CanSend || e.CanEdit {
			t.Errorf("entry: %+v", e)
		}
		w.pass(time.Hour)
		if len(lost.asked) != 0 {
			t.Errorf("asked at %v by itself", lost.asked)
		}
		w.mail.SendNow(id)
		w.untilState(id, EntrySent)
		if len(lost.asked) != 1 {
			t.Errorf("asked to send now at %v", lost.asked)
		}
	})
}
