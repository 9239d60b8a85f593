package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// asyncOp is one thing that a user of an Async does.
type asyncOp struct {
	Gap  time.Duration // since the one before
	Fast bool          // the next comes before anything can move
	What string        // submit, cancel, group, reprioritize, write, stall, go on
	Job  int           // which job, of those so far
	Name string        // of the group, or of the resource written
	Prio Priority
	New  asyncJob
}

// asyncJob is what a submitted job is like.
type asyncJob struct {
	Class    Class
	Prio     Priority
	Key      string
	Group    string
	Resource string
	Script   []try
}

func drawAsyncOp(t *rapid.T) asyncOp {
	op := asyncOp{
		Gap:  time.Duration(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 10, 150, 700, 5000, 40000}).Draw(t, "gap ms")) * time.Millisecond,
		What: rapid.SampledFrom([]string{"submit", "submit", "submit", "submit", "submit", "submit", "cancel", "group", "reprioritize", "write", "stall", "go on"}).Draw(t, "what"),
		Fast: rapid.IntRange(0, 3).Draw(t, "fast") == 0,
		Job:  rapid.IntRange(0, 60).Draw(t, "job"),
		Prio: rapid.SampledFrom([]Priority{Background, Visible, Person}).Draw(t, "priority"),
	}
	switch op.What {
	case "submit":
		op.New = asyncJob{
			Class:    rapid.SampledFrom([]Class{ClassRead, ClassRead, ClassRead, ClassSend, ClassRepeat, ClassOnce}).Draw(t, "class"),
			Prio:     op.Prio,
			Key:      rapid.SampledFrom([]string{"", "a", "a", "b"}).Draw(t, "key"),
			Group:    rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "group"),
			Resource: rapid.SampledFrom([]string{"r", "s"}).Draw(t, "resource"),
		}
		for range rapid.IntRange(1, 3).Draw(t, "tries") {
			step := drawTry(t)
			if step.After.Kind == "date" { // its wait would depend on when a slot is free
				step.After = retryAfter{}
			}
			op.New.Script = append(op.New.Script, step)
		}
	case "group":
		op.Name = rapid.SampledFrom([]string{"", "g", "h"}).Draw(t, "group")
	case "write":
		op.Name = rapid.SampledFrom([]string{"r", "s"}).Draw(t, "resource")
	}
	return op
}

// asyncRun is one run of a script.
type asyncRun struct {
	t      *testing.T
	a      *Async
	server *scripted
	slots  int

	mu     sync.Mutex
	jobs   []*ranJob
	writes map[string][]time.Time
	gate   chan struct{} // closed: finals and events are taken
	wrong  []string
}

type ranJob struct {
	asyncJob
	id        string
	submitted time.Time
	cancelled bool
	events    []Event
	finals    []Final
}

func (r *asyncRun) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

func (r *asyncRun) path(i int) string {
	switch r.jobs[i].Class {
	case ClassSend:
		return fmt.Sprintf("/x/%d/send", i)
	case ClassRead:
		return fmt.Sprintf("/threads/%d", i)
	case ClassRepeat:
		return fmt.Sprintf("/threads/%d/trash", i)
	}
	return fmt.Sprintf("/threads/%d/mute", i)
}

func (r *asyncRun) wait() {
	r.mu.Lock()
	gate := r.gate
	r.mu.Unlock()
	<-gate
}

func (r *asyncRun) observe(ev Event) {
	r.wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		if j.id == ev.Call {
			j.events = append(j.events, ev)
		}
	}
}

func (r *asyncRun) submit(spec asyncJob) {
	i := len(r.jobs)
	j := &ranJob{asyncJob: spec, id: fmt.Sprint("j", i), submitted: time.Now()}
	r.mu.Lock()
	r.jobs = append(r.jobs, j)
	r.mu.Unlock()
	path := r.path(i)
	r.server.mu.Lock()
	r.server.script[path] = spec.Script
	r.server.mu.Unlock()
	write := spec.Class != ClassRead
	wrote := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.writes[spec.Resource] = append(r.writes[spec.Resource], time.Now())
	}
	if write {
		wrote()
	}
	_, err := r.a.Submit(Job{
		ID: j.id, Op: "job", Group: spec.Group, Priority: spec.Prio, Key: spec.Key, Write: write, Resources: []string{spec.Resource},
		Run: func(ctx context.Context, c *Client) (any, error) {
			err := r.call(ctx, c, i, spec.Class)
			if write {
				wrote()
			}
			return i, err
		},
		Done: func(f Final) {
			r.wait()
			r.mu.Lock()
			defer r.mu.Unlock()
			j.finals = append(j.finals, f)
		},
	})
	if err != nil {
		r.problem("submit: %v", err)
	}
}

func (r *asyncRun) call(ctx context.Context, c *Client, i int, class Class) error {
	id := fmt.Sprint(i)
	switch class {
	case ClassRead:
		return ignore(c.Threads.Get(ctx, id))
	case ClassRepeat:
		return ignore(c.Threads.Trash(ctx, id))
	case ClassOnce:
		return ignore(c.Threads.Mute(ctx, id))
	}
	// A path of its own, so that the script can be found.
	_, err := c.core.run(ctx, call{
		op:      Operation{Name: "emails.send", Method: "POST", Class: ClassSend, Key: true},
		path:    fmt.Sprintf("/x/%d/send", i),
		body:    fmt.Appendf(nil, `{"n":%d}`, i),
		repeats: true, keyed: true,
		decode: func(ans *answer) error {
			if ans.body != nil && ans.body[0] != '{' {
				return errors.New("no object")
			}
			return nil
		},
	}, nil, nil)
	return err
}

// now checks what must hold whenever nothing moves.
func (r *asyncRun) now(after string) {
	synctest.Wait()
	r.server.mu.Lock()
	onWire := r.server.running
	r.server.mu.Unlock()
	r.mu.Lock()
	stalled := r.gate != nil && !isClosed(r.gate)
	r.mu.Unlock()
	r.a.mu.Lock()
	defer r.a.mu.Unlock()
	a := r.a
	states := make(map[flightState]int)
	var waits [Person + 1]int // wants a slot, fresh Background apart
	freshBackground := 0
	waiters := 0
	for f := range a.flights {
		states[f.state]++
		waiters += len(f.waiters)
		if f.state == flightResuming || f.state == flightQueued && f.prio != Background {
			waits[f.prio]++
		} else if f.state == flightQueued {
			freshBackground++
		}
		worth := Background
		for _, w := range f.waiters {
			worth = max(worth, w.prio)
		}
		if f.prio != worth {
			r.problem("after %s: a call is worth %d, those who wait for it %d", after, f.prio, worth)
		}
		if f.holds != (f.state == flightRunning) {
			r.problem("after %s: a flight in state %d holds a slot: %v", after, f.state, f.holds)
		}
	}
	limit := a.limiter.limit
	switch {
	case a.used != onWire:
		r.problem("after %s: %d slots are held by %d requests", after, a.used, onWire)
	case states[flightRunning] != a.used || states[flightPaused] != a.paused || states[flightQueued]+states[flightResuming] != a.queue.n:
		r.problem("after %s: the books say %d %d %d, the flights %v", after, a.used, a.paused, a.queue.n, states)
	case a.used > r.slots || a.others > r.slots-1 || limit < minSlots || limit > r.slots:
		r.problem("after %s: %d and %d of %d slots in use, %d at most", after, a.used, a.others, limit, r.slots)
	case waits[Person] > 0 && (a.used < limit || a.used == a.others):
		r.problem("after %s: a person waits with %d of %d slots in use, %d by others", after, a.used, limit, a.others)
	case waits[Visible]+waits[Background] > 0 && a.used < limit && a.others < limit-1:
		r.problem("after %s: a call waits with %d and %d of %d slots in use", after, a.used, a.others, limit)
	case freshBackground > 0 && a.used < limit && a.others < limit-1 && a.unread < a.unreads && a.paused < maxPaused:
		r.problem("after %s: a background call waits with %d and %d of %d slots in use", after, a.used, a.others, limit)
	case waiters != len(a.jobs):
		r.problem("after %s: %d jobs for %d waiters", after, len(a.jobs), waiters)
	case len(a.pending) > coalesceBacklog+3*(len(a.jobs)+a.unread):
		r.problem("after %s: %d events kept for %d jobs", after, len(a.pending), len(a.jobs))
	case !stalled && (a.dispatching || a.unread > 0):
		r.problem("after %s: %d finals are not handed out", after, a.unread)
	}
	for key, f := range a.byKey {
		if f.dropped || f.job.Key != key || f.state == flightOver {
			r.problem("after %s: a call can be joined that is given up", after)
		}
	}
}

func isClosed(ch chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (r *asyncRun) do(op asyncOp, fast bool) {
	if !fast {
		time.Sleep(op.Gap + time.Microsecond)
	}
	var job *ranJob
	if len(r.jobs) > 0 {
		job = r.jobs[op.Job%len(r.jobs)]
	}
	switch op.What {
	case "submit":
		r.submit(op.New)
	case "cancel":
		if job != nil {
			r.expectEnded(op.Fast, func() { r.a.Cancel(job.id) }, func(j *ranJob) bool { return j == job })
		}
	case "group":
		r.expectEnded(op.Fast, func() { r.a.CancelGroup(op.Name) }, func(j *ranJob) bool { return j.Group == op.Name && op.Name != "" })
	case "reprioritize":
		if job != nil {
			r.a.Reprioritize(job.id, op.Prio)
		}
	case "write":
		r.mu.Lock()
		r.writes[op.Name] = append(r.writes[op.Name], time.Now())
		r.mu.Unlock()
		r.a.NoteWrite(op.Name)
	case "stall":
		r.mu.Lock()
		if isClosed(r.gate) {
			r.gate = make(chan struct{})
		}
		r.mu.Unlock()
	case "go on":
		r.goOn()
	}
	if !op.Fast {
		r.now(op.What)
	}
}

func (r *asyncRun) goOn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !isClosed(r.gate) {
		close(r.gate)
	}
}

// expectEnded checks that what is cancelled is over at once.
func (r *asyncRun) expectEnded(fast bool, cancel func(), which func(*ranJob) bool) {
	unfinished := func(j *ranJob) bool {
		r.a.mu.Lock()
		defer r.a.mu.Unlock()
		_, ok := r.a.jobs[j.id]
		return ok
	}
	for _, j := range r.jobs {
		if which(j) && unfinished(j) {
			j.cancelled = true
		}
	}
	cancel()
	if fast {
		return
	}
	synctest.Wait()
	for _, j := range r.jobs {
		if which(j) && unfinished(j) {
			r.problem("%s was cancelled and is not over", j.id)
		}
	}
}

// TestAsyncProperties: for any script of submissions, answers, faults, cancellations,
// changes of priority, writes and a lagging reader, slots, joins, priorities, retries
// and finals obey the rules, and nothing is left behind.
func TestAsyncProperties(t *testing.T) {
	checkMany(t, 400, func(rt *rapid.T) {
		o := AsyncOptions{
			Slots:           rapid.IntRange(2, 6).Draw(rt, "slots"),
			StartSlots:      rapid.IntRange(2, 6).Draw(rt, "start"),
			MaxUnreadFinals: rapid.IntRange(1, 8).Draw(rt, "unread"),
		}
		ops := rapid.SliceOfN(rapid.Custom(drawAsyncOp), 1, 60).Draw(rt, "script")
		closes := rapid.Bool().Draw(rt, "closes")
		if problem := playAsync(t, o, ops, closes); problem != "" {
			rt.Fatal(problem)
		}
	})
}

func playAsync(t *testing.T, o AsyncOptions, ops []asyncOp, closes bool) string {
	r := &asyncRun{t: t, server: newScripted(), slots: o.Slots, writes: make(map[string][]time.Time)}
	synctest.Test(t, func(t *testing.T) {
		r.gate = make(chan struct{})
		close(r.gate)
		c := testClient(t, r.server)
		c.core.random = randomZero
		o.Observer = r.observe
		r.a = NewAsync(c, o)
		fast := false
		for _, op := range ops {
			r.do(op, fast)
			fast = op.Fast
		}
		r.goOn()
		synctest.Wait()
		ended := time.Now()
		if closes {
			for _, j := range r.jobs {
				if len(j.finals) == 0 {
					j.cancelled = true
				}
			}
			if err := r.a.Close(t.Context()); err != nil || !time.Now().Equal(ended) {
				r.problem("Close took %v: %v", time.Since(ended), err)
			}
		} else if err := r.a.Drain(t.Context()); err != nil {
			r.problem("Drain: %v", err)
		}
		r.now("the end")
		r.afterwards()
	})
	return strings.Join(r.wrong, "\n")
}

// afterwards checks the whole run.
func (r *asyncRun) afterwards() {
	a := r.a
	if len(a.jobs)+len(a.flights)+len(a.byKey)+len(a.lastWrite)+len(a.pending)+a.queue.n+a.used+a.others+a.paused+a.unread != 0 || a.dispatching {
		r.problem("something is left: %+v", a.Stats())
	}
	if r.server.open != 0 || r.server.most > r.slots {
		r.problem("%d bodies open, %d requests at once", r.server.open, r.server.most)
	}
	r.wrong = append(r.wrong, r.server.wrong...)
	keys := make(map[string]int)
	for i, j := range r.jobs {
		requests := r.server.requests[r.path(i)]
		for _, q := range requests {
			if q.key != requests[0].key || q.body != requests[0].body || (q.key != "") != (j.Class == ClassSend) {
				r.problem("%s: the requests differ", j.id)
			}
		}
		if len(requests) > 0 && requests[0].key != "" {
			if other, ok := keys[requests[0].key]; ok {
				r.problem("%s and j%d have one key", j.id, other)
			}
			keys[requests[0].key] = i
		}
		r.checkJob(i, j)
	}
}

func (r *asyncRun) checkJob(i int, j *ranJob) {
	if len(j.finals) != 1 {
		r.problem("%s has %d finals", j.id, len(j.finals))
		return
	}
	f := j.finals[0]
	if p := grammar(j.events, f); p != "" {
		r.problem("%s: %s: %+v", j.id, p, j.events)
	}
	owner, ran := f.Value.(int)
	if !ran { // cancelled in the queue, or while others went on
		if !j.cancelled || !errors.Is(f.Err, ErrCancelled) {
			r.problem("%s ended without its call: %+v", j.id, f)
		}
		return
	}
	requests := r.server.requests[r.path(owner)]
	if f.Joined != (owner != i) || f.Attempts != len(requests) || f.Op != "job" {
		r.problem("%s: final %+v after %d requests of j%d", j.id, f, len(requests), owner)
	}
	if f.Joined {
		r.checkJoin(j, r.jobs[owner], f)
	}
	if j.cancelled {
		return // it may have ended in any way
	}
	// Nobody gave up the call: it went as the contract says, but for waits in the queue.
	spec := r.jobs[owner]
	steps, end := modelCall{class: spec.Class, retries: 2, timeout: DefaultTimeout, script: spec.Script}.run(time.Now())
	if len(requests) != len(steps) {
		r.problem("%s: %d requests, want %v", j.id, len(requests), steps)
		return
	}
	if p := checkEnd(f.Err, end, steps); p != "" {
		r.problem("%s: %s: %v", j.id, p, f.Err)
	}
	for n, q := range requests {
		if took := q.ended.Sub(q.at); took != steps[n].ended-steps[n].at {
			r.problem("%s: attempt %d took %v", j.id, n+1, took)
		}
		if n == 0 {
			continue
		}
		if pause := q.at.Sub(requests[n-1].ended); pause < steps[n-1].wait {
			r.problem("%s: attempt %d came after %v, not %v", j.id, n+1, pause, steps[n-1].wait)
		}
	}
}

// checkJoin: a read never joins one that began before a local write to the same thing.
func (r *asyncRun) checkJoin(j, owner *ranJob, f Final) {
	if j.Key == "" || j.Key != owner.Key || j.Class != ClassRead || owner.Class != ClassRead {
		r.problem("%s joined %s", j.id, owner.id)
	}
	for _, resource := range []string{j.Resource, owner.Resource} {
		for _, w := range r.writes[resource] {
			if f.Began.Before(w) && w.Before(j.submitted) {
				r.problem("%s joined a call that began before a write to %s", j.id, resource)
			}
		}
	}
}

// grammar says what is wrong with the events of one job.
func grammar(events []Event, f Final) string {
	if len(events) < 2 || events[0].Phase != Queued {
		return "does not begin with queued"
	}
	follows := map[Phase][]Phase{
		Queued:  {Started, Cancelled},
		Started: {Failed, Done, Cancelled},
		Failed:  {Waiting, GaveUp, Cancelled},
		Waiting: {Started, Cancelled},
	}
	if f.Joined {
		follows[Queued] = []Phase{Started, Failed, Waiting, Done, GaveUp, Cancelled}
	}
	for n, ev := range events[1:] {
		before := events[n]
		if !slices.Contains(follows[before.Phase], ev.Phase) {
			return fmt.Sprintf("%v after %v", ev.Phase, before.Phase)
		}
		if before.Phase != Queued && ev.Phase == Started && ev.Attempt != before.Attempt+1 {
			return "an attempt is missing"
		}
		if ev.At.Before(before.At) && !f.Joined {
			return "goes back in time"
		}
	}
	last := events[len(events)-1]
	want := GaveUp
	switch {
	case f.Err == nil:
		want = Done
	case errors.Is(f.Err, ErrCancelled):
		want = Cancelled
	}
	if last.Phase != want || !last.At.Equal(f.Ended) {
		return fmt.Sprintf("ends with %v", last.Phase)
	}
	return ""
}

// TestAsyncPersonProperties: whatever floods the runner, a person's call begins at once
// unless another person's call runs.
func TestAsyncPersonProperties(t *testing.T) {
	checkMany(t, 200, func(rt *rapid.T) {
		o := AsyncOptions{Slots: rapid.IntRange(2, 16).Draw(rt, "slots"), MaxUnreadFinals: rapid.IntRange(1, 64).Draw(rt, "unread")}
		n := rapid.IntRange(0, 200).Draw(rt, "flood")
		scripts := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawTry), 1, 4), 1, 4).Draw(rt, "scripts")
		after := time.Duration(rapid.IntRange(0, 120_000).Draw(rt, "after ms"))*time.Millisecond + time.Nanosecond
		visible := rapid.Bool().Draw(rt, "visible")
		problem := ""
		synctest.Test(t, func(t *testing.T) {
			server := newScripted()
			a := NewAsync(testClient(t, server), o)
			for i := range n {
				prio := Background
				if visible && i%2 == 0 {
					prio = Visible
				}
				server.mu.Lock()
				server.script[fmt.Sprint("/threads/", i)] = scripts[i%len(scripts)]
				server.mu.Unlock()
				if _, err := a.Submit(Job{Priority: prio, Run: func(ctx context.Context, c *Client) (any, error) {
					return c.Threads.Get(ctx, fmt.Sprint(i))
				}}); err != nil {
					problem = err.Error()
				}
			}
			time.Sleep(after)
			if _, err := a.Submit(Job{Priority: Person, Run: func(ctx context.Context, c *Client) (any, error) {
				return c.Threads.Get(ctx, "person")
			}}); err != nil {
				problem = err.Error()
			}
			synctest.Wait()
			server.mu.Lock()
			if len(server.requests["/threads/person"]) != 1 {
				problem = "the person waits"
			}
			server.mu.Unlock()
			if err := a.Close(t.Context()); err != nil {
				problem = err.Error()
			}
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// TestFlightQueueProperties: order within a priority, nobody lost, and nobody starved:
// a job with k older ones in the queue gets one of the next oldestEvery×(k+1) slots that
// all may have.
func TestFlightQueueProperties(t *testing.T) {
	checkMany(t, 500, func(t *rapid.T) {
		var q flightQueue
		var order uint64
		waiting := make(map[*flight]int) // slots that it saw go to others, since it came
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch what := rapid.SampledFrom([]string{"add", "add", "add", "next", "next", "only person", "gated", "remove", "move"}).Draw(t, "what"); what {
			case "add":
				order++
				f := &flight{order: order, prio: Priority(rapid.IntRange(0, 2).Draw(t, "priority"))}
				if rapid.IntRange(0, 4).Draw(t, "resumes") == 0 {
					f.state = flightResuming
				}
				q.add(f)
				waiting[f] = 0
			case "remove", "move":
				for f := range waiting {
					if what == "remove" {
						q.remove(f)
						delete(waiting, f)
						break
					}
					q.remove(f)
					f.prio = Priority(rapid.IntRange(0, 2).Draw(t, "priority"))
					q.add(f)
					break
				}
			default:
				got := q.next(what == "only person", what != "gated")
				var best, oldest *flight
				for f := range waiting {
					if what == "only person" && f.prio != Person || what == "gated" && f.prio == Background && f.state == flightQueued {
						continue
					}
					if best == nil || f.prio > best.prio || f.prio == best.prio && f.order < best.order {
						best = f
					}
					if oldest == nil || f.order < oldest.order {
						oldest = f
					}
				}
				if got != best && got != oldest || got == nil && best != nil {
					t.Fatalf("%s: %+v, neither the first %+v nor the oldest %+v", what, got, best, oldest)
				}
				if got == nil {
					continue
				}
				q.remove(got)
				delete(waiting, got)
				if what != "next" {
					continue
				}
				for f := range waiting {
					waiting[f]++
				}
			}
			if q.n != len(waiting) {
				t.Fatalf("%d in the queue, want %d", q.n, len(waiting))
			}
		}
		// From now on a flood of newer calls of higher priority comes in.
		ahead := make(map[*flight]int)
		for f := range waiting {
			waiting[f] = 0
			for other := range waiting {
				if other.order < f.order {
					ahead[f]++
				}
			}
		}
		for granted := 1; len(waiting) > 0; granted++ {
			order++
			q.add(&flight{order: order, prio: Person})
			got := q.next(false, true)
			q.remove(got)
			delete(waiting, got)
			for f := range waiting {
				if granted >= oldestEvery*(ahead[f]+1) {
					t.Fatalf("with %d older ones it still waits after %d slots", ahead[f], granted)
				}
			}
		}
	})
}
