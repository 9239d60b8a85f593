package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Request is one request that arrived, and the step that was played for it.
type Request struct {
	At     time.Time
	Method string
	Path   string // escaped, as on the wire
	Query  string
	Key    string // the Idempotency-Key header
	Header http.Header
	Body   []byte // not read with reset; at most 64 MiB
	Step   string // as written in the script
}

// maxBody bounds what is kept of one body.
const maxBody = 64 << 20

// Player plays one script. All its handlers and transports share the script's place and the
// record. It is safe for concurrent use.
type Player struct {
	// Observe, when set before the first request, is told of each request once it was read
	// and before its step is played. It must not block.
	Observe func(Request)

	mu       sync.Mutex
	rules    []*rule
	requests []Request
	served   int
	done     chan struct{}
	once     sync.Once
}

// Parse reads a script; see the package's comment for how it is written. An empty script
// passes everything.
func Parse(script string) (*Player, error) {
	rules, err := parse(script)
	if err != nil {
		return nil, err
	}
	return &Player{rules: rules, done: make(chan struct{})}, nil
}

// MustParse is Parse for scripts in tests; it panics on an error.
func MustParse(script string) *Player {
	p, err := Parse(script)
	if err != nil {
		panic(err)
	}
	return p
}

// Set replaces the script; the record stays.
func (p *Player) Set(script string) error {
	rules, err := parse(script)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
	return nil
}

// Requests returns what arrived so far, in order.
func (p *Player) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.requests...)
}

// Count returns how many requests with that method and path arrived; empty fits any.
func (p *Player) Count(method, path string) int {
	n := 0
	for _, r := range p.Requests() {
		if (method == "" || method == r.Method) && (path == "" || path == r.Path) {
			n++
		}
	}
	return n
}

// Left returns how many written steps were not played yet.
func (p *Player) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.rules {
		n += len(r.steps) - r.next
	}
	return n
}

// Close ends every stall and delay, so that a server can shut down. It may be called twice.
func (p *Player) Close() { p.once.Do(func() { close(p.done) }) }

// take chooses the step and its number.
func (p *Player) take(method, path string) (step, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served++
	for _, r := range p.rules {
		if r.fits(method, path) {
			return r.take(), p.served
		}
	}
	return step{text: "ok"}, p.served
}

func (p *Player) record(r *http.Request, body []byte, s step) {
	q := Request{
		At: time.Now(), Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
		Key: r.Header.Get("Idempotency-Key"), Header: r.Header.Clone(), Body: body, Step: s.text,
	}
	p.mu.Lock()
	p.requests = append(p.requests, q)
	p.mu.Unlock()
	if p.Observe != nil {
		p.Observe(q)
	}
}

// sleep waits; it reports false when the client left or the player was closed.
func (p *Player) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-p.done:
	}
	return false
}

func (p *Player) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-p.done:
	}
}

// answer makes the answer of the steps that need none from upstream; ok is false for the others.
func answer(s step, n int) (code int, header http.Header, body []byte, ok bool) {
	header = http.Header{}
	id := fmt.Sprintf("req_fault_%d", n)
	header.Set("X-Request-Id", id)
	switch s.kind {
	case status:
		if s.retryAfter != "" {
			v := s.retryAfter
			if sec, isDate := strings.CutPrefix(v, "date"); isDate {
				off, _ := strconv.Atoi(sec)
				v = time.Now().Add(time.Duration(off) * time.Second).UTC().Format(http.TimeFormat)
			}
			header.Set("Retry-After", v)
		}
		header.Set("Content-Type", "application/json")
		switch {
		case s.empty || s.code == http.StatusNoContent || s.code == http.StatusNotModified:
			header.Del("Content-Type")
		case s.html:
			header.Set("Content-Type", "text/html; charset=utf-8")
			body = fmt.Appendf(nil, "<html><head><title>%d %s</title></head><body><h1>%s</h1><hr>proxy</body></html>\n", s.code, http.StatusText(s.code), http.StatusText(s.code))
		case s.code < 300:
			body = []byte("{}")
		default:
			body = fmt.Appendf(nil, `{"error":{"type":%q,"code":"fault_injected","message":%q,"requestId":%q}}`, errorType(s.code), fmt.Sprintf("scripted %d", s.code), id)
		}
		return s.code, header, body, true
	case garbage:
		header.Set("Content-Type", "application/json")
		return http.StatusOK, header, []byte("\x00\xff<<< this is {not json \x1b[31m"), true
	case redirect:
		header.Set("Location", s.target)
		return http.StatusFound, header, nil, true
	case big:
		header.Set("Content-Type", "application/json")
		return http.StatusOK, header, nil, true
	}
	return 0, nil, nil, false
}

func errorType(code int) string {
	switch {
	case code == http.StatusUnauthorized:
		return "authentication_error"
	case code == http.StatusForbidden:
		return "permission_error"
	case code == http.StatusNotFound:
		return "not_found_error"
	case code == http.StatusConflict:
		return "conflict_error"
	case code == http.StatusUnprocessableEntity:
		return "validation_error"
	case code == http.StatusTooManyRequests:
		return "rate_limit_error"
	case code >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}

// bigBody is a JSON text of that many MiB that is made while it is read.
func bigBody(mebibytes int) io.Reader {
	filler := io.LimitReader(repeated('x'), int64(mebibytes)<<20)
	return io.MultiReader(strings.NewReader(`{"object":"list","data":[],"filler":"`), filler, strings.NewReader(`"}`))
}

type repeated byte

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// slowChunks is into how many drops a slow body is divided.
const slowChunks = 20

// drops calls write with the pieces of body, spread over the time of the step, and reports
// whether all of it went.
func (p *Player) drops(ctx context.Context, s step, body []byte, write func([]byte) bool) bool {
	size := max(1, (len(body)+slowChunks-1)/slowChunks)
	for len(body) > 0 {
		n := min(size, len(body))
		if !p.sleep(ctx, s.wait/slowChunks) || !write(body[:n]) {
			return false
		}
		body = body[n:]
	}
	return true
}

// Handler plays the script around next, for real sockets. On a connection that cannot be taken
// over (HTTP/2, an in-process transport) a reset ends the answer as http.ErrAbortHandler does.
func (p *Player) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, n := p.take(r.Method, r.URL.EscapedPath())
		var body []byte
		if s.kind != reset {
			var err error
			body, err = io.ReadAll(io.LimitReader(r.Body, maxBody))
			if err != nil {
				p.record(r, body, s)
				panic(http.ErrAbortHandler)
			}
		}
		p.record(r, body, s)
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		p.serve(w, r, next, s, n)
	})
}

func (p *Player) serve(w http.ResponseWriter, r *http.Request, next http.Handler, s step, n int) {
	ctx := r.Context()
	if code, header, body, ok := answer(s, n); ok {
		copyHeader(w.Header(), header)
		w.WriteHeader(code)
		if s.kind == big {
			_, _ = io.Copy(w, bigBody(s.mebibytes))
			return
		}
		_, _ = w.Write(body)
		return
	}
	switch s.kind {
	case pass:
		next.ServeHTTP(w, r)
	case delay:
		if !p.sleep(ctx, s.wait) {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	case stall:
		if s.wait == 0 {
			p.wait(ctx)
		} else {
			p.sleep(ctx, s.wait)
		}
		hangUp(w, false, nil)
	case reset, resetRead:
		hangUp(w, true, nil)
	case garbageHTTP:
		hangUp(w, false, []byte("\x16\x03\x01 nothing that speaks HTTP\r\n\r\n"))
	case resetAfter:
		next.ServeHTTP(newCapture(), r)
		hangUp(w, true, nil)
	case resetBody, cut, slow:
		c := newCapture()
		next.ServeHTTP(c, r)
		copyHeader(w.Header(), c.header)
		w.Header().Set("Content-Length", strconv.Itoa(c.body.Len()))
		w.WriteHeader(c.code)
		all := c.body.Bytes()
		flush := http.NewResponseController(w).Flush
		if s.kind == slow {
			_ = flush()
			p.drops(ctx, s, all, func(b []byte) bool {
				_, err := w.Write(b)
				return err == nil && flush() == nil
			})
			return
		}
		_, _ = w.Write(all[:len(all)/2])
		_ = flush()
		hangUp(w, s.kind == resetBody, nil)
	}
}

// hangUp ends the connection, with a reset or in order, after sending raw bytes if any.
func hangUp(w http.ResponseWriter, rst bool, raw []byte) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = conn.Write(raw)
	if tc, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = tc.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok && rst {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// capture keeps an answer instead of sending it.
type capture struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newCapture() *capture { return &capture{header: http.Header{}, code: http.StatusOK} }

func (c *capture) Header() http.Header         { return c.header }
func (c *capture) WriteHeader(code int)        { c.code = code }
func (c *capture) Write(b []byte) (int, error) { return c.body.Write(b) }

func copyHeader(dst, src http.Header) {
	for k, v := range src {
		dst[k] = append([]string(nil), v...)
	}
}

// Transport plays the script around next without a socket, so that waits run in the virtual
// time of testing/synctest. Faults come back as the errors that a real transport returns.
func (p *Player) Transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		s, n := p.take(r.Method, r.URL.EscapedPath())
		var body []byte
		if r.Body != nil {
			defer r.Body.Close()
			if s.kind != reset {
				var err error
				if body, err = io.ReadAll(io.LimitReader(r.Body, maxBody)); err != nil {
					p.record(r, body, s)
					return nil, err
				}
			}
		}
		p.record(r, body, s)
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		fwd := r.Clone(r.Context())
		fwd.Body = nil
		if r.Body != nil {
			fwd.Body = io.NopCloser(bytes.NewReader(body))
			fwd.GetBody = nil
		}
		return p.roundTrip(fwd, next, s, n)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func connReset(op string) error {
	return &net.OpError{Op: op, Net: "tcp", Err: syscall.ECONNRESET}
}

func (p *Player) roundTrip(r *http.Request, next http.RoundTripper, s step, n int) (*http.Response, error) {
	ctx := r.Context()
	if code, header, body, ok := answer(s, n); ok {
		resp := &http.Response{
			StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)),
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: r,
			ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		}
		if s.kind == big {
			resp.ContentLength, resp.Body = -1, io.NopCloser(bigBody(s.mebibytes))
		}
		return resp, nil
	}
	switch s.kind {
	case delay:
		if !p.sleep(ctx, s.wait) {
			return nil, orReset(ctx)
		}
	case stall:
		if s.wait == 0 {
			p.wait(ctx)
		} else {
			p.sleep(ctx, s.wait)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	case reset:
		return nil, connReset("write")
	case resetRead:
		return nil, connReset("read")
	case garbageHTTP:
		return nil, fmt.Errorf("net/http: HTTP/1.x transport connection broken: malformed HTTP response %q", "\x16\x03\x01 nothing")
	}
	resp, err := next.RoundTrip(r)
	if err != nil || s.kind == pass || s.kind == delay {
		return resp, err
	}
	all, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	switch s.kind {
	case resetAfter:
		return nil, connReset("read")
	case resetBody:
		resp.Body = &broken{bytes.NewReader(all[:len(all)/2]), connReset("read")}
	case cut:
		resp.Body = &broken{bytes.NewReader(all[:len(all)/2]), io.ErrUnexpectedEOF}
	case slow:
		pr, pw := io.Pipe()
		go func() {
			var end error
			if !p.drops(ctx, s, all, func(b []byte) bool {
				_, err := pw.Write(b)
				return err == nil
			}) {
				end = orReset(ctx)
			}
			_ = pw.CloseWithError(end)
		}()
		resp.Body = pr
	}
	return resp, nil
}

func orReset(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return connReset("read")
}

// broken gives what it has and then its error.
type broken struct {
	r   *bytes.Reader
	err error
}

func (b *broken) Read(p []byte) (int, error) {
	if b.r.Len() == 0 {
		return 0, b.err
	}
	return b.r.Read(p)
}

func (b *broken) Close() error { return nil }
