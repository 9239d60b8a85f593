package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"slices"
	"time"
)

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

var errNoReturn = errors.New("the call ended without a result")

// All methods of an Async in this file need a.mu, unless they say otherwise.

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
