package api

import "time"

// The bounds of the adaptive concurrency.
const (
	minSlots     = 2  // never fewer: one for a person, one for all else
	defaultStart = 6  // at first
	defaultSlots = 16 // never more, unless AsyncOptions.Slots says so

	fallPause   = time.Second            // the limit falls at most once in this time
	growPause   = 5 * time.Second        // it does not grow this soon after a fall; then it heals one slot in each such time
	alwaysFast  = 100 * time.Millisecond // a server that answers within this is fast, whatever it did before
	learnWindow = time.Minute            // what is usual is the best of this window and the one before
)

// limiter decides how many slots there are. It grows by one when as many answers as
// there are slots came fast while calls queued, and halves when the server says
// 429 or an attempt times out. Without calls it heals up to where it began.
// Its user holds a lock.
type limiter struct {
	start, most int
	limit       int
	fell        time.Time // the last fall
	stepped     time.Time // the last fall or step of healing
	fast        int       // fast answers since the last change

	recent       time.Duration // smoothed time of an answer
	best, before time.Duration // least of recent in this window and in the last; 0: none
	window       time.Time     // when this window began
}

func newLimiter(start, most int) limiter {
	return limiter{start: start, most: most, limit: start}
}

// answered hears of a success. busy says that calls queue for want of a slot.
func (l *limiter) answered(now time.Time, took time.Duration, busy bool) {
	if l.recent == 0 {
		l.recent = took
	}
	l.recent += (took - l.recent) / 4
	if l.window.IsZero() || now.Sub(l.window) >= learnWindow {
		l.before, l.best, l.window = l.best, l.recent, now
	}
	l.best = min(l.best, l.recent)
	usual := l.best
	if l.before > 0 {
		usual = min(usual, l.before)
	}
	if l.recent > max(alwaysFast, usual+usual/2) {
		l.fast = 0
		return
	}
	if !busy || now.Sub(l.fell) < growPause {
		return
	}
	if l.fast++; l.fast >= l.limit && l.limit < l.most {
		l.limit++
		l.fast = 0
	}
}

// overloaded hears of a 429 or a timeout of an attempt that began at the given time.
// One that began before the last fall is an echo of what made it fall.
func (l *limiter) overloaded(now, began time.Time) {
	l.fast = 0
	if now.Sub(l.fell) < fallPause || began.Before(l.fell) {
		return
	}
	l.limit = max(minSlots, l.limit/2)
	l.fell, l.stepped = now, now
}

// heal gives back, with time, what falls have taken below the start.
func (l *limiter) heal(now time.Time) {
	for l.limit < l.start && now.Sub(l.stepped) >= growPause {
		l.limit++
		l.stepped = l.stepped.Add(growPause)
	}
}
