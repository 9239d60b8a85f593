//go:build linux

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// behindFaults is a home whose account is a fault server, with the mailbox of `teapost serve` behind it when there is one.
func behindFaults(t *testing.T, upstream *server, script string) (*home, *process) {
	t.Helper()
	up := ""
	if upstream != nil {
		up = upstream.url
	}
	url, p := faultServer(t, up, script)
	return account(t, url, testKey), p
}

// play replaces the script of a running fault server.
func play(t *testing.T, p *process, script string) {
	t.Helper()
	before := strings.Count(p.out.String(), "playing the new script")
	if _, err := p.in.Write([]byte(script + "\n")); err != nil {
		t.Fatal(err)
	}
	until(t, "the new script", func() bool { return strings.Count(p.out.String(), "playing the new script") > before })
}

// asked counts the requests of a kind that a fault server saw.
func asked(p *process, method, path string) int {
	return len(regexp.MustCompile(method+` +"`+path+`"`).FindAllString(p.out.String(), -1))
}

var tryIn = regexp.MustCompile(`try (\d) of 3 in (\d+\.\d) s`)

// counting are the values to which the line of news counted down before that try, in their order.
func (tt *terminal) counting(try string) []string {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	var all []string
	for _, n := range tt.news {
		if m := tryIn.FindStringSubmatch(n); m != nil && m[1] == try {
			all = append(all, m[2])
		}
	}
	return slices.Compact(all)
}

// provoke loads the inbox under a script until the screen has shown all the expressions: a busy machine may not come to
// draw in the half second of a wait.
func (tt *terminal) provoke(p *process, script string, exprs ...string) {
	tt.t.Helper()
	for range 10 {
		play(tt.t, p, script)
		tt.press("^R")
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if !slices.ContainsFunc(exprs, func(e string) bool { return !tt.saw(e) }) {
				return
			}
		}
	}
	tt.see(exprs...)
}

// 503, 503, 200: both waits count down on the line of news, and then the answer is there.
func TestBusyServer(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.cols, size.rows), func(t *testing.T) {
			t.Parallel()
			h, p := behindFaults(t, nil, "ok")
			tt := h.open(size.cols, size.rows)
			tt.see(`▌● Grace Hall`, `山田太郎`)
			for range 10 {
				before := asked(p, "GET", "/threads")
				tt.provoke(p, "GET /threads: 503, 503, ok", `Loading inbox · server busy \(503\) · try 2 of 3 in \d\.\d s · esc stops`, `try 3 of 3 in \d\.\d s · esc stops`)
				until(t, "three requests", func() bool { return asked(p, "GET", "/threads") >= before+3 })
				tt.see(`!try \d of 3`, `!\(503\)`, `Grace Hall`)
				if len(tt.counting("2")) > 1 && len(tt.counting("3")) > 1 {
					break
				}
			}
			for _, try := range []string{"2", "3"} {
				if len(tt.counting(try)) < 2 {
					t.Errorf("the wait before try %s did not count down: %v", try, tt.counting(try))
				}
			}
			tt.quit()
		})
	}
}

// In a wait the keys move the selection, and leave the wait alone.
func TestKeysInAWait(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.cols, size.rows), func(t *testing.T) {
			t.Parallel()
			h, p := behindFaults(t, nil, "ok")
			tt := h.open(size.cols, size.rows)
			tt.see(`▌● Grace Hall`, `山田太郎`)
			play(t, p, "GET /threads: 503:retry-after=60, ok")
			before := asked(p, "GET", "/threads")
			tt.press("^R")
			tt.see(`try 2 of 3 in \d+ s · esc stops`)
			for range 3 {
				tt.press("j")
				tt.see(`▌..Team Calendar`, `!▌..Grace Hall`)
				tt.press("k")
				tt.see(`▌..Grace Hall`, `!▌..Team Calendar`)
			}
			tt.press("j", "j", "enter")
			tt.see(`3 failed, 412 passed\.`)
			if n := asked(p, "GET", "/threads"); n != before+1 {
				t.Errorf("%d requests for one list in a wait", n-before)
			}
			tt.see(`try 2 of 3 in \d+ s`)
			tt.quit()
		})
	}
}

// The same at the first start, when there is nothing to show yet.
func TestBusyServerAtTheStart(t *testing.T) {
	t.Parallel()
	h, p := behindFaults(t, nil, "GET /threads: 503:retry-after=60, ok")
	tt := h.open(80, 24)
	tt.see(`Loading inbox · server .* · try 2 of 3 in \d+ s · esc stops`)
	tt.press("?") // the program is all there
	tt.see(`Keys`, `Moving`)
	tt.press("q") // esc would stop the call first
	tt.see(`!Moving`, `try 2 of 3 in \d+ s`)
	tt.press("esc")
	tt.see(`Stopped: loading inbox`)
	tt.provoke(p, "GET /threads: 503, 503, ok", `▌● Grace Hall`)
	tt.see(`!\(503\)`)
	tt.quit()
}

// esc in a wait stops it at once, says so, and leads to no further request.
func TestEscStopsAWait(t *testing.T) {
	t.Parallel()
	h, p := behindFaults(t, nil, "ok")
	tt := h.open(80, 24)
	tt.see(`▌● Grace Hall`, `山田太郎`)
	play(t, p, "GET /threads: 429:retry-after=60, ok")
	tt.press("^R")
	tt.see(`Loading inbox · server asks for 60 s · try 2 of 3 in \d+ s · esc stops`)
	n := asked(p, "GET", "/threads")
	tt.press("esc")
	tt.see(`Stopped: loading inbox`, `!try 2 of 3`)
	if !tt.shows(`▌● Grace Hall`) {
		t.Errorf("esc did more than this:\n%s", tt.text())
	}
	if got := asked(p, "GET", "/threads"); got != n {
		t.Errorf("%d more requests", got-n)
	}
	tt.press("^R")
	tt.see(`!Stopped`)
	until(t, "another request", func() bool { return asked(p, "GET", "/threads") > n })
	tt.quit()
}

// esc ends an attempt that gets no answer just as well.
func TestEscStopsAStall(t *testing.T) {
	t.Parallel()
	h, p := behindFaults(t, nil, "GET /threads: stall, ok")
	tt := h.open(80, 24)
	tt.see(`Loading inbox… · esc stops`)
	tt.press("esc")
	tt.see(`Stopped: loading inbox`)
	tt.press("^R")
	tt.see(`▌● Grace Hall`)
	until(t, "the requests in the log", func() bool { return asked(p, "GET", "/threads") >= 2 })
	if n := asked(p, "GET", "/threads"); n != 2 {
		t.Errorf("%d requests, want the one that was stopped and the next", n)
	}
	tt.quit()
}

// Quitting does not wait for a call that stalls.
func TestQuitInAStall(t *testing.T) {
	t.Parallel()
	h, p := behindFaults(t, nil, "stall, ...")
	tt := h.open(80, 24)
	tt.see(`Loading inbox… · esc stops`)
	n := asked(p, "GET", "/threads")
	tt.quit()
	if got := asked(p, "GET", "/threads"); got != n {
		t.Errorf("quitting waited until the call was tried again: %d requests, then %d", n, got)
	}
}

// What a fault looks like on the line of news, and that the mail is there once it is over.
func TestFaultSentences(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		script string
		sees   []string
		list   bool // the inbox appears by itself
	}{
		{"GET /threads: reset, reset, ok", []string{`Loading inbox · connection reset · try 2 of 3 in`, `try 3 of 3 in`}, true},
		{"GET /threads: cut, ok", []string{`Loading inbox · answer cut short · try 2 of 3 in`}, true},
		{"GET /threads: 502:html, 504, ok", []string{`server not reachable \(502\) · try 2 of 3 in`, `server not reachable \(504\) · try 3 of 3 in`}, true},
		{"GET /threads: garbage:http, ok", []string{`Loading inbox · connection failed · try 2 of 3 in`}, true},
		{"GET /threads: 429:retry-after=2, ok", []string{`Loading inbox · server asks for 2 s · try 2 of 3 in \d\.\d s`}, true},
		{"GET /threads: slow:2s, ok", []string{`Loading inbox… · esc stops`}, true},
		{"GET /threads: 503, ...", []string{`try 3 of 3 in`, `Loading inbox failed · server busy \(503\)`}, false},
		{"GET /threads: 429, ...", []string{`Too many requests · slowed down · R tries again`}, false},
		{"GET /threads: 429:retry-after=120, ...", []string{`Loading inbox stopped · server asks for 2 min · R tries again`}, false},
		{"GET /threads: garbage, ...", []string{`Loading inbox failed · the answer was not understood`}, false},
		{"GET /threads: 200:empty, ...", []string{`Loading inbox failed · the answer was not understood`}, false},
		{"GET /threads: redirect, ...", []string{`Loading inbox failed`}, false},
		{"GET /threads: big:70, ...", []string{`Loading inbox failed · the answer is larger than 64 MiB`}, false},
		{"GET /threads: 403, ...", []string{`Loading inbox failed · permission denied`}, false},
		{"401, ...", []string{`Loading inbox failed · the server does not accept the key`}, false},
		{"reset, ...", []string{`No connection · trying again in \d+ s`}, false},
	} {
		t.Run(tc.script, func(t *testing.T) {
			t.Parallel()
			h, p := behindFaults(t, nil, "GET /threads: stall, ...")
			tt := h.open(80, 24)
			tt.see(`Loading inbox… · esc stops`)
			tt.press("esc")
			tt.see(`Stopped: loading inbox`)
			tt.provoke(p, tc.script, tc.sees...)
			if !tc.list {
				tt.see(`!Grace Hall`)
				play(t, p, "ok")
				n := asked(p, "GET", "/threads")
				tt.press("R")
				if strings.Contains(tc.script, "retry-after") { // a person's wish does not cut it short
					tt.press("^R")
					tt.see(`Not yet: the server asked to wait until \d\d:\d\d · goes then by itself`)
					tt.quit()
					if got := asked(p, "GET", "/threads"); got != n {
						t.Errorf("%d requests before the time that the server named", got-n)
					}
					return
				}
				if !tt.shows("Grace Hall") {
					tt.press("^R")
				}
			}
			tt.see(`▌● Grace Hall`, `山田太郎`, `!inbox failed|try \d of`)
			tt.press("j", "enter")
			tt.see(`2 replies, 1 invite`)
			for _, bad := range []string{"panic", "goroutine", `not json`, testKey} {
				if strings.Contains(tt.written(), bad) {
					t.Errorf("the screen was sent %q", bad)
				}
			}
			tt.quit()
		})
	}
}

// With nothing listening the second start shows the cached inbox, messages open, changes and sends queue; all goes when
// the server is back, each thing once.
func TestNothingListening(t *testing.T) {
	t.Parallel()
	s := mailServer(t)
	for i := range 5 {
		s.write(fmt.Sprintf("in/%d.eml", i), fmt.Sprintf("From: Friend %d <f%d@example.org>\nTo: ada@example.com\nSubject: Letter %d\n"+
			"Message-ID: <%d@example.org>\nDate: Mon, 2 Mar 2026 10:0%d:00 +0000\n\nText of letter %d.\n", i, i, i, i, i, i))
	}
	s.must("import", "in")
	srv := s.serve("")
	h := account(t, srv.url, testKey)
	tt := h.open(80, 24)
	tt.see(`▌.*Letter 4`, `Letter 0`)
	tt.press("enter")
	tt.see(`Text of letter 4`)
	tt.press("q")
	tt.see(`Letter 0`)
	tt.quit()
	srv.kill()

	tt = h.open(80, 24)
	tt.see(`▌.*Letter 4`, `Letter 0`)
	tt.see(`No connection`)
	tt.press("enter")
	tt.see(`Text of letter 4`)
	tt.press("q") // esc may have to stop a call first
	tt.see(`▌.*Letter 4`, `Letter 0`)
	tt.press("j")
	tt.see(`▌.*Letter 3`)
	tt.press("e")
	tt.see(`!Letter 3`)
	tt.press("#")
	tt.see(`!Letter 2`)
	tt.press("c")
	tt.see(`New message`)
	tt.write("grace@example.org")
	tt.press("tab")
	tt.write(killSubject)
	tt.press("tab")
	tt.write("Written in the dark.")
	tt.press("^D")
	tt.see(`!New message`)
	tt.press("g", "o")
	tt.see(`Outbox`, killSubject, `connection refused`)
	tt.kill() // what was done is on the disk

	tt = h.open(80, 24)
	tt.see(`Letter 4`, `!Letter [23]`)
	if n := len(s.sent(killSubject)); n != 0 {
		t.Fatalf("%d copies with nothing listening", n)
	}
	srv = s.serve(srv.addr())
	tt.press("^R")
	until(t, "the message in the mailbox", func() bool { return srv.copies(killSubject) == 1 })
	for place, subject := range map[string]string{"trashed = 1": "Letter 2", "inbox = 0 AND trashed = 0": "Letter 3"} {
		until(t, subject+" "+place, func() bool {
			got := s.query("SELECT subject FROM threads WHERE incoming > 0 AND " + place)
			return len(got) == 1 && got[0] == subject
		})
	}
	tt.see(`Letter 4`, `!Letter [23]`)
	tt.press("g", "#")
	tt.see(`Letter 2`)
	tt.press("g", "a")
	tt.see(`Letter 3`)
	tt.quit()
	srv.holds(killSubject, 1)
}
