package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/emersion/go-smtp"
)

const (
	stopDirEnv  = "TEAPOST_TEST_STOP_DIR"
	stopPortEnv = "TEAPOST_TEST_STOP_PORT"
	stopStepEnv = "TEAPOST_TEST_STOP_STEP"

	stopBody = `{"from":"` + me + `","to":["bob@example.org"],"subject":"once","text":"only"}`
)

// stopChild sends one message and dies at a step of its delivery.
func stopChild(dir string) {
	endWithParent()
	port, err := strconv.Atoi(os.Getenv(stopPortEnv))
	if err != nil {
		log.Fatal(err)
	}
	s, err := Open(context.Background(), Options{Dir: dir, Addresses: []string{me}, Relay: &Relay{Host: "127.0.0.1", Port: port, TLS: NoTLS}})
	if err != nil {
		log.Fatal(err)
	}
	s.at = func(step string) {
		if step == os.Getenv(stopStepEnv) {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {}
		}
	}
	s.SetSchedules(true)
	req, err := http.NewRequestWithContext(context.Background(), "POST", "http://local.invalid/emails", strings.NewReader(stopBody))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set(keyHeader, "once")
	res, err := (&http.Client{Transport: s.Transport()}).Do(req)
	if err != nil {
		log.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	select {}
}

// TestStoppedDelivery kills the program between each pair of steps of a delivery. Afterwards the message has arrived
// once, or it is said that nobody knows and a person decides.
func TestStoppedDelivery(t *testing.T) {
	if dir := os.Getenv(stopDirEnv); dir != "" {
		stopChild(dir)
	}
	for _, tt := range []struct {
		step    string
		arrived int    // before the program starts again
		status  string // after it has
		state   string
		total   int // deliveries when a person decided where that was needed
	}{
		{"claimed", 0, "sent", "delivered", 1},
		{"connected", 0, "sent", "delivered", 1},
		{"before the end", 0, "partial", "uncertain", 1},
		{"accepting", 1, "partial", "uncertain", 2},
		{"answered", 1, "partial", "uncertain", 2},
		{"recorded", 1, "sent", "delivered", 1},
	} {
		t.Run(tt.step, func(t *testing.T) {
			t.Parallel()
			p := &post{}
			accepting := make(chan struct{}, 1)
			if tt.step == "accepting" {
				first := sync.OnceFunc(func() {
					accepting <- struct{}{}
					<-accepting // the client is dead
				})
				p.data = func() error { first(); return nil }
			}
			r := p.start(t, NoTLS)
			dir := filepath.Join(t.TempDir(), "mail")
			cmd := child(t, "TestStoppedDelivery", stopDirEnv+"="+dir, stopPortEnv+"="+strconv.Itoa(r.Port), stopStepEnv+"="+tt.step)
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if tt.step == "accepting" {
				select {
				case <-accepting:
				case <-time.After(childLimit):
					t.Error("no message came")
				}
				_ = cmd.Process.Kill()
			}
			if err := cmd.Wait(); err == nil {
				t.Fatal("the program ended by itself")
			}
			if tt.step == "accepting" {
				accepting <- struct{}{}
			}
			soon(t, "what arrives before the restart", func() bool { return len(p.messages()) == tt.arrived })

			clk := &clock{}
			clk.ms.Store(time.Now().Add(time.Hour).UnixMilli())
			s := open(t, dir, clk, func(o *Options) { o.Relay, o.Addresses = r, nil })
			c := direct(t, s)
			for range 3 {
				run(t, s)
				clk.advance(24 * time.Hour)
			}
			e := c.do(200, "POST", "/emails", stopBody, keyHeader, "once")
			if e["replayed"] != true || e["status"] != tt.status || states(e) != "bob@example.org="+tt.state {
				t.Errorf("after the restart: %v", e)
			}
			if e["status"] == "partial" {
				if n := len(p.messages()); n != tt.arrived {
					t.Errorf("%d deliveries; it was repeated by itself", n)
				}
				c.do(200, "PATCH", "/emails/"+e["id"].(string), obj{"scheduledAt": instant(clk.now().Add(time.Minute).UnixMilli())})
				clk.advance(time.Minute)
				run(t, s)
				if e = c.do(200, "GET", "/emails/"+e["id"].(string), nil); e["status"] != "sent" || states(e) != "bob@example.org=delivered" {
					t.Errorf("after the decision: %v", e)
				}
			}
			got := p.messages()
			if len(got) != tt.total || len(got) > 1 && string(got[0].raw) != string(got[1].raw) {
				t.Errorf("%d deliveries, want %d of the same bytes", len(got), tt.total)
			}
			if n := len(c.folder("sent")); n != 1 {
				t.Errorf("%d among the sent", n)
			}
		})
	}
}

// A connection that breaks in the middle of a message delivered nothing, and is tried again.
func TestCutInTheMiddleOfAMessage(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReader(c)
		for _, answer := range []string{greet, ehlo, accept, accept, go354} {
			_, _ = io.WriteString(c, answer+"\r\n")
			_, _ = r.ReadString('\n')
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	s, _, c := relayed(t, &Relay{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, TLS: NoTLS})
	e := sendVia(t, s, c, send("bob@example.org", "text", strings.Repeat("A long line of text.\n", 400_000)))
	if e["status"] != "queued" || states(e) != "bob@example.org=pending" || e["attempts"] != 1.0 {
		t.Errorf("email: %v", e)
	}
}

// The program ends while the relay is being spoken to.
func TestStopDuringAnAttempt(t *testing.T) {
	for _, tt := range []struct {
		name, status, state string
		script              []string
		taken               int
	}{
		{"before the message", "queued", "pending", []string{greet, ehlo, accept, "stall"}, 0},
		{"after its end", "partial", "uncertain", []string{greet, ehlo, accept, accept, go354, "stall"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &badPost{scripts: [][]string{tt.script}, rest: []string{greet, ehlo, accept, accept, go354, accept}}
			r := b.start(t)
			r.CommandTimeout, r.SubmissionTimeout = time.Hour, time.Hour
			dir, clk := t.TempDir(), newClock()
			s := open(t, dir, clk, func(o *Options) { o.Relay = r })
			reached := make(chan string, 10)
			s.at = func(step string) { reached <- step }
			e := direct(t, s).do(200, "POST", "/emails", send("bob@example.org"))
			for step := range reached {
				if step == "connected" && tt.taken == 0 || step == "before the end" {
					break
				}
			}
			for range 6000 { // the step is told before the end goes out
				if _, whole, _ := b.counts(); whole == tt.taken {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			s.SetSchedules(false) // does not wait out an hour
			if e = direct(t, s).do(200, "GET", "/emails/"+e["id"].(string), nil); e["status"] != tt.status || states(e) != "bob@example.org="+tt.state {
				t.Errorf("after the stop: %v", e)
			}
			s.SetSchedules(true)
			clk.advance(time.Hour)
			run(t, s)
			if sessions, _, _ := b.counts(); sessions != 2-tt.taken {
				t.Errorf("%d sessions", sessions)
			}
		})
	}
}

// Only the owner of the lock delivers, and what a dead owner left is taken up.
func TestClaims(t *testing.T) {
	p := &post{}
	r := p.start(t, NoTLS)
	dir, clk := t.TempDir(), newClock()
	a := open(t, dir, clk, func(o *Options) { o.Relay, o.Schedules = r, false })
	b := open(t, dir, clk, func(o *Options) { o.Relay, o.Addresses = r, nil })
	e := direct(t, a).do(200, "POST", "/emails", send("bob@example.org"))
	if err := a.relayDue(context.Background()); err != nil || e["status"] != "queued" {
		t.Errorf("a process without the lock delivered: %v, %v", e, err)
	}
	run(t, b)
	if n := len(p.messages()); n != 1 {
		t.Fatalf("%d deliveries", n)
	}
	// A claim of another process: while it lives nobody touches it, and its owner notices that it was lost.
	e = direct(t, b).do(200, "POST", "/emails", send("bob@example.org", "cancellableForSeconds", 10))
	clk.advance(10 * time.Second)
	b.at = func(step string) {
		if step == "connected" {
			b.at = nil
			err := a.write(context.Background(), func(t *tx) error { return t.exec("UPDATE emails SET claim = 'another' WHERE status = 'sending'") })
			if err != nil {
				t.Error(err)
			}
		}
	}
	run(t, b)
	run(t, b)
	path := "/emails/" + e["id"].(string)
	if got := direct(t, b).do(200, "GET", path, nil); got["status"] != "sending" || len(p.messages()) != 1 {
		t.Errorf("a lost claim: %v, %d deliveries", got, len(p.messages()))
	}
	b.SetSchedules(false)
	a.SetSchedules(true)
	run(t, a)
	clk.advance(time.Minute)
	run(t, a)
	if got := direct(t, a).do(200, "GET", path, nil); got["status"] != "sent" || len(p.messages()) != 2 {
		t.Errorf("after the takeover: %v, %d deliveries", got, len(p.messages()))
	}
}

// A mailbox whose relay is gone does not act as if mail had been sent.
func TestRelayThatWasRemoved(t *testing.T) {
	p := &post{}
	r := p.start(t, NoTLS)
	dir, clk := t.TempDir(), newClock()
	s := open(t, dir, clk, func(o *Options) { o.Relay = r })
	at := instant(clk.now().Add(time.Hour).UnixMilli())
	id := direct(t, s).do(200, "POST", "/emails", send("bob@example.org", "scheduledAt", at))["id"].(string)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clk.advance(2 * time.Hour)
	s = open(t, dir, clk)
	run(t, s)
	if e := direct(t, s).do(200, "GET", "/emails/"+id, nil); e["status"] != "queued" || !strings.Contains(fmt.Sprint(e["lastError"]), "No relay") {
		t.Errorf("without the relay: %v", e)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clk.advance(time.Hour)
	s = open(t, dir, clk, func(o *Options) { o.Relay = r })
	run(t, s)
	if e := direct(t, s).do(200, "GET", "/emails/"+id, nil); e["status"] != "sent" || len(p.messages()) != 1 {
		t.Errorf("with it again: %v", e)
	}
}

// What was accepted without a relay was said to stay here, and does.
func TestRelayThatCameLater(t *testing.T) {
	p := &post{}
	r := p.start(t, NoTLS)
	dir, clk := t.TempDir(), newClock()
	s := open(t, dir, clk)
	c := direct(t, s)
	body := send("bob@example.org", "scheduledAt", instant(clk.now().Add(time.Hour).UnixMilli()))
	stays, goes := c.do(200, "POST", "/emails", body)["id"].(string), c.do(200, "POST", "/emails", body)["id"].(string)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, clk, func(o *Options) { o.Relay = r })
	c = direct(t, s)
	// A new time is a new decision.
	if e := c.do(200, "PATCH", "/emails/"+goes, obj{"scheduledAt": instant(clk.now().Add(2 * time.Hour).UnixMilli())}); e["mode"] != "live" {
		t.Errorf("rescheduled: %v", e)
	}
	clk.advance(3 * time.Hour)
	run(t, s)
	if e := c.do(200, "GET", "/emails/"+stays, nil); e["status"] != "sent" || e["mode"] != "test" {
		t.Errorf("accepted without a relay: %v", e)
	}
	if e := c.do(200, "GET", "/emails/"+goes, nil); e["status"] != "sent" || e["mode"] != "live" || len(p.messages()) != 1 {
		t.Errorf("decided with it: %v", e)
	}
}

func TestTakingBackWhatWentToSome(t *testing.T) {
	p := &post{rcpt: func(a string) error {
		if strings.HasPrefix(a, "grey") {
			return &smtp.SMTPError{Code: 450, Message: "Later"}
		}
		return nil
	}}
	s, clk, c := relayed(t, p.start(t, NoTLS))
	e := sendVia(t, s, c, send("bob@example.org", "cc", "grey@example.org"))
	e = c.do(200, "POST", "/emails/"+e["id"].(string)+"/cancel", nil)
	if e["status"] != "partial" || states(e) != "bob@example.org=delivered grey@example.org=failed" {
		t.Errorf("taken back: %v", e)
	}
	p.rcpt = nil
	clk.advance(time.Hour)
	run(t, s)
	if n := len(p.messages()); n != 1 {
		t.Errorf("%d deliveries", n)
	}
	// A decision to send again can be taken back as well; what was known stays known.
	path := "/emails/" + e["id"].(string)
	c.do(200, "PATCH", path, obj{"scheduledAt": instant(clk.now().Add(time.Hour).UnixMilli())})
	c.do(200, "PATCH", path, obj{"scheduledAt": instant(clk.now().Add(2 * time.Hour).UnixMilli())})
	if got := c.do(200, "POST", path+"/cancel", nil); got["status"] != "partial" || states(got) != states(e) {
		t.Errorf("taken back again: %v", got)
	}
	clk.advance(3 * time.Hour)
	run(t, s)
	if n := len(p.messages()); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}

func TestBatch(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		body := obj{"emails": []any{send(me), send("nobody"), send("bob@example.org", "cancellableForSeconds", 60)}}
		got := c.do(200, "POST", "/emails/batch", body, keyHeader, "b1")
		data := got["data"].([]any)
		if got["sent"] != 2.0 || got["failed"] != 1.0 || len(data) != 3 {
			t.Fatalf("batch: %v", got)
		}
		bad := data[1].(obj)
		if bad["index"] != 1.0 || bad["status"] != "error" || bad["error"].(obj)["code"] != "invalid_field" || bad["error"].(obj)["param"] != "to" || bad["error"].(obj)["type"] != "validation_error" {
			t.Errorf("refused: %v", bad)
		}
		first := data[0].(obj)
		if first["status"] != "ok" || first["email"].(obj)["status"] != "sent" || first["email"].(obj)["replayed"] != false {
			t.Errorf("accepted: %v", first)
		}
		clk.advance(time.Hour)
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		again := c.do(200, "POST", "/emails/batch", body, keyHeader, "b1")["data"].([]any)
		for i := range again {
			a, b := again[i].(obj), data[i].(obj)
			if a["status"] != b["status"] || a["status"] == "ok" && (a["email"].(obj)["id"] != b["email"].(obj)["id"] || a["email"].(obj)["replayed"] != true || a["email"].(obj)["status"] != "sent") {
				t.Errorf("replay: %v", a)
			}
		}
		if n := len(c.list("/emails")); n != 2 {
			t.Errorf("%d emails", n)
		}
		c.refused(422, "idempotency_key_reuse", "", "POST", "/emails/batch", obj{"emails": []any{send(me)}}, keyHeader, "b1")
		c.refused(422, "idempotency_key_reuse", "", "POST", "/emails", send(me), keyHeader, "b1")
		c.refused(422, "invalid_field", "emails", "POST", "/emails/batch", obj{"emails": []any{}})
		c.refused(422, "invalid_field", "emails", "POST", "/emails/batch", obj{"emails": slices.Repeat([]any{send(me)}, 101)})
		c.refused(422, "invalid_field", "emails", "POST", "/emails/batch", obj{"emails": []any{"x"}})
		c.refused(400, "invalid_idempotency_key", "", "POST", "/emails/batch", body, keyHeader, "a b")
	})
}

func TestEventsAndTracking(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		e := c.do(200, "POST", "/emails", send(me, "scheduledAt", instant(clk.now().Add(time.Hour).UnixMilli())))
		path := "/emails/" + e["id"].(string)
		c.do(200, "PATCH", path, obj{"scheduledAt": instant(clk.now().Add(2 * time.Hour).UnixMilli())})
		clk.advance(2 * time.Hour)
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := eventTypes(c, e); got != "scheduled scheduled delivered sent" {
			t.Errorf("events: %s", got)
		}
		var all []any
		next := ""
		for range 4 {
			p := c.do(200, "GET", path+"/events?limit=1"+next, nil)
			wantKeys(t, "event", p["data"].([]any)[0].(obj), "object id type data createdAt")
			all = append(all, p["data"].([]any)...)
			if p["hasMore"] != (len(all) < 4) {
				t.Errorf("page %d: %v", len(all), p)
			}
			next = fmt.Sprint("&cursor=", p["nextCursor"])
		}
		tr := c.do(200, "GET", path+"/tracking", nil)
		if tr["object"] != "tracking" || tr["openCount"] != 0.0 || tr["opens"] != false || tr["id"] != e["id"] || len(tr["recipients"].([]any)) != 1 {
			t.Errorf("tracking: %v", tr)
		}
		c.refused(404, "resource_not_found", "", "GET", "/emails/eml_99/events", nil)
		c.refused(404, "resource_not_found", "", "GET", "/emails/eml_99/tracking", nil)
	})
}

// A message that is due at a time of the clock goes at that time, whatever happens to the clock between: the hour that
// is missing in spring, a laptop that sleeps, a restart.
func TestSchedulesHoldOverDaylightSaving(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	p := &post{}
	r := p.start(t, NoTLS)
	dir, clk := t.TempDir(), newClock()
	now := func() time.Time { return clk.now().In(berlin) }
	clk.ms.Store(time.Date(2026, 3, 28, 22, 0, 0, 0, berlin).UnixMilli())
	s := open(t, dir, clk, func(o *Options) { o.Relay, o.Now = r, now })
	at := time.Date(2026, 3, 29, 9, 0, 0, 0, berlin) // ten hours on, not eleven
	e := direct(t, s).do(200, "POST", "/emails", send("bob@example.org", "scheduledAt", at.Format(time.RFC3339)))
	path := "/emails/" + e["id"].(string)
	clk.advance(10*time.Hour - time.Second)
	run(t, s)
	if got := direct(t, s).do(200, "GET", path, nil); got["status"] != "scheduled" || len(p.messages()) != 0 {
		t.Fatalf("a second too early: %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clk.advance(3 * time.Hour)
	s = open(t, dir, clk, func(o *Options) { o.Relay, o.Now = r, now })
	run(t, s)
	if got := direct(t, s).do(200, "GET", path, nil); got["status"] != "sent" || len(p.messages()) != 1 {
		t.Fatalf("after the night: %v", got)
	}
	if raw := string(p.messages()[0].raw); !strings.Contains(raw, "Date: Sun, 29 Mar 2026 09:00:00 +0200") {
		t.Errorf("the date of the message:\n%s", raw)
	}
}

// The waits between attempts pass by the clock of the machine; no attempt touches a network here.
func TestAttemptsByTheClock(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir, &clock{}, func(o *Options) {
			o.Now = time.Now
			o.Relay = &Relay{Host: "127.0.0.1", TLS: NoTLS, User: "x", Password: func(context.Context) (string, error) { return "", nil }}
		})
		s.delivering.Lock()
		s.relay = nil // as if it had been taken out of the configuration
		s.delivering.Unlock()
		// The mode is of the mailbox that accepted it.
		err := s.write(context.Background(), func(t *tx) error {
			n := &newEmail{
				outgoing: &outgoing{tags: map[string]string{}, stream: "transactional"}, mode: modeLive,
				built: &builtEmail{raw: mailText("<x@example.net>", me, "x", "y"), messageID: "<x@example.net>"},
			}
			n.from.Email, n.to = me, append(n.to, n.from)
			n.to[0].Email = "bob@example.org"
			_, err := s.saveEmail(t, n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		c := direct(t, s)
		attempts := func() float64 {
			synctest.Wait()
			return c.do(200, "GET", "/emails/eml_1", nil)["attempts"].(float64)
		}
		if n := attempts(); n != 1 {
			t.Errorf("%v attempts at once", n)
		}
		time.Sleep(carefulRetry - time.Second)
		if n := attempts(); n != 1 {
			t.Errorf("%v attempts too early", n)
		}
		time.Sleep(2 * time.Second)
		if n := attempts(); n != 2 {
			t.Errorf("%v attempts after the wait", n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestRetryWaitGrows(t *testing.T) {
	for tries, want := range map[int]time.Duration{0: 15 * time.Second, 1: 15 * time.Second, 2: 30 * time.Second, 3: time.Minute, 7: 15 * time.Minute, 479: 15 * time.Minute} {
		if got := retryWait(tries); got != want {
			t.Errorf("after %d attempts: %v, want %v", tries, got, want)
		}
	}
}

// An event's data is an object, whatever it tells.
func TestEventData(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	e := c.do(200, "POST", "/emails", send(me))
	for _, v := range c.do(200, "GET", "/emails/"+e["id"].(string)+"/events", nil)["data"].([]any) {
		if _, ok := v.(obj)["data"].(obj); !ok {
			raw, _ := json.Marshal(v)
			t.Errorf("event: %s", raw)
		}
	}
}
