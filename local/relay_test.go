package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// relayed opens a mailbox that delivers through r, with a clock of its own.
func relayed(t *testing.T, r *Relay) (*Server, *clock, *client) {
	t.Helper()
	clk := newClock()
	s := open(t, t.TempDir(), clk, func(o *Options) { o.Relay = r })
	return s, clk, direct(t, s)
}

// run makes all attempts that are due.
func run(t *testing.T, s *Server) {
	t.Helper()
	if err := errors.Join(s.runDue(context.Background()), s.relayDue(context.Background())); err != nil {
		t.Fatal(err)
	}
}

// sendVia sends and makes the first attempt.
func sendVia(t *testing.T, s *Server, c *client, body obj) obj {
	t.Helper()
	e := c.do(200, "POST", "/emails", body)
	run(t, s)
	return c.do(200, "GET", "/emails/"+e["id"].(string), nil)
}

// states gives the recipients of an email as "address=status".
func states(e obj) string {
	var out []string
	for _, r := range e["recipients"].([]any) {
		r := r.(obj)
		out = append(out, fmt.Sprintf("%s=%s", r["email"], r["status"]))
	}
	return strings.Join(out, " ")
}

// eventTypes gives what happened to an email, oldest first.
func eventTypes(c *client, e obj) string {
	c.t.Helper()
	var out []string
	for _, v := range c.do(200, "GET", "/emails/"+e["id"].(string)+"/events?limit=100", nil)["data"].([]any) {
		out = append(out, strings.TrimPrefix(v.(obj)["type"].(string), "email."))
	}
	slices.Reverse(out)
	return strings.Join(out, " ")
}

func TestRelayDelivers(t *testing.T) {
	for _, kind := range []RelayTLS{StartTLS, ImplicitTLS, NoTLS} {
		for _, mech := range []string{sasl.Plain, "LOGIN"} {
			t.Run(string(kind)+" "+mech, func(t *testing.T) {
				p := &post{user: "mia", pass: "geheim ü", mech: []string{mech}}
				s, _, c := relayed(t, p.start(t, kind))
				if err := s.CheckRelay(context.Background()); err != nil {
					t.Fatalf("the relay does not work: %v", err)
				}
				e := sendVia(t, s, c, send("Bob <bob@example.org>", "cc", "carol@bücher.example", "bcc", "hidden@example.org", "html", "<p>Hello <b>there</b></p>"))
				if e["status"] != "sent" || e["mode"] != "live" || e["transport"] != "dev" || e["attempts"] != 1.0 || e["lastError"] != nil || e["sentAt"] == nil {
					t.Errorf("email: %v", e)
				}
				if got := states(e); got != "bob@example.org=delivered carol@bücher.example=delivered hidden@example.org=delivered" {
					t.Errorf("recipients: %s", got)
				}
				got := p.messages()
				if len(got) != 1 {
					t.Fatalf("%d deliveries", len(got))
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.encoding != (kind != NoTLS) || !slices.Equal(p.signedIn, []string{mech, mech}) {
					t.Errorf("encrypted %v, signed in %v", p.encoding, p.signedIn)
				}
				if got[0].from != me || !slices.Equal(got[0].to, []string{"bob@example.org", "carol@xn--bcher-kva.example", "hidden@example.org"}) {
					t.Errorf("envelope: %s %v", got[0].from, got[0].to)
				}
				raw := string(got[0].raw)
				if strings.Contains(strings.ToLower(raw), "\nbcc:") || strings.Contains(raw, "hidden") {
					t.Errorf("the blind copy is named:\n%s", raw)
				}
				for _, want := range []string{
					"Message-ID: " + e["messageId"].(string), "Date: Tue, 10 Mar 2026 09:00:00 +0000", "multipart/alternative", "text/plain", "text/html",
					"To: \"Bob\" <bob@example.org>", "MIME-Version: 1.0",
				} {
					if !strings.Contains(raw, want) && !strings.Contains(raw, strings.ReplaceAll(want, `"Bob"`, "Bob")) {
						t.Errorf("the message lacks %q:\n%s", want, raw)
					}
				}
				if m := messages(c, e["threadId"].(string)); len(m) != 1 || len(m[0]["bcc"].([]any)) != 1 {
					t.Errorf("the sender's copy: %v", m)
				}
				if got := c.folder("sent"); len(got) != 1 {
					t.Errorf("sent: %v", got)
				}
				if got := c.folder("inbox"); len(got) != 0 {
					t.Errorf("inbox: %v", got)
				}
				if got := eventTypes(c, e); got != "queued delivered delivered delivered sent" {
					t.Errorf("events: %s", got)
				}
			})
		}
	}
}

// The bytes that the relay gets are the ones that were stored.
func TestRelayGetsTheStoredBytes(t *testing.T) {
	p := &post{}
	s, _, c := relayed(t, p.start(t, NoTLS))
	text := "A line\n.\n..dots\n" + strings.Repeat("long ", 1000) + "\nÜmläute\n"
	e := sendVia(t, s, c, send("bob@example.org", "text", text, "attachments", []obj{{"filename": "a.bin", "content": "AAECAw=="}}))
	var id int64
	var stored storedMessage
	err := s.reader.QueryRowContext(context.Background(), "SELECT message_id, encoding, data FROM raws").Scan(&id, &stored.encoding, &stored.data)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := unpack(stored.encoding, stored.data)
	if err != nil {
		t.Fatal(err)
	}
	got := p.messages()
	if len(got) != 1 || e["status"] != "sent" {
		t.Fatalf("%d deliveries, %v", len(got), e)
	}
	if string(got[0].raw) != string(raw) {
		t.Errorf("the relay got other bytes:\n%q\n%q", got[0].raw, raw)
	}
}

func TestReplyThroughTheRelayIsThreaded(t *testing.T) {
	p := &post{}
	s, _, c := relayed(t, p.start(t, NoTLS))
	in := ingest(t, s, mailText("<q@example.org>", "Bob <bob@example.org>", "Question", "?"), IngestOptions{Folder: "inbox"})
	e := sendVia(t, s, c, obj{"from": me, "to": "bob@example.org", "text": "Answer", "threadId": in.ThreadID})
	if e["threadId"] != in.ThreadID {
		t.Errorf("thread: %v", e["threadId"])
	}
	raw := string(p.messages()[0].raw)
	for _, want := range []string{"In-Reply-To: <q@example.org>\r\n", "References: <q@example.org>\r\n", "Subject: Re: Question\r\n", "Content-Type: text/plain"} {
		if !strings.Contains(raw, want) {
			t.Errorf("the answer lacks %q:\n%s", want, raw)
		}
	}
	if strings.Contains(raw, "multipart") {
		t.Errorf("plain text became multipart:\n%s", raw)
	}
}

func TestOwnAddressesStayHere(t *testing.T) {
	p := &post{}
	s, _, c := relayed(t, p.start(t, NoTLS))
	e := sendVia(t, s, c, send(me, "cc", "bob@example.org"))
	if e["status"] != "sent" || states(e) != me+"=delivered bob@example.org=delivered" {
		t.Errorf("email: %v", e)
	}
	if got := p.messages(); len(got) != 1 || !slices.Equal(got[0].to, []string{"bob@example.org"}) {
		t.Errorf("the relay got %v", got)
	}
	if n := len(c.folder("inbox")); n != 1 {
		t.Errorf("%d in the inbox", n)
	}
	if e := sendVia(t, s, c, send(me)); e["status"] != "sent" || e["mode"] != "live" || len(p.messages()) != 1 {
		t.Errorf("a note to oneself: %v, %d deliveries", e, len(p.messages()))
	}
	var copies int
	if err := s.reader.QueryRowContext(context.Background(), "SELECT count(*) FROM messages").Scan(&copies); err != nil || copies != 2 {
		t.Errorf("%d copies, %v", copies, err)
	}
}

// A key for tests never makes mail leave the machine.
func TestTestKeysDoNotReachTheRelay(t *testing.T) {
	p := &post{}
	s, _, c := relayed(t, p.start(t, NoTLS))
	e := c.do(200, "POST", "/emails", send("bob@example.org"), "Authorization", "Bearer oe_test_abc")
	run(t, s)
	e = c.do(200, "GET", "/emails/"+e["id"].(string), nil)
	if e["mode"] != "test" || e["transport"] != "test" || e["status"] != "sent" || len(p.messages()) != 0 {
		t.Errorf("%v, %d deliveries", e, len(p.messages()))
	}
	if got := c.do(200, "GET", "/ping", nil, "Authorization", "Bearer oe_test_abc"); got["mode"] != "test" {
		t.Errorf("ping: %v", got)
	}
	if got := c.do(200, "GET", "/ping", nil, "Authorization", "Bearer oe_live_abc"); got["mode"] != "live" {
		t.Errorf("ping: %v", got)
	}
}

func TestRelayLimits(t *testing.T) {
	p := &post{}
	s, _, c := relayed(t, p.start(t, NoTLS, func(s *smtp.Server) { s.MaxMessageBytes = 2000 }))
	e := sendVia(t, s, c, send("bob@example.org", "text", strings.Repeat("x ", 3000)))
	if e["status"] != "failed" || !strings.Contains(fmt.Sprint(e["lastError"]), "the relay takes") || len(p.messages()) != 0 {
		t.Errorf("too large: %v", e)
	}
	if len(c.folder("sent")) != 0 {
		t.Error("a message that failed is among the sent ones")
	}
	// Addresses beyond ASCII need SMTPUTF8.
	if e := sendVia(t, s, c, send("jürgen@example.org", "bcc", "bob@example.org")); e["status"] != "failed" || !strings.Contains(fmt.Sprint(e["lastError"]), "SMTPUTF8") {
		t.Errorf("without SMTPUTF8: %v", e)
	}
	p2 := &post{}
	s2, _, c2 := relayed(t, p2.start(t, NoTLS, func(s *smtp.Server) { s.EnableSMTPUTF8 = true }))
	if e := sendVia(t, s2, c2, send("jürgen@example.org")); e["status"] != "sent" || !p2.options[0].UTF8 || p2.options[0].Size == 0 {
		t.Errorf("with SMTPUTF8: %v %+v", e, p2.options)
	}
}

func TestRelayOptions(t *testing.T) {
	for _, r := range []Relay{
		{TLS: StartTLS},
		{Host: "mail.example.com", TLS: NoTLS},
		{Host: "mail.example.com", TLS: "ssl"},
		{Host: "mail.example.com", TLS: StartTLS, User: "mia"},
		{Host: "mail.example.com", TLS: StartTLS, Port: 70000},
	} {
		if s, err := Open(context.Background(), Options{Dir: t.TempDir(), Relay: &r}); err == nil {
			t.Errorf("%+v was accepted", r)
			_ = s.Close()
		}
	}
	for kind, want := range map[RelayTLS]string{StartTLS: "h:587", ImplicitTLS: "h:465", NoTLS: "h:25"} {
		if got := (&Relay{Host: "h", TLS: kind}).Addr(); got != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
