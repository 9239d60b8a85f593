package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// The benchmarks stand side by side: the same work through this package and through
// what one would write without it. Ratios of one run mean something, single times do not.

// benchEmails is a page of emails of about 20 kB.
func benchEmails() string {
	var b strings.Builder
	b.WriteString(`{"object":"list","data":[`)
	for i := range 50 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"object":"email","id":"eml_%026d","status":"sent","mode":"live","from":"Ada Lovelace <ada@example.com>","subject":"Notes on the engine, part %d","messageId":"<%d@mail.example.com>","threadId":"thr_%026d","attempts":1,"lastError":null,"sentAt":"2026-03-03T09:30:00.000Z","createdAt":"2026-03-03T09:29:59.123Z","tags":{}}`, i, i, i, i)
	}
	b.WriteString(`],"hasMore":false,"nextCursor":null}`)
	return b.String()
}

// benchServer answers every request with body, after delay.
func benchServer(b *testing.B, body string, delay time.Duration) *httptest.Server {
	b.Helper()
	length := fmt.Sprint(len(body))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if delay > 0 {
			t := time.NewTimer(delay)
			defer t.Stop()
			select {
			case <-t.C:
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		_, _ = io.WriteString(w, body)
	}))
	b.Cleanup(srv.Close)
	return srv
}

func benchClient(b *testing.B, srv *httptest.Server) *Client {
	b.Helper()
	c, err := New(Options{BaseURL: srv.URL, APIKey: testKey})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.CloseIdleConnections)
	return c
}

// sideBySide runs two ways of the same work in turn, so that whatever else the machine
// does meets both, and reports the median time of each and their ratio.
func sideBySide(b *testing.B, nameA string, a func() error, nameB string, z func() error) {
	b.Helper()
	b.Run(nameA+" and "+nameB, func(b *testing.B) {
		var took [2][]time.Duration
		for n := 0; b.Loop(); n++ {
			for i := range 2 {
				which := (n + i) % 2
				start := time.Now()
				if err := []func() error{a, z}[which](); err != nil {
					b.Fatal(err)
				}
				took[which] = append(took[which], time.Since(start))
			}
		}
		for i := range took {
			slices.Sort(took[i])
		}
		medianA, medianB := took[0][len(took[0])/2], took[1][len(took[1])/2]
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(medianA.Nanoseconds()), "ns/"+nameA)
		b.ReportMetric(float64(medianB.Nanoseconds()), "ns/"+nameB)
		b.ReportMetric(float64(medianB)/float64(medianA), nameB+"/"+nameA)
	})
	for name, f := range map[string]func() error{nameA: a, nameB: z} {
		b.Run("allocations of "+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// bareClient is net/http with the same limits on connections.
func bareClient(b *testing.B) *http.Client {
	b.Helper()
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 128
	b.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: DefaultTimeout}
}

// bareGet is what one would write by hand: a request, a check of the status, a decoder.
func bareGet(ctx context.Context, c *http.Client, url string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	req.Header.Set("Accept", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

// BenchmarkGet reads a page of 20 kB, decoded to the same type.
func BenchmarkGet(b *testing.B) {
	srv := benchServer(b, benchEmails(), 0)
	bare, c := bareClient(b), benchClient(b, srv)
	sideBySide(b, "bare", func() error {
		var page Page[Email]
		return bareGet(b.Context(), bare, srv.URL+"/emails", &page)
	}, "api", func() error {
		return ignore(c.Emails.List(b.Context(), EmailListParams{}))
	})
}

// BenchmarkGetRaw is the same with a plain struct and the raw call: what the client
// costs beside the decoding.
func BenchmarkGetRaw(b *testing.B) {
	type plain struct {
		Data []struct {
			ID, Status, From, Subject, MessageID, ThreadID, SentAt, CreatedAt string
		}
	}
	srv := benchServer(b, benchEmails(), 0)
	bare, c := bareClient(b), benchClient(b, srv)
	sideBySide(b, "bare", func() error {
		var page plain
		return bareGet(b.Context(), bare, srv.URL+"/emails", &page)
	}, "api", func() error {
		var page plain
		a, err := c.Do(b.Context(), Request{Path: "/emails"})
		if err != nil {
			return err
		}
		return a.Decode(&page)
	})
}

// BenchmarkParallel makes 100 reads with at most 8 at once, with a server that
// answers at once and with one that takes 5 ms.
func BenchmarkParallel(b *testing.B) {
	const reads, atOnce = 100, 8
	for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
		b.Run(fmt.Sprintf("server=%v", delay), func(b *testing.B) {
			srv := benchServer(b, benchEmails(), delay)
			bare, c := bareClient(b), benchClient(b, srv)
			sideBySide(b, "errgroup", func() error {
				g, ctx := errgroup.WithContext(b.Context())
				g.SetLimit(atOnce)
				for range reads {
					g.Go(func() error {
						var page Page[Email]
						return bareGet(ctx, bare, srv.URL+"/emails", &page)
					})
				}
				return g.Wait()
			}, "async", func() error {
				// Person jobs, as only they may use every slot.
				a := NewAsync(c, AsyncOptions{Slots: atOnce, StartSlots: atOnce})
				done := make(chan error, reads)
				for range reads {
					_, err := a.Submit(Job{
						Priority: Person,
						Run: func(ctx context.Context, c *Client) (any, error) {
							return c.Emails.List(ctx, EmailListParams{})
						},
						Done: func(f Final) { done <- f.Err },
					})
					if err != nil {
						return err
					}
				}
				for range reads {
					if err := <-done; err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// BenchmarkAsyncOverhead is the runner alone: no request is made.
func BenchmarkAsyncOverhead(b *testing.B) {
	c, err := New(Options{APIKey: testKey, Transport: answering(200, "{}")})
	if err != nil {
		b.Fatal(err)
	}
	a := NewAsync(c, AsyncOptions{})
	done := make(chan struct{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Submit(Job{
			Run:  func(context.Context, *Client) (any, error) { return nil, nil },
			Done: func(Final) { done <- struct{}{} },
		}); err != nil {
			b.Fatal(err)
		}
		<-done
	}
}
