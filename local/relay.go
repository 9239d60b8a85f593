package local

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"golang.org/x/net/idna"

	"codeberg.org/teapost/teapost/internal/units"
)

// RelayTLS says how the connection to a relay is encrypted.
type RelayTLS string

// The ways. A relay on another machine is never spoken to in the clear.
const (
	StartTLS    RelayTLS = "starttls" // begins in the clear and must offer STARTTLS (RFC 3207)
	ImplicitTLS RelayTLS = "implicit" // TLS from the first byte (RFC 8314)
	NoTLS       RelayTLS = "none"     // in the clear, for a relay on this machine only
)

// Relay is the SMTP server that takes mail for addresses that are not the mailbox's own.
type Relay struct {
	Host string
	Port int // 587, 465 or 25 by the kind of TLS, when 0
	TLS  RelayTLS
	// User signs in; empty does not sign in.
	User string
	// Password gives the password of User. It is called once an attempt, beside any request, and may block
	// until its context ends.
	Password func(context.Context) (string, error)
	// Refused, when set, is called after the relay did not accept the password, so that a kept one is forgotten.
	Refused func()
	// RootCAs are the authorities that may vouch for the relay. Nil means those of the system.
	RootCAs *x509.CertPool
	// CommandTimeout is how long the relay may take for an answer, or to read a part of a message; 0 means one
	// minute. SubmissionTimeout is how long it may take to accept a whole message; 0 means ten minutes. A
	// connection lives for an hour at most.
	CommandTimeout    time.Duration
	SubmissionTimeout time.Duration
}

const (
	commandTimeout    = time.Minute
	submissionTimeout = 10 * time.Minute // RFC 5321, section 4.5.3.2.6
	sessionTimeout    = time.Hour
	// A relay says no more than this in one connection.
	maxRelayTalk = 1 << 20
	// What is being accepted when the program ends gets this long to be told so.
	stopGrace = 2 * time.Second
)

// Addr returns HOST:PORT.
func (r *Relay) Addr() string {
	port := r.Port
	if port == 0 {
		port = map[RelayTLS]int{StartTLS: 587, ImplicitTLS: 465, NoTLS: 25}[r.TLS]
	}
	return net.JoinHostPort(r.Host, strconv.Itoa(port))
}

func (r *Relay) check() error {
	switch {
	case r.Host == "":
		return errors.New("the relay has no host")
	case r.Port < 0 || r.Port > 65535:
		return fmt.Errorf("the port %d of the relay is none", r.Port)
	case r.TLS != StartTLS && r.TLS != ImplicitTLS && r.TLS != NoTLS:
		return fmt.Errorf("%q is no kind of TLS for a relay", r.TLS)
	case r.TLS == NoTLS && !isLoopback(r.Host):
		return fmt.Errorf("the relay %s is on another machine and must be reached over TLS", r.Host)
	case r.User != "" && r.Password == nil:
		return errors.New("the relay has a user but no password")
	}
	return nil
}

// relayError is why an attempt ended before the message was handed over. Nothing was delivered.
type relayError struct {
	text string
	// whole says that it is about the relay and not about this message: the next one would fail as well.
	whole bool
	// final says that trying again is of no use.
	final bool
	// careful says that a person must mend something: it is tried again, but not soon.
	careful bool
	// gone says that the connection is of no more use.
	gone bool
}

func (e *relayError) Error() string { return e.text }

// outcome is what became of one recipient in one attempt.
type outcome int

const (
	later    outcome = iota // not taken this time
	taken                   // the relay has it
	refused                 // for good
	notKnown                // the relay may have it
)

// delivery is the result for one recipient, with what the relay said.
type delivery struct {
	outcome outcome
	text    string
}

// envelope is a message on its way.
type envelope struct {
	from string
	to   []string
	raw  []byte
}

// session is a connection to a relay, from its greeting to its end.
type session struct {
	client  *smtp.Client
	conn    *patientConn
	relay   *Relay
	release func()
	ctx     context.Context

	mu      sync.Mutex
	handing bool // the end of a message is on the wire and its answer is open
}

// patientConn is a connection that gives up on silence. It stands in for the deadlines of the client, which
// cover neither the bytes of a message nor the handshake of TLS.
type patientConn struct {
	net.Conn
	mu      sync.Mutex
	patient time.Duration
	heard   int
	timeout bool
}

var errTalk = errors.New("it talks without an end")

func (c *patientConn) wait(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.patient = d
}

func (c *patientConn) until() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.patient)
}

func (c *patientConn) Read(p []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(c.until()); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard += n
	c.timeout = c.timeout || errors.Is(err, os.ErrDeadlineExceeded)
	if c.heard > maxRelayTalk {
		return 0, errTalk
	}
	return n, err
}

func (c *patientConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(c.until()); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timeout = c.timeout || errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

func (c *patientConn) SetDeadline(time.Time) error      { return nil }
func (c *patientConn) SetReadDeadline(time.Time) error  { return nil }
func (c *patientConn) SetWriteDeadline(time.Time) error { return nil }

// login is the LOGIN mechanism. It answers in the order of the questions, whatever their words are.
type login struct {
	user, password string
	asked          int
}

func (l *login) Start() (string, []byte, error) { return "LOGIN", nil, nil }

func (l *login) Next([]byte) ([]byte, error) {
	l.asked++
	switch l.asked {
	case 1:
		return []byte(l.user), nil
	case 2:
		return []byte(l.password), nil
	}
	return nil, errors.New("the relay asks for more than a name and a password")
}

// open connects, encrypts and signs in. The error is a *relayError about the relay as a whole. The session
// ends with ctx; the caller closes it.
func (r *Relay) open(ctx context.Context) (_ *session, err error) {
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	patient := r.CommandTimeout
	if patient == 0 {
		patient = commandTimeout
	}
	dialer := net.Dialer{Timeout: patient}
	raw, err := dialer.DialContext(ctx, "tcp", r.Addr())
	if err != nil {
		cancel()
		return nil, &relayError{text: fmt.Sprintf("The relay %s cannot be reached: %s.", r.Addr(), netReason(err)), whole: true}
	}
	s := &session{conn: &patientConn{Conn: raw, patient: patient}, relay: r, ctx: ctx}
	unhook := context.AfterFunc(ctx, s.interrupt)
	s.release = func() { unhook(); cancel() }
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if a, ok := raw.RemoteAddr().(*net.TCPAddr); r.TLS == NoTLS && (!ok || !a.IP.IsLoopback()) {
		return nil, &relayError{text: fmt.Sprintf("The relay %s is not on this machine and is not spoken to without TLS.", r.Addr()), whole: true, careful: true}
	}
	config := &tls.Config{ServerName: r.Host, RootCAs: r.RootCAs, MinVersion: tls.VersionTLS12}
	switch r.TLS {
	case ImplicitTLS:
		c := tls.Client(s.conn, config)
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, s.whole("encrypt the connection", err)
		}
		s.client = smtp.NewClient(c)
	case StartTLS:
		if s.client, err = smtp.NewClientStartTLS(s.conn, config); err != nil {
			if strings.Contains(err.Error(), "doesn't support STARTTLS") {
				return nil, &relayError{
					text:  fmt.Sprintf("The relay %s offers no encryption (STARTTLS), so nothing was sent to it.", r.Addr()),
					whole: true, careful: true,
				}
			}
			return nil, s.whole("begin a session with", err)
		}
	default:
		s.client = smtp.NewClient(s.conn)
	}
	// The name of this machine is nobody's business.
	if err := s.client.Hello("[127.0.0.1]"); err != nil {
		return nil, s.whole("begin a session with", err)
	}
	if r.User != "" {
		if err := s.signIn(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *session) signIn() error {
	password, err := s.relay.Password(s.ctx)
	if err != nil {
		return &relayError{text: "The password of the relay cannot be had: " + sayLine(err.Error()), whole: true, careful: true}
	}
	var how sasl.Client
	switch {
	case s.client.SupportsAuth(sasl.Plain):
		how = sasl.NewPlainClient("", s.relay.User, password)
	case s.client.SupportsAuth("LOGIN"):
		how = &login{user: s.relay.User, password: password}
	default:
		return &relayError{text: fmt.Sprintf("The relay %s offers no way to sign in with a password.", s.relay.Addr()), whole: true, careful: true}
	}
	if err = s.client.Auth(how); err == nil {
		return nil
	}
	var reply *smtp.SMTPError
	if errors.As(err, &reply) && reply.Code/100 == 5 {
		if s.relay.Refused != nil {
			s.relay.Refused()
		}
		return &relayError{text: fmt.Sprintf("The relay %s did not accept the sign-in of %s: %s", s.relay.Addr(), s.relay.User, replyText(reply)), whole: true, careful: true}
	}
	return s.whole("sign in to", err)
}

// interrupt ends the connection when its context ends. A message whose end is on the wire gets a moment.
func (s *session) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handing {
		time.AfterFunc(stopGrace, func() { _ = s.conn.Close() })
		return
	}
	_ = s.conn.Close()
}

func (s *session) close() {
	s.release()
	_ = s.conn.Close()
}

// quit ends a session politely, without waiting long for it.
func (s *session) quit() {
	s.conn.wait(2 * time.Second)
	_ = s.client.Quit()
	s.close()
}

// whole says in words why the relay could not be used. An error that bears the relay's own words repeats them.
func (s *session) whole(what string, err error) *relayError {
	var reply *smtp.SMTPError
	if errors.As(err, &reply) {
		return &relayError{text: fmt.Sprintf("The relay %s refused: %s", s.relay.Addr(), replyText(reply)), whole: true, careful: reply.Code/100 == 5}
	}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return &relayError{
			text:  fmt.Sprintf("The relay %s cannot prove who it is, so nothing was sent to it: %s.", s.relay.Addr(), sayLine(cert.Err.Error())),
			whole: true, careful: true,
		}
	}
	return &relayError{text: fmt.Sprintf("It was not possible to %s the relay %s: %s.", what, s.relay.Addr(), s.reason(err)), whole: true, gone: true}
}

// reason gives an error of the connection in words.
func (s *session) reason(err error) string {
	s.conn.mu.Lock()
	timeout := s.conn.timeout
	s.conn.mu.Unlock()
	switch {
	case s.ctx.Err() != nil && errors.Is(s.ctx.Err(), context.Canceled):
		return "it was stopped"
	case timeout || s.ctx.Err() != nil:
		return "it did not answer in time"
	}
	return netReason(err)
}

func netReason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return "it was stopped"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "it did not answer in time"
	case errors.As(err, &dns):
		if dns.IsNotFound {
			return "there is no host of that name"
		}
		return "its name could not be looked up"
	case errors.As(err, &op):
		if op.Timeout() {
			return "it did not answer in time"
		}
		return sayLine(op.Err.Error())
	case strings.Contains(err.Error(), "EOF"):
		return "the connection was cut"
	}
	return sayLine(err.Error())
}

// replyText gives a reply of SMTP in one line: "550 5.1.1 No such user".
func replyText(e *smtp.SMTPError) string {
	code := strconv.Itoa(e.Code)
	if e.EnhancedCode[0] > 0 {
		code += fmt.Sprintf(" %d.%d.%d", e.EnhancedCode[0], e.EnhancedCode[1], e.EnhancedCode[2])
	}
	return strings.TrimSpace(code + " " + sayLine(e.Message))
}

// sayLine makes foreign words one short line.
func sayLine(text string) string {
	return strings.TrimSpace(clip(strings.Join(strings.Fields(noControls(strings.ToValidUTF8(text, "�"))), " "), 400))
}

// envelopeAddress writes the domain of an address in ASCII. utf8 says that the address cannot go to a relay without
// SMTPUTF8 (RFC 6531).
func envelopeAddress(address string) (out string, utf8 bool) {
	at := strings.LastIndexByte(address, '@')
	name, domain := address[:at], address[at+1:]
	if !ascii(domain) {
		if a, err := idna.Lookup.ToASCII(domain); err == nil {
			domain = a
		}
	}
	out = name + "@" + domain
	return out, !ascii(out)
}

func ascii[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// send hands the message over for each recipient that the relay takes. record is called right before the end of the
// message goes out, with what is known of each recipient: notKnown for those that the relay took so far. When it fails
// the end is not sent. The error, a *relayError or that of record, says that nothing was delivered to anybody; without
// one there is a delivery for each recipient.
func (s *session) send(e envelope, record func([]delivery) error) ([]delivery, error) {
	from, utf8 := envelopeAddress(e.from)
	if head := header(e.raw); !utf8 {
		utf8 = !ascii(head)
	}
	offersUTF8, _ := s.client.Extension("SMTPUTF8")
	if utf8 && !offersUTF8 {
		return nil, &relayError{text: "The relay takes only plain letters in the sender's address and the header (it has no SMTPUTF8).", final: true}
	}
	if eight, _ := s.client.Extension("8BITMIME"); !eight && !ascii(e.raw) {
		return nil, &relayError{text: "The relay takes only plain letters in messages (it has no 8BITMIME).", final: true}
	}
	if limit, ok := s.client.MaxMessageSize(); ok && limit > 0 && len(e.raw) > limit {
		return nil, &relayError{text: fmt.Sprintf("The message has %s; the relay takes %s.", units.Bytes(int64(len(e.raw))), units.Bytes(int64(limit))), final: true}
	}
	out := make([]delivery, len(e.to))
	to := make([]string, len(e.to))
	options := &smtp.MailOptions{Size: int64(len(e.raw)), UTF8: utf8}
	for i, a := range e.to {
		wire, special := envelopeAddress(a)
		to[i] = wire
		switch {
		case special && !offersUTF8:
			out[i] = delivery{refused, "The relay takes only plain letters in addresses (it has no SMTPUTF8)."}
			to[i] = ""
		case special:
			options.UTF8 = true
		}
	}
	if err := s.client.Mail(from, options); err != nil {
		return nil, s.message(err)
	}
	accepted := 0
	for i, a := range to {
		if a == "" {
			continue
		}
		err := s.client.Rcpt(a, nil)
		var reply *smtp.SMTPError
		switch {
		case err == nil:
			accepted++
			out[i] = delivery{outcome: notKnown}
		case !errors.As(err, &reply), reply.Code == 421:
			return nil, s.message(err)
		case reply.Code/100 == 5 && reply.Code != 552: // RFC 5321, section 4.5.3.1.10: 552 means too many recipients for now
			out[i] = delivery{refused, replyText(reply)}
		default:
			out[i] = delivery{later, replyText(reply)}
		}
	}
	if accepted == 0 {
		return out, nil
	}
	data, err := s.client.Data()
	if err != nil {
		return nil, s.message(err)
	}
	if _, err := data.Write(e.raw); err != nil {
		return nil, s.message(err)
	}
	if err := record(out); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if err := s.ctx.Err(); err != nil {
		s.mu.Unlock()
		return nil, s.message(err)
	}
	s.handing = true
	s.mu.Unlock()
	patient := s.relay.SubmissionTimeout
	if patient == 0 {
		patient = submissionTimeout
	}
	s.conn.wait(patient)
	result := s.verdict(data.CloseWithResponse())
	for i := range out {
		if out[i].outcome == notKnown {
			out[i] = result
		}
	}
	return out, nil
}

// verdict is what the relay's answer to the whole message makes of it.
func (s *session) verdict(response *smtp.DataResponse, err error) delivery {
	var reply *smtp.SMTPError
	switch {
	case err == nil:
		return delivery{taken, sayLine(response.StatusText)}
	case errors.As(err, &reply) && reply.Code/100 == 5:
		return delivery{refused, replyText(reply)}
	case errors.As(err, &reply) && reply.Code/100 == 4:
		return delivery{later, replyText(reply)}
	}
	return delivery{notKnown, fmt.Sprintf("The relay had the whole message, but its answer did not come: %s. It may have been delivered.", s.reason(err))}
}

// message says why a message was not taken for anybody.
func (s *session) message(err error) error {
	var reply *smtp.SMTPError
	if !errors.As(err, &reply) {
		return s.whole("hand the message to", err)
	}
	// 530 and its kind ask for a sign-in, and 421 ends the session: neither is about this message.
	signIn := reply.Code == 530 || reply.Code == 534 || reply.Code == 535 || reply.Code == 538
	return &relayError{
		text: "The relay refused: " + replyText(reply), whole: reply.Code == 421 || signIn, careful: signIn,
		final: reply.Code/100 == 5 && !signIn,
	}
}

func header(raw []byte) []byte {
	head, _, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	return head
}

// CheckRelay connects to the configured relay, signs in and leaves again. It sends nothing. It returns nil when
// that works or when no relay is configured.
func (s *Server) CheckRelay(ctx context.Context) error {
	if s.relay == nil {
		return nil
	}
	c, err := s.relay.open(ctx)
	if err != nil {
		return err
	}
	c.quit()
	return nil
}

// Relay returns the HOST:PORT of the configured relay, or nothing.
func (s *Server) Relay() string {
	if s.relay == nil {
		return ""
	}
	return s.relay.Addr()
}
