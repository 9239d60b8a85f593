package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// rawServer counts requests at a raw listener. It answers the first request of each
// connection and then does what cut says with the next.
type rawServer struct {
	listener net.Listener
	requests atomic.Int32
	mu       sync.Mutex
	heads    []string
	wg       sync.WaitGroup
}

// newRawServer answers answers[i] to the i-th request of a connection; "" cuts the
// connection once that request has been read.
func newRawServer(t *testing.T, answers ...string) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{listener: l}
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(conn, answers) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.wg.Wait()
	})
	return s
}

func (s *rawServer) serve(conn net.Conn, answers []string) {
	defer func() { _ = conn.Close() }()
	r := bufio.NewReader(conn)
	for _, answer := range answers {
		var head strings.Builder
		length := 0
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			head.WriteString(line)
			_, _ = fmt.Sscanf(strings.ToLower(line), "content-length: %d", &length)
			if line == "\r\n" {
				break
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		s.requests.Add(1)
		s.mu.Lock()
		s.heads = append(s.heads, head.String()+string(body))
		s.mu.Unlock()
		if answer == "" {
			return
		}
		_, _ = io.WriteString(conn, answer)
	}
}

// seen returns the requests as they came.
func (s *rawServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.heads...)
}

func (s *rawServer) client(t *testing.T, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{BaseURL: "http://" + s.listener.Addr().String(), APIKey: testKey, MaxRetries: ptr(0)}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

// TestOneAttemptIsOneRequest: net/http repeats requests on a kept connection that
// breaks, unseen by its caller. The client must not let it.
func TestOneAttemptIsOneRequest(t *testing.T) {
	calls := map[string]callFunc{
		"read":   classCalls[ClassRead],
		"send":   classCalls[ClassSend],
		"repeat": classCalls[ClassRepeat],
		"once":   classCalls[ClassOnce],
		"delete": func(ctx context.Context, c *Client, o ...CallOption) error {
			return ignore(c.Threads.Delete(ctx, "t1", o...))
		},
		"patch": func(ctx context.Context, c *Client, o ...CallOption) error {
			return ignore(c.Threads.Update(ctx, "t1", ThreadPatch{Read: Set(true)}, o...))
		},
		"raw post with a key": func(ctx context.Context, c *Client, o ...CallOption) error {
			return ignore(c.Do(ctx, Request{Method: "POST", Path: "/x"}, append(o, WithIdempotencyKey("k"))...))
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			s := newRawServer(t, `HTTP/1.1 200 OK`+"\r\nContent-Length: 9\r\n\r\n"+`{"id":""}`, "")
			c := s.client(t)
			if err := classCalls[ClassRead](t.Context(), c); err != nil {
				t.Fatal(err)
			}
			err := call(t.Context(), c) // on the kept connection, which is cut
			e := asNetworkError(t, err)
			if e.Timeout || e.Cancelled || e.NotSent {
				t.Errorf("%+v", e)
			}
			if n := s.requests.Load(); n != 2 {
				t.Errorf("%d requests on the wire, want 2", n)
			}
		})
	}
}

// TestRequestsWithoutBody: the trick that keeps net/http from repeating a GET must
// not show on the wire.
func TestRequestsWithoutBody(t *testing.T) {
	s := newRawServer(t, okAnswer, okAnswer, okAnswer)
	c := s.client(t)
	if err := errors.Join(
		ignore(c.Do(t.Context(), Request{Path: "/x"})),
		ignore(c.Do(t.Context(), Request{Path: "/x", Method: "DELETE"})),
		ignore(c.Do(t.Context(), Request{Path: "/x", Method: "POST"})),
	); err != nil {
		t.Fatal(err)
	}
	for _, head := range s.seen() {
		low := strings.ToLower(head)
		if strings.Contains(low, "transfer-encoding") || strings.Contains(low, "content-type") || strings.Contains(low, "content-length") && !strings.Contains(low, "content-length: 0") {
			t.Errorf("the request announces a body:\n%s", head)
		}
	}
}

// TestRetryOverCutConnections: with retries each attempt is one request, and all
// requests of a send are the same.
func TestRetryOverCutConnections(t *testing.T) {
	s := newRawServer(t, "")
	c := s.client(t, func(o *Options) { o.MaxRetries = nil })
	c.core.random = func(time.Duration) time.Duration { return 0 }
	if err := classCalls[ClassSend](t.Context(), c); err == nil {
		t.Fatal("no error")
	}
	if n := s.requests.Load(); n != 3 {
		t.Errorf("%d requests", n)
	}
	heads := s.seen()
	for _, head := range heads {
		if head != heads[0] {
			t.Errorf("requests differ:\n%s\n%s", heads[0], head)
		}
	}
	if !strings.Contains(heads[0], "Idempotency-Key: oe-") || !strings.Contains(heads[0], `"to":[{"email":"b@example.com"}]`) {
		t.Errorf("request:\n%s", heads[0])
	}
}

// TestBrokenAnswers: what can go wrong in an answer, on a real connection.
func TestBrokenAnswers(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(`{"id":"zipped"}`))
	_ = z.Close()
	gz := func(b []byte, length int) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", length, b)
	}
	broken := bytes.Clone(zipped.Bytes())
	broken[12] ^= 0xff
	for _, tt := range []struct {
		name, answer string
		network      bool
		cause        string
		code         string // of an *Error
		id           string // of a success
	}{
		{name: "cut body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":", network: true, cause: "answer cut short"},
		{name: "cut chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{\"id\":", network: true, cause: "answer cut short"},
		{name: "no last chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", network: true, cause: "answer cut short"},
		{name: "cut header", answer: "HTTP/1.1 200 OK\r\nContent-", network: true},
		{name: "not HTTP", answer: "SSH-2.0-OpenSSH_9.9\r\n\r\n", network: true},
		{name: "gzip", answer: gz(zipped.Bytes(), zipped.Len()), id: "zipped"},
		{name: "cut gzip", answer: gz(zipped.Bytes()[:20], 20), network: true, cause: "answer cut short"},
		{name: "broken gzip", answer: gz(broken, len(broken)), code: "unrecognised_response"},
		{name: "no gzip", answer: gz([]byte("plain text that says gzip"), 25), code: "unrecognised_response"},
		{name: "error whose body is cut", answer: "HTTP/1.1 422 Unprocessable\r\nContent-Length: 100\r\n\r\nnot the", code: "unrecognised_response"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newRawServer(t, tt.answer)
			thread, err := s.client(t).Threads.Get(t.Context(), "t1")
			switch {
			case tt.network:
				if e := asNetworkError(t, err); tt.cause != "" && e.Cause != tt.cause {
					t.Errorf("cause %q, want %q (%v)", e.Cause, tt.cause, e.Err)
				}
			case tt.code != "":
				if e := asError(t, err); e.Code != tt.code {
					t.Errorf("code %q", e.Code)
				}
			case err != nil || thread.ID != tt.id:
				t.Errorf("%+v %v", thread, err)
			}
		})
	}
}

// TestRedirectsAreNotFollowed: neither to another host nor on the same one.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var here atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if here.Add(1); r.URL.Path == "/back" {
				return
			}
			target := other.URL
			if status == 303 {
				target = "/back"
			}
			http.Redirect(w, r, target, status)
		}))
		c, err := New(Options{BaseURL: srv.URL, APIKey: testKey})
		if err != nil {
			t.Fatal(err)
		}
		for class, call := range classCalls {
			err := call(t.Context(), c)
			if e := asError(t, err); e.Status != status || e.Type != TypeInvalidRequest {
				t.Errorf("%s %d: %+v", class, status, e)
			}
		}
		if here.Load() != int32(len(classCalls)) {
			t.Errorf("%d: %d requests", status, here.Load())
		}
		c.CloseIdleConnections()
		srv.Close()
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

var blanks = bytes.Repeat([]byte(" "), 1<<16)

// blankBody is a body of n blanks.
type blankBody struct{ n int64 }

func (z *blankBody) Read(p []byte) (int, error) {
	if z.n <= 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(int64(len(p)), z.n)], blanks)
	z.n -= int64(n)
	return n, nil
}

type closeRecorder struct {
	io.Reader
	closed int
}

func (c *closeRecorder) Close() error { c.closed++; return nil }

// TestAnswerSize: 64 MiB is read, more is an error that is not repeated, whatever the status.
func TestAnswerSize(t *testing.T) {
	for _, tt := range []struct {
		status int
		size   int64
		ok     bool
	}{
		{200, maxAnswerBytes - 2, true},
		{200, maxAnswerBytes - 1, false},
		{503, maxAnswerBytes + 100, false},
	} {
		var bodies []*closeRecorder
		c := testClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			r := reply(tt.status, "")
			b := &closeRecorder{Reader: io.MultiReader(strings.NewReader("{}"), &blankBody{tt.size})}
			bodies = append(bodies, b)
			r.Body, r.ContentLength = b, -1
			return r, nil
		}))
		err := classCalls[ClassRead](t.Context(), c)
		if tt.ok {
			if err != nil {
				t.Errorf("%d bytes: %v", tt.size, err)
			}
		} else if e := asError(t, err); e.Code != "response_too_large" || e.Status != tt.status || !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes: %+v", tt.size, e)
		}
		if len(bodies) != 1 || bodies[0].closed != 1 {
			t.Errorf("%d bytes: %d requests, closed %d times", tt.size, len(bodies), bodies[0].closed)
		}
	}
}

// TestCancelOnTheWire: a cancelled call returns although the server stays silent.
func TestCancelOnTheWire(t *testing.T) {
	arrived := make(chan struct{}, 1)
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		_, _ = io.WriteString(w, `{"id":`)
		w.(http.Flusher).Flush()
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(release)
	c, err := New(Options{BaseURL: srv.URL, APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if e := asNetworkError(t, classCalls[ClassRead](ctx, c)); !e.Cancelled || e.Attempts != 1 {
		t.Errorf("%+v", e)
	}
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	c, err := New(Options{BaseURL: addr, APIKey: testKey, MaxRetries: ptr(0)})
	if err != nil {
		t.Fatal(err)
	}
	e := asNetworkError(t, classCalls[ClassOnce](t.Context(), c))
	if e.Cause != "connection refused" || !e.NotSent {
		t.Errorf("%+v", e)
	}
}

// TestProxy: a proxy from the environment is not asked about this machine, and a broken
// setting does not show its password.
func TestProxy(t *testing.T) {
	local, err := parseBaseURL("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if newTransport(local).Proxy != nil {
		t.Error("a proxy is used for this machine")
	}
	remote, err := parseBaseURL("https://api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if newTransport(remote).Proxy == nil {
		t.Error("no proxy is used for other machines")
	}
	if strings.Contains(networkCause(errProxy), "@") || !neverSent(errProxy) {
		t.Error("the proxy error is not plain")
	}
}
