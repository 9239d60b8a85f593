package api

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// This file holds a model of one call, written from sections 5 and 6 of the contract
// and from nothing else, and a server that plays a script. The property tests compare
// the client with the model.

// try is how the server treats one attempt.
type try struct {
	Fault  string        // "refused", "reset", "cut"; empty: an answer
	Status int           // of the answer
	Body   string        // of the answer
	Header time.Duration // until the header comes, or the fault
	Rest   time.Duration // from there to the end of the body
	After  retryAfter
}

// retryAfter is a Retry-After header by its meaning.
type retryAfter struct {
	Kind string        // "", "seconds", "date", "nonsense"
	Wait time.Duration // of a date: after the second in which the header comes
	Text string        // of nonsense
}

func (r retryAfter) header(now time.Time) string {
	switch r.Kind {
	case "seconds":
		if r.Wait%time.Second == 0 {
			return strconv.Itoa(int(r.Wait / time.Second))
		}
		return fmt.Sprintf("%d.%03d", r.Wait/time.Second, r.Wait%time.Second/time.Millisecond)
	case "date":
		return now.Add(r.Wait).UTC().Format(http.TimeFormat)
	}
	return r.Text
}

// asked is rule 5: exactly that long; a date is rounded up to whole seconds, a past
// one means 0, what cannot be read is as if absent.
//
// sent is when the header came, now the end of the attempt.
func (r retryAfter) asked(sent, now time.Time) (time.Duration, bool) {
	switch r.Kind {
	case "seconds":
		return r.Wait, true
	case "date":
		d := sent.Add(r.Wait).Truncate(time.Second).Sub(now)
		whole := d.Truncate(time.Second)
		if whole < d {
			whole += time.Second
		}
		return max(0, whole), true
	}
	return 0, false
}

// modelStep is one attempt as the contract wants it.
type modelStep struct {
	at, ended time.Duration // since the call began
	end       string        // "ok", "503", "network", "timeout", "unreadable", "cancelled"
	again     bool
	wait      time.Duration // until the next attempt
	why       string        // "Retry-After", "backoff"
	asked     time.Duration
	hasAsked  bool
	left      bool // a request may have left this machine
}

// modelCall is what the contract makes of a call.
type modelCall struct {
	class   Class
	retries int // maxRetries
	timeout time.Duration
	draw    int           // the backoff draws draw/8 of its range
	cancel  time.Duration // when the caller cancels; 0: never
	script  []try         // the last repeats
}

// run plays the call. start is the time at its beginning.
func (m modelCall) run(start time.Time) (steps []modelStep, end string) {
	tries := 1
	if m.class != ClassOnce { // rule 2
		tries += max(0, m.retries) // rule 1
	}
	var now time.Duration
	for n := range tries {
		t := m.script[min(n, len(m.script)-1)]
		took, outcome := m.attempt(t)
		s := modelStep{at: now, left: t.Fault != "refused" || outcome != "network"}
		if m.cancel > 0 && m.cancel < now+took { // rule 8
			s.ended, s.end, s.left = m.cancel, "cancelled", true
			return append(steps, s), "cancelled"
		}
		now += took
		s.ended, s.end = now, outcome
		s.asked, s.hasAsked = t.After.asked(start.Add(s.at+t.Header), start.Add(now))
		repeatable := false
		switch outcome { // rule 3
		case "network", "timeout":
			repeatable, s.hasAsked = true, false
		case "408", "500", "502", "503", "504":
			repeatable = true
		case "429":
			repeatable = s.hasAsked
		}
		if !repeatable || n == tries-1 || s.hasAsked && s.asked > 60*time.Second { // rule 6
			return append(steps, s), outcome
		}
		s.again = true
		if s.wait, s.why = s.asked, "Retry-After"; !s.hasAsked { // rules 4 and 5
			ceiling := min(8*time.Second, 500*time.Millisecond*time.Duration(1<<n))
			s.wait, s.why = ceiling/2+ceiling/2*time.Duration(m.draw)/8, "backoff"
		}
		steps = append(steps, s)
		now += s.wait
		if m.cancel > 0 && m.cancel < now {
			return steps, "cancelled"
		}
	}
	return steps, "unreachable"
}

// attempt says how long an attempt takes and how it ends. Rule 7: the limit covers
// headers and the whole body.
func (m modelCall) attempt(t try) (time.Duration, string) {
	limit := m.timeout
	if limit == 0 {
		limit = 1 << 62
	}
	if t.Header > limit {
		return limit, "timeout"
	}
	whole := min(t.Header+t.Rest, limit)
	late := t.Header+t.Rest > limit
	switch {
	case t.Fault == "cut" && !late:
		return whole, "network"
	case t.Fault == "cut":
		return whole, "timeout"
	case t.Fault != "":
		return t.Header, "network"
	case t.Status > 299:
		return whole, strconv.Itoa(t.Status) // the status came, whatever became of its body
	case late:
		return whole, "timeout"
	case !strings.HasPrefix(strings.TrimPrefix(t.Body, "\xef\xbb\xbf"), "{") && (t.Body != "" || m.class == ClassRead):
		return whole, "unreadable"
	}
	return whole, "ok"
}

// scripted is a server that plays a script for each path.
type scripted struct {
	mu       sync.Mutex
	script   map[string][]try // by path
	requests map[string][]scriptedRequest
	running  int
	most     int
	open     int      // bodies that were not closed
	wrong    []string // what must not happen
}

type scriptedRequest struct {
	at, ended time.Time
	key, auth string
	body      string
}

func newScripted() *scripted {
	return &scripted{script: make(map[string][]try), requests: make(map[string][]scriptedRequest)}
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	path := r.URL.EscapedPath()
	got := scriptedRequest{at: time.Now(), key: r.Header.Get("Idempotency-Key"), auth: r.Header.Get("Authorization")}
	if r.Body != nil {
		b, _ := io.ReadAll(r.Body)
		got.body = string(b)
		_ = r.Body.Close()
	}
	s.mu.Lock()
	if r.GetBody != nil || r.Body == nil && r.Method == http.MethodGet {
		s.wrong = append(s.wrong, "the request can be repeated unseen")
	}
	n := len(s.requests[path])
	s.requests[path] = append(s.requests[path], got)
	script := s.script[path]
	s.running++
	s.most = max(s.most, s.running)
	s.mu.Unlock()
	if len(script) == 0 {
		script = []try{{Status: 200, Body: "{}"}}
	}
	t := script[min(n, len(script)-1)]
	ended := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
		s.requests[path][n].ended = time.Now()
	}
	if err := wait(r.Context(), t.Header); err != nil {
		ended()
		return nil, errors.New("given up")
	}
	switch t.Fault {
	case "refused":
		ended()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case "reset":
		ended()
		return nil, syscall.ECONNRESET
	}
	resp := reply(t.Status, t.Body)
	if h := t.After.header(time.Now()); h != "" {
		resp.Header.Set("Retry-After", h)
	}
	if t.Fault == "cut" {
		resp.ContentLength += 100
	}
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	resp.Body = &scriptedBody{Reader: strings.NewReader(t.Body), ctx: r.Context(), rest: t.Rest, closed: func() {
		ended()
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}}
	return resp, nil
}

type scriptedBody struct {
	io.Reader
	ctx    context.Context
	rest   time.Duration
	once   sync.Once
	closed func()
}

func (b *scriptedBody) Read(p []byte) (int, error) {
	if err := wait(b.ctx, b.rest); err != nil {
		return 0, errors.New("given up")
	}
	b.rest = 0
	return b.Reader.Read(p)
}

func (b *scriptedBody) Close() error {
	b.once.Do(b.closed)
	return nil
}

// checkMany is rapid.Check with n checks, unless the command line asks for more.
func checkMany(t *testing.T, n int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if had, err := strconv.Atoi(before); err == nil && had < n {
		if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", before) }()
	}
	rapid.Check(t, property)
}

// Generators. All times are whole multiples of 250 µs, so that a cancellation a
// nanosecond beside them never ties.

func drawRetryAfter(t *rapid.T) retryAfter {
	switch kind := rapid.SampledFrom([]string{"", "", "seconds", "seconds", "date", "nonsense"}).Draw(t, "Retry-After"); kind {
	case "seconds":
		ms := rapid.OneOf(rapid.SampledFrom([]int{0, 1, 500, 1500, 59999, 60000, 60001, 61000, 3600000}), rapid.IntRange(0, 70000)).Draw(t, "ms")
		return retryAfter{Kind: kind, Wait: time.Duration(ms) * time.Millisecond}
	case "date":
		return retryAfter{Kind: kind, Wait: time.Duration(rapid.IntRange(-10, 70).Draw(t, "s")) * time.Second}
	case "nonsense":
		return retryAfter{Kind: kind, Text: rapid.SampledFrom([]string{"soon", "-1", "1e3", "+5", ".5", "5.", "0x10", "NaN", "Tue, 99 Foo 2000 00:00:00 GMT"}).Draw(t, "text")}
	}
	return retryAfter{}
}

func drawTry(t *rapid.T) try {
	out := try{
		Header: time.Duration(rapid.SampledFrom([]int{0, 1, 20, 100, 900, 4003, 29999, 30001, 90000}).Draw(t, "header ms")) * time.Millisecond,
		Rest:   time.Duration(rapid.SampledFrom([]int{0, 0, 2, 300, 31000}).Draw(t, "rest ms")) * time.Millisecond,
	}
	switch kind := rapid.SampledFrom([]string{"answer", "answer", "answer", "ok", "ok", "refused", "reset", "cut", "unreadable"}).Draw(t, "kind"); kind {
	case "answer":
		out.Status = rapid.SampledFrom([]int{301, 304, 400, 401, 403, 404, 408, 409, 422, 425, 429, 429, 500, 501, 502, 503, 503, 504, 505, 599}).Draw(t, "status")
		out.Body = rapid.SampledFrom([]string{"", "<html>", `{"error":{"code":"c","message":"m"}}`, "\xff"}).Draw(t, "body")
		out.After = drawRetryAfter(t)
	case "ok":
		out.Status = rapid.SampledFrom([]int{200, 201, 299}).Draw(t, "status")
		out.Body = rapid.SampledFrom([]string{`{"id":"x"}`, "\xef\xbb\xbf{\"id\":\"x\"}"}).Draw(t, "body")
		out.After = drawRetryAfter(t) // means nothing on a success
	case "unreadable":
		out.Status, out.Body = 200, rapid.SampledFrom([]string{"<html>", `[]`, `"x"`, "{}}"[2:]}).Draw(t, "body")
	case "cut":
		out.Status, out.Body, out.Fault = 200, `{"id"`, kind
	default:
		out.Fault = kind
	}
	return out
}

func (s modelStep) String() string {
	return fmt.Sprintf("%v–%v %s, again %v after %v (%s)", s.at, s.ended, s.end, s.again, s.wait, s.why)
}
