package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// upstream counts what takes effect and answers with a text of 1,000 bytes.
type upstream struct{ hits int }

var good = `{"ok":"` + strings.Repeat("y", 991) + `"}`

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.hits++
	b, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Body", string(b))
	_, _ = io.WriteString(w, good)
}

// inProcess makes a transport of a handler.
type inProcess struct{ h http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	t.h.ServeHTTP(w, r)
	return w.Result(), nil
}

// outcome is what a client sees.
type outcome struct {
	status int
	header http.Header
	body   string
	err    error // of the exchange or of the body
}

func do(t testing.TB, ctx context.Context, rt http.RoundTripper, method, url, body string) outcome {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, struct{ io.Reader }{strings.NewReader(body)})
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = int64(len(body))
	r.Header.Set("Idempotency-Key", "oe-1")
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return outcome{err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return outcome{resp.StatusCode, resp.Header, string(b), err}
}

// Both ways to play must look alike to a client; each case runs on a real socket and, in virtual
// time, through the transport.
func TestSteps(t *testing.T) {
	tests := []struct {
		step    string
		hits    int // requests that took effect
		status  int
		in      string // in the body
		failure bool
		is      error // of the failure, when one kind is asked for
		check   func(outcome) error
	}{
		{step: "ok", hits: 1, status: 200, in: good},
		{step: "503", status: 503, in: `"type":"api_error"`},
		{step: "429", status: 429, in: "rate_limit_error", check: func(o outcome) error {
			if o.header.Get("Retry-After") != "" {
				return errors.New("Retry-After nobody asked for")
			}
			return nil
		}},
		{step: "429:retry-after=2", status: 429, check: func(o outcome) error {
			if o.header.Get("Retry-After") != "2" {
				return fmt.Errorf("Retry-After %q", o.header.Get("Retry-After"))
			}
			return nil
		}},
		{step: "503:retry-after=date+5", status: 503, check: func(o outcome) error {
			_, err := http.ParseTime(o.header.Get("Retry-After"))
			return err
		}},
		{step: "502:html", status: 502, in: "<html>"},
		{step: "204", status: 204},
		{step: "200:empty", status: 200},
		{step: "garbage", status: 200, in: "not json"},
		{step: "garbage:http", failure: true},
		{step: "redirect", status: 302, check: func(o outcome) error {
			if o.header.Get("Location") != "https://elsewhere.invalid/" {
				return errors.New("no Location")
			}
			return nil
		}},
		{step: "reset", failure: true},
		{step: "reset:read", failure: true, is: syscall.ECONNRESET},
		{step: "reset:after", hits: 1, failure: true, is: syscall.ECONNRESET},
		{step: "reset:body", hits: 1, status: 200, failure: true},
		{step: "cut", hits: 1, status: 200, failure: true, is: io.ErrUnexpectedEOF},
		{step: "stall:20ms", failure: true},
		{step: "delay:5ms", hits: 1, status: 200, in: good},
		{step: "slow:20ms", hits: 1, status: 200, in: good},
		{step: "big:2", status: 200, check: func(o outcome) error {
			if len(o.body) < 2<<20 || !strings.HasPrefix(o.body, "{") || !strings.HasSuffix(o.body, `"}`) {
				return fmt.Errorf("%d bytes", len(o.body))
			}
			return nil
		}},
	}
	check := func(t *testing.T, i int, u *upstream, p *Player, o outcome) {
		t.Helper()
		tt := tests[i]
		if u.hits != tt.hits {
			t.Errorf("%d requests took effect, want %d", u.hits, tt.hits)
		}
		if (o.err != nil) != tt.failure || tt.is != nil && !errors.Is(o.err, tt.is) {
			t.Errorf("error %v", o.err)
		}
		if o.status != tt.status || !strings.Contains(o.body, tt.in) {
			t.Errorf("got %d %.80q", o.status, o.body)
		}
		if tt.check != nil {
			if err := tt.check(o); err != nil {
				t.Error(err)
			}
		}
		r := p.Requests()
		if len(r) != 1 || r[0].Method != "POST" || r[0].Path != "/a%2Fb" || r[0].Query != "q=1" || r[0].Key != "oe-1" || r[0].Step != tt.step {
			t.Fatalf("recorded %+v", r)
		}
		if tt.step != "reset" && string(r[0].Body) != "hello" {
			t.Errorf("recorded body %q", r[0].Body)
		}
		if tt.hits == 1 && !tt.failure && o.header.Get("X-Body") != "hello" {
			t.Error("the body was not handed on")
		}
	}
	for i, tt := range tests {
		t.Run("socket/"+tt.step, func(t *testing.T) {
			u, p := &upstream{}, MustParse(tt.step)
			srv := httptest.NewUnstartedServer(p.Handler(u))
			srv.Config.ErrorLog = quiet()
			srv.Start()
			rt := &http.Transport{DisableKeepAlives: true}
			o := do(t, context.Background(), rt, "POST", srv.URL+"/a%2Fb?q=1", "hello")
			srv.Close()
			check(t, i, u, p, o)
		})
		t.Run("transport/"+tt.step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u, p := &upstream{}, MustParse(tt.step)
				o := do(t, t.Context(), p.Transport(inProcess{u}), "POST", "http://x/a%2Fb?q=1", "hello")
				check(t, i, u, p, o)
			})
		})
	}
}

func TestOrderAndRules(t *testing.T) {
	p := MustParse("GET /threads: 503*2, ok\nPOST /emails: 500, ...\n/threads/*: 404\n# a remark\n500, ok")
	rt := p.Transport(inProcess{&upstream{}})
	for i, want := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/threads", 503},
		{"GET", "/threads/a", 404},
		{"GET", "/threads", 503},
		{"GET", "/threads", 200},
		{"GET", "/threads", 200},
		{"GET", "/threads/b", 200},
		{"POST", "/threads", 500},
		{"GET", "/ping", 200},
		{"POST", "/emails", 500},
		{"POST", "/emails", 500},
		{"POST", "/emails", 500},
	} {
		if o := do(t, context.Background(), rt, want.method, "http://x"+want.path, ""); o.status != want.status {
			t.Errorf("%d: %s %s: got %d, want %d", i, want.method, want.path, o.status, want.status)
		}
	}
	if p.Count("GET", "/threads") != 4 || p.Count("POST", "") != 4 || p.Left() != 0 {
		t.Errorf("counted %d, %d, left %d", p.Count("GET", "/threads"), p.Count("POST", ""), p.Left())
	}
	if err := p.Set("418"); err != nil {
		t.Fatal(err)
	}
	if o := do(t, context.Background(), rt, "GET", "http://x/ping", ""); o.status != 418 {
		t.Errorf("after Set: %d", o.status)
	}
}

func TestCancelledWaitsEndAtOnce(t *testing.T) {
	for _, s := range []string{"stall", "stall:1h", "delay:1h", "slow:1h"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			start := time.Now()
			o := do(t, ctx, MustParse(s).Transport(inProcess{&upstream{}}), "GET", "http://x/", "")
			if !errors.Is(o.err, context.Canceled) || time.Since(start) != time.Second {
				t.Errorf("%s: %v after %v", s, o.err, time.Since(start))
			}
		})
	}
}

func TestVirtualTime(t *testing.T) {
	for s, want := range map[string]time.Duration{"stall:30s": 30 * time.Second, "delay:2s": 2 * time.Second, "slow:10s": 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			do(t, t.Context(), MustParse(s).Transport(inProcess{&upstream{}}), "GET", "http://x/", "")
			if got := time.Since(start); got != want {
				t.Errorf("%s took %v", s, got)
			}
		})
	}
}

func TestCloseEndsStalls(t *testing.T) {
	p := MustParse("stall")
	srv := httptest.NewServer(p.Handler(&upstream{}))
	defer srv.Close()
	p.Observe = func(Request) { p.Close() }
	if o := do(t, context.Background(), &http.Transport{}, "GET", srv.URL, ""); o.err == nil {
		t.Error("an answer")
	}
	p.Close()
}

func TestRefusedScripts(t *testing.T) {
	for script, want := range map[string]string{
		"boom":                  "no such step",
		"503,":                  "no such step",
		"99":                    "200 to 599",
		"700":                   "200 to 599",
		"503:x":                 "retry-after",
		"429:retry-after=":      "retry-after",
		"429:retry-after=datex": "date+5",
		"stall:soon":            "length of time",
		"delay":                 "how long",
		"reset:later":           "before, read, after or body",
		"cut:1":                 "no option",
		"ok:1":                  "no option",
		"garbage:x":             "http",
		"big":                   "MiB",
		"big:99999":             "MiB",
		"503*0":                 "number",
		"503*x":                 "number",
		"...":                   "none",
		"503,...,ok":            "nothing can follow",
		"FETCH /x: 503":         "no method",
		"GET GET /x: 503":       "METHOD /path",
		"GET /x/: 503":          "write /x",
	} {
		if _, err := Parse(script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", script, err, want)
		}
	}
	for _, script := range []string{"", " \n", "# only a remark", "redirect:http://127.0.0.1:1/x", "GET /x:y: 503"} {
		if _, err := Parse(script); err != nil {
			t.Errorf("%q: %v", script, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("GET /threads: 503*2, 429:retry-after=2, ...")
	f.Add("reset:after; stall:3s")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := Parse(s); (p == nil) == (err == nil) {
			t.Fatal("neither a player nor an error")
		}
	})
}

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
