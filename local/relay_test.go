package local

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// certificate makes one for names on this machine, and the pool that trusts it.
func certificate(t *testing.T, names ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "relay"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// post is a mail server that keeps what it gets.
type post struct {
	mu       sync.Mutex
	got      []envelope
	options  []smtp.MailOptions
	signedIn []string
	encoding bool // every session was encrypted

	// What it answers; nil accepts.
	rcpt func(address string) error
	data func() error
	mech []string
	user string
	pass string
}

func (p *post) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, isTLS := c.TLSConnectionState()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.encoding = isTLS
	return &postSession{post: p, conn: c}, nil
}

type postSession struct {
	post    *post
	conn    *smtp.Conn
	e       envelope
	options smtp.MailOptions
	in      bool
}

func (s *postSession) Reset()        { s.e = envelope{} }
func (s *postSession) Logout() error { return nil }

func (s *postSession) Mail(from string, o *smtp.MailOptions) error {
	if s.post.user != "" && !s.in {
		return smtp.ErrAuthRequired
	}
	s.e.from, s.options = from, *o
	return nil
}

func (s *postSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.post.rcpt != nil {
		if err := s.post.rcpt(to); err != nil {
			return err
		}
	}
	s.e.to = append(s.e.to, to)
	return nil
}

func (s *postSession) Data(r io.Reader) (err error) {
	if s.e.raw, err = io.ReadAll(r); err != nil {
		return err
	}
	if s.post.data != nil {
		if err := s.post.data(); err != nil {
			return err
		}
	}
	s.post.mu.Lock()
	defer s.post.mu.Unlock()
	s.post.got, s.post.options = append(s.post.got, s.e), append(s.post.options, s.options)
	return nil
}

func (s *postSession) AuthMechanisms() []string { return s.post.mech }

func (s *postSession) Auth(mech string) (sasl.Server, error) {
	check := func(user, pass string) error {
		if user != s.post.user || pass != s.post.pass {
			return smtp.ErrAuthFailed
		}
		s.in = true
		s.post.mu.Lock()
		defer s.post.mu.Unlock()
		s.post.signedIn = append(s.post.signedIn, mech)
		return nil
	}
	if mech == "LOGIN" {
		return &loginServer{check: check}, nil
	}
	return sasl.NewPlainServer(func(_, user, pass string) error { return check(user, pass) }), nil
}

// loginServer asks in the words of Microsoft.
type loginServer struct {
	user  string
	asked int
	check func(user, pass string) error
}

func (l *loginServer) Next(response []byte) ([]byte, bool, error) {
	l.asked++
	switch l.asked {
	case 1:
		return []byte("User Name\x00"), false, nil
	case 2:
		l.user = string(response)
		return []byte("Password\x00"), false, nil
	}
	return nil, true, l.check(l.user, string(response))
}

func (p *post) messages() []envelope {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

// start serves p on loopback and gives a relay that reaches it.
func (p *post) start(t *testing.T, kind RelayTLS, change ...func(*smtp.Server)) *Relay {
	t.Helper()
	if p.mech == nil {
		p.mech = []string{sasl.Plain}
	}
	cert, pool := certificate(t, "127.0.0.1", "localhost")
	server := smtp.NewServer(p)
	server.Domain = "relay.test"
	server.ErrorLog = quiet{}
	if kind != NoTLS {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	server.AllowInsecureAuth = kind == NoTLS
	for _, f := range change {
		f(server)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, TLS: kind, RootCAs: pool, CommandTimeout: time.Minute}
	if p.user != "" {
		r.User, r.Password = p.user, func(context.Context) (string, error) { return p.pass, nil }
	}
	if kind == ImplicitTLS {
		l = tls.NewListener(l, server.TLSConfig)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return r
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

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

// badPost is a mail server that follows a script: for each connection the lines to answer with, in order. An answer
// may be "cut" (close the connection), "stall" (never answer) or "talk" (never stop). The text of a message is read up
// to its end before the answer to it is given.
type badPost struct {
	mu       sync.Mutex
	scripts  [][]string
	sessions int
	taken    int // messages whose end was seen and answered with 250
	whole    int // messages whose end was seen
	rest     []string
}

// The answers of a server that accepts.
var greet, ehlo, accept, go354 = "220 hi", "250-hi\r\n250-8BITMIME\r\n250 AUTH PLAIN", "250 2.0.0 ok", "354 go"

func (b *badPost) start(t *testing.T) *Relay {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			script := b.rest
			if b.sessions < len(b.scripts) {
				script = b.scripts[b.sessions]
			}
			b.sessions++
			b.mu.Unlock()
			wg.Go(func() { b.serve(c, script, stop) })
		}
	})
	t.Cleanup(func() {
		close(stop)
		_ = l.Close()
		wg.Wait()
	})
	r := &Relay{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, TLS: NoTLS, CommandTimeout: time.Minute, SubmissionTimeout: time.Minute}
	for _, script := range b.scripts {
		if i := slices.Index(script, "stall"); i >= 0 {
			r.SubmissionTimeout = 300 * time.Millisecond
			if i < 5 {
				r.CommandTimeout = 300 * time.Millisecond
			}
		}
	}
	return r
}

// counts tells how many sessions there were, how many messages came to their end and how many of these were accepted.
func (b *badPost) counts() (sessions, whole, taken int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions, b.whole, b.taken
}

func (b *badPost) serve(c net.Conn, script []string, stop chan struct{}) {
	defer c.Close()
	r := bufio.NewReader(c)
	inData := false
	for i, answer := range script {
		if i > 0 {
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if !inData || line == ".\r\n" {
					break
				}
			}
		}
		ended := inData
		inData = strings.HasPrefix(answer, "354")
		b.mu.Lock()
		if ended {
			b.whole++
			if strings.HasPrefix(answer, "250") {
				b.taken++
			}
		}
		b.mu.Unlock()
		switch answer {
		case "cut":
			return
		case "stall":
			<-stop
			return
		case "talk":
			for {
				if _, err := io.WriteString(c, "250-"+strings.Repeat("x", 500)+"\r\n"); err != nil {
					return
				}
			}
		}
		if _, err := io.WriteString(c, answer+"\r\n"); err != nil {
			return
		}
	}
	_, _ = r.ReadString('\n')
	_, _ = io.WriteString(c, "221 bye\r\n")
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
