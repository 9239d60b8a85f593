package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// flood keeps n jobs waiting or running until the returned function is called.
func flood(t *testing.T, a *Async, w *watch, n int, path string, p Priority) (stop func()) {
	t.Helper()
	var stopped atomic.Bool
	var next func()
	var count atomic.Int64
	next = func() {
		if stopped.Load() {
			return
		}
		j := w.get(fmt.Sprintf("%s-%d", path, count.Add(1)), path, p)
		j.Done = func(f Final) { w.done(f); next() }
		if _, err := a.Submit(j); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	for range n {
		next()
	}
	return func() { stopped.Store(true) }
}

// TestAsyncGrows: with a fast server and a queue the slots grow, to the bound and no further.
func TestAsyncGrows(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      AsyncOptions
		took   time.Duration
		queue  int
		slots  int
		within time.Duration
	}{
		{"to the default bound", AsyncOptions{}, 50 * time.Millisecond, 40, 16, 5 * time.Second},
		{"to the bound that was set", AsyncOptions{Slots: 9}, 50 * time.Millisecond, 40, 9, 5 * time.Second},
		{"to the same when answers take long but no longer than usual", AsyncOptions{}, time.Second, 40, 16, time.Minute},
		{"not without a queue", AsyncOptions{}, 50 * time.Millisecond, 5, 6, 5 * time.Second},
		{"from where it was told to begin", AsyncOptions{StartSlots: 3, Slots: 4}, 50 * time.Millisecond, 40, 4, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, w := testAsync(t, after(tt.took, answering(200, threadAnswer)), tt.o)
				if n := a.Stats().Slots; n > defaultStart {
					t.Errorf("begins with %d", n)
				}
				stop := flood(t, a, w, tt.queue, "t", Visible)
				time.Sleep(tt.within)
				if s := a.Stats(); s.Slots != tt.slots || s.Running > s.Slots {
					t.Errorf("%+v, want %d slots", s, tt.slots)
				}
				time.Sleep(tt.within)
				if s := a.Stats(); s.Slots != tt.slots {
					t.Errorf("%+v, want %d slots", s, tt.slots)
				}
				stop()
				drain(t, a)
				w.wellFormed(t)
			})
		})
	}
}

// TestAsyncFindsCapacity: a server that can do only so much at once, and answers all the
// later the more it is given, is not buried.
func TestAsyncFindsCapacity(t *testing.T) {
	for _, capacity := range []int{3, 8, 12} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running atomic.Int32
				a, w := testAsync(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					n := int(running.Add(1))
					defer running.Add(-1)
					took := 200 * time.Millisecond
					if n > capacity {
						took = took * time.Duration(n*n) / time.Duration(capacity*capacity)
					}
					return after(took, answering(200, threadAnswer))(r)
				}), AsyncOptions{Slots: 64, StartSlots: 2})
				stop := flood(t, a, w, 100, "t", Visible)
				time.Sleep(50 * time.Second)
				if n := a.Stats().Slots; n < capacity || n > 2*capacity+1 {
					t.Errorf("%d slots for a server that can do %d", n, capacity)
				}
				stop()
				drain(t, a)
			})
		})
	}
}

// TestAsyncFalls: what makes the slots fewer, and what does not.
func TestAsyncFalls(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer roundTrip
		falls  bool
	}{
		{"429", after(time.Second, answering(429, "")), true},
		{"429 with a wait", after(time.Second, answering(429, "", "Retry-After", "1")), true},
		{"408", after(time.Second, answering(408, "")), true},
		{"504", after(time.Second, answering(504, "")), true},
		{"timeout", after(time.Hour, answering(200, "{}")), true},
		{"500", after(time.Second, answering(500, "")), false},
		{"503", after(time.Second, answering(503, "")), false},
		{"404", after(time.Second, answering(404, "")), false},
		{"cut", after(time.Second, roundTrip(func(*http.Request) (*http.Response, error) { return nil, errShortBody })), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, w := testAsync(t, tt.answer, AsyncOptions{})
				for i := range 4 {
					submit(t, a, w.get(fmt.Sprint(i), "t", Visible))
				}
				slots, first := 6, time.Second
				if tt.falls {
					slots = 3
				}
				if tt.name == "timeout" {
					first = DefaultTimeout
				}
				time.Sleep(first + time.Millisecond)
				if n := a.Stats().Slots; n != slots {
					t.Errorf("%d slots, want %d", n, slots)
				}
				if err := a.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestLimiter: the numbers of the documentation.
func TestLimiter(t *testing.T) {
	start := time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	const fast = 50 * time.Millisecond

	l := newLimiter(6, 16)
	for i := range 6 {
		if l.limit != 6 {
			t.Fatalf("%d slots after %d answers", l.limit, i)
		}
		l.answered(at(0), fast, true)
	}
	if l.limit != 7 {
		t.Errorf("%d slots after a round", l.limit)
	}
	for range 6 {
		l.answered(at(0), fast, true)
	}
	l.answered(at(0), 30*time.Second, true) // a slow one begins the round again
	for range 100 {
		l.answered(at(0), fast, false) // nobody waits: no reason to grow
	}
	if l.limit != 7 {
		t.Errorf("%d slots, want 7", l.limit)
	}
	for range 1000 {
		l.answered(at(time.Second), fast, true)
	}
	if l.limit != 16 {
		t.Errorf("%d slots, want 16", l.limit)
	}

	l.overloaded(at(10*time.Second), at(9*time.Second))
	l.overloaded(at(10*time.Second), at(9*time.Second))
	l.overloaded(at(10900*time.Millisecond), at(10500*time.Millisecond)) // too soon
	l.overloaded(at(12*time.Second), at(9*time.Second))                  // an echo
	if l.limit != 8 {
		t.Errorf("%d slots after a fall, want 8", l.limit)
	}
	for range 100 {
		l.answered(at(14900*time.Millisecond), fast, true)
	}
	if l.limit != 8 {
		t.Errorf("%d slots, grown too soon", l.limit)
	}
	for i := range 10 {
		l.overloaded(at(time.Duration(20+2*i)*time.Second), at(time.Duration(20+2*i)*time.Second))
	}
	if l.limit != 2 {
		t.Errorf("%d slots, want 2", l.limit)
	}
	l.heal(at(38*time.Second + 4999*time.Millisecond))
	if l.limit != 2 {
		t.Errorf("%d slots, healed too soon", l.limit)
	}
	l.heal(at(38*time.Second + 10*time.Second))
	if l.limit != 4 {
		t.Errorf("%d slots after 10 s, want 4", l.limit)
	}
	l.heal(at(time.Hour))
	if l.limit != 6 {
		t.Errorf("%d slots after an hour, want 6", l.limit)
	}
}

// TestAsyncPersonWhileFalling: a person's call begins at once although the slots have
// become fewer than those in use.
func TestAsyncPersonWhileFalling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "limited") {
				return reply(429, ""), nil
			}
			return after(20*time.Second, answering(200, threadAnswer))(r)
		}), AsyncOptions{})
		for i := range 20 {
			submit(t, a, w.get(fmt.Sprint(i), "t", Background))
		}
		synctest.Wait()
		for i := range 2 {
			submit(t, a, w.get(fmt.Sprint("limited", i), "limited", Person))
			time.Sleep(2 * time.Second)
		}
		if s := a.Stats(); s.Slots != 2 || s.Running != 5 {
			t.Fatalf("%+v", s)
		}
		submit(t, a, w.get("p", "t", Person))
		synctest.Wait()
		if s := w.started(); s[len(s)-1] != "p" {
			t.Errorf("the person waits: %v", s)
		}
		drain(t, a)
		w.wellFormed(t)
	})
}

// TestAsyncPausedBound: a server in trouble does not make every background job begin.
func TestAsyncPausedBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, after(time.Millisecond, answering(503, "", "Retry-After", "60")), AsyncOptions{})
		for i := range 1000 {
			submit(t, a, w.get(fmt.Sprint(i), "t", Background))
		}
		time.Sleep(30 * time.Second)
		if s := a.Stats(); s.Waiting < maxPaused || s.Waiting > maxPaused+defaultSlots || s.Running != 0 {
			t.Errorf("%+v", s)
		}
		submit(t, a, w.get("p", "t", Person), w.get("v", "t", Visible))
		time.Sleep(time.Second)
		if s := w.started(); len(s) < 2 || s[len(s)-2] != "p" && s[len(s)-1] != "p" {
			t.Errorf("the person waits: %v", s)
		}
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
		w.wellFormed(t)
	})
}

// TestAsyncTwoCalls: a second call of Run after the first keeps the rules; one beside
// it takes no part in the runner.
func TestAsyncTwoCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, after(time.Second, func(r *http.Request) (*http.Response, error) {
			return reply(503, "", "Retry-After", "5"), nil
		}))
		w := newWatch()
		a := NewAsync(c, AsyncOptions{Observer: w.event, Slots: 2})
		submit(t, a, Job{ID: "beside", Done: w.done, Run: func(ctx context.Context, c *Client) (any, error) {
			done := make(chan error)
			for range 3 {
				go func() { done <- ignore(c.Threads.Get(ctx, "t")) }()
			}
			err := <-done
			<-done
			<-done
			return nil, err
		}})
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			if s := a.Stats(); s.Running < 0 || s.Running > 1 || s.Waiting > 1 || s.Queued < 0 {
				t.Fatalf("%+v", s)
			}
		}
		submit(t, a, Job{ID: "first refused", Done: w.done, Run: func(ctx context.Context, c *Client) (any, error) {
			_, err := c.Threads.Get(ctx, "t", WithMaxRetries(0))
			_, _ = c.Threads.Get(ctx, "")
			return nil, err
		}})
		drain(t, a)
		w.wellFormed(t)
		if f := w.final(t, "first refused"); f.Attempts != 1 {
			t.Errorf("%+v: a request was made", f)
		}
	})
}

// TestAsyncJoinAfterTheAnswer: who joins a call that has just succeeded hears of the
// end once.
func TestAsyncJoinAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, answering(200, threadAnswer), AsyncOptions{})
		job := func(id string) Job {
			return Job{ID: id, Key: "k", Done: w.done, Run: func(ctx context.Context, c *Client) (any, error) {
				v, err := c.Threads.Get(ctx, "t")
				time.Sleep(time.Second)
				return v, err
			}}
		}
		submit(t, a, job("a"))
		time.Sleep(time.Millisecond)
		submit(t, a, job("b"))
		drain(t, a)
		w.wellFormed(t)
		if f := w.final(t, "b"); !f.Joined || f.Err != nil {
			t.Errorf("%+v", f)
		}
	})
}
