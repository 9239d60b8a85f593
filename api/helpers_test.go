package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "oe_test_f00dfacef00dfacef00dface"

// roundTrip is an in-memory transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// reply makes an answer.
func reply(status int, body string, headers ...string) *http.Response {
	h := make(http.Header)
	for i := 0; i+1 < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// answering gives the same answer to everything.
func answering(status int, body string, headers ...string) roundTrip {
	return func(*http.Request) (*http.Response, error) { return reply(status, body, headers...), nil }
}

// after answers when d has passed, or fails when the request's context ends first.
func after(d time.Duration, f roundTrip) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return f(r)
		case <-r.Context().Done():
			return nil, errors.New("transport: given up")
		}
	}
}

// recorder keeps what was sent.
type recorder struct {
	mu       sync.Mutex
	requests []sentRequest
	next     http.RoundTripper
}

type sentRequest struct {
	method, path, query string
	header              http.Header
	body                []byte
	hasBody             bool
	at                  time.Time
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	s := sentRequest{
		method: req.Method, path: req.URL.EscapedPath(), query: req.URL.RawQuery,
		header: req.Header.Clone(), at: time.Now(),
	}
	if req.Body != nil {
		s.body, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
		s.hasBody = len(s.body) > 0
	}
	if req.GetBody != nil {
		return nil, errors.New("the request can be repeated unseen")
	}
	r.mu.Lock()
	r.requests = append(r.requests, s)
	r.mu.Unlock()
	return r.next.RoundTrip(req)
}

func (r *recorder) all() []sentRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sentRequest(nil), r.requests...)
}

// testClient makes a client over an in-memory transport.
func testClient(t *testing.T, transport http.RoundTripper, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{BaseURL: "https://api.example.com", APIKey: testKey, Transport: transport}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return c
}

// readTSV reads a tab-separated table without its header line.
func readTSV(t testing.TB, path string) [][]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(bytes.NewReader(b))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func asError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want an *Error", err, err)
	}
	return e
}

func asNetworkError(t *testing.T, err error) *NetworkError {
	t.Helper()
	var e *NetworkError
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want a *NetworkError", err, err)
	}
	return e
}

func ptr[T any](v T) *T { return &v }

// ignore drops a call's result.
func ignore[T any](_ T, err error) error { return err }

type callFunc func(context.Context, *Client, ...CallOption) error

// One call of each retry class.
var classCalls = map[Class]callFunc{
	ClassRead: func(ctx context.Context, c *Client, o ...CallOption) error {
		return ignore(c.Threads.Get(ctx, "t1", o...))
	},
	ClassSend: func(ctx context.Context, c *Client, o ...CallOption) error {
		return ignore(c.Emails.Send(ctx, EmailSend{From: Address{Email: "a@example.com"}, To: []Address{{Email: "b@example.com"}}, Subject: "Hi"}, o...))
	},
	ClassRepeat: func(ctx context.Context, c *Client, o ...CallOption) error {
		return ignore(c.Threads.Trash(ctx, "t1", o...))
	},
	ClassOnce: func(ctx context.Context, c *Client, o ...CallOption) error {
		return ignore(c.Threads.Mute(ctx, "t1", o...))
	},
}

// randomZero makes each backoff as short as it may be.
func randomZero(time.Duration) time.Duration { return 0 }

func isTarget(err, target error) bool { return errors.Is(err, target) }
