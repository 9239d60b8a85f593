//go:build linux

package e2e

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

var keyOnWire = regexp.MustCompile(`POST +"/emails" +key "([^"]+)"`)

// keys are the idempotency keys of the sends that a fault server saw.
func keys(p *process) []string {
	var out []string
	for _, m := range keyOnWire.FindAllStringSubmatch(p.out.String(), -1) {
		out = append(out, m[1])
	}
	return out
}

// What an answer to a send means: the exit code and the state at once, and that in the end there is the right number of
// copies under one key.
func TestSendAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		script   string
		code     int
		state    string
		says     string // on standard error
		requests int    // of the first command
		later    int    // exit code of `outbox send` after it, with the fault over
		copies   int
	}{
		{"503, 503", 0, "sent", "", 3, 0, 1},
		{"429:retry-after=1", 0, "sent", "", 2, 0, 1},
		{"reset", 0, "sent", "", 2, 0, 1},
		{"reset:after", 0, "sent", "", 2, 0, 1},
		{"reset:body", 0, "sent", "", 2, 0, 1},
		{"cut", 0, "sent", "", 2, 0, 1},
		{"reset:after, reset:after, reset:after", 3, "waiting", "connection reset", 3, 0, 1},
		{"503*3", 3, "waiting", "503", 3, 0, 1},
		{"502:html, ...", 3, "waiting", "502", 3, 0, 1},
		{"429", 3, "waiting", "too many requests", 1, 0, 1},
		{"503:retry-after=300", 3, "waiting", "", 1, 3, 0}, // not before that, whoever asks
		{"garbage", 3, "waiting", "", 1, 0, 1},
		{"200:empty", 3, "waiting", "", 1, 0, 1},
		{"401", 3, "held", "key", 1, 0, 1},
		{"403", 3, "held", "permission", 1, 0, 1},
		{"422", 1, "failed", "scripted 422", 1, 0, 0},
		{"400", 1, "failed", "scripted 400", 1, 0, 0},
		{"404", 1, "failed", "scripted 404", 1, 0, 0},
		{"413", 1, "failed", "scripted 413", 1, 0, 0},
		{"409", 1, "failed", "scripted 409", 1, 0, 0},
	} {
		t.Run(tc.script, func(t *testing.T) {
			t.Parallel()
			srv := mailServer(t).serve("")
			h, p := behindFaults(t, srv, "POST /emails: "+tc.script)
			began := time.Now()
			r := h.run("compose", "--send", "--from", "ada@example.com", "--to", "grace@example.org", "--subject", killSubject)
			if r.code != tc.code || !strings.Contains(r.err, tc.says) {
				t.Errorf("exit code %d, want %d: %s", r.code, tc.code, r.err)
			}
			until(t, "the requests in the log", func() bool { return len(keys(p)) >= tc.requests })
			if n := len(keys(p)); n != tc.requests {
				t.Errorf("%d requests, want %d", n, tc.requests)
			}
			rows := h.outbox()
			if len(rows) != 1 {
				t.Fatalf("outbox: %+v", rows)
			}
			if rows[0].State != tc.state && (tc.state != "sent" || rows[0].State != "accepted") {
				t.Errorf("outbox: %+v, want %s", rows, tc.state)
			}
			if tc.state == "waiting" && strings.HasPrefix(tc.script, "429") && rows[0].Until.Before(began.Add(time.Minute)) {
				t.Errorf("tried again at %v, less than a minute later", rows[0].Until)
			}
			if strings.Contains(tc.script, "300") && rows[0].Until.Before(began.Add(5*time.Minute)) {
				t.Errorf("tried again at %v, sooner than the server asked", rows[0].Until)
			}
			if tc.says == "connection reset" {
				if r := h.run("outbox", "drop", rows[0].ID); r.code != 1 || !strings.Contains(r.err, "may already have arrived") {
					t.Errorf("drop of what may have arrived: %+v", r)
				}
			}
			play(t, p, "ok")
			if r := h.run("outbox", "send"); r.code != tc.later {
				t.Errorf("outbox send: %+v", r)
			}
			srv.holds(killSubject, tc.copies)
			for _, k := range keys(p) {
				if k != keys(p)[0] {
					t.Errorf("another key: %q", keys(p))
				}
			}
			for _, e := range h.outbox() {
				if tc.copies == 1 && e.State != "sent" && e.State != "accepted" {
					t.Errorf("the entry is left as %+v", e)
				}
			}
		})
	}
}

// The key of the account is wrong, and mended: the same message goes under the same key.
func TestMendedKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bad := account(t, r.proxy.url, "oe_test_wrongwrongwrongwrongwrong")
	keyFile := bad.write("key", "oe_test_wrongwrongwrongwrongwrong\n")
	bad.env = newHome(t).env // nothing in the environment: the file says it all
	for i, e := range bad.env {
		for _, v := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
			if strings.HasPrefix(e, v+"=") {
				dir := map[string]string{"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"}[v]
				bad.env[i] = v + "=" + bad.path(dir)
			}
		}
	}
	bad.write("config/teapost/config.toml", "default_account = 'w'\n[accounts.w]\nbase_url = '"+r.proxy.url+"'\napi_key_file = '"+keyFile+"'\nfrom = 'ada@example.com'\n")
	r.client = bad
	res := bad.run("compose", "--send", "--to", "grace@example.org, ada@example.com", "--subject", killSubject)
	if res.code != 3 || !strings.Contains(res.err, "key") {
		t.Fatalf("%+v", res)
	}
	tt := bad.open(80, 24)
	tt.see(`does not accept the key`)
	tt.quit()
	if n := r.server.copies(killSubject); n != 0 {
		t.Fatalf("%d copies", n)
	}
	bad.write("key", testKey+"\n")
	tt = bad.open(80, 24)
	r.server.holds(killSubject, 1)
	tt.see(killSubject)
	tt.quit()
	r.once(1)
}

// Two presses of the key that sends are one message.
func TestSendTwiceWithinAMoment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.client.write("config/teapost/config.toml", "[ui]\nundo_seconds = 0\n")
	tt := r.client.open(80, 24)
	tt.see(`Nothing waits for you here`)
	tt.writeMail()
	tt.write("\x04\x04\x04")
	r.server.holds(killSubject, 1)
	tt.see(`● .*` + killSubject)
	tt.quit()
	r.once(1)
	if rows := r.client.outbox(); len(rows) != 1 {
		t.Errorf("outbox: %+v", rows)
	}
}

// Taken back in the window, edited and sent again: only the edited text arrives.
func TestTakeBackEditAndSend(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.client.write("config/teapost/config.toml", "[ui]\nundo_seconds = 30\n")
	tt := r.client.open(80, 24)
	tt.see(`Nothing waits for you here`)
	tt.writeMail()
	tt.press("^D")
	tt.see(`Sending to .* in \d+ s · z takes it back`)
	until(t, "the request", func() bool { return len(r.proxy.seen()) == 1 })
	tt.press("z")
	tt.see(`Taken back`)
	tt.see(`The body\.`, `\[ Send \]`) // it opens again
	tt.press("esc")
	tt.see(`!\[ Send \]`)
	tt.quit()
	r.client.write("config/teapost/config.toml", "[ui]\nundo_seconds = 0\n")
	tt = r.client.open(80, 24)
	tt.see(`Nothing waits for you here`)
	tt.press("g", "d")
	tt.see(`Drafts`, killSubject)
	tt.press("enter")
	tt.see(`The body\.`, `\[ Send \]`)
	tt.press("M-\r")
	r.server.holds(killSubject, 1)
	tt.press("g", "i")
	tt.see(`● .*` + killSubject)
	tt.quit()
	sends := r.proxy.seen()
	if len(sends) != 2 || sends[0].key == sends[1].key {
		t.Errorf("a new message needs a key of its own: %+v", sends)
	}
	r.server.holds(killSubject, 1)
}

// A new message of the thread comes while its answer is written: the text stays where it is.
func TestNewMailWhileWriting(t *testing.T) {
	t.Parallel()
	h, tt := sample(t, 80, 24)
	tt.to("Dinner?")
	tt.press("r")
	tt.see(`Subject +Re: Dinner\?`)
	tt.write("First answer.")
	tt.see(`First answer`)
	tt.press("^D")
	tt.see(`Sending to`)
	tt.press("r")
	tt.see(`Subject +Re: Dinner\?`)
	tt.write("Second answer, half")
	tt.see(`Second answer, half`)
	until(t, "the answer of the sample", func() bool { return len(h.query(arrived, "Re: Dinner?")) > 0 })
	tt.write("way done.")
	tt.see(`^ Second answer, halfway done\.`, `Subject +Re: Dinner\?`)
	tt.press("esc")
	tt.see(`● Ana Müller.*Dinner\?`)
	tt.quit()
}

// Looking at the outbox, and holding or dropping a message, sends nothing by itself.
func TestLookingSendsNothing(t *testing.T) {
	t.Parallel()
	addr := closedPort(t)
	h := account(t, "http://"+addr, testKey)
	if r := h.run("compose", "--send", "--from", "ada@example.com", "--to", "grace@example.org", "--subject", killSubject); r.code != 3 {
		t.Fatalf("%+v", r)
	}
	srv := mailServer(t).serve(addr)
	for range 5 {
		if rows := h.outbox(); len(rows) != 1 || rows[0].State != "waiting" {
			t.Fatalf("outbox: %+v", rows)
		}
		h.must("doctor")
	}
	id := h.outbox()[0].ID
	if out := h.must("outbox", "hold", id[:8]); !strings.Contains(out, "unknown") && !strings.Contains(out, "held") {
		t.Errorf("hold: %s", out)
	}
	if n := srv.copies(killSubject); n != 0 {
		t.Errorf("%d copies", n)
	}
	if r := h.run("outbox", "send", id[:8]); r.code != 0 {
		t.Errorf("send: %+v", r)
	}
	srv.holds(killSubject, 1)
	if r := h.run("outbox", "drop", id[:8]); r.code != 0 || len(h.outbox()) != 0 {
		t.Errorf("drop of what was sent: %+v, left %+v", r, h.outbox())
	}
}
