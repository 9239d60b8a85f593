//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// The steps of a send that a proxy between client and server sees.
const (
	stepHeader   = "header"   // the request's header is here, its body not yet read
	stepReceived = "received" // the request is here, the server has nothing of it
	stepHanded   = "handed"   // the server has it, no answer is here
	stepAnswered = "answered" // the answer is here, the client has nothing of it
	stepHalf     = "half"     // the client has half of the answer
	stepPassed   = "passed"   // the client has the answer
)

// sendSteps are all of them, in order.
var sendSteps = []string{stepHeader, stepReceived, stepHanded, stepAnswered, stepHalf, stepPassed}

// sendSeen is one send as it passed.
type sendSeen struct{ key, body string }

// proxy stands before a server, notes every send and stops at a step of the first one.
type proxy struct {
	t        *testing.T
	url      string
	upstream string // host and port

	mu    sync.Mutex
	sends []sendSeen
	hook  func(step string) (forward bool) // nil: passes everything
}

func newProxy(t *testing.T, upstream string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, url: "http://" + l.Addr().String(), upstream: upstream}
	srv := &http.Server{Handler: p, ReadHeaderTimeout: patience}
	go func() { _ = srv.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = srv.Close() })
	return p
}

// at arms the proxy: at that step of the next send f runs, and the send goes on only if f says so.
func (p *proxy) at(step string, f func() (forward bool)) (reached chan struct{}) {
	reached = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	done := false // only the proxy's own handlers, with the lock
	p.hook = func(at string) bool {
		p.mu.Lock()
		now := at == step && !done
		done = done || now
		p.mu.Unlock()
		if !now {
			return true
		}
		defer close(reached)
		return f()
	}
	return reached
}

func (p *proxy) seen() []sendSeen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]sendSeen(nil), p.sends...)
}

// step runs the hook; when it says no the connection is cut.
func (p *proxy) step(at string) {
	p.mu.Lock()
	hook := p.hook
	p.mu.Unlock()
	if hook != nil && !hook(at) {
		panic(http.ErrAbortHandler)
	}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	send := r.Method == http.MethodPost && r.URL.Path == "/emails"
	step := func(at string) {
		if send {
			p.step(at)
		}
	}
	step(stepHeader)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if send {
		p.mu.Lock()
		p.sends = append(p.sends, sendSeen{r.Header.Get("Idempotency-Key"), string(body)})
		p.mu.Unlock()
	}
	step(stepReceived)
	conn, err := net.DialTimeout("tcp", p.upstream, patience)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	out := r.Clone(r.Context())
	out.RequestURI, out.Close, out.URL.Scheme, out.URL.Host = "", true, "http", p.upstream
	out.Host = p.upstream
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.ContentLength = int64(len(body))
	if err := out.Write(conn); err != nil {
		panic(http.ErrAbortHandler)
	}
	step(stepHanded)
	answer, err := http.ReadResponse(bufio.NewReader(conn), out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	step(stepAnswered)
	for k, v := range answer.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.StatusCode)
	flush := func(b []byte) {
		_, _ = w.Write(b) // the client may be dead
		_ = http.NewResponseController(w).Flush()
	}
	flush(all[:len(all)/2])
	step(stepHalf)
	flush(all[len(all)/2:])
	step(stepPassed)
}

// oneMessage fails unless all the sends were one message under one key.
func (p *proxy) oneMessage(t *testing.T) {
	t.Helper()
	sends := p.seen()
	for _, s := range sends {
		if s.key == "" || s != sends[0] {
			t.Errorf("another key or other bytes:\n%+v\n%+v", sends[0], s)
		}
		if !json.Valid([]byte(s.body)) || strings.TrimSpace(s.body) == "" {
			t.Errorf("a body that is no JSON: %q", s.body)
		}
	}
}
