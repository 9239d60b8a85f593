package local

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestServe(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newClock())
	key, path, err := LoadOrMakeKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(key, "oe_test_") || len(key) != len("oe_test_")+32 {
		t.Errorf("key %q", key)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", fi, err)
	}
	if again, _, err := LoadOrMakeKey(dir); err != nil || again != key {
		t.Errorf("another key: %v", err)
	}
	var log lockedBuffer
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- Serve(ctx, s, ServeOptions{
			Addr: "127.0.0.1:0", APIKey: key, Log: slog.New(slog.NewJSONHandler(&log, nil)), Ready: func(a string) { ready <- a },
		})
	}()
	addr := <-ready
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c := &client{t, &http.Client{Transport: tr}, "http://" + addr}
	auth := "Bearer " + key
	c.do(200, "GET", "/ping", nil, "Authorization", auth)
	c.refused(401, "invalid_api_key", "", "GET", "/threads?query=secret", nil)
	c.refused(401, "invalid_api_key", "", "GET", "/threads", nil, "Authorization", "Bearer oe_test_wrong")
	c.refused(403, "foreign_origin", "", "GET", "/ping", nil, "Authorization", auth, "Origin", "https://evil.example")
	c.do(200, "GET", "/ping", nil, "Authorization", auth, "Origin", "http://localhost:3000")
	req, _ := http.NewRequestWithContext(ctx, "GET", c.base+"/ping", nil)
	req.Host = "evil.example"
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 403 {
		t.Errorf("a foreign Host gets %d", res.StatusCode)
	}
	// An escaped slash stays within its segment.
	c.refused(404, "resource_not_found", "", "GET", "/threads/a%2Ftrash", nil, "Authorization", auth)
	// A client that sends its header slowly is cut off, and the others are served.
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte("GET /ping HTTP/1.1\r\n"))
	c.do(200, "GET", "/ping", nil, "Authorization", auth)
	_ = conn.Close()
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("stop: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not stop")
	}
	got := log.String()
	if strings.Contains(got, key) || strings.Contains(got, "secret") {
		t.Errorf("the log tells secrets: %s", got)
	}
	if !strings.Contains(got, `"path":"/ping"`) || !strings.Contains(got, "req_") {
		t.Errorf("the log says too little: %s", got)
	}
}

func TestServeOnlyHere(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "example.com:80", "127.0.0.1"} {
		if err := Serve(context.Background(), s, ServeOptions{Addr: addr, APIKey: "oe_test_x"}); err == nil {
			t.Errorf("%s was served", addr)
		}
	}
	if err := Serve(context.Background(), s, ServeOptions{Addr: "127.0.0.1:0"}); err == nil {
		t.Error("served without a key")
	}
}

func TestBadKeyFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, KeyFileName), []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LoadOrMakeKey(dir); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("error %v", err)
	}
}
