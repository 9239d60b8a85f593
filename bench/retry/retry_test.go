// Package retry measures the client beside hashicorp/go-retryablehttp. It is a module of
// its own, so that the program does not depend on what it is compared with.
//
//	go test -bench . ./...
package retry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"codeberg.org/teapost/teapost/api"
)

const key = "oe_test_f00dfacef00dfacef00dface"

// thread is what is read in the end, about 20 kB.
var thread = `{"object":"list","data":[{"id":"e1","subject":"` + strings.Repeat("Tea at four? ", 1600) + `"}],"hasMore":false}`

// script answers every third request, and the two before it with a 503 that may be
// repeated at once. Both clients get the same, and both read Retry-After, so that
// neither waits and what is measured is the work between the attempts.
func script(requests *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if requests.Add(1)%3 != 0 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":{"type":"api_error","code":"busy","message":"Try again."}}`)
			return
		}
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, `{"object":"email","id":"e1","status":"sent","replayed":false}`)
			return
		}
		_, _ = io.WriteString(w, thread)
	})
}

type page struct {
	Data []struct{ ID, Subject string }
}

func retryable(c *retryablehttp.Client, ctx context.Context, method, url string, body any) error {
	req, err := retryablehttp.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", api.NewIdempotencyKey())
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	var p page
	return json.NewDecoder(resp.Body).Decode(&p)
}

func clients(tb testing.TB, srv *httptest.Server) (*retryablehttp.Client, *api.Client) {
	tb.Helper()
	hc := retryablehttp.NewClient()
	hc.Logger = nil
	hc.RetryMax = 2
	hc.HTTPClient.Timeout = 30 * time.Second
	c, err := api.New(api.Options{BaseURL: srv.URL, APIKey: key})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		hc.HTTPClient.CloseIdleConnections()
		c.CloseIdleConnections()
	})
	return hc, c
}

func read(ctx context.Context, c *api.Client) error {
	a, err := c.Do(ctx, api.Request{Path: "/emails"})
	if err != nil {
		return err
	}
	var p page
	return a.Decode(&p)
}

var sendBody = []byte(`{"from":"ada@example.com","to":["grace@example.com"],"subject":"Tea","text":"` + strings.Repeat("At four. ", 500) + `"}`)

func send(ctx context.Context, c *api.Client) error {
	_, err := c.Emails.SendBytes(ctx, sendBody)
	return err
}

// TestSameScript: both make three requests of it and come to the same end.
func TestSameScript(t *testing.T) {
	var requests atomic.Int64
	srv := httptest.NewServer(script(&requests))
	defer srv.Close()
	hc, c := clients(t, srv)
	for name, f := range map[string]func() error{
		"go-retryablehttp read": func() error { return retryable(hc, t.Context(), "GET", srv.URL+"/emails", nil) },
		"go-retryablehttp send": func() error { return retryable(hc, t.Context(), "POST", srv.URL+"/emails", sendBody) },
		"api read":              func() error { return read(t.Context(), c) },
		"api send":              func() error { return send(t.Context(), c) },
	} {
		requests.Store(0)
		if err := f(); err != nil || requests.Load() != 3 {
			t.Errorf("%s: %d requests, %v", name, requests.Load(), err)
		}
	}
}

// TestDifferences holds what the two do not do alike, for the same script: it is why the
// client has a loop of its own.
func TestDifferences(t *testing.T) {
	var requests atomic.Int64
	status, header := 0, ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		if header != "" {
			w.Header().Set("Retry-After", header)
		}
		w.WriteHeader(status)
	}))
	defer srv.Close()
	hc, c := clients(t, srv)
	count := func(f func(context.Context) error) int64 {
		requests.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := f(ctx); err == nil {
			t.Error("no error")
		}
		return requests.Load()
	}
	hcRead := func(ctx context.Context) error { return retryable(hc, ctx, "GET", srv.URL+"/emails", nil) }
	apiRead := func(ctx context.Context) error { return read(ctx, c) }

	// A wait of more than a minute is reported at once; the other waits it out.
	status, header = 503, "3600"
	var e *api.Error
	if err := apiRead(t.Context()); !errors.As(err, &e) || e.RetryAfter != time.Hour {
		t.Errorf("%v", err)
	}
	if err := hcRead(timeout(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("go-retryablehttp no longer waits an hour: %v", err)
	}
	// A 505 says that no repetition can help.
	hc.RetryWaitMin = time.Millisecond
	status, header = 505, "0"
	if n := count(apiRead); n != 1 {
		t.Errorf("%d requests", n)
	}
	if n := count(hcRead); n != 3 {
		t.Errorf("go-retryablehttp makes %d requests of a 505", n)
	}
	// What may run only once is sent once.
	status, header = 503, "0"
	once := func(ctx context.Context) error {
		_, err := c.Do(ctx, api.Request{Method: "POST", Path: "/labels", Body: []byte("{}")})
		return err
	}
	if n := count(once); n != 1 {
		t.Errorf("%d requests", n)
	}
	if n := count(func(ctx context.Context) error { return retryable(hc, ctx, "POST", srv.URL+"/labels", []byte("{}")) }); n != 3 {
		t.Errorf("go-retryablehttp makes %d requests", n)
	}
}

func timeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// BenchmarkFailingScript makes calls of three attempts with the two in turn, and reports
// the median time of each and their ratio.
func BenchmarkFailingScript(b *testing.B) {
	var requests atomic.Int64
	srv := httptest.NewServer(script(&requests))
	defer srv.Close()
	hc, c := clients(b, srv)
	for _, bb := range []struct {
		name   string
		hc, us func() error
	}{
		{
			"read",
			func() error { return retryable(hc, b.Context(), "GET", srv.URL+"/emails", nil) },
			func() error { return read(b.Context(), c) },
		},
		{
			"send",
			func() error { return retryable(hc, b.Context(), "POST", srv.URL+"/emails", sendBody) },
			func() error { return send(b.Context(), c) },
		},
	} {
		b.Run(bb.name+"/in turn", func(b *testing.B) {
			var took [2][]time.Duration
			for n := 0; b.Loop(); n++ {
				for i := range 2 {
					which := (n + i) % 2
					start := time.Now()
					if err := []func() error{bb.hc, bb.us}[which](); err != nil {
						b.Fatal(err)
					}
					took[which] = append(took[which], time.Since(start))
				}
			}
			var median [2]time.Duration
			for i := range took {
				slices.Sort(took[i])
				median[i] = took[i][len(took[i])/2]
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(median[0].Nanoseconds()), "ns/go-retryablehttp")
			b.ReportMetric(float64(median[1].Nanoseconds()), "ns/api")
			b.ReportMetric(float64(median[1])/float64(median[0]), "api/go-retryablehttp")
		})
		for name, f := range map[string]func() error{"go-retryablehttp": bb.hc, "api": bb.us} {
			b.Run(bb.name+"/allocations of "+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
