package local

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// KeyFileName is the file in the mailbox's folder that holds the key made by LoadOrMakeKey.
const KeyFileName = "api-key"

// LoadOrMakeKey reads the API key kept in dir, or makes one ("oe_test_" and 32 random characters) and keeps it
// in a file that only its owner can read. path names the file.
func LoadOrMakeKey(dir string) (key, path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", fmt.Errorf("the folder of the key cannot be made: %w", err)
	}
	path = filepath.Join(dir, KeyFileName)
	raw, err := os.ReadFile(path)
	switch {
	case err == nil:
		key = strings.TrimSpace(string(raw))
		if !strings.HasPrefix(key, "oe_test_") || len(key) < len("oe_test_")+16 {
			return "", path, fmt.Errorf("the file %s does not hold an API key that begins with oe_test_; remove it to have a new one made", path)
		}
		return key, path, os.Chmod(path, 0o600)
	case !errors.Is(err, os.ErrNotExist):
		return "", path, fmt.Errorf("the key cannot be read: %w", err)
	}
	var random [24]byte
	_, _ = rand.Read(random[:]) // never fails
	key = "oe_test_" + strings.NewReplacer("-", "a", "_", "b").Replace(base64.RawURLEncoding.EncodeToString(random[:]))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return LoadOrMakeKey(dir) // another process was faster
	}
	if err != nil {
		return "", path, fmt.Errorf("the key cannot be kept: %w", err)
	}
	_, err = io.WriteString(f, key+"\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", path, fmt.Errorf("the key cannot be kept: %w", err)
	}
	return key, path, nil
}

// ServeOptions says where and for whom a mailbox is served.
type ServeOptions struct {
	// Addr is the address to listen on, "127.0.0.1:2222" when empty. Only a loopback address is allowed.
	Addr string
	// APIKey is the key that is let in; it must not be empty.
	APIKey string
	// Log receives a line for each request. Nil discards it.
	Log *slog.Logger
	// Ready is called once with the address when requests are answered.
	Ready func(addr string)
}

const (
	defaultAddr    = "127.0.0.1:2222"
	maxConnections = 64
	stopWithin     = 5 * time.Second
)

// Serve answers requests on a loopback address until ctx ends, then finishes what runs, for at most five
// seconds. It returns nil after such a stop.
func Serve(ctx context.Context, s *Server, o ServeOptions) error {
	if o.APIKey == "" {
		return errors.New("a mailbox is served only with an API key")
	}
	if o.Addr == "" {
		o.Addr = defaultAddr
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return fmt.Errorf("the address %q is not HOST:PORT: %w", o.Addr, err)
	}
	if !isLoopback(host) {
		return fmt.Errorf("the address %q is not on this machine: a mailbox is served on 127.0.0.1, [::1] or localhost only", o.Addr)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return fmt.Errorf("the mailbox cannot be served: %w", err)
	}
	server := &http.Server{
		Handler:           logRequests(log, guard(s.HandlerFor(o.APIKey))),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       2 * time.Minute,
		WriteTimeout:      5 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan error, 1)
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		<-ctx.Done()
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		err := server.Shutdown(limit)
		if err != nil {
			err = server.Close()
		}
		stopped <- err
	}()
	if o.Ready != nil {
		o.Ready(l.Addr().String())
	}
	if err := server.Serve(&limitListener{Listener: l, free: make(chan struct{}, maxConnections)}); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the mailbox ended: %w", err)
	}
	return <-stopped
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// guard refuses requests that a web page made a browser send: their Host or Origin is foreign.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if !isLoopback(strings.Trim(host, "[]")) {
			refuse(w, "foreign_host", "The Host of the request is not this machine.")
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			u, err := url.Parse(origin)
			if err != nil || !isLoopback(u.Hostname()) {
				refuse(w, "foreign_origin", "The Origin of the request is not this machine.")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter, code, message string) {
	id := requestID()
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("Connection", "close")
	e := &apiError{status: http.StatusForbidden, code: code, message: message}
	writeJSON(w, e.status, map[string]any{"error": map[string]any{"type": e.kind(), "code": code, "message": message, "requestId": id}})
}

// logRequests writes one line a request: what was asked by its path, never by its query or body.
func logRequests(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		lw := &loggedWriter{ResponseWriter: w}
		defer func() {
			log.Info("request", "method", printable(r.Method), "path", printable(clip(r.URL.EscapedPath(), 200)),
				"status", lw.status, "bytes", lw.bytes, "ms", time.Since(began).Milliseconds(),
				"request", lw.Header().Get("X-Request-Id"))
		}()
		next.ServeHTTP(lw, r)
	})
}

type loggedWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *loggedWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *loggedWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

func (w *loggedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// limitListener accepts no more connections than it has places for; others wait in the kernel's queue.
type limitListener struct {
	net.Listener
	free chan struct{}
}

func (l *limitListener) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitConn{Conn: c, release: sync.OnceFunc(func() { <-l.free })}, nil
}

type limitConn struct {
	net.Conn
	release func()
}

func (c *limitConn) Close() error {
	err := c.Conn.Close()
	c.release()
	return err
}
