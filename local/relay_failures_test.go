package local

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

func TestRecipientsPartlyRefused(t *testing.T) {
	p := &post{}
	var greylist sync.Map
	p.rcpt = func(a string) error {
		switch {
		case strings.HasPrefix(a, "nobody"):
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No \x1b[31msuch user"}
		case strings.HasPrefix(a, "grey"):
			if _, again := greylist.LoadOrStore(a, true); !again {
				return &smtp.SMTPError{Code: 450, EnhancedCode: smtp.EnhancedCode{4, 2, 0}, Message: "Greylisted"}
			}
		}
		return nil
	}
	s, clk, c := relayed(t, p.start(t, NoTLS))
	e := sendVia(t, s, c, send("bob@example.org", "cc", []string{"nobody@example.org", "grey@example.org"}))
	if e["status"] != "queued" || states(e) != "bob@example.org=delivered nobody@example.org=failed grey@example.org=pending" {
		t.Fatalf("first attempt: %v", e)
	}
	r := e["recipients"].([]any)
	if got := r[1].(obj)["error"]; got != "550 5.1.1 No [31msuch user" {
		t.Errorf("error of a recipient: %q", got)
	}
	if got := r[2].(obj)["error"]; got != "450 4.2.0 Greylisted" || e["lastError"] != got {
		t.Errorf("error of a recipient: %q, of the email: %q", got, e["lastError"])
	}
	if len(c.folder("sent")) != 1 {
		t.Error("somebody has the message, so it is among the sent ones")
	}
	run(t, s)
	if len(p.messages()) != 1 {
		t.Error("an attempt came before its time")
	}
	clk.advance(16 * time.Second)
	run(t, s)
	e = c.do(200, "GET", "/emails/"+e["id"].(string), nil)
	if e["status"] != "partial" || e["attempts"] != 2.0 || states(e) != "bob@example.org=delivered nobody@example.org=failed grey@example.org=delivered" {
		t.Errorf("second attempt: %v", e)
	}
	got := p.messages()
	if len(got) != 2 || !slices.Equal(got[1].to, []string{"grey@example.org"}) || string(got[0].raw) != string(got[1].raw) {
		t.Errorf("deliveries: %v", got)
	}
	if got := eventTypes(c, e); got != "queued delivered failed delivery_delayed delivered sent" {
		t.Errorf("events: %s", got)
	}
	// A person may send it again to the one who did not get it, and only to that one.
	p.rcpt = nil
	path := "/emails/" + e["id"].(string)
	c.refused(409, "email_not_changeable", "", "PATCH", path, obj{"scheduledAt": instant(clk.now().Add(time.Minute).UnixMilli()), "subject": "Other"})
	c.refused(422, "invalid_field", "scheduledAt", "PATCH", path, obj{"scheduledAt": instant(clk.now().Add(-time.Minute).UnixMilli())})
	again := c.do(200, "PATCH", path, obj{"scheduledAt": instant(clk.now().Add(time.Minute).UnixMilli())})
	if again["status"] != "scheduled" || states(again) != states(e) {
		t.Errorf("decided to send again: %v", again)
	}
	clk.advance(time.Minute)
	run(t, s)
	e = c.do(200, "GET", path, nil)
	if got := p.messages(); e["status"] != "sent" || len(got) != 3 || !slices.Equal(got[2].to, []string{"nobody@example.org"}) {
		t.Errorf("sent again: %v, %v", e, got)
	}
	c.refused(409, "email_not_changeable", "", "PATCH", path, obj{"scheduledAt": instant(clk.now().Add(time.Hour).UnixMilli())})
}

func TestRelayFailsAtEachStep(t *testing.T) {
	good := []string{greet, ehlo, accept, accept, go354, accept}
	for _, tt := range []struct {
		name   string
		script []string
		status string // after the first attempt
		state  string
		says   string
		wait   time.Duration // until the next attempt; 0: there is none
		whole  int           // messages that the relay saw to their end before that
	}{
		{name: "greeting 421", script: []string{"421 busy"}, status: "queued", state: "pending", says: "421 busy", wait: 15 * time.Second},
		{name: "greeting 554", script: []string{"554 go away"}, status: "queued", state: "pending", says: "554 go away", wait: 5 * time.Minute},
		{name: "greeting cut", script: []string{"cut"}, status: "queued", state: "pending", says: "the connection was cut", wait: 15 * time.Second},
		{name: "greeting stalls", script: []string{"stall"}, status: "queued", state: "pending", says: "did not answer in time", wait: 15 * time.Second},
		{name: "greeting is no SMTP", script: []string{"HTTP/1.1 400 Bad Request"}, status: "queued", state: "pending", says: "begin a session", wait: 15 * time.Second},
		{name: "greeting without an end", script: []string{greet, "talk"}, status: "queued", state: "pending", says: "it talks without an end", wait: 15 * time.Second},
		{name: "hello cut", script: []string{greet, "cut"}, status: "queued", state: "pending", says: "the connection was cut", wait: 15 * time.Second},
		{name: "sender 451", script: []string{greet, ehlo, "451 later"}, status: "queued", state: "pending", says: "451 later", wait: 15 * time.Second},
		{name: "sender 550", script: []string{greet, ehlo, "550 5.7.1 not from here"}, status: "failed", state: "failed", says: "550 5.7.1 not from here"},
		{name: "sender needs sign-in", script: []string{greet, ehlo, "530 5.7.0 sign in"}, status: "queued", state: "pending", says: "530 5.7.0 sign in", wait: 5 * time.Minute},
		{name: "sender cut", script: []string{greet, ehlo, "cut"}, status: "queued", state: "pending", says: "the connection was cut", wait: 15 * time.Second},
		{name: "recipient 450", script: []string{greet, ehlo, accept, "450 later"}, status: "queued", state: "pending", says: "450 later", wait: 15 * time.Second},
		{name: "recipient 552", script: []string{greet, ehlo, accept, "552 too many"}, status: "queued", state: "pending", says: "552 too many", wait: 15 * time.Second},
		{name: "recipient 550", script: []string{greet, ehlo, accept, "550 nobody"}, status: "failed", state: "failed", says: "550 nobody"},
		{name: "recipient 421", script: []string{greet, ehlo, accept, "421 bye"}, status: "queued", state: "pending", says: "421 bye", wait: 15 * time.Second},
		{name: "recipient stalls", script: []string{greet, ehlo, accept, "stall"}, status: "queued", state: "pending", says: "did not answer in time", wait: 15 * time.Second},
		{name: "data 451", script: []string{greet, ehlo, accept, accept, "451 later"}, status: "queued", state: "pending", says: "451 later", wait: 15 * time.Second},
		{name: "data 554", script: []string{greet, ehlo, accept, accept, "554 no"}, status: "failed", state: "failed", says: "554 no"},
		{name: "data cut", script: []string{greet, ehlo, accept, accept, "cut"}, status: "queued", state: "pending", says: "the connection was cut", wait: 15 * time.Second},
		{name: "after the end 452", script: []string{greet, ehlo, accept, accept, go354, "452 4.3.1 disk full"}, status: "queued", state: "pending", says: "452 4.3.1 disk full", wait: 15 * time.Second, whole: 1},
		{name: "after the end 554", script: []string{greet, ehlo, accept, accept, go354, "554 5.6.0 spam"}, status: "failed", state: "failed", says: "554 5.6.0 spam", whole: 1},
		{name: "after the end cut", script: []string{greet, ehlo, accept, accept, go354, "cut"}, status: "partial", state: "uncertain", says: "may have been delivered", whole: 1},
		{name: "after the end stalls", script: []string{greet, ehlo, accept, accept, go354, "stall"}, status: "partial", state: "uncertain", says: "did not answer in time", whole: 1},
		{name: "after the end no SMTP", script: []string{greet, ehlo, accept, accept, go354, "what?"}, status: "partial", state: "uncertain", says: "may have been delivered", whole: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &badPost{scripts: [][]string{tt.script}, rest: good}
			s, clk, c := relayed(t, b.start(t))
			e := sendVia(t, s, c, send("bob@example.org"))
			path := "/emails/" + e["id"].(string)
			if e["status"] != tt.status || states(e) != "bob@example.org="+tt.state || !strings.Contains(fmt.Sprint(e["lastError"]), tt.says) || e["attempts"] != 1.0 {
				t.Fatalf("after the first attempt: %v", e)
			}
			soon(t, "the relay sees what it got", func() bool { _, whole, _ := b.counts(); return whole >= tt.whole })
			if sessions, whole, _ := b.counts(); whole != tt.whole || sessions != 1 {
				t.Errorf("%d whole messages in %d sessions", whole, sessions)
			}
			s.delivering.Lock() // only the relay that stalls is given little time
			patient := *s.relay
			patient.CommandTimeout, patient.SubmissionTimeout = time.Minute, time.Minute
			s.relay = &patient
			s.delivering.Unlock()
			if sent := len(c.folder("sent")); sent != map[string]int{"partial": 1}[tt.status] {
				t.Errorf("%d among the sent", sent)
			}
			if tt.wait == 0 {
				clk.advance(30 * 24 * time.Hour)
				run(t, s)
				if sessions, _, _ := b.counts(); sessions != 1 {
					t.Fatalf("the message was tried again by itself")
				}
				// The person decides, and the same message goes out once more.
				c.do(200, "PATCH", path, obj{"scheduledAt": instant(clk.now().Add(time.Second).UnixMilli())})
				clk.advance(time.Second)
			} else {
				clk.advance(tt.wait - time.Millisecond)
				run(t, s)
				if sessions, _, _ := b.counts(); sessions != 1 {
					t.Fatalf("the next attempt came too early")
				}
				clk.advance(time.Millisecond)
			}
			run(t, s)
			after := c.do(200, "GET", path, nil)
			if after["status"] != "sent" || after["attempts"] != 2.0 || after["lastError"] != nil || after["messageId"] != e["messageId"] || states(after) != "bob@example.org=delivered" {
				t.Errorf("after the second attempt: %v", after)
			}
			if sessions, _, taken := b.counts(); taken != 1 || sessions != 2 {
				t.Errorf("%d deliveries in %d sessions", taken, sessions)
			}
			if sent := len(c.folder("sent")); sent != 1 {
				t.Errorf("%d among the sent", sent)
			}
		})
	}
}

func TestRelayThatIsNotThere(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s, clk, c := relayed(t, &Relay{Host: "127.0.0.1", Port: port, TLS: StartTLS})
	e := sendVia(t, s, c, send("bob@example.org"))
	path := "/emails/" + e["id"].(string)
	if e["status"] != "queued" || e["transport"] != "dev" || !strings.Contains(fmt.Sprint(e["lastError"]), "127.0.0.1:"+strconv.Itoa(port)+" cannot be reached: ") {
		t.Errorf("email: %v", e)
	}
	// The waits grow, up to a quarter of an hour.
	var waits []time.Duration
	for len(waits) < 9 {
		var due int64
		if err := s.reader.QueryRowContext(context.Background(), "SELECT due_at FROM emails").Scan(&due); err != nil {
			t.Fatal(err)
		}
		wait := time.UnixMilli(due).Sub(clk.now())
		waits = append(waits, wait)
		clk.advance(wait)
		run(t, s)
	}
	want := []time.Duration{15, 30, 60, 120, 240, 480, 900, 900, 900}
	for i := range want {
		want[i] *= time.Second
	}
	if !slices.Equal(waits, want) {
		t.Errorf("waits: %v", waits)
	}
	// It can be taken back between two attempts.
	if got := c.do(200, "POST", path+"/cancel", nil); got["status"] != "cancelled" {
		t.Errorf("taken back: %v", got)
	}
	clk.advance(time.Hour)
	run(t, s)
	if got := c.do(200, "GET", path, nil); got["attempts"] != 10.0 || len(c.folder("all")) != 0 {
		t.Errorf("after it was taken back: %v", got)
	}
}

func TestGivesUpInTheEnd(t *testing.T) {
	b := &badPost{rest: []string{greet, ehlo, accept, "450 never"}}
	s, clk, c := relayed(t, b.start(t))
	e := sendVia(t, s, c, send("bob@example.org"))
	err := s.write(context.Background(), func(t *tx) error { return t.exec("UPDATE emails SET tries = ?", maxTries-1) })
	if err != nil {
		t.Fatal(err)
	}
	clk.advance(time.Hour)
	run(t, s)
	e = c.do(200, "GET", "/emails/"+e["id"].(string), nil)
	if e["status"] != "failed" || !strings.Contains(fmt.Sprint(e["lastError"]), "Given up after 480 attempts: 450 never") || states(e) != "bob@example.org=failed" {
		t.Errorf("email: %v", e)
	}
}

// While the relay is away one attempt stands for all; when it is back all go at once.
func TestOneAttemptTellsForAll(t *testing.T) {
	good := []string{greet, ehlo, accept, accept, go354, accept}
	b := &badPost{scripts: [][]string{{"421 a"}, {"421 b"}, {"421 c"}, {"421 d"}}, rest: good}
	s, clk, c := relayed(t, b.start(t))
	for range 3 {
		c.do(200, "POST", "/emails", send("bob@example.org", "cancellableForSeconds", 1))
	}
	clk.advance(time.Second)
	run(t, s)
	if sessions, _, _ := b.counts(); sessions != 1 {
		t.Errorf("%d sessions for three messages", sessions)
	}
	for _, id := range c.list("/emails") {
		e := c.do(200, "GET", "/emails/"+id, nil)
		if e["status"] != "queued" || !strings.Contains(fmt.Sprint(e["lastError"]), "421 a") {
			t.Errorf("email: %v", e)
		}
	}
	clk.advance(15 * time.Second)
	run(t, s)
	if sessions, _, _ := b.counts(); sessions != 2 {
		t.Errorf("%d sessions after the second round", sessions)
	}
	// A new message is tried at once; now the relay is back.
	b.mu.Lock()
	b.scripts = nil
	b.mu.Unlock()
	c.do(200, "POST", "/emails", send("bob@example.org"))
	run(t, s)
	_, _, taken := b.counts()
	if l := c.list("/emails?status=sent"); len(l) != 4 || taken != 4 {
		t.Errorf("%d sent, %d taken", len(l), taken)
	}
}

func TestRelayMustProveItself(t *testing.T) {
	cert, pool := certificate(t, "other.example")
	_, stranger := certificate(t, "127.0.0.1")
	for _, tt := range []struct {
		name   string
		kind   RelayTLS
		change func(*smtp.Server)
		roots  *x509.CertPool
		pass   string
		says   string
	}{
		{"no STARTTLS", StartTLS, func(s *smtp.Server) { s.TLSConfig = nil; s.AllowInsecureAuth = true }, nil, "", "offers no encryption"},
		{"wrong name", StartTLS, func(s *smtp.Server) { s.TLSConfig.Certificates = []tls.Certificate{cert} }, pool, "", "cannot prove who it is"},
		{"unknown authority", StartTLS, nil, stranger, "", "cannot prove who it is"},
		{"implicit, wrong name", ImplicitTLS, func(s *smtp.Server) { s.TLSConfig.Certificates = []tls.Certificate{cert} }, pool, "", "cannot prove who it is"},
		{"implicit, unknown authority", ImplicitTLS, nil, stranger, "", "cannot prove who it is"},
		{"implicit to a clear one", ImplicitTLS, nil, nil, "", "encrypt the connection"},
		{"wrong password", StartTLS, nil, nil, "wrong", "did not accept the sign-in of mia: 535 5.7.8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &post{user: "mia", pass: "right"}
			var r *Relay
			if tt.says == "encrypt the connection" {
				r = p.start(t, NoTLS)
				r.TLS, r.CommandTimeout = ImplicitTLS, 200*time.Millisecond
			} else {
				r = p.start(t, tt.kind, func(s *smtp.Server) {
					if tt.change != nil {
						tt.change(s)
					}
				})
			}
			if tt.roots != nil {
				r.RootCAs = tt.roots
			}
			asked, forgot := 0, 0
			r.Password = func(context.Context) (string, error) {
				asked++
				if tt.pass != "" {
					return tt.pass, nil
				}
				return "right", nil
			}
			r.Refused = func() { forgot++ }
			s, _, c := relayed(t, r)
			e := sendVia(t, s, c, send("bob@example.org"))
			if e["status"] != "queued" || !strings.Contains(fmt.Sprint(e["lastError"]), tt.says) || len(p.messages()) != 0 {
				t.Errorf("email: %v", e)
			}
			if wrong := tt.pass != ""; asked > 0 != wrong || forgot > 0 != wrong {
				t.Errorf("the password was asked for %d times and forgotten %d times", asked, forgot)
			}
			if strings.Contains(fmt.Sprint(e["lastError"]), tt.pass) && tt.pass != "" {
				t.Errorf("the error holds the password: %v", e["lastError"])
			}
			if err := s.CheckRelay(context.Background()); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("check: %v", err)
			}
		})
	}
}
