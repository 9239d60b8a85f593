package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// connServer counts the connections that are made to it.
func connServer(t *testing.T, h http.HandlerFunc) (srv *httptest.Server, conns *atomic.Int32) {
	t.Helper()
	conns = new(atomic.Int32)
	srv = httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	return srv, conns
}

// TestConnectionReuse: whatever an attempt comes to, the next one finds its connection again.
func TestConnectionReuse(t *testing.T) {
	large := strings.Repeat("x", 3<<20)
	var n atomic.Int32
	srv, conns := connServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Retry-After", "0")
		switch n.Add(1) % 7 {
		case 0:
			w.WriteHeader(503)
		case 1:
			w.WriteHeader(500)
			_, _ = io.WriteString(w, large)
		case 2: // in chunks
			w.WriteHeader(502)
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, "<html>")
		case 3:
			w.WriteHeader(429)
			_, _ = io.WriteString(w, `{"error":{"code":"slow_down"}}`)
		case 4:
			_, _ = io.WriteString(w, "no JSON")
		case 5:
			w.WriteHeader(404)
		default:
			_, _ = io.WriteString(w, `{"id":"x"}`)
		}
	})
	c, err := New(Options{BaseURL: srv.URL, APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	ended := 0
	for range 10 {
		for _, call := range classCalls {
			if call(t.Context(), c) == nil {
				ended++
			}
		}
	}
	if n.Load() < 50 || ended == 0 || ended == 40 {
		t.Fatalf("%d requests, %d calls succeeded: the script is no test", n.Load(), ended)
	}
	if conns.Load() != 1 {
		t.Errorf("%d requests on %d connections", n.Load(), conns.Load())
	}
}

// TestConnectionsOfManyCalls: calls side by side keep as many connections as there are slots.
func TestConnectionsOfManyCalls(t *testing.T) {
	srv, conns := connServer(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Millisecond)
		_, _ = io.WriteString(w, `{"id":"x"}`)
	})
	c, err := New(Options{BaseURL: srv.URL, APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	for range 20 { // in rounds, so that all connections are idle in between
		var wg sync.WaitGroup
		for range defaultSlots {
			wg.Go(func() {
				if err := classCalls[ClassRead](t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	// net/http may begin to connect while another call's connection becomes free.
	if n := conns.Load(); n > 2*defaultSlots {
		t.Errorf("%d connections", n)
	}
}

// TestHandshakeEndsWithTheAttempt: to a server that accepts and says nothing, no
// connection is left behind a call that has ended.
func TestHandshakeEndsWithTheAttempt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := New(Options{BaseURL: "https://" + l.Addr().String(), APIKey: testKey, MaxRetries: ptr(0)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.Read(make([]byte, 1)); err != nil { // the client's hello has begun
			t.Error(err)
		}
		cancel()
		_, _ = io.Copy(io.Discard, conn) // ends with the connection, however that ends
	}()
	if e := asNetworkError(t, classCalls[ClassSend](ctx, c)); !e.Cancelled {
		t.Errorf("%+v", e)
	}
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("the connection is still open")
	}
}

// TestTLS: over TLS too connections are kept, and a certificate that nobody vouches for is refused.
func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"id":%q}`, r.Proto)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	var conns atomic.Int32
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	c, err := New(Options{BaseURL: srv.URL, APIKey: testKey, MaxRetries: ptr(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	_, err = c.Threads.Get(t.Context(), "t")
	if e := asNetworkError(t, err); e.Cause != "certificate not trusted" {
		t.Errorf("%+v", e)
	}
	transport := c.core.transport.(wireTransport)
	transport.TLSClientConfig.RootCAs = srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	conns.Store(0)
	for range 5 {
		thread, err := c.Threads.Get(t.Context(), "t")
		if err != nil || thread.ID != "HTTP/1.1" {
			t.Fatalf("%+v %v", thread, err)
		}
	}
	if conns.Load() != 1 {
		t.Errorf("%d connections", conns.Load())
	}
}

// TestNoHiddenIdempotencyKey: net/http repeats what carries X-Idempotency-Key.
func TestNoHiddenIdempotencyKey(t *testing.T) {
	_, err := New(Options{APIKey: testKey, Header: http.Header{"x-idempotency-key": {"k"}}})
	if !errors.Is(err, ErrArgument) || !strings.Contains(err.Error(), "WithIdempotencyKey") {
		t.Errorf("%v", err)
	}
}

// TestZone: a base URL with the zone of an address can be called.
func TestZone(t *testing.T) {
	rec := &recorder{next: answering(200, `{"id":"x"}`)}
	c := testClient(t, rec, func(o *Options) { o.BaseURL = "https://[fe80::1%25eth0]:8443/base" })
	if err := classCalls[ClassRead](t.Context(), c); err != nil {
		t.Error(err)
	}
}
