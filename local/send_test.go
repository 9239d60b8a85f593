package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

const keyHeader = "Idempotency-Key"

func messages(c *client, thread string) []obj {
	c.t.Helper()
	var out []obj
	for _, m := range c.do(200, "GET", "/threads/"+thread, nil)["messages"].([]any) {
		out = append(out, m.(obj))
	}
	return out
}

func TestSendToSelf(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		e := c.do(200, "POST", "/emails", send("Second <SECOND@example.net>", "bcc", "hidden@example.org", "tags", obj{"entry": "7"}))
		if e["status"] != "sent" || e["tags"].(obj)["entry"] != "7" {
			t.Fatalf("email: %v", e)
		}
		r := e["recipients"].([]any)
		if r[0].(obj)["status"] != "delivered" || r[1].(obj)["status"] != "pending" || r[1].(obj)["kind"] != "bcc" {
			t.Errorf("recipients: %v", r)
		}
		id := e["threadId"].(string)
		if got := c.folder("inbox"); !slices.Equal(got, []string{id}) {
			t.Errorf("inbox: %v", got)
		}
		if got := c.folder("sent"); !slices.Equal(got, []string{id}) {
			t.Errorf("sent: %v", got)
		}
		m := messages(c, id)
		if len(m) != 1 || m[0]["unread"] != true || m[0]["deliveredTo"] != "second@example.net" {
			t.Fatalf("messages: %v", m)
		}
		if got := m[0]["from"].(obj); got["name"] != "Mia Example" || got["email"] != me {
			t.Errorf("from: %v", got)
		}
		if bcc := m[0]["bcc"].([]any); len(bcc) != 1 {
			t.Errorf("the sender's copy does not name the blind copy: %v", bcc)
		}
		// A reply is threaded, with the headers that thread it elsewhere too.
		c.do(200, "PATCH", "/threads/"+id, obj{"read": true, "removeLabelIds": []string{"INBOX"}})
		clk.advance(time.Minute)
		e2 := c.do(200, "POST", "/emails", obj{"from": me, "to": me, "text": "answer", "threadId": id})
		if e2["threadId"] != id || e2["subject"] != "Re: Hello" {
			t.Errorf("reply: %v", e2)
		}
		m = messages(c, id)
		if len(m) != 2 || m[1]["inReplyTo"] != m[0]["messageId"] || !slices.Equal(m[1]["references"].([]any), []any{m[0]["messageId"]}) {
			t.Errorf("reply: %v", m)
		}
		if got := c.folder("inbox"); !slices.Equal(got, []string{id}) {
			t.Errorf("inbox after the reply: %v", got)
		}
	})
}

func TestHTMLAndAlternatives(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	e := c.do(200, "POST", "/emails", obj{"from": me, "to": me, "subject": "x", "html": "<p>Hello <b>you</b></p>"})
	m := messages(c, e["threadId"].(string))[0]
	if !strings.Contains(m["html"].(string), "<b>you</b>") || strings.TrimSpace(m["text"].(string)) != "Hello you" {
		t.Errorf("message: text %q, html %q", m["text"], m["html"])
	}
}

func TestIdempotency(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		for _, bad := range []string{"a b", "ä", "a/b", strings.Repeat("x", 256)} {
			c.refused(400, "invalid_idempotency_key", "", "POST", "/emails", send(me), keyHeader, bad)
		}
		first := c.do(200, "POST", "/emails", send(me, "cancellableForSeconds", 60), keyHeader, "oe-1")
		if first["replayed"] != false || first["status"] != "queued" {
			t.Fatalf("first: %v", first)
		}
		// The same body spelled in another way is the same message.
		again := c.do(200, "POST", "/emails", `{"text":"Hello there", "cancellableForSeconds":6e1, "to":["`+me+`"], "subject":"\u0048ello", "from":"`+me+`"}`, keyHeader, "oe-1")
		if again["replayed"] != true || again["id"] != first["id"] {
			t.Errorf("replay: %v", again)
		}
		c.refused(422, "idempotency_key_reuse", "", "POST", "/emails", send(me, "subject", "Other"), keyHeader, "oe-1")
		clk.advance(2 * time.Minute)
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		if now := c.do(200, "POST", "/emails", send(me, "cancellableForSeconds", 60), keyHeader, "oe-1"); now["status"] != "sent" || now["replayed"] != true {
			t.Errorf("a replay tells the state as it is now: %v", now)
		}
		// Another key is another message, and so is none.
		for range 2 {
			c.do(200, "POST", "/emails", send(me))
		}
		if n := len(c.list("/emails")); n != 3 {
			t.Errorf("%d emails, want 3", n)
		}
		// A refused send frees its key.
		c.refused(422, "invalid_field", "to", "POST", "/emails", send("nobody"), keyHeader, "oe-2")
		if e := c.do(200, "POST", "/emails", send(me), keyHeader, "oe-2"); e["replayed"] != false {
			t.Errorf("after a refusal: %v", e)
		}
		// A scheduled message is replayed after its time too.
		body := send(me, "scheduledAt", instant(clk.now().Add(time.Hour).UnixMilli()))
		if e := c.do(200, "POST", "/emails", body, keyHeader, "oe-3"); e["status"] != "scheduled" {
			t.Errorf("scheduled: %v", e)
		}
		clk.advance(2 * time.Hour)
		if e := c.do(200, "POST", "/emails", body, keyHeader, "oe-3"); e["replayed"] != true {
			t.Errorf("replay after the time: %v", e)
		}
	})
}

func TestIdempotencyKeysBelongToAKey(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	for _, key := range []string{"oe_test_one", "oe_test_two"} {
		c := &client{t, direct(t, s).http, "http://local.invalid"}
		c.http.Transport = NewTransport(s.HandlerFor(key))
		c.refused(401, "invalid_api_key", "", "GET", "/ping", nil)
		c.refused(401, "invalid_api_key", "", "GET", "/ping", nil, "Authorization", "Bearer oe_test_three")
		e := c.do(200, "POST", "/emails", send(me), keyHeader, "k", "Authorization", "Bearer "+key)
		if e["replayed"] != false {
			t.Errorf("%s met the key of another", key)
		}
	}
}

func TestRacingSends(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		var wg sync.WaitGroup
		ids := make([]any, 12)
		fresh := make([]bool, len(ids))
		for i := range ids {
			wg.Go(func() {
				e := c.do(200, "POST", "/emails", send(me), keyHeader, "race")
				ids[i], fresh[i] = e["id"], e["replayed"] == false
			})
		}
		wg.Wait()
		n := 0
		for i := range ids {
			if ids[i] != ids[0] {
				t.Errorf("two messages: %v and %v", ids[0], ids[i])
			}
			if fresh[i] {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d sends say that they were the first", n)
		}
		if got := messages(c, c.folder("inbox")[0]); len(got) != 1 {
			t.Errorf("%d copies", len(got))
		}
	})
}

func TestReopen(t *testing.T) {
	dir, clk := t.TempDir(), newClock()
	s := open(t, dir, clk)
	c := direct(t, s)
	e := c.do(200, "POST", "/emails", send(me, "cancellableForSeconds", 30), keyHeader, "k")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clk.advance(time.Hour)
	// The window passed while nothing ran: the message goes when the mailbox is opened.
	s = open(t, dir, clk)
	c = direct(t, s)
	again := c.do(200, "POST", "/emails", send(me, "cancellableForSeconds", 30), keyHeader, "k")
	if again["id"] != e["id"] || again["replayed"] != true || again["status"] != "sent" {
		t.Errorf("after a new start: %v", again)
	}
	c.refused(422, "idempotency_key_reuse", "", "POST", "/emails", send(me), keyHeader, "k")
	if n := len(c.folder("inbox")); n != 1 {
		t.Errorf("%d in the inbox", n)
	}
}

func TestCancelWindow(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		e := c.do(200, "POST", "/emails", send(me, "cancellableForSeconds", 10))
		id := e["id"].(string)
		if e["cancellableUntil"] != instant(clk.now().Add(10*time.Second).UnixMilli()) || e["threadId"] != nil {
			t.Errorf("email: %v", e)
		}
		clk.advance(9 * time.Second)
		run := func() {
			if err := s.runDue(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := len(c.folder("all")); n != 0 {
			t.Fatalf("%d threads are visible before the window has passed", n)
		}
		for range 2 {
			if got := c.do(200, "POST", "/emails/"+id+"/cancel", nil); got["status"] != "cancelled" {
				t.Errorf("cancel: %v", got)
			}
		}
		clk.advance(time.Hour)
		run()
		if n := len(c.folder("all")); n != 0 {
			t.Errorf("a cancelled message arrived")
		}
		id = c.do(200, "POST", "/emails", send(me, "cancellableForSeconds", 10))["id"].(string)
		// At the very end of the window it is too late, whether the job ran or not.
		clk.advance(10 * time.Second)
		c.refused(409, "email_not_cancellable", "", "POST", "/emails/"+id+"/cancel", nil)
		run()
		c.refused(409, "email_not_cancellable", "", "POST", "/emails/"+id+"/cancel", nil)
		if n := len(c.folder("inbox")); n != 1 {
			t.Errorf("%d in the inbox after the window", n)
		}
	})
}

func TestReschedule(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		at := func(d time.Duration) string { return instant(clk.now().Add(d).UnixMilli()) }
		e := c.do(200, "POST", "/emails", send("bob@example.org", "scheduledAt", at(time.Hour)))
		path := "/emails/" + e["id"].(string)
		got := c.do(200, "PATCH", path, obj{"scheduledAt": at(2 * time.Hour), "subject": "New", "to": me})
		if got["scheduledAt"] != at(2*time.Hour) || got["subject"] != "New" || got["messageId"] != e["messageId"] {
			t.Errorf("rescheduled: %v", got)
		}
		c.refused(422, "invalid_field", "scheduledAt", "PATCH", path, obj{"scheduledAt": at(-time.Hour)})
		if l := c.list("/emails?status=scheduled&scheduledFrom=" + at(time.Hour)); len(l) != 1 {
			t.Errorf("scheduled: %v", l)
		}
		clk.advance(3 * time.Hour)
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		c.refused(409, "email_not_changeable", "", "PATCH", path, obj{"subject": "Late"})
		if m := messages(c, c.folder("inbox")[0]); m[0]["subject"] != "New" {
			t.Errorf("message: %v", m)
		}
	})
}

func TestDeliveryByTheClock(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		clk := &clock{}
		s := open(t, dir, clk, func(o *Options) { o.Now = time.Now })
		c := direct(t, s)
		e := c.do(200, "POST", "/emails", send(me, "cancellableForSeconds", 10))
		time.Sleep(9900 * time.Millisecond)
		synctest.Wait()
		if got := c.do(200, "GET", "/emails/"+e["id"].(string), nil); got["status"] != "queued" {
			t.Errorf("before the window ends: %v", got["status"])
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		if got := c.do(200, "GET", "/emails/"+e["id"].(string), nil); got["status"] != "sent" {
			t.Errorf("after the window: %v", got["status"])
		}
		select {
		case <-s.Changes():
		default:
			t.Error("the arrival did not poke")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSchedulesOff(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk, func(o *Options) { o.Schedules = false })
	c := direct(t, s)
	e := c.do(200, "POST", "/emails", send(me))
	if e["status"] != "queued" {
		t.Errorf("a process without the lock delivered: %v", e)
	}
	s.SetSchedules(true)
	soon(t, "the delivery by the new owner of the lock", func() bool {
		return c.do(200, "GET", "/emails/"+e["id"].(string), nil)["status"] == "sent"
	})
}

func TestAnswersOfPersonas(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk, func(o *Options) {
		o.Reply = func(sent Sent) []Incoming {
			if !slices.Contains(sent.To, "ada@example.com") {
				return nil
			}
			raw, err := mailparse.Build(mailparse.Outgoing{
				From: mailparse.Address{Email: "ada@example.com"}, To: []mailparse.Address{sent.From}, Subject: "Re: " + sent.Subject,
				MessageID: "<answer@example.com>", InReplyTo: sent.MessageID, References: append(sent.References, sent.MessageID), Text: "Yes!",
			})
			if err != nil {
				t.Error(err)
			}
			return []Incoming{{From: "ada@example.com", At: sent.SentAt.Add(5 * time.Second), Raw: raw}}
		}
	})
	c := direct(t, s)
	e := c.do(200, "POST", "/emails", send("ada@example.com"))
	if r := e["recipients"].([]any)[0].(obj); r["status"] != "delivered" {
		t.Errorf("recipient: %v", r)
	}
	if n := len(c.folder("inbox")); n != 0 {
		t.Errorf("the answer came at once")
	}
	clk.advance(6 * time.Second)
	if err := s.runDue(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := c.folder("inbox"); !slices.Equal(got, []string{e["threadId"].(string)}) {
		t.Errorf("inbox: %v", got)
	}
	if m := messages(c, e["threadId"].(string)); len(m) != 2 || m[1]["unread"] != true || m[0]["unread"] != false {
		t.Errorf("thread: %v", m)
	}
}

func TestTwoProcesses(t *testing.T) {
	dir, clk := t.TempDir(), newClock()
	a := open(t, dir, clk)
	b := open(t, dir, clk, func(o *Options) { o.Schedules = false; o.Addresses = nil })
	if got := b.Addresses(); len(got) != 2 || got[0] != me {
		t.Errorf("the addresses were not kept: %v", got)
	}
	var wg sync.WaitGroup
	for i := range 2 {
		c := direct(t, []*Server{a, b}[i])
		for j := range 5 {
			wg.Go(func() { c.do(200, "POST", "/emails", send(me), keyHeader, fmt.Sprintf("k%d", j)) })
		}
	}
	wg.Wait()
	if n := len(direct(t, a).list("/emails")); n != 5 {
		t.Errorf("%d emails, want 5", n)
	}
	select {
	case <-a.Changes():
	case <-time.After(time.Minute):
		t.Error("the write of the other process was not noticed")
	}
}
