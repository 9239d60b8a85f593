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
	"io"
	"math/big"
	"net"
	"slices"
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

func (s *postSession) Reset() { s.e = envelope{} }

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

func (quiet) Println(...any) {}

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
