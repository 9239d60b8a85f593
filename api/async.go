package api

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
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
