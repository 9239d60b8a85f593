package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a settable present.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

const me = "me@example.net"

func open(t *testing.T, dir string, c *clock, change ...func(*Options)) *Server {
	t.Helper()
	o := Options{Dir: dir, Addresses: []string{me, "second@example.net"}, Name: "Mia Example", Now: c.now, Schedules: true}
	for _, f := range change {
		f(&o)
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client speaks to a server and fails the test on anything that is not JSON.
type client struct {
	t    *testing.T
	http *http.Client
	base string
}

func direct(t *testing.T, s *Server) *client {
	return &client{t, &http.Client{Transport: s.Transport()}, "http://local.invalid"}
}

type obj = map[string]any

func (c *client) raw(method, path, body string, header ...string) (*http.Response, []byte) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	if res.Header.Get("X-Request-Id") == "" {
		c.t.Errorf("%s %s: no request id", method, path)
	}
	if res.StatusCode == http.StatusOK {
		shapes, err := contractShapes()
		if err != nil {
			c.t.Fatal(err)
		}
		shapes.verify(c.t, method, path, raw)
	}
	return res, raw
}

// do sends a request and returns the decoded answer, which must have the status.
func (c *client) do(status int, method, path string, body any, header ...string) obj {
	c.t.Helper()
	text := ""
	switch b := body.(type) {
	case nil:
	case string:
		text = b
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			c.t.Fatal(err)
		}
		text = string(raw)
	}
	res, raw := c.raw(method, path, text, header...)
	if res.StatusCode != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, status, raw)
	}
	var out obj
	if err := json.Unmarshal(raw, &out); err != nil {
		c.t.Fatalf("%s %s: %v: %s", method, path, err, raw)
	}
	return out
}

// refused sends a request that must fail with the status, code and param.
func (c *client) refused(status int, code, param, method, path string, body any, header ...string) {
	c.t.Helper()
	e, _ := c.do(status, method, path, body, header...)["error"].(obj)
	got, _ := e["param"].(string)
	if e["code"] != code || got != param {
		c.t.Errorf("%s %s: code %v param %q, want %s %q", method, path, e["code"], got, code, param)
	}
	if e["message"] == "" || e["type"] == "" || e["requestId"] == "" {
		c.t.Errorf("%s %s: incomplete error %v", method, path, e)
	}
}

func (c *client) list(path string) []string {
	c.t.Helper()
	out := []string{}
	for _, v := range c.do(200, "GET", path, nil)["data"].([]any) {
		out = append(out, v.(obj)["id"].(string))
	}
	return out
}

func (c *client) folder(name string) []string {
	c.t.Helper()
	return c.list("/threads?folder=" + name)
}

func (c *client) count(folder string) (count, unread int) {
	c.t.Helper()
	for _, f := range c.do(200, "GET", "/threads/counts", nil)["folders"].([]any) {
		if f := f.(obj); f["label"] == folder {
			return int(f["count"].(float64)), int(f["unread"].(float64))
		}
	}
	c.t.Fatalf("no folder %s in the counts", folder)
	return 0, 0
}

func mailText(id, from, subject, body string, extra ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "From: %s\r\nTo: Mia <%s>\r\nSubject: %s\r\nDate: Tue, 03 Mar 2026 09:30:00 +0000\r\nMessage-ID: <%s>\r\n", from, me, subject, id)
	for _, h := range extra {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + body + "\r\n")
	return []byte(b.String())
}

func ingest(t *testing.T, s *Server, raw []byte, o IngestOptions) Ingested {
	t.Helper()
	got, err := s.Ingest(context.Background(), raw, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func ingestMbox(t *testing.T, s *Server, name string) []Ingested {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var items []Item
	mb := mailparse.NewMbox(bytes.NewReader(raw))
	for {
		m, _, err := mb.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, Item{Raw: bytes.Clone(m)})
	}
	out, err := s.IngestBatch(context.Background(), items)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// both runs a test in process and over a loopback address.
func both(t *testing.T, fn func(t *testing.T, s *Server, clk *clock, c *client)) {
	t.Run("transport", func(t *testing.T) {
		clk := newClock()
		s := open(t, t.TempDir(), clk)
		fn(t, s, clk, direct(t, s))
	})
	t.Run("http", func(t *testing.T) {
		clk := newClock()
		s := open(t, t.TempDir(), clk)
		ts := httptest.NewServer(s.Handler())
		t.Cleanup(ts.Close)
		tr := &http.Transport{}
		t.Cleanup(tr.CloseIdleConnections)
		fn(t, s, clk, &client{t, &http.Client{Transport: tr}, ts.URL})
	})
}
