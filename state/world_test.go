package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/faults"
	"codeberg.org/teapost/teapost/local"
)

// world is a real local server behind a scripted network, and the state of its mail, all in one bubble of virtual time.
type world struct {
	t       *testing.T
	dir     string
	server  *local.Server
	player  *faults.Player
	off     *switchedNet
	mail    *Mail
	options Options
	poke    bool // the embedded server's pokes are passed on
}

// switchedNet is a network that can be cut.
type switchedNet struct {
	mu      sync.Mutex
	off     bool
	refused int // so many more requests find no connection
	next    http.RoundTripper
}

func (n *switchedNet) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	off, next := n.off || n.refused > 0, n.next
	n.refused = max(0, n.refused-1)
	n.mu.Unlock()
	if off {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return next.RoundTrip(r)
}

// refuse lets the next requests find no connection.
func (n *switchedNet) refuse(requests int) {
	n.mu.Lock()
	n.refused = requests
	n.mu.Unlock()
}

// through puts something in the way.
func (n *switchedNet) through(next http.RoundTripper) {
	n.mu.Lock()
	n.next = next
	n.mu.Unlock()
}

func (n *switchedNet) set(off bool) {
	n.mu.Lock()
	n.off = off
	n.mu.Unlock()
}

func inWorld(t *testing.T, script string, f func(w *world)) {
	t.Helper()
	inWorldAt(t, script, nil, f)
}

// inWorldAt is inWorld with a server that goes by a clock of its own, unless that is nil.
func inWorldAt(t *testing.T, script string, now func() time.Time, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, dir: t.TempDir(), player: faults.MustParse(script)}
		s, err := local.Open(context.Background(), local.Options{Dir: filepath.Join(w.dir, "mail"), Addresses: []string{"ada@example.com"}, Name: "Ada", Schedules: true, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		w.server = s
		w.off = &switchedNet{next: w.player.Transport(s.Transport())}
		w.options = Options{Origin: "test", From: []Address{{Name: "Ada", Email: "ada@example.com"}}}
		w.open()
		defer func() { // also when f ends the test
			w.player.Close()
			w.close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(w)
	})
}

func (w *world) client(key string) *api.Client {
	w.t.Helper()
	c, err := api.New(api.Options{BaseURL: "http://localhost", APIKey: key, Transport: w.off})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) open() {
	w.t.Helper()
	w.mail = w.openAs(w.options)
}

func (w *world) openAs(o Options) *Mail {
	w.t.Helper()
	o.Client = w.client("oe_test_state")
	o.StateDir, o.CacheDir = filepath.Join(w.dir, "state"), filepath.Join(w.dir, "cache")
	if w.poke {
		o.Poke = w.server.Changes()
	}
	m, err := Open(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) close() {
	w.t.Helper()
	if w.mail == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.mail.Close(ctx); err != nil {
		w.t.Error(err)
	}
	w.mail = nil
}

func (w *world) restart() {
	w.t.Helper()
	w.close()
	w.open()
}

// until lets virtual time pass until cond holds, for an hour at most.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	w.untilWithin(time.Hour, what, cond)
}

func (w *world) untilWithin(limit time.Duration, what string, cond func() bool) {
	w.t.Helper()
	began := time.Now()
	end := began.Add(limit)
	for {
		synctest.Wait()
		if cond() {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("after %v of virtual time still not: %s\n%s", limit, what, w.describe())
		}
		step := 20 * time.Millisecond
		if time.Since(began) > time.Minute {
			step = 2 * time.Second
		}
		time.Sleep(step)
	}
}

func (w *world) pass(d time.Duration) {
	w.t.Helper()
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) describe() string {
	var b strings.Builder
	if w.mail != nil {
		for _, e := range w.mail.Outbox() {
			fmt.Fprintf(&b, "entry %+v\n", e)
		}
		s := w.mail.Status()
		for _, n := range append(s.Failures, s.Results...) {
			fmt.Fprintf(&b, "notice %s\n", n.Text)
		}
		for _, c := range s.Calls {
			fmt.Fprintf(&b, "call %+v\n", c)
		}
	}
	return b.String()
}

// copies counts the messages with a subject in the mailbox.
func (w *world) copies(subject string) int {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "mail", "mail.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var n int
	if err := db.QueryRow("SELECT count(*) FROM messages WHERE subject = ?", subject).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// sends are the send requests that reached the server's door.
func (w *world) sends() []faults.Request {
	var out []faults.Request
	for _, r := range w.player.Requests() {
		if r.Method == http.MethodPost && r.Path == "/emails" {
			out = append(out, r)
		}
	}
	return out
}

// oneKey fails unless all sends went under one key with the same bytes.
func (w *world) oneKey() {
	w.t.Helper()
	all := w.sends()
	for _, r := range all {
		if r.Key == "" || r.Key != all[0].Key || string(r.Body) != string(all[0].Body) {
			w.t.Errorf("send %q under key %q, want the bytes and the key of the first: %q, %q", r.Body, r.Key, all[0].Body, all[0].Key)
		}
	}
}

// esc does what the key does: it stops what the first line says that it stops, as far as there is one.
func (m *Mail) esc() bool {
	for _, c := range m.Status().Calls {
		if c.Stoppable {
			return m.StopLine(c.ID)
		}
	}
	return false
}

func (w *world) draft(subject string) Draft {
	d := w.mail.NewDraft("")
	d.To, d.Subject, d.Body = "Grace <grace@example.org>", subject, "Dear Grace,\n\nhello.\n"
	return d
}

func (w *world) entry(id EntryID) Entry {
	e, _ := w.mail.Entry(id)
	return e
}

func (w *world) untilState(id EntryID, s EntryState) {
	w.t.Helper()
	w.until("entry is "+string(s), func() bool { return w.entry(id).State == s })
}

// hasNotice reports whether a line of news holds the text.
func (w *world) hasNotice(text string) bool {
	s := w.mail.Status()
	for _, n := range append(s.Failures, s.Results...) {
		if strings.Contains(n.Text, text) {
			return true
		}
	}
	return false
}

// arrive delivers a message to the inbox.
func (w *world) arrive(subject, body string, extra ...string) ThreadID {
	w.t.Helper()
	raw := "From: Grace Hall <grace@example.org>\r\nTo: Ada <ada@example.com>\r\nSubject: " + subject +
		"\r\nMessage-ID: <" + newID() + "@example.org>\r\nDate: " + time.Now().Format(time.RFC1123Z) + "\r\n" + strings.Join(extra, "") + "\r\n" + body + "\r\n"
	got, err := w.server.Ingest(context.Background(), []byte(raw), local.IngestOptions{Unread: true, Arrival: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return ThreadID(got.ThreadID)
}

func bodyOf(r faults.Request) map[string]any {
	var v map[string]any
	_ = json.Unmarshal(r.Body, &v)
	return v
}
