package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Priority says who waits for a job. Of four slots in a row that become free at least one
// goes to the job that has waited longest, whatever its priority, so that none waits for ever.
type Priority int

// The priorities, lowest first.
const (
	Background Priority = iota // nobody looks at it yet
	Visible                    // a row or pane on the screen
	Person                     // what a person asked for just now; one slot is kept for it
)

const (
	defaultUnread    = 64
	coalesceBacklog  = 1024 // undelivered events from which progress keeps the latest only
	maxTrackedWrites = 10_000
)

// Job is one call to be run beside the caller's loop.
type Job struct {
	ID       string // the call's id; made when empty
	Op       string // shown in events and finals; empty: the operation that runs
	Group    string // cancelled together by CancelGroup; empty: in no group
	Priority Priority
	// Key names a read. Reads with the same key that are in flight at the same time
	// are one call, whose value all of them get: treat it as shared. Ignored for writes.
	Key string
	// Resources says what a read reads and a write changes, "thread/abc" for example.
	// A read never joins one that began before a local write to one of its resources ended.
	Resources []string
	Write     bool
	// Run makes one call on c with ctx and returns its result. A second call may follow
	// the first, but not run beside it.
	Run func(ctx context.Context, c *Client) (any, error)
	// Done, which may be nil, is called exactly once, on a goroutine of the runner that
	// delivers all finals in turn: it must return quickly and must not call Close or Drain.
	Done func(Final)
}

// Final is the end of a job.
type Final struct {
	Call     string
	Op       string
	Value    any       // what Run returned; nil after a cancellation in the queue
	Err      error     // matches ErrCancelled when the job was cancelled
	Attempts int       // requests that were begun, by all calls of Run; 0: certainly none
	Joined   bool      // the answer came from another caller's call
	Began    time.Time // when it had its first slot; zero: never
	Ended    time.Time
}

// AsyncOptions tunes an Async. The zero value is fine.
type AsyncOptions struct {
	// Slots is the most calls that run at once; 0: 16, at least 2. How many do at a moment
	// follows the server, see Async.
	Slots int
	// StartSlots is how many calls run at once at first; 0: 6. It lies between 2 and Slots.
	StartSlots int
	// Observer hears every event of every job, in order for each job, from one goroutine:
	// Queued first, exactly one final phase last. nil: the client's observer.
	// When it lags far behind, only the latest progress of each job is kept.
	Observer func(Event)
	// MaxUnreadFinals is the number of finals that Done has not taken yet from which
	// no Background job starts; 0: 64. Jobs of higher priority always start.
	MaxUnreadFinals int
}

// Async runs jobs on a bounded number of slots. A job that waits before its next
// attempt holds none. All methods but Close and Drain return at once.
//
// The number of slots adapts. It begins at StartSlots. While jobs queue and the server
// answers as fast as it usually does, or within 100 ms, each round of answers adds one, up to
// Slots. A 429, a 408, a 504 or an attempt that times out halves it, at most once a second and
// never below 2; what began before the last fall does not count again. For 5 seconds after a
// fall it does not grow; then every 5 seconds give one back until it is at StartSlots again.
//
// One slot is kept for Person jobs: others use at most one less than there are. When
// no Person job runs, one begins even while the number of slots is falling and the rest are
// still in use. There are never more than Slots calls at once.
//
// What is kept in memory is a few hundred bytes for each unfinished job, at most three
// undelivered events for each besides 1024 more, and the finals that Done has not taken. Background
// jobs do not begin while MaxUnreadFinals of those are on their way, or while 64
// calls are waiting for their next attempt.
type Async struct {
	client   *Client
	unreads  int
	observer func(Event)

	mu      sync.Mutex
	closed  bool
	jobs    map[string]*waiter // unfinished, by call id
	flights map[*flight]struct{}
	byKey   map[string]*flight
	queue   flightQueue
	limiter limiter
	used    int    // slots that are held
	others  int    // of used: held for anything but Person
	paused  int    // flights between two attempts
	order   uint64 // counts flights

	seq       uint64 // counts begun reads and written resources
	lastWrite map[string]uint64
	writesOut uint64 // writes up to here are no longer told apart

	pending     []*delivery
	unread      int
	dispatching bool
	idle        []chan struct{}
}

type flightState int

const (
	flightQueued   flightState = iota // no attempt begun
	flightRunning                     // holds a slot
	flightPaused                      // in a backoff wait
	flightResuming                    // wants its slot back
	flightOver
)

// flight is one running call and everybody who waits for it.
type flight struct {
	job     Job
	waiters []*waiter
	prio    Priority
	state   flightState
	order   uint64 // its place among all, by when it was submitted
	place   int    // in its heap
	grant   chan struct{}
	holds   bool
	person  bool // the slot it holds counts as a person's
	ctx     context.Context
	cancel  context.CancelCauseFunc
	began   uint64
	beganAt time.Time

	attempts  int       // of all calls that Run made
	attemptAt time.Time // when the latest began
	last      Event     // the latest, final ones too
	dropped   bool      // cancelled: nobody may join
}

// waiter is one job.
type waiter struct {
	id       string
	op       string
	group    string
	prio     Priority
	done     func(Final)
	flight   *flight
	joined   bool
	progress *delivery // not yet delivered
}

// delivery is an event on its way to the observer, with the final it stands for.
type delivery struct {
	w     *waiter
	event Event
	final *Final
}

// NewAsync makes a runner. It starts no goroutine until there is something to do.
func NewAsync(c *Client, o AsyncOptions) *Async {
	most := max(minSlots, cmp.Or(max(0, o.Slots), defaultSlots))
	start := min(most, max(minSlots, cmp.Or(max(0, o.StartSlots), defaultStart)))
	a := &Async{
		client:    c,
		limiter:   newLimiter(start, most),
		unreads:   cmp.Or(max(0, o.MaxUnreadFinals), defaultUnread),
		observer:  o.Observer,
		jobs:      make(map[string]*waiter),
		flights:   make(map[*flight]struct{}),
		byKey:     make(map[string]*flight),
		lastWrite: make(map[string]uint64),
	}
	if a.observer == nil {
		a.observer = c.core.observer
	}
	return a
}

// Submit queues a job and returns its call id. The error is ErrClosed, or an
// *ArgumentError for a job without Run or with the id of one that is not over.
func (a *Async) Submit(job Job) (string, error) {
	if job.Run == nil {
		return "", argErr("a job needs Run")
	}
	job.Priority = max(Background, min(job.Priority, Person))
	if job.ID == "" {
		job.ID = randomUUID()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return "", ErrClosed
	}
	if _, ok := a.jobs[job.ID]; ok {
		return "", argErr("there is already a job %q", job.ID)
	}
	w := &waiter{id: job.ID, op: job.Op, group: job.Group, prio: job.Priority, done: job.Done}
	a.jobs[w.id] = w
	if job.Write {
		a.noteWrite(job.Resources)
	}
	f := a.byKey[job.Key]
	if job.Write || job.Key == "" || f == nil || !a.joinable(f, job.Resources) {
		ctx, cancel := context.WithCancelCause(context.Background())
		a.order++
		f = &flight{job: job, prio: job.Priority, order: a.order, ctx: ctx, cancel: cancel}
		a.flights[f] = struct{}{}
		if !job.Write && job.Key != "" {
			a.byKey[job.Key] = f
		}
		a.queue.add(f)
	} else {
		w.joined = true
	}
	w.flight = f
	f.waiters = append(f.waiters, w)
	a.push(w, Event{Phase: Queued, At: time.Now()}, nil)
	if w.joined {
		if f.state != flightQueued && f.last.Phase != 0 && !f.last.Phase.Final() {
			a.push(w, f.last, nil)
		}
		a.reprioritize(f)
	}
	a.schedule()
	return w.id, nil
}

// NoteWrite tells the runner of a write that it did not run itself, when it begins
// and when it ends, so that no later read joins an older one of these resources.
func (a *Async) NoteWrite(resources ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noteWrite(resources)
}

// Cancel ends a job: at once while it is queued or joined to another, else as soon
// as its attempt or wait has ended, which its context makes it do. It reports whether
// the job was still unfinished.
func (a *Async) Cancel(callID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	w, ok := a.jobs[callID]
	if !ok {
		return false
	}
	a.cancelWaiter(w)
	a.schedule()
	return true
}

// CancelGroup cancels every unfinished job of a group and returns their number. The
// others that share a joined call go on.
func (a *Async) CancelGroup(group string) int {
	if group == "" {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, w := range a.jobs {
		if w.group == group {
			a.cancelWaiter(w)
			n++
		}
	}
	a.schedule()
	return n
}

// Reprioritize changes what a job is worth from its next wait for a slot on. A slot that
// it holds keeps counting as what it was given for.
func (a *Async) Reprioritize(callID string, p Priority) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w, ok := a.jobs[callID]
	if !ok {
		return
	}
	w.prio = max(Background, min(p, Person))
	a.reprioritize(w.flight)
	a.schedule()
}

// Close takes no new job, cancels all there are, and returns when every final has
// been handed out, or with the context's error.
func (a *Async) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	for _, w := range a.jobs {
		a.cancelWaiter(w)
	}
	a.mu.Unlock()
	return a.waitIdle(ctx)
}

// Drain takes no new job and waits until all are over and every final has been
// handed out, or returns the context's error.
func (a *Async) Drain(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	return a.waitIdle(ctx)
}

// AsyncStats is a moment of an Async.
type AsyncStats struct {
	Queued   int // wait for a slot
	Running  int // hold a slot
	Waiting  int // between two attempts, without a slot
	Slots    int // allowed now
	MaxSlots int
	Unread   int // finals on their way
}

// Stats counts what there is at this moment.
func (a *Async) Stats() AsyncStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limiter.heal(time.Now())
	return AsyncStats{
		Queued: a.queue.n, Running: a.used, Waiting: a.paused,
		Slots: a.limiter.limit, MaxSlots: a.limiter.most, Unread: a.unread,
	}
}

// PanicError is a panic in a job's Run.
type PanicError struct {
	Value any
	Stack []byte
}

// Error says what happened. Of a value that is no runtime error it shows the type only.
func (e *PanicError) Error() string {
	if r, ok := e.Value.(runtime.Error); ok {
		return "panic in a call: " + r.Error()
	}
	return fmt.Sprintf("panic in a call (%T)", e.Value)
}

var errNoReturn = errors.New("the call ended without a result")

// All methods below need a.mu, unless they say otherwise.

func (a *Async) noteWrite(resources []string) {
	a.seq++
	if len(a.flights) == 0 {
		return // there is nothing to join
	}
	for _, r := range resources {
		a.lastWrite[r] = a.seq
	}
	if len(a.lastWrite) > maxTrackedWrites {
		clear(a.lastWrite)
		a.writesOut = a.seq
	}
}

// joinable reports whether what f will answer is as fresh as a read that begins now.
func (a *Async) joinable(f *flight, resources []string) bool {
	if f.dropped || f.state == flightOver {
		return false
	}
	if f.state == flightQueued {
		return true
	}
	if a.writesOut > f.began {
		return false
	}
	for _, list := range [][]string{resources, f.job.Resources} {
		for _, r := range list {
			if a.lastWrite[r] > f.began {
				return false
			}
		}
	}
	return true
}

// setState moves a flight from one state to the next and keeps the books on it.
func (a *Async) setState(f *flight, state flightState) {
	switch f.state {
	case flightQueued, flightResuming:
		a.queue.remove(f)
	case flightPaused:
		a.paused--
	}
	f.state = state
	switch state {
	case flightQueued, flightResuming:
		a.queue.add(f)
	case flightPaused:
		a.paused++
	}
}

func (a *Async) reprioritize(f *flight) {
	prio := Background
	for _, w := range f.waiters {
		prio = max(prio, w.prio)
	}
	if prio == f.prio {
		return
	}
	if f.state == flightQueued || f.state == flightResuming {
		a.queue.remove(f)
		f.prio = prio
		a.queue.add(f)
		return
	}
	f.prio = prio
}

// schedule hands out free slots.
func (a *Async) schedule() {
	now := time.Now()
	a.limiter.heal(now)
	for a.queue.n > 0 {
		f := a.next()
		if f == nil {
			return
		}
		f.holds, f.person = true, f.prio == Person
		a.used++
		if !f.person {
			a.others++
		}
		resumed := f.state == flightResuming
		a.setState(f, flightRunning)
		if resumed {
			close(f.grant)
			continue
		}
		a.seq++
		f.began, f.beganAt = a.seq, now
		go a.run(f)
	}
}

// next picks who gets the next slot; nil: nobody.
func (a *Async) next() *flight {
	free := a.used < a.limiter.limit
	if !free && a.used > a.others {
		return nil
	}
	// Without a person's call one may begin although the slots have become fewer. That
	// makes no more than there may be, for the others left one when they began.
	onlyPerson := !free || a.others >= a.limiter.limit-1
	return a.queue.next(onlyPerson, a.unread < a.unreads && a.paused < maxPaused)
}

func (a *Async) release(f *flight) {
	if !f.holds {
		return
	}
	f.holds = false
	a.used--
	if !f.person {
		a.others--
	}
}

// run makes the call of a flight. It takes a.mu itself.
func (a *Async) run(f *flight) {
	h := &hook{
		id:     f.job.ID,
		emit:   func(ev Event) { a.event(f, ev) },
		yield:  func() { a.yield(f) },
		regain: func(ctx context.Context) error { return a.regain(ctx, f) },
	}
	var value any
	err := errNoReturn
	// Deferred, so that runtime.Goexit in Run ends the job too.
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, &PanicError{Value: p, Stack: debug.Stack()}
		}
		a.finish(f, value, err)
	}()
	value, err = f.job.Run(context.WithValue(f.ctx, hookKey{}, h), a.client)
}

// event passes on a step of a flight to everybody who waits for it. It takes a.mu itself.
func (a *Async) event(f *flight, ev Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f.last = ev
	switch ev.Phase {
	case Started:
		f.attempts++
		f.attemptAt = ev.At
	case Done:
		busy := a.queue.n > 0 && (a.used >= a.limiter.limit || a.others >= a.limiter.limit-1)
		a.limiter.answered(ev.At, ev.At.Sub(f.attemptAt), busy)
	case Failed:
		if overloaded(ev) {
			a.limiter.overloaded(ev.At, f.attemptAt)
		}
	}
	if ev.Phase.Final() {
		return // the runner makes its own, one for each job
	}
	for _, w := range f.waiters {
		a.push(w, ev, nil)
	}
}

// overloaded reports whether a failed attempt says that the server has too much to do.
func overloaded(ev Event) bool {
	switch ev.Status {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return true
	}
	return ev.Status == 0 && ev.Cause == causeTimeout
}

// yield gives a flight's slot back for the time of a wait. It takes a.mu itself.
func (a *Async) yield(f *flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.setState(f, flightPaused)
	a.release(f)
	a.schedule()
}

// regain waits for a slot for the next attempt. It takes a.mu itself.
func (a *Async) regain(ctx context.Context, f *flight) error {
	a.mu.Lock()
	f.grant = make(chan struct{})
	a.setState(f, flightResuming)
	a.schedule()
	a.mu.Unlock()
	select {
	case <-f.grant:
	case <-ctx.Done():
		a.mu.Lock()
		if f.state == flightResuming {
			a.setState(f, flightPaused)
		}
		a.mu.Unlock()
	}
	return ctx.Err()
}

// finish hands out the finals of a flight. It takes a.mu itself.
func (a *Async) finish(f *flight, value any, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f.cancel(nil)
	a.release(f)
	a.over(f)
	if f.job.Write {
		// A read that began while the write ran may have seen either state.
		a.noteWrite(f.job.Resources)
	}
	for _, w := range f.waiters {
		a.end(w, value, err)
	}
	f.waiters = nil
	a.schedule()
	a.checkIdle()
}

func (a *Async) over(f *flight) {
	a.setState(f, flightOver)
	delete(a.flights, f)
	a.dropKey(f)
	if len(a.flights) == 0 {
		clear(a.lastWrite)
	}
}

func (a *Async) dropKey(f *flight) {
	f.dropped = true
	if a.byKey[f.job.Key] == f {
		delete(a.byKey, f.job.Key)
	}
}

// cancelWaiter ends one job and, when it was the last of its flight, the flight.
func (a *Async) cancelWaiter(w *waiter) {
	f := w.flight
	alone := len(f.waiters) == 1
	if alone && f.state != flightQueued {
		// Its final is what Run returns, which may still be a success.
		a.dropKey(f)
		f.cancel(context.Canceled)
		return
	}
	f.waiters = slices.DeleteFunc(f.waiters, func(other *waiter) bool { return other == w })
	a.end(w, nil, &NetworkError{
		Op:        cmp.Or(w.op, f.last.Op),
		Cancelled: true,
		Attempts:  f.attempts,
		NotSent:   f.attempts == 0,
		Cause:     f.last.Cause,
		Err:       context.Canceled,
	})
	if !alone {
		a.reprioritize(f)
		return
	}
	a.over(f)
	f.cancel(context.Canceled)
}

// end hands out the one final of a job.
func (a *Async) end(w *waiter, value any, err error) {
	f := w.flight
	delete(a.jobs, w.id)
	ev := f.last
	ev.Wait, ev.Until, ev.Total, ev.At = 0, time.Time{}, 0, time.Now()
	switch {
	case err == nil:
		ev.Phase, ev.Cause, ev.Code = Done, "", ""
	case errors.Is(err, ErrCancelled), errors.Is(err, context.Canceled):
		ev.Phase = Cancelled
	default:
		ev.Phase = GaveUp
		if !f.last.Phase.Final() {
			ev.Cause = "internal error" // a panic, or an error of Run's own
		}
	}
	a.unread++
	a.push(w, ev, &Final{
		Call: w.id, Op: cmp.Or(w.op, ev.Op), Value: value, Err: err,
		Attempts: f.attempts, Joined: w.joined, Began: f.beganAt, Ended: ev.At,
	})
}

// push queues an event for delivery.
func (a *Async) push(w *waiter, ev Event, final *Final) {
	ev.Call, ev.Op = w.id, cmp.Or(w.op, ev.Op)
	if final == nil && w.progress != nil &&
		(len(a.pending) >= coalesceBacklog || ev.Phase == Progress && w.progress.event.Phase == Progress) {
		w.progress.event = ev
		return
	}
	d := &delivery{w: w, event: ev, final: final}
	w.progress = nil
	if final == nil && ev.Phase != Queued {
		w.progress = d
	}
	a.pending = append(a.pending, d)
	if !a.dispatching {
		a.dispatching = true
		go a.dispatch()
	}
}

// dispatch delivers until there is nothing left. It takes a.mu itself.
func (a *Async) dispatch() {
	a.mu.Lock()
	for len(a.pending) > 0 {
		d := a.pending[0]
		a.pending[0] = nil
		a.pending = a.pending[1:]
		if d.w.progress == d {
			d.w.progress = nil
		}
		a.mu.Unlock()
		if a.observer != nil {
			a.observer(d.event)
		}
		if d.final != nil && d.w.done != nil {
			d.w.done(*d.final)
		}
		a.mu.Lock()
		if d.final != nil {
			a.unread--
			a.schedule()
		}
	}
	a.pending = nil
	a.dispatching = false
	a.checkIdle()
	a.mu.Unlock()
}

func (a *Async) isIdle() bool { return len(a.flights) == 0 && !a.dispatching }

func (a *Async) checkIdle() {
	if !a.isIdle() {
		return
	}
	for _, ch := range a.idle {
		close(ch)
	}
	a.idle = nil
}

// waitIdle waits until everything is over. It takes a.mu itself.
func (a *Async) waitIdle(ctx context.Context) error {
	a.mu.Lock()
	if a.isIdle() {
		a.mu.Unlock()
		return nil
	}
	ch := make(chan struct{})
	a.idle = append(a.idle, ch)
	a.mu.Unlock()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
