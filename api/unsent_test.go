package api

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// hold is a listener that says nothing and closes its connections only at the end.
func hold(t *testing.T, each func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			go each(c)
		}
	}()
	return l.Addr().String()
}

// TestNotSentOnTheWire: what fails before there is a connection has not been sent, however it fails; anything after may have.
func TestNotSentOnTheWire(t *testing.T) {
	silent := func(net.Conn) {}
	closes := func(c net.Conn) { _ = c.Close() }
	reads := func(c net.Conn) { _, _ = c.Read(make([]byte, 1024)); _ = c.Close() }
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(untrusted.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close()
	accepted, arrived := make(chan struct{}), make(chan struct{})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	t.Cleanup(proxy.Close)

	for name, tt := range map[string]struct {
		base    string
		proxy   string
		timeout time.Duration
		after   <-chan struct{} // the caller cancels then
		notSent bool
	}{
		"refused":                    {base: "http://" + gone, notSent: true},
		"certificate not trusted":    {base: untrusted.URL, notSent: true},
		"no TLS there":               {base: "https://" + hold(t, reads), notSent: true},
		"closed in the handshake":    {base: "https://" + hold(t, closes), notSent: true},
		"handshake without an end":   {base: "https://" + hold(t, silent), timeout: 50 * time.Millisecond, notSent: true},
		"cancelled in the handshake": {base: "https://" + hold(t, func(net.Conn) { close(accepted) }), after: accepted, notSent: true},
		"proxy refuses":              {base: "https://api.example.com", proxy: proxy.URL, notSent: true},
		"proxy does not listen":      {base: "https://api.example.com", proxy: "http://" + gone, notSent: true},
		"closed after the request":   {base: "http://" + hold(t, reads)},
		"closed at once":             {base: "http://" + hold(t, closes)},
		"cancelled before an answer": {base: "http://" + hold(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); close(arrived) }), after: arrived},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := New(Options{BaseURL: tt.base, APIKey: testKey, MaxRetries: ptr(0), Timeout: tt.timeout})
			if err != nil {
				t.Fatal(err)
			}
			wire := c.core.transport.(wireTransport)
			defer wire.CloseIdleConnections()
			if tt.proxy != "" {
				u, err := url.Parse(tt.proxy)
				if err != nil {
					t.Fatal(err)
				}
				wire.Proxy = http.ProxyURL(u)
			} else {
				wire.Proxy = nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.after != nil {
				go func() { <-tt.after; cancel() }()
			}
			if e := asNetworkError(t, classCalls[ClassSend](ctx, c)); e.NotSent != tt.notSent || e.Attempts != 1 {
				t.Errorf("NotSent %v after %d attempts: %v", e.NotSent, e.Attempts, e.Err)
			}
		})
	}
}

// TestNotSentAfterAConnection: a kept connection that turns out to be closed may have taken the request.
func TestNotSentAfterAConnection(t *testing.T) {
	addr := hold(t, func(c net.Conn) {
		buf := make([]byte, 4096)
		if _, err := c.Read(buf); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		if _, err := c.Read(buf); err == nil {
			_ = c.Close()
		}
	})
	c, err := New(Options{BaseURL: "http://" + addr, APIKey: testKey, MaxRetries: ptr(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	if err := classCalls[ClassSend](t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if e := asNetworkError(t, classCalls[ClassSend](t.Context(), c)); e.NotSent {
		t.Errorf("%+v", e)
	}
}

func TestNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures []error
		c := testClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			err := failures[0]
			failures = failures[1:]
			return nil, err
		}))
		refused := error(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
		for _, tt := range []struct {
			failures []error
			notSent  bool
		}{
			{[]error{refused, refused, refused}, true},
			{[]error{refused, syscall.ECONNRESET, refused}, false},
			{[]error{io.EOF, refused, refused}, false},
		} {
			failures = tt.failures
			if e := asNetworkError(t, classCalls[ClassSend](t.Context(), c)); e.NotSent != tt.notSent {
				t.Errorf("%v: NotSent %v", tt.failures, e.NotSent)
			}
		}
	})
}

// TestNotSentWhenCancelled: a cancellation before the second attempt has a connection does not
// make the first one undone.
func TestNotSentWhenCancelled(t *testing.T) {
	for _, first := range []struct {
		name    string
		answer  roundTrip
		notSent bool
	}{
		{"answered", answering(503, "", "Retry-After", "1"), false},
		{"refused", func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
		}, true},
	} {
		t.Run(first.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				step, _ := stepwise(first.answer, func(r *http.Request) (*http.Response, error) {
					cancel()
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: r.Context().Err()}
				})
				e := asNetworkError(t, classCalls[ClassSend](ctx, testClient(t, step)))
				if !e.Cancelled || e.Attempts != 2 || e.NotSent != first.notSent {
					t.Errorf("%+v", e)
				}
			})
		})
	}
}
