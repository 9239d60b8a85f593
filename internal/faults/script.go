// Package faults plays a script of network and server faults, around an http.Handler on real
// sockets or around an http.RoundTripper in virtual time, and records every request.
//
// A script is a list of rules, each on a line of its own or after a semicolon:
//
//	503, 503, ok                       every request, in order of arrival
//	GET /threads: 503*2, ok            only that method and path
//	/threads/*: delay:200ms, ...       any method, paths that begin so
//	POST /emails: reset:after, ok      the answer to the first send is lost
//
// The first rule that fits plays its next step. After the last step requests pass; "..." at
// the end repeats the last step for ever. A step may be repeated with *N. The steps:
//
//	ok, pass              hand the request on
//	503                   that status, with the API's error body; options after a colon:
//	429:retry-after=2     with Retry-After in seconds, any text, or date+5 (an HTTP date in 5 s)
//	502:html              with a page of HTML, as a proxy sends
//	200:empty             without a body
//	delay:2s              hand on after two seconds
//	stall, stall:30s      read the request and say nothing, until the client leaves or 30 s are over; then cut
//	reset                 reset the connection before the request's body is read
//	reset:read            reset after the request was read; it has no effect
//	reset:after           hand on, so that it takes effect, then reset instead of the answer
//	reset:body            hand on, then reset in the middle of the answer's body
//	cut                   hand on, then end the connection in the middle of the answer's body
//	slow, slow:10s        hand on, then send the answer's body in drops over 5 s (10 s)
//	garbage               200 with a body that is not JSON
//	garbage:http          bytes that are not HTTP
//	redirect, redirect:URL  302 to another host
//	big:70                200 with a JSON text of 70 MiB
package faults

import (
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

type kind int

const (
	pass kind = iota
	status
	delay
	stall
	reset
	resetRead
	resetAfter
	resetBody
	cut
	slow
	garbage
	garbageHTTP
	redirect
	big
)

// step is one thing to play.
type step struct {
	text       string // as written
	kind       kind
	code       int
	retryAfter string
	html       bool
	empty      bool
	wait       time.Duration // 0 with stall: until the client leaves
	target     string
	mebibytes  int
}

type rule struct {
	method string // empty for any
	path   string // empty for any; a trailing * fits any rest
	steps  []step
	repeat bool // the last step for ever
	next   int
}

func (r *rule) fits(method, p string) bool {
	if r.method != "" && r.method != method {
		return false
	}
	if head, any := strings.CutSuffix(r.path, "*"); any {
		return strings.HasPrefix(p, head)
	}
	return r.path == "" || r.path == p
}

// take returns the step to play now.
func (r *rule) take() step {
	if r.next < len(r.steps) {
		s := r.steps[r.next]
		r.next++
		return s
	}
	if r.repeat && len(r.steps) > 0 {
		return r.steps[len(r.steps)-1]
	}
	return step{text: "ok"}
}

// maxRepeat bounds *N so that a script cannot fill the memory.
const maxRepeat = 100_000

func parse(script string) ([]*rule, error) {
	var rules []*rule
	for _, line := range strings.FieldsFunc(script, func(r rune) bool { return r == '\n' || r == ';' }) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parseRule(line)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRule(line string) (*rule, error) {
	r := &rule{}
	if head, rest, ok := strings.Cut(line, ": "); ok && strings.Contains(head, "/") && !strings.Contains(head, ",") {
		fields := strings.Fields(head)
		switch {
		case len(fields) == 1 && strings.HasPrefix(fields[0], "/"):
			r.path = fields[0]
		case len(fields) == 2 && strings.HasPrefix(fields[1], "/"):
			r.method, r.path = strings.ToUpper(fields[0]), fields[1]
		default:
			return nil, fmt.Errorf("rule %q: write METHOD /path: steps, or /path: steps", head)
		}
		switch r.method {
		case "", http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead:
		default:
			return nil, fmt.Errorf("rule %q: there is no method %q", head, r.method)
		}
		if !strings.HasSuffix(r.path, "*") && path.Clean(r.path) != r.path {
			return nil, fmt.Errorf("rule %q: the path would never fit; write %s", head, path.Clean(r.path))
		}
		line = rest
	}
	for _, text := range strings.Split(line, ",") {
		text = strings.TrimSpace(text)
		if r.repeat {
			return nil, fmt.Errorf("%q: nothing can follow the step ... that repeats", line)
		}
		if text == "..." {
			if len(r.steps) == 0 {
				return nil, fmt.Errorf("%q: ... repeats the step before it, and there is none", line)
			}
			r.repeat = true
			continue
		}
		n := 1
		if head, times, ok := strings.Cut(text, "*"); ok {
			v, err := strconv.Atoi(times)
			if err != nil || v < 1 || v > maxRepeat {
				return nil, fmt.Errorf("%q: write a number from 1 to %d after *", text, maxRepeat)
			}
			text, n = head, v
		}
		s, err := parseStep(text)
		if err != nil {
			return nil, err
		}
		for range n {
			r.steps = append(r.steps, s)
		}
	}
	return r, nil
}

func parseStep(text string) (step, error) {
	s := step{text: text}
	name, opts, has := strings.Cut(text, ":")
	bad := func(why string) (step, error) { return step{}, fmt.Errorf("step %q: %s", text, why) }
	duration := func(def time.Duration) error {
		s.wait = def
		if !has {
			return nil
		}
		d, err := time.ParseDuration(opts)
		if err != nil || d < 0 {
			return fmt.Errorf("step %q: write a length of time such as 30s or 200ms", text)
		}
		s.wait = d
		return nil
	}
	if code, err := strconv.Atoi(name); err == nil {
		if code < 200 || code > 599 {
			return bad("a status is 200 to 599")
		}
		s.kind, s.code = status, code
		if !has {
			return s, nil
		}
		for _, o := range strings.Split(opts, ":") {
			key, value, _ := strings.Cut(o, "=")
			switch {
			case key == "retry-after" && value != "":
				s.retryAfter = value
				if sec, ok := strings.CutPrefix(value, "date"); ok {
					if _, err := strconv.Atoi(sec); err != nil {
						return bad("write retry-after=date+5 or date-5")
					}
				}
			case o == "html":
				s.html = true
			case o == "empty":
				s.empty = true
			default:
				return bad("a status takes the options retry-after=N, html and empty")
			}
		}
		return s, nil
	}
	switch name {
	case "ok", "pass":
		if has {
			return bad("it takes no option")
		}
		return s, nil
	case "delay":
		if !has {
			return bad("say how long, such as delay:2s")
		}
		s.kind = delay
		return s, duration(0)
	case "stall":
		s.kind = stall
		return s, duration(0)
	case "slow":
		s.kind = slow
		return s, duration(5 * time.Second)
	case "reset":
		k, ok := map[string]kind{"": reset, "before": reset, "read": resetRead, "after": resetAfter, "body": resetBody}[opts]
		if !ok {
			return bad("reset takes before, read, after or body")
		}
		s.kind = k
		return s, nil
	case "cut":
		if has {
			return bad("it takes no option")
		}
		s.kind = cut
		return s, nil
	case "garbage":
		s.kind = garbage
		switch {
		case !has:
		case opts == "http":
			s.kind = garbageHTTP
		default:
			return bad("garbage takes the option http")
		}
		return s, nil
	case "redirect":
		s.kind, s.target = redirect, "https://elsewhere.invalid/"
		if has {
			s.target = opts
		}
		return s, nil
	case "big":
		n, err := strconv.Atoi(opts)
		if err != nil || n < 1 || n > 1024 {
			return bad("say how many MiB, such as big:70")
		}
		s.kind, s.mebibytes = big, n
		return s, nil
	}
	return bad("there is no such step; write a status, ok, pass, delay, stall, reset, cut, slow, garbage, redirect or big")
}
