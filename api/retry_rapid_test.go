package api

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var ownKey = regexp.MustCompile(`^oe-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestRetryProperties: for any script of answers, faults, stalls and one cancellation
// the requests, the waits, the keys, the bodies, the events and the error are what
// the contract says.
func TestRetryProperties(t *testing.T) {
	checkMany(t, 1000, func(rt *rapid.T) {
		m := modelCall{
			class:   rapid.SampledFrom([]Class{ClassRead, ClassSend, ClassRepeat, ClassOnce}).Draw(rt, "class"),
			timeout: 30 * time.Second,
			draw:    rapid.IntRange(0, 8).Draw(rt, "draw"),
			script:  rapid.SliceOfN(rapid.Custom(drawTry), 1, 6).Draw(rt, "script"),
		}
		m.retries = rapid.SampledFrom([]int{2, 2, 2, 0, -1, 1, 5}).Draw(rt, "retries")
		inCall := rapid.Bool().Draw(rt, "retries given to the call")
		switch rapid.SampledFrom([]string{"default", "off", "short"}).Draw(rt, "timeout") {
		case "off":
			m.timeout = 0
		case "short":
			m.timeout = 1500 * time.Millisecond
		}
		if rapid.Bool().Draw(rt, "cancelled") {
			m.cancel = time.Duration(rapid.IntRange(0, 200_000).Draw(rt, "cancelled after ms"))*time.Millisecond + 1
		}
		key := ""
		if m.class == ClassSend {
			key = rapid.SampledFrom([]string{"", "mine:1"}).Draw(rt, "key")
		}
		if problem := playCall(t, m, inCall, key); problem != "" {
			rt.Fatal(problem)
		}
	})
}

// playCall makes the call and returns what is wrong with it.
func playCall(t *testing.T, m modelCall, inCall bool, key string) (problem string) {
	var problems []string
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(400 * time.Millisecond) // dates do not fall on whole seconds
		start := time.Now()
		steps, end := m.run(start)

		server := newScripted()
		var path string
		switch m.class {
		case ClassRead, ClassOnce, ClassRepeat:
			path = map[Class]string{ClassRead: "/threads/t1", ClassOnce: "/threads/t1/mute", ClassRepeat: "/threads/t1/trash"}[m.class]
		case ClassSend:
			path = "/emails"
		}
		server.script[path] = m.script
		var events []Event
		tokens := 0
		c := testClient(t, server, func(o *Options) {
			o.Observer = func(ev Event) { events = append(events, ev) }
			o.APIKey = ""
			o.TokenFunc = func(context.Context) (string, error) { tokens++; return "token-" + strconv.Itoa(tokens), nil }
			if o.Timeout = m.timeout; m.timeout == 0 {
				o.Timeout = -1
			}
			if !inCall {
				o.MaxRetries = &m.retries
			}
		})
		c.core.random = func(d time.Duration) time.Duration { return d * time.Duration(m.draw) / 8 }
		var options []CallOption
		if inCall {
			options = append(options, WithMaxRetries(m.retries))
		}
		if key != "" {
			options = append(options, WithIdempotencyKey(key))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if m.cancel > 0 {
			defer time.AfterFunc(m.cancel, cancel).Stop()
		}
		err := classCalls[m.class](ctx, c, options...)
		took := time.Since(start)

		// The number of requests and their times, one for each attempt.
		requests := server.requests[path]
		if len(server.requests) != 1 || len(requests) != len(steps) {
			wrong("%d requests, want %d", len(requests), len(steps))
		}
		for i, r := range requests {
			if i < len(steps) && (r.at.Sub(start) != steps[i].at || r.ended.Sub(start) != steps[i].ended) {
				wrong("attempt %d from %v to %v, want %v", i+1, r.at.Sub(start), r.ended.Sub(start), steps[i])
			}
			// One key and one body for all, one token, had before the first.
			if r.key != requests[0].key || r.body != requests[0].body || r.auth != "Bearer token-1" {
				wrong("attempt %d differs from the first: %+v", i+1, r)
			}
			if (m.class == ClassSend) != (r.key != "") || key != "" && r.key != key || key == "" && r.key != "" && !ownKey.MatchString(r.key) {
				wrong("key %q", r.key)
			}
			if (m.class == ClassSend) != strings.HasPrefix(r.body, "{") || m.class != ClassSend && r.body != "" {
				wrong("body %q", r.body)
			}
		}
		if server.open != 0 || server.running != 0 {
			wrong("%d bodies left open", server.open)
		}
		problems = append(problems, server.wrong...)

		// The events: started, failed and waiting in turn, one final one, at the right times.
		var want []string
		for i, s := range steps {
			want = append(want, fmt.Sprintf("started %d at %v", i+1, s.at))
			if s.end == "ok" || s.end == "cancelled" {
				continue
			}
			want = append(want, fmt.Sprintf("failed %d at %v", i+1, s.ended))
			if s.again {
				want = append(want, fmt.Sprintf("waiting %d at %v for %v until %v, Retry-After %v", i+1, s.ended, s.wait, s.ended+s.wait, s.why == "Retry-After"))
			}
		}
		ended := m.cancel
		if end != "cancelled" {
			ended = steps[len(steps)-1].ended
		}
		phase := map[string]Phase{"ok": Done, "cancelled": Cancelled}[end]
		if phase == 0 {
			phase = GaveUp
		}
		want = append(want, fmt.Sprintf("%v %d at %v", phase, len(steps), ended))
		var got []string
		for _, ev := range events {
			s := fmt.Sprintf("%v %d at %v", ev.Phase, ev.Attempt, ev.At.Sub(start))
			if ev.Phase == Waiting {
				s += fmt.Sprintf(" for %v until %v, Retry-After %v", ev.Wait, ev.Until.Sub(start), ev.Cause == "Retry-After")
			}
			got = append(got, s)
		}
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			wrong("events\n%s\nwant\n%s", g, w)
		}
		if took != ended {
			wrong("took %v, want %v", took, ended)
		}

		// The last failure is what is reported.
		if p := checkEnd(err, end, steps); p != "" {
			wrong("%s: %v (%T)", p, err, err)
		}
	})
	return strings.Join(problems, "\n")
}

// checkEnd compares a call's error with the model's end.
func checkEnd(err error, end string, steps []modelStep) string {
	last := steps[len(steps)-1]
	left := slices.ContainsFunc(steps, func(s modelStep) bool { return s.left })
	var server *Error
	var network *NetworkError
	isServer, isNetwork := errors.As(err, &server), errors.As(err, &network)
	switch end {
	case "ok":
		if err != nil {
			return "want no error"
		}
	case "cancelled":
		if !isNetwork || !network.Cancelled || network.Timeout || network.Attempts != len(steps) || network.NotSent == left || !errors.Is(err, context.Canceled) {
			return "want a cancellation"
		}
	case "network", "timeout":
		if !isNetwork || network.Cancelled || network.Timeout != (end == "timeout") || network.Attempts != len(steps) || network.NotSent == left || errors.Is(err, context.Canceled) || errors.Is(err, ErrTimeout) != network.Timeout {
			return "want a network failure"
		}
	case "unreadable":
		if !isServer || server.Status > 299 || server.Code != "unrecognised_response" || server.Type != TypeAPI || server.Attempts != len(steps) {
			return "want an answer not understood"
		}
	default:
		if !isServer || strconv.Itoa(server.Status) != end || server.Attempts != len(steps) {
			return "want status " + end
		}
		if server.HasRetryAfter != last.hasAsked || server.RetryAfter != last.asked {
			return fmt.Sprintf("want Retry-After %v %v", last.asked, last.hasAsked)
		}
	}
	return ""
}

// TestBackoffProperties: between half the ceiling and the ceiling, whatever is drawn.
func TestBackoffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<20).Draw(t, "n")
		ceiling := 8 * time.Second
		if n < 4 {
			ceiling = 500 * time.Millisecond * time.Duration(1<<n)
		}
		if d := backoff(n, randomUpTo); d < ceiling/2 || d > ceiling {
			t.Fatalf("%v is not between %v and %v", d, ceiling/2, ceiling)
		}
	})
}

// TestRetryAfterProperties: what is written is read back and never shortened.
func TestRetryAfterProperties(t *testing.T) {
	checkMany(t, 1000, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "now"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		r := rapid.Custom(drawRetryAfter).Draw(t, "header")
		want, has := r.asked(now, now)
		var values []string
		if h := r.header(now); h != "" {
			values = []string{rapid.SampledFrom([]string{"", " ", "\t "}).Draw(t, "before") + h + rapid.SampledFrom([]string{"", " "}).Draw(t, "behind")}
		}
		if got, ok := parseRetryAfter(values, now); got != want || ok != has {
			t.Fatalf("%q at %v: got %v %v, want %v %v", values, now, got, ok, want, has)
		}
	})
}
