package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// watch records what an Async reports.
type watch struct {
	mu     sync.Mutex
	events []Event
	finals map[string][]Final
}

func (w *watch) event(ev Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, ev)
}

func (w *watch) done(f Final) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.finals[f.Call] = append(w.finals[f.Call], f)
}

// phases lists the steps of one call.
func (w *watch) phases(id string) []Phase {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Phase
	for _, ev := range w.events {
		if ev.Call == id {
			out = append(out, ev.Phase)
		}
	}
	return out
}

func (w *watch) final(t *testing.T, id string) Final {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.finals[id]) != 1 {
		t.Fatalf("%s has %d finals", id, len(w.finals[id]))
	}
	return w.finals[id][0]
}

// started lists the calls in the order of their first attempts.
func (w *watch) started() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, ev := range w.events {
		if ev.Phase == Started && ev.Attempt == 1 {
			out = append(out, ev.Call)
		}
	}
	return out
}

// wellFormed checks that each call began with Queued, ended with exactly one final
// phase and had exactly one final.
func (w *watch) wellFormed(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	last := map[string]Phase{}
	for _, ev := range w.events {
		before, known := last[ev.Call]
		switch {
		case !known && ev.Phase != Queued:
			t.Errorf("%s begins with %v", ev.Call, ev.Phase)
		case before.Final():
			t.Errorf("%s: %v after its end", ev.Call, ev.Phase)
		}
		last[ev.Call] = ev.Phase
	}
	for id, phase := range last {
		if !phase.Final() || len(w.finals[id]) != 1 {
			t.Errorf("%s ends with %v and %d finals", id, phase, len(w.finals[id]))
		}
	}
}

func newWatch() *watch { return &watch{finals: make(map[string][]Final)} }

func testAsync(t *testing.T, transport http.RoundTripper, o AsyncOptions) (*Async, *watch) {
	t.Helper()
	w := newWatch()
	o.Observer = w.event
	c := testClient(t, transport)
	c.core.random = randomZero
	return NewAsync(c, o), w
}

// get is a job that reads one thread.
func (w *watch) get(id, thread string, p Priority) Job {
	return Job{ID: id, Op: "threads.get", Priority: p, Done: w.done, Resources: []string{"thread/" + thread}, Run: func(ctx context.Context, c *Client) (any, error) {
		return c.Threads.Get(ctx, thread)
	}}
}

func submit(t *testing.T, a *Async, jobs ...Job) {
	t.Helper()
	for _, j := range jobs {
		if _, err := a.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
}

func drain(t *testing.T, a *Async) {
	t.Helper()
	if err := a.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
}

const threadAnswer = `{"id":"t1","messages":[]}`

func TestAsyncOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		a, w := testAsync(t, after(time.Second, func(*http.Request) (*http.Response, error) {
			if n++; n == 1 {
				return reply(503, `{"error":{"code":"busy","requestId":"r1"}}`), nil
			}
			return reply(200, threadAnswer, "X-Request-Id", "r2"), nil
		}), AsyncOptions{})
		id, err := a.Submit(w.get("", "t1", Person))
		if err != nil || id == "" {
			t.Fatal(id, err)
		}
		drain(t, a)
		if got, want := w.phases(id), []Phase{Queued, Started, Failed, Waiting, Started, Done}; !slices.Equal(got, want) {
			t.Errorf("phases %v, want %v", got, want)
		}
		f := w.final(t, id)
		if th, ok := f.Value.(*Thread); !ok || th.ID != "t1" || f.Err != nil || f.Attempts != 2 || f.Joined || f.Op != "threads.get" {
			t.Errorf("%+v", f)
		}
		if f.Ended.Sub(f.Began) != 2250*time.Millisecond {
			t.Errorf("took %v", f.Ended.Sub(f.Began))
		}
		end := w.events[len(w.events)-1]
		if end.Status != 200 || end.RequestID != "r2" || end.Attempt != 2 || end.Limit != 3 || end.Bytes != int64(len(threadAnswer)) || end.Cause != "" {
			t.Errorf("%+v", end)
		}
		if _, err := a.Submit(w.get("", "t1", Person)); !errors.Is(err, ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		w.wellFormed(t)
	})
}

func TestAsyncRefusesJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, after(time.Second, answering(200, threadAnswer)), AsyncOptions{})
		submit(t, a, w.get("same", "t1", Person))
		if _, err := a.Submit(w.get("same", "t1", Person)); !errors.Is(err, ErrArgument) {
			t.Errorf("a second job of the same id: %v", err)
		}
		if _, err := a.Submit(Job{}); !errors.Is(err, ErrArgument) {
			t.Errorf("a job without Run: %v", err)
		}
		drain(t, a)
	})
}

// TestAsyncSlots: never more at once than there are slots, and one is a person's.
func TestAsyncSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		a, w := testAsync(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for {
				old := most.Load()
				if n <= old || most.CompareAndSwap(old, n) {
					break
				}
			}
			return after(time.Second, answering(200, threadAnswer))(r)
		}), AsyncOptions{Slots: 4})
		for i := range 20 {
			submit(t, a, w.get(fmt.Sprint("b", i), "t1", Background))
		}
		synctest.Wait()
		if n := running.Load(); n != 3 {
			t.Errorf("%d background calls run, want 3 of 4 slots", n)
		}
		if s := a.Stats(); s.Running != 3 || s.Queued != 17 || s.Slots != 4 || s.MaxSlots != 4 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		submit(t, a, w.get("p1", "t1", Person), w.get("p2", "t1", Person))
		synctest.Wait()
		if n := running.Load(); n != 4 {
			t.Errorf("%d calls run, want 4", n)
		}
		if s := w.started(); s[len(s)-1] != "p1" {
			t.Errorf("the kept slot went to %v", s[len(s)-1])
		}
		drain(t, a)
		if most.Load() != 4 {
			t.Errorf("%d at once", most.Load())
		}
		// The second person's call was among the four that began when the first were over.
		if s := w.started(); slices.Index(s, "p2") > 7 {
			t.Errorf("order %v", s)
		}
		w.wellFormed(t)
	})
}

// TestAsyncWaitHoldsNoSlot: while calls wait for their next attempt, others run.
func TestAsyncWaitHoldsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, after(time.Millisecond, func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "busy") {
				return reply(503, "", "Retry-After", "50"), nil
			}
			return reply(200, threadAnswer), nil
		}), AsyncOptions{Slots: 2})
		for i := range 10 {
			submit(t, a, w.get(fmt.Sprint("busy", i), "busy", Person))
		}
		time.Sleep(time.Second)
		if s := a.Stats(); s.Waiting != 10 || s.Running != 0 || s.Queued != 0 {
			t.Errorf("%+v", s)
		}
		submit(t, a, w.get("quick", "quick", Background))
		time.Sleep(10 * time.Millisecond)
		if f := w.final(t, "quick"); f.Err != nil || f.Ended.Sub(f.Began) != time.Millisecond {
			t.Errorf("%+v", f)
		}
		drain(t, a)
		for i := range 10 {
			if f := w.final(t, fmt.Sprint("busy", i)); f.Attempts != 3 || asError(t, f.Err).Status != 503 {
				t.Errorf("%+v", f)
			}
		}
		w.wellFormed(t)
	})
}

// TestAsyncResumesByPriority: after its wait a call queues for a slot again.
func TestAsyncResumesByPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		a, w := testAsync(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/again") && first {
				first = false
				return reply(503, "", "Retry-After", "1"), nil
			}
			return after(time.Minute/4, answering(200, threadAnswer))(r)
		}), AsyncOptions{Slots: 2})
		submit(t, a, w.get("again", "again", Background))
		time.Sleep(time.Millisecond)
		for i := range 3 {
			submit(t, a, w.get(fmt.Sprint("p", i), "t", Person))
		}
		time.Sleep(2 * time.Second)
		if s := a.Stats(); s.Running != 2 || s.Queued != 2 {
			t.Errorf("%+v", s)
		}
		a.Cancel("p2")
		drain(t, a)
		if f := w.final(t, "again"); f.Err != nil || f.Attempts != 2 {
			t.Errorf("%+v", f)
		}
		w.wellFormed(t)
	})
}

// TestAsyncAging: a flood of calls on the screen does not starve those behind it.
func TestAsyncAging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, after(100*time.Millisecond, answering(200, threadAnswer)), AsyncOptions{Slots: 2})
		for i := range 200 {
			submit(t, a, w.get(fmt.Sprint("v", i), "t", Visible))
			if i == 50 {
				submit(t, a, w.get("behind", "t", Background))
			}
			time.Sleep(99 * time.Millisecond)
		}
		drain(t, a)
		order := w.started()
		at := slices.Index(order, "behind")
		if at < 52 || at > 120 {
			t.Errorf("the background call came as number %d", at)
		}
		w.wellFormed(t)
	})
}

func TestAsyncReprioritize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, after(time.Second, answering(200, threadAnswer)), AsyncOptions{Slots: 2})
		for i := range 5 {
			submit(t, a, w.get(fmt.Sprint(i), "t", Background))
		}
		a.Reprioritize("4", Person)
		a.Reprioritize("2", Visible)
		a.Reprioritize("no such call", Visible)
		drain(t, a)
		got := w.started()
		slices.Sort(got[:2]) // these two start at the same moment
		if !slices.Equal(got, []string{"0", "4", "2", "1", "3"}) {
			t.Errorf("order %v", got)
		}
		w.wellFormed(t)
	})
}

// TestAsyncCancel: in the queue, in an attempt and in a wait, at once each time.
func TestAsyncCancel(t *testing.T) {
	for _, tt := range []struct {
		name     string
		at       time.Duration
		attempts int
		phases   []Phase
		cause    string
	}{
		{"queue", 0, 0, []Phase{Queued, Cancelled}, ""},
		{"attempt", 1500 * time.Millisecond, 1, []Phase{Queued, Started, Cancelled}, ""},
		{"wait", 3 * time.Second, 1, []Phase{Queued, Started, Failed, Waiting, Cancelled}, "503"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := &recorder{next: after(time.Second, answering(503, "", "Retry-After", "30"))}
				a, w := testAsync(t, rec, AsyncOptions{Slots: 2})
				blocker := w.get("blocker", "x", Background) // takes the one slot for background calls for its first second
				submit(t, a, blocker, w.get("c", "t", Background))
				time.Sleep(tt.at)
				synctest.Wait()
				before := time.Now()
				if !a.Cancel("c") {
					t.Error("the call is not known")
				}
				synctest.Wait()
				f := w.final(t, "c")
				if !f.Ended.Equal(before) || !errors.Is(f.Err, ErrCancelled) || !errors.Is(f.Err, context.Canceled) || f.Attempts != tt.attempts {
					t.Errorf("%+v", f)
				}
				if e := asNetworkError(t, f.Err); e.Cause != tt.cause || e.NotSent != (tt.attempts == 0) {
					t.Errorf("%+v", e)
				}
				if got := w.phases("c"); !slices.Equal(got, tt.phases) {
					t.Errorf("phases %v, want %v", got, tt.phases)
				}
				if a.Cancel("c") {
					t.Error("a call was cancelled twice")
				}
				drain(t, a)
				w.wellFormed(t)
			})
		})
	}
}

func TestAsyncCancelGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, after(time.Second, answering(200, threadAnswer)), AsyncOptions{Slots: 2})
		for i := range 6 {
			j := w.get(fmt.Sprint(i), "t", Visible)
			j.Group = []string{"odd", "even"}[i%2]
			submit(t, a, j)
		}
		if n := a.CancelGroup("odd"); n != 3 {
			t.Errorf("cancelled %d", n)
		}
		if n := a.CancelGroup("none"); n != 0 {
			t.Errorf("cancelled %d", n)
		}
		submit(t, a, w.get("without", "t", Visible))
		if n := a.CancelGroup(""); n != 0 {
			t.Errorf("cancelled %d that are in no group", n)
		}
		drain(t, a)
		for i := range 6 {
			if f := w.final(t, fmt.Sprint(i)); (f.Err != nil) != (i%2 == 0) {
				t.Errorf("%d: %v", i, f.Err)
			}
		}
		w.wellFormed(t)
	})
}

// TestAsyncJoin: identical reads are one request, with a final for each caller.
func TestAsyncJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{next: after(time.Second, answering(200, threadAnswer))}
		a, w := testAsync(t, rec, AsyncOptions{})
		keyed := func(id string) Job {
			j := w.get(id, "t", Background)
			j.Key = "thread/t"
			return j
		}
		submit(t, a, keyed("a"))
		time.Sleep(500 * time.Millisecond)
		submit(t, a, keyed("b"), keyed("c"), w.get("unkeyed", "t", Background))
		a.Cancel("a") // the one that began it
		synctest.Wait()
		if f := w.final(t, "a"); !errors.Is(f.Err, ErrCancelled) || f.Joined || f.Attempts != 1 {
			t.Errorf("%+v", f)
		}
		drain(t, a)
		for _, id := range []string{"b", "c"} {
			f := w.final(t, id)
			if f.Err != nil || !f.Joined || f.Value.(*Thread).ID != "t1" {
				t.Errorf("%+v", f)
			}
			if got := w.phases(id); !slices.Equal(got, []Phase{Queued, Started, Done}) {
				t.Errorf("phases %v", got)
			}
		}
		if w.final(t, "b").Value != w.final(t, "c").Value {
			t.Error("the values differ")
		}
		if n := len(rec.all()); n != 2 {
			t.Errorf("%d requests", n)
		}
		w.wellFormed(t)
	})
}

// TestAsyncJoinRaisesPriority: a person who joins a background read moves it up.
func TestAsyncJoinRaisesPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, w := testAsync(t, after(time.Second, answering(200, threadAnswer)), AsyncOptions{Slots: 2})
		for i := range 4 {
			j := w.get(fmt.Sprint(i), "t", Background)
			j.Key = fmt.Sprint("k", i)
			submit(t, a, j)
		}
		j := w.get("p", "t", Person)
		j.Key = "k3"
		submit(t, a, j)
		synctest.Wait()
		got := w.started()
		slices.Sort(got)
		if !slices.Equal(got, []string{"0", "3", "p"}) {
			t.Errorf("started %v", got)
		}
		drain(t, a)
		w.wellFormed(t)
	})
}

func TestAsyncCancelAllJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{next: after(time.Second, answering(200, threadAnswer))}
		a, w := testAsync(t, rec, AsyncOptions{})
		for _, id := range []string{"a", "b"} {
			j := w.get(id, "t", Visible)
			j.Key = "k"
			submit(t, a, j)
		}
		synctest.Wait()
		a.Cancel("b")
		a.Cancel("a")
		// One that comes now must not join the call that is being given up.
		j := w.get("c", "t", Visible)
		j.Key = "k"
		submit(t, a, j)
		drain(t, a)
		if f := w.final(t, "c"); f.Err != nil || f.Joined {
			t.Errorf("%+v", f)
		}
		for _, id := range []string{"a", "b"} {
			if f := w.final(t, id); !errors.Is(f.Err, ErrCancelled) {
				t.Errorf("%+v", f)
			}
		}
		w.wellFormed(t)
	})
}

// TestAsyncReadAfterWrite: a read never joins one that began before a local write to
// the same resource was over.
func TestAsyncReadAfterWrite(t *testing.T) {
	for _, tt := range []struct {
		name     string
		resource string // what the write changes
		noted    bool   // the write runs elsewhere
		at       time.Duration
		requests int
		joined   bool
	}{
		{"another thread", "thread/other", false, 0, 2, true},
		{"the same thread", "thread/t", false, 0, 3, false},
		{"the same thread, later", "thread/t", false, 300 * time.Millisecond, 3, false},
		{"noted", "thread/t", true, 0, 2, false},
		{"noted for another", "thread/other", true, 0, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := &recorder{next: after(time.Second, answering(200, threadAnswer))}
				a, w := testAsync(t, rec, AsyncOptions{})
				keyed := func(id string) Job {
					j := w.get(id, "t", Visible)
					j.Key = "thread/t"
					return j
				}
				submit(t, a, keyed("old"))
				time.Sleep(100 * time.Millisecond)
				if tt.noted {
					a.NoteWrite(tt.resource)
				} else {
					submit(t, a, Job{ID: "write", Op: "threads.trash", Write: true, Resources: []string{tt.resource}, Done: w.done, Run: func(ctx context.Context, c *Client) (any, error) {
						return c.Threads.Trash(ctx, "t")
					}})
				}
				time.Sleep(tt.at)
				submit(t, a, keyed("new"))
				drain(t, a)
				if f := w.final(t, "new"); f.Joined != tt.joined || f.Err != nil {
					t.Errorf("%+v", f)
				}
				if n := len(rec.all()); n != tt.requests {
					t.Errorf("%d requests, want %d", n, tt.requests)
				}
				w.wellFormed(t)
			})
		})
	}

	// A read that began while the write ran may have seen either state.
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{next: roundTrip(func(r *http.Request) (*http.Response, error) {
			d := time.Second
			if r.Method == http.MethodGet {
				d = 10 * time.Second
			}
			return after(d, answering(200, threadAnswer))(r)
		})}
		a, w := testAsync(t, rec, AsyncOptions{})
		keyed := func(id string) Job {
			j := w.get(id, "t", Visible)
			j.Key = "thread/t"
			return j
		}
		submit(t, a, Job{ID: "write", Write: true, Resources: []string{"thread/t"}, Done: w.done, Run: func(ctx context.Context, c *Client) (any, error) {
			return c.Threads.Trash(ctx, "t")
		}}, keyed("during"))
		time.Sleep(2 * time.Second)
		submit(t, a, keyed("after"), keyed("after too"))
		drain(t, a)
		if w.final(t, "after").Joined || !w.final(t, "after too").Joined || len(rec.all()) != 3 {
			t.Errorf("%+v after %d requests", w.final(t, "after"), len(rec.all()))
		}
		w.wellFormed(t)
	})
}

// TestAsyncQueuedReadIsFresh: a read that has not begun may be joined after any write.
func TestAsyncQueuedReadIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{next: after(time.Second, answering(200, threadAnswer))}
		a, w := testAsync(t, rec, AsyncOptions{Slots: 2})
		submit(t, a, w.get("blocker", "x", Visible))
		first, second := w.get("first", "t", Visible), w.get("second", "t", Visible)
		first.Key, second.Key = "k", "k"
		submit(t, a, first)
		a.NoteWrite("thread/t")
		submit(t, a, second)
		drain(t, a)
		if f := w.final(t, "second"); !f.Joined || f.Err != nil {
			t.Errorf("%+v", f)
		}
		w.wellFormed(t)
	})
}

// TestAsyncManyWrites: writes that are too many to be told apart count as writes to everything.
func TestAsyncManyWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{next: after(time.Second, answering(200, threadAnswer))}
		a, w := testAsync(t, rec, AsyncOptions{})
		read := func(id string) Job {
			j := w.get(id, "t", Visible)
			j.Key = "k"
			return j
		}
		submit(t, a, read("first"), read("beside"))
		synctest.Wait()
		a.NoteWrite("thread/t")
		for i := range maxTrackedWrites {
			a.NoteWrite(fmt.Sprint("thread/", i))
		}
		submit(t, a, read("after"))
		drain(t, a)
		if !w.final(t, "beside").Joined || w.final(t, "after").Joined || len(rec.all()) != 2 {
			t.Errorf("%+v after %d requests", w.final(t, "after"), len(rec.all()))
		}
	})
}
