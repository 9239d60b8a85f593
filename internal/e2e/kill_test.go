//go:build linux

package e2e

import (
	"fmt"
	"testing"
	"time"
)

// mailServer is a home whose `teapost serve` is the mailbox of ada@example.com.
func mailServer(t *testing.T) *home {
	t.Helper()
	h := newHome(t)
	h.write("config/teapost/config.toml", "[local]\naddresses = ['ada@example.com']\n")
	return h
}

// rig is a client, a proxy and a server, all real processes but the proxy.
type rig struct {
	t      *testing.T
	server *server
	proxy  *proxy
	client *home
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, server: mailServer(t).serve("")}
	r.proxy = newProxy(t, r.server.addr())
	r.client = account(t, r.proxy.url, testKey)
	return r
}

// restart starts the server again where it was.
func (r *rig) restart() {
	r.t.Helper()
	<-r.server.done
	r.server = r.server.h.serve(r.server.addr())
}

const killSubject = "Exactly once"

// arrived asks for the messages with a subject that came to the mailbox.
const arrived = "SELECT id FROM messages WHERE subject = ? AND incoming = 1"

func (r *rig) compose() *process {
	return r.client.start("compose", "--send", "--from", "ada@example.com", "--to", "grace@example.org, ada@example.com", "--subject", killSubject)
}

// rows counts the outbox entries on the client's disk.
func (r *rig) rows() int {
	r.t.Helper()
	return len(r.client.stateQuery("SELECT id FROM outbox"))
}

// settle lets the outbox finish and expects one copy in the mailbox, or none when the message never reached the disk.
func (r *rig) settle() {
	r.t.Helper()
	want := r.rows()
	if want > 1 {
		r.t.Fatalf("%d outbox entries", want)
	}
	if res := r.client.run("outbox", "send"); res.code != 0 {
		r.t.Fatalf("outbox send: exit code %d: %s", res.code, res.err)
	}
	r.once(want)
}

// once expects that many copies, sent and arrived, all requests alike, and an outbox through with it.
func (r *rig) once(want int) {
	r.t.Helper()
	r.proxy.oneMessage(r.t)
	r.server.holds(killSubject, want)
	until(r.t, "the copy to oneself", func() bool { return len(r.server.h.query(arrived, killSubject)) == want })
	for _, e := range r.client.outbox() {
		if e.State != "sent" && e.State != "accepted" {
			r.t.Errorf("the entry is left as %+v", e)
		}
	}
}

// The client dies at each step of a send.
func TestKillClient(t *testing.T) {
	t.Parallel()
	for _, step := range sendSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var client *process
			started := make(chan struct{})
			reached := r.proxy.at(step, func() bool { <-started; client.kill(); return true })
			client = r.compose()
			close(started)
			waitFor(t, reached, "the step "+step)
			r.settle()
			r.server.holds(killSubject, 1)
		})
	}
	t.Run("row on disk", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		client := r.compose()
		until(t, "the row", func() bool { return r.rows() == 1 })
		client.kill()
		r.settle()
	})
}

// The client dies at a moment that no step names.
func TestKillClientAnyTime(t *testing.T) {
	t.Parallel()
	kept := 0
	r := newRig(t)
	began := time.Now()
	<-r.compose().done
	whole := time.Since(began)
	r.server.holds(killSubject, 1)
	kept++
	const kills = 30
	for i := range kills {
		r.client = account(t, r.proxy.url, testKey)
		client := r.compose()
		select {
		case <-client.done:
		case <-time.After(whole * time.Duration(i) / kills):
			client.kill()
		}
		before := r.server.copies(killSubject)
		rows := r.rows()
		if res := r.client.run("outbox", "send"); res.code != 0 {
			t.Fatalf("kill %d: outbox send: exit code %d: %s", i, res.code, res.err)
		}
		if before < kept || before > kept+rows {
			t.Fatalf("kill %d: %d rows on the disk, %d copies before, of them %d old", i, rows, before, kept)
		}
		kept += rows
		r.server.holds(killSubject, kept)
	}
	keys := map[string]bool{}
	for _, s := range r.proxy.seen() {
		keys[s.key] = true
	}
	if len(keys) != kept {
		t.Errorf("%d keys for %d messages", len(keys), kept)
	}
	t.Logf("%d of %d were on the disk when killed; %d requests", kept-1, kills, len(r.proxy.seen()))
}

// The server dies at each step of a send; the client goes on by itself, or says that it has the message safe.
func TestKillServer(t *testing.T) {
	t.Parallel()
	type point struct {
		step  string
		after time.Duration
	}
	points := []point{{stepReceived, 0}, {stepAnswered, 0}, {stepHalf, 0}, {stepPassed, 0}}
	for ms := range 10 { // the server's own work lies between these two
		points = append(points, point{stepHanded, time.Duration(ms) * time.Millisecond / 2})
	}
	for _, pt := range points {
		for _, forward := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s+%v forward %v", pt.step, pt.after, forward), func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				reached := r.proxy.at(pt.step, func() bool {
					time.Sleep(pt.after)
					r.server.kill()
					return forward
				})
				client := r.compose()
				waitFor(t, reached, "the step "+pt.step)
				r.restart()
				if code := client.ended(t); code != 0 && code != 3 {
					t.Fatalf("exit code %d: %s", code, client.errs)
				}
				r.settle()
				r.server.holds(killSubject, 1)
			})
		}
	}
}

// Both die at the same step.
func TestKillBoth(t *testing.T) {
	t.Parallel()
	for _, step := range sendSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var client *process
			started := make(chan struct{})
			reached := r.proxy.at(step, func() bool {
				<-started
				client.kill()
				r.server.kill()
				return false
			})
			client = r.compose()
			close(started)
			waitFor(t, reached, "the step "+step)
			r.restart()
			r.settle()
			r.server.holds(killSubject, 1)
		})
	}
}

func waitFor(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(2 * patience):
		t.Fatalf("did not come: %s", what)
	}
}
