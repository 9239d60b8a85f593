package local

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// smtpd is a real mail server in a process of its own: aiosmtpd, which testdata/smtpd.py runs.
type smtpd struct {
	relay *Relay
	pem   string
	kill  func()

	mu  sync.Mutex
	got []smtpdMessage
}

type smtpdMessage struct {
	From    string
	To      []string
	Options []string
	TLS     bool
	User    string
	Message []byte
}

const smtpdLargest = 200_000

// startSMTPD starts it, or skips the test. TEAPOST_SMTPD names a Python interpreter that has the package aiosmtpd; .ci/run
// makes one where python3 and pip are.
func startSMTPD(t *testing.T, kind RelayTLS) *smtpd {
	t.Helper()
	if os.Getenv("TEAPOST_SMTPD") == "" {
		t.Skip("TEAPOST_SMTPD names no Python interpreter with the package aiosmtpd")
	}
	cert, pool := certificate(t, "127.0.0.1")
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	d := &smtpd{pem: filepath.Join(t.TempDir(), "cert.pem")}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})...)
	if err := os.WriteFile(d.pem, text, 0o600); err != nil {
		t.Fatal(err)
	}
	d.relay = &Relay{
		Host: "127.0.0.1", TLS: kind, RootCAs: pool, User: "mia", Password: func(context.Context) (string, error) { return "geheim ü", nil },
		CommandTimeout: time.Minute,
	}
	d.start(t)
	return d
}

// start runs the process, on the port that it had before.
func (d *smtpd) start(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Getenv("TEAPOST_SMTPD"), "testdata/smtpd.py", // the tester's own program
		strconv.Itoa(d.relay.Port), string(d.relay.TLS), d.pem, "mia", "geheim ü", strconv.Itoa(smtpdLargest))
	var problems strings.Builder
	cmd.Stderr = &problems
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no port: %v, %v\n%s", err, cmd.Wait(), problems.String())
	}
	if d.relay.Port, err = strconv.Atoi(strings.TrimSpace(first)); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for dec := json.NewDecoder(lines); ; {
			var m smtpdMessage
			if err := dec.Decode(&m); err != nil {
				return
			}
			d.mu.Lock()
			d.got = append(d.got, m)
			d.mu.Unlock()
		}
	}()
	d.kill = sync.OnceFunc(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait() // killed
	})
	t.Cleanup(func() {
		d.kill()
		if s := problems.String(); strings.Contains(s, "smtpd.py") {
			t.Errorf("the mail server failed:\n%s", s)
		}
	})
}

// messages gives what the server took, when it is so many.
func (d *smtpd) messages(t *testing.T, n int) []smtpdMessage {
	t.Helper()
	var got []smtpdMessage
	soon(t, fmt.Sprintf("%d messages at the mail server", n), func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		got = slices.Clone(d.got)
		return len(got) >= n
	})
	if len(got) != n {
		t.Fatalf("the mail server took %d messages, not %d", len(got), n)
	}
	return got
}

// TestRealServerDelivers sends a message with all that one can have, and an answer, and reads what arrived.
func TestRealServerDelivers(t *testing.T) {
	for _, kind := range []RelayTLS{StartTLS, ImplicitTLS, NoTLS} {
		t.Run(string(kind), func(t *testing.T) {
			d := startSMTPD(t, kind)
			s, _, c := relayed(t, d.relay)
			if err := s.CheckRelay(context.Background()); err != nil {
				t.Fatalf("the relay does not work: %v", err)
			}
			text := "Grüße aus Łódź\n.\n..dots\nFrom here\n" + strings.Repeat("long ", 400) + "\n"
			file := strings.Repeat("AAECAwQF", 5000)
			e := sendVia(t, s, c, send("Bob Büttner <bob@example.org>", "cc", "carol@example.net", "bcc", "hidden@example.com", "subject", "Größe – 東京 🎉",
				"text", text, "html", "<p>Grüße aus <b>Łódź</b></p>", "attachments", []obj{{"filename": "Größe.bin", "content": file, "contentType": "application/x-thing"}}))
			if e["status"] != "sent" || states(e) != "bob@example.org=delivered carol@example.net=delivered hidden@example.com=delivered" {
				t.Fatalf("email: %v", e)
			}
			m := d.messages(t, 1)[0]
			if m.From != me || strings.Join(m.To, " ") != "bob@example.org carol@example.net hidden@example.com" || m.User != "mia" || m.TLS != (kind != NoTLS) {
				t.Errorf("envelope: %+v", m)
			}
			if !slices.Contains(m.Options, fmt.Sprintf("SIZE=%d", len(m.Message))) {
				t.Errorf("%d bytes came with %v", len(m.Message), m.Options)
			}
			if raw := strings.ToLower(string(m.Message)); strings.Contains(raw, "bcc:") || strings.Contains(raw, "hidden") {
				t.Errorf("the blind copy is named:\n%s", m.Message)
			}
			got, err := mailparse.Parse(context.Background(), m.Message, mailparse.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got.MessageID == "" || got.MessageID != e["messageId"] || !got.Date.Equal(newClock().now()) || got.Subject != "Größe – 東京 🎉" || got.To[0].Name != "Bob Büttner" || got.Cc[0].Email != "carol@example.net" {
				t.Errorf("header: %+v", got)
			}
			if strings.TrimSpace(got.Text) != strings.TrimSpace(text) || strings.TrimSpace(got.HTML) != "<p>Grüße aus <b>Łódź</b></p>" || !strings.Contains(string(m.Message), "multipart/alternative") {
				t.Errorf("parts: %q %q", got.Text, got.HTML)
			}
			if len(got.Attachments) != 1 || got.Attachments[0].Filename != "Größe.bin" || got.Attachments[0].Size != int64(len(file)*3/4) {
				t.Errorf("attachments: %+v", got.Attachments)
			}
			for _, line := range strings.Split(string(m.Message), "\r\n") {
				if len(line) > 998 || strings.ContainsAny(line, "\r\n") || strings.ContainsFunc(line, func(r rune) bool { return r > 0x7e }) {
					t.Errorf("a line that mail cannot carry: %.100q", line)
				}
			}

			// Bob's answer comes in, and ours to it goes out.
			bob := mailText("answer@example.org", "bob@example.org", "Re: Größe", "fine", "In-Reply-To: "+got.MessageID, "References: "+got.MessageID)
			ingest(t, s, bob, IngestOptions{Arrival: true})
			e = sendVia(t, s, c, send("bob@example.org", "threadId", e["threadId"], "text", "good"))
			if e["status"] != "sent" {
				t.Fatalf("answer: %v", e)
			}
			m = d.messages(t, 2)[1]
			answer, err := mailparse.Parse(context.Background(), m.Message, mailparse.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if answer.InReplyTo != "<answer@example.org>" || strings.Join(answer.References, " ") != got.MessageID+" <answer@example.org>" || strings.TrimSpace(answer.Text) != "good" {
				t.Errorf("answer: %q %q %q", answer.InReplyTo, answer.References, answer.Text)
			}
		})
	}
}

// TestRealServerRefuses: a size, a recipient, a password and a certificate that are not taken, each with what happens then.
func TestRealServerRefuses(t *testing.T) {
	d := startSMTPD(t, StartTLS)
	s, clk, c := relayed(t, d.relay)
	e := sendVia(t, s, c, send("bob@example.org", "text", strings.Repeat("too much ", smtpdLargest/8)))
	if e["status"] != "failed" || !strings.Contains(fmt.Sprint(e["lastError"]), "the relay takes") {
		t.Errorf("too large: %v", e)
	}
	e = sendVia(t, s, c, send("nobody@example.org", "cc", "bob@example.org"))
	if e["status"] != "partial" || states(e) != "nobody@example.org=failed bob@example.org=delivered" || !strings.Contains(fmt.Sprint(e["recipients"]), "There is no such mailbox") {
		t.Errorf("a refused recipient: %v", e)
	}
	e = sendVia(t, s, c, send("nobody@example.org"))
	if e["status"] != "failed" || !strings.Contains(fmt.Sprint(e["lastError"]), "There is no such mailbox") {
		t.Errorf("the only recipient is refused: %v", e)
	}

	good, trusted := d.relay.Password, d.relay.RootCAs
	d.relay.Password = func(context.Context) (string, error) { return "wrong", nil }
	e = sendVia(t, s, c, send("dan@example.org"))
	if e["status"] != "queued" || states(e) != "dan@example.org=pending" || e["lastError"] == nil {
		t.Errorf("a wrong password: %v", e)
	}
	d.relay.Password, d.relay.RootCAs = good, x509.NewCertPool()
	clk.advance(time.Hour)
	run(t, s)
	if e = c.do(200, "GET", "/emails/"+e["id"].(string), nil); e["status"] != "queued" || !strings.Contains(fmt.Sprint(e["lastError"]), "certificate") {
		t.Errorf("a certificate that nobody vouches for: %v", e)
	}
	if got := d.messages(t, 1); got[0].To[0] != "bob@example.org" {
		t.Errorf("taken: %v", got)
	}
	d.relay.RootCAs = trusted
	clk.advance(time.Hour)
	run(t, s)
	if e = c.do(200, "GET", "/emails/"+e["id"].(string), nil); e["status"] != "sent" || e["attempts"] != 3.0 || d.messages(t, 2)[1].To[0] != "dan@example.org" {
		t.Errorf("when all is right again: %v", e)
	}
}

// TestRealServerGoesAndComes: the mail server's process is killed; the message waits, and is there once when another one runs.
func TestRealServerGoesAndComes(t *testing.T) {
	d := startSMTPD(t, StartTLS)
	s, clk, c := relayed(t, d.relay)
	d.kill()
	e := sendVia(t, s, c, send("bob@example.org"))
	if e["status"] != "queued" || !strings.Contains(fmt.Sprint(e["lastError"]), "cannot be reached") {
		t.Errorf("without a server: %v", e)
	}
	d.start(t)
	clk.advance(time.Hour)
	run(t, s)
	run(t, s)
	if e = c.do(200, "GET", "/emails/"+e["id"].(string), nil); e["status"] != "sent" || e["attempts"] != 2.0 {
		t.Errorf("when it is back: %v", e)
	}
	d.messages(t, 1)
}
