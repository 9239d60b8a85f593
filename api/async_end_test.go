package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAsyncSlowsDown: fewer slots after a 429, more again with time.
func TestAsyncSlowsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limited := true
		a, w := testAsync(t, after(100*time.Millisecond, func(*http.Request) (*http.Response, error) {
			if limited {
				return reply(429, ""), nil
			}
			return reply(200, threadAnswer), nil
		}), AsyncOptions{Slots: 8, StartSlots: 8})
		slots := func() int { return a.Stats().Slots }
		burst := func(n int) {
			for range n {
				submit(t, a, w.get("", "t", Visible))
			}
			time.Sleep(100*time.Millisecond + 1)
			synctest.Wait()
		}
		burst(5)
		if n := a.Stats().Slots; n != 4 {
			t.Errorf("%d slots after a burst of 429, want 4", n)
		}
		time.Sleep(2 * time.Second)
		burst(1)
		time.Sleep(2 * time.Second)
		burst(1)
		if n := a.Stats().Slots; n != 2 {
			t.Errorf("%d slots after more, want 2", n)
		}
		limited = false
		time.Sleep(11 * time.Second)
		burst(1)
		if n := slots(); n != 4 {
			t.Errorf("%d slots after 11 s, want 4", n)
		}
		time.Sleep(time.Hour)
		if n := slots(); n != 8 {
			t.Errorf("%d slots after an hour, want 8", n)
		}
		drain(t, a)
		w.wellFormed(t)
	})
}

// TestAsyncAdmission: background calls wait outside while finals pile up; others do not.
func TestAsyncAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, after(time.Millisecond, answering(200, threadAnswer)), AsyncOptions{MaxUnreadFinals: 3})
		gate := make(chan struct{})
		slow := func(j Job) Job {
			j.Done = func(f Final) { <-gate; w.done(f) }
			return j
		}
		for i := range 20 {
			submit(t, a, slow(w.get(fmt.Sprint("b", i), "t", Background)))
		}
		time.Sleep(time.Second)
		s := a.Stats()
		if s.Running != 0 || s.Unread < 3 || s.Unread > 8 || s.Queued+s.Unread != 20 {
			t.Errorf("%+v", s)
		}
		for i := range 5 {
			submit(t, a, slow(w.get(fmt.Sprint("p", i), "t", Person)), slow(w.get(fmt.Sprint("v", i), "t", Visible)))
		}
		time.Sleep(time.Second)
		if after := a.Stats(); after.Unread != s.Unread+10 || after.Queued != s.Queued {
			t.Errorf("%+v, before %+v", after, s)
		}
		close(gate)
		drain(t, a)
		w.wellFormed(t)
		if len(w.finals) != 30 {
			t.Errorf("%d finals", len(w.finals))
		}
	})
}

// TestAsyncCoalesces: an observer that lags loses progress, never a final.
func TestAsyncCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch()
		gate := make(chan struct{})
		c := testClient(t, after(time.Millisecond, answering(503, "")))
		c.core.random = randomZero
		a := NewAsync(c, AsyncOptions{Observer: func(ev Event) { <-gate; w.event(ev) }})
		const jobs = 2000
		for range jobs {
			submit(t, a, w.get("", "t", Visible))
		}
		time.Sleep(time.Hour)
		close(gate)
		drain(t, a)
		if len(w.finals) != jobs {
			t.Errorf("%d finals", len(w.finals))
		}
		if n := len(w.events); n > 3*jobs+2*coalesceBacklog {
			t.Errorf("%d events for %d jobs", n, jobs)
		}
		w.wellFormed(t)
	})
}

// TestAsyncRunMisbehaves: exactly one final, whatever Run does.
func TestAsyncRunMisbehaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, answering(200, threadAnswer), AsyncOptions{})
		own := errors.New("own")
		runs := map[string]func(context.Context, *Client) (any, error){
			"panic":    func(context.Context, *Client) (any, error) { panic("secret of a body") },
			"runtime":  func(context.Context, *Client) (any, error) { none := []int{}; return none[len(none)], nil },
			"goexit":   func(context.Context, *Client) (any, error) { runtime.Goexit(); return nil, nil },
			"no call":  func(context.Context, *Client) (any, error) { return 7, nil },
			"own":      func(context.Context, *Client) (any, error) { return nil, own },
			"context":  func(context.Context, *Client) (any, error) { return nil, context.Canceled },
			"argument": func(ctx context.Context, c *Client) (any, error) { return c.Threads.Get(ctx, "") },
			"two": func(ctx context.Context, c *Client) (any, error) {
				if _, err := c.Threads.Get(ctx, "a"); err != nil {
					return nil, err
				}
				return c.Threads.Get(ctx, "b")
			},
		}
		for id, run := range runs {
			submit(t, a, Job{ID: id, Run: run, Done: w.done})
		}
		drain(t, a)
		w.wellFormed(t)
		var p *PanicError
		if err := w.final(t, "panic").Err; !errors.As(err, &p) || p.Value != "secret of a body" || len(p.Stack) == 0 || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
		if err := w.final(t, "runtime").Err; !errors.As(err, &p) || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("%v", err)
		}
		if w.final(t, "goexit").Err == nil || w.final(t, "no call").Value != 7 || !errors.Is(w.final(t, "own").Err, own) {
			t.Error("a final is wrong")
		}
		last := map[string]Event{}
		for _, ev := range w.events {
			last[ev.Call] = ev
		}
		for id, want := range map[string]Phase{"panic": GaveUp, "goexit": GaveUp, "no call": Done, "own": GaveUp, "context": Cancelled, "argument": GaveUp, "two": Done} {
			if last[id].Phase != want {
				t.Errorf("%s ends with %v", id, last[id].Phase)
			}
		}
		if last["argument"].Cause != "refused before sending" || last["panic"].Cause != "internal error" || w.final(t, "argument").Attempts != 0 {
			t.Errorf("%+v %+v", last["argument"], last["panic"])
		}
		if got := w.phases("two"); !slices.Equal(got, []Phase{Queued, Started, Started, Done}) {
			t.Errorf("phases %v", got)
		}
	})
}

// TestAsyncClose: everything ends at once, with its final, and nothing new is taken.
func TestAsyncClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "wait") {
				return reply(503, "", "Retry-After", "50"), nil
			}
			return after(time.Hour, answering(200, threadAnswer))(r)
		}), AsyncOptions{Slots: 3})
		submit(t, a, w.get("waiting", "wait", Visible))
		synctest.Wait()
		for i := range 10 {
			j := w.get(fmt.Sprint(i), "t", Visible)
			j.Key = fmt.Sprint(i / 2) // some are joined
			submit(t, a, j)
		}
		synctest.Wait()
		start := time.Now()
		if err := a.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("took %v", d)
		}
		if len(w.finals) != 11 {
			t.Errorf("%d finals", len(w.finals))
		}
		for id := range w.finals {
			f := w.final(t, id)
			if !errors.Is(f.Err, ErrCancelled) {
				t.Errorf("%s: %v", id, f.Err)
			}
			if begun := slices.Contains(w.phases(id), Started); begun != (f.Attempts > 0) {
				t.Errorf("%s: %d attempts, phases %v", id, f.Attempts, w.phases(id))
			}
		}
		w.wellFormed(t)
		if _, err := a.Submit(w.get("late", "t", Person)); !errors.Is(err, ErrClosed) {
			t.Errorf("%v", err)
		}
		if err := a.Close(context.Background()); err != nil {
			t.Errorf("closed again: %v", err)
		}
	})
}

// TestAsyncCloseGivesUp: a call that does not listen to its context does not hold Close
// for longer than its context.
func TestAsyncCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, answering(200, threadAnswer), AsyncOptions{})
		submit(t, a, Job{ID: "deaf", Done: w.done, Run: func(context.Context, *Client) (any, error) {
			time.Sleep(time.Hour)
			return "late", nil
		}})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := a.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		drain(t, a)
		if f := w.final(t, "deaf"); f.Value != "late" || f.Err != nil {
			t.Errorf("what arrived in spite of the cancellation is lost: %+v", f)
		}
		w.wellFormed(t)
	})
}

// TestAsyncDrainWaits: retries and waits come to their end.
func TestAsyncDrainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, answering(503, "", "Retry-After", "60"), AsyncOptions{})
		submit(t, a, w.get("x", "t", Person))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		start := time.Now()
		drain(t, a)
		if d := time.Since(start); d != 119*time.Second {
			t.Errorf("took %v", d)
		}
		if f := w.final(t, "x"); f.Attempts != 3 {
			t.Errorf("%+v", f)
		}
	})
}

// TestAsyncUsesClientObserver: without an observer of its own the client's hears.
func TestAsyncUsesClientObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch()
		c := testClient(t, answering(200, threadAnswer), func(o *Options) { o.Observer = w.event })
		a := NewAsync(c, AsyncOptions{})
		submit(t, a, w.get("x", "t", Person))
		drain(t, a)
		if got := w.phases("x"); !slices.Equal(got, []Phase{Queued, Started, Done}) {
			t.Errorf("phases %v", got)
		}
	})
}

// TestAsyncStorm runs many jobs of every kind from many goroutines, with random
// cancellations, and checks that each ends exactly once.
func TestAsyncStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		a, w := testAsync(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			switch i := n.Add(1); {
			case i%7 == 0:
				return after(3*time.Millisecond, answering(503, ""))(r)
			case i%11 == 0:
				return after(time.Millisecond, answering(429, "", "Retry-After", "1"))(r)
			}
			return after(5*time.Millisecond, answering(200, threadAnswer))(r)
		}), AsyncOptions{Slots: 5, MaxUnreadFinals: 4})
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 100 {
					id := fmt.Sprintf("%d-%d", g, i)
					j := w.get(id, fmt.Sprint(i%5), Priority(i%3))
					j.Group = fmt.Sprint("g", i%4)
					switch i % 4 {
					case 0:
						j.Key = fmt.Sprint("k", i%5)
					case 1:
						j.Write = true
						j.Run = func(ctx context.Context, c *Client) (any, error) { return c.Threads.Trash(ctx, "x") }
					}
					if _, err := a.Submit(j); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(i%3) * time.Millisecond)
					switch {
					case i%9 == 0:
						a.Cancel(id)
					case i%13 == 0:
						a.Cancel(fmt.Sprintf("%d-%d", (g+1)%8, i/2))
					case i%17 == 0:
						a.Reprioritize(id, Person)
					case i == 77:
						a.CancelGroup("g1")
					}
				}
			})
		}
		wg.Wait()
		drain(t, a)
		if len(w.finals) != 800 {
			t.Errorf("%d finals", len(w.finals))
		}
		w.wellFormed(t)
		if s := a.Stats(); s.Running != 0 || s.Queued != 0 || s.Waiting != 0 || s.Unread != 0 {
			t.Errorf("%+v", s)
		}
		if len(a.byKey) != 0 || len(a.jobs) != 0 || a.others != 0 {
			t.Errorf("left over: %d keys, %d jobs, %d slots", len(a.byKey), len(a.jobs), a.others)
		}
	})
}
