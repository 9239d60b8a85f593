package api

import "container/heap"

// oldestEvery is what keeps a low priority from waiting for ever: of that many slots
// in a row that more than one priority may have, one goes to who has waited longest.
// So a job with k older ones in the queue starts within oldestEvery×(k+1) such slots.
const oldestEvery = 4

// maxPaused is the number of calls in a backoff wait from which no Background job
// begins: they hold no slot, but memory, and a server in trouble is not to be asked
// by all of them.
const maxPaused = 64

// flightHeap holds flights that want a slot, oldest first.
type flightHeap []*flight

func (h flightHeap) Len() int           { return len(h) }
func (h flightHeap) Less(i, j int) bool { return h[i].order < h[j].order }
func (h flightHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push is for package heap.
func (h *flightHeap) Push(x any) {
	f := x.(*flight)
	f.place = len(*h)
	*h = append(*h, f)
}

// Pop is for package heap.
func (h *flightHeap) Pop() any {
	old := *h
	last := len(old) - 1
	f := old[last]
	old[last] = nil
	*h = old[:last]
	if last == 0 {
		*h = nil // a long queue does not keep its memory
	}
	return f
}

// flightQueue holds those that wait for their first slot apart from those that want
// one again: only the former can be kept outside.
type flightQueue struct {
	fresh, resuming [Person + 1]flightHeap
	n               int
	passed          int // slots in a row that passed over the oldest
}

func (q *flightQueue) of(f *flight) *flightHeap {
	if f.state == flightResuming {
		return &q.resuming[f.prio]
	}
	return &q.fresh[f.prio]
}

// add takes f in, by its state and priority, which must not change while it is here.
func (q *flightQueue) add(f *flight) {
	heap.Push(q.of(f), f)
	q.n++
}

func (q *flightQueue) remove(f *flight) {
	heap.Remove(q.of(f), f.place)
	q.n--
}

// head is the oldest flight of a priority, or nil.
func (q *flightQueue) head(p Priority, fresh bool) *flight {
	var f *flight
	if h := q.resuming[p]; len(h) > 0 {
		f = h[0]
	}
	if h := q.fresh[p]; fresh && len(h) > 0 && (f == nil || h[0].order < f.order) {
		f = h[0]
	}
	return f
}

// next picks who gets a slot and leaves it in the queue. onlyPerson: the slot is the
// one that is kept for a person. background: a Background job may begin.
func (q *flightQueue) next(onlyPerson, background bool) *flight {
	if onlyPerson {
		return q.head(Person, true)
	}
	var first, oldest *flight
	for p := Person; p >= Background; p-- {
		f := q.head(p, p != Background || background)
		if f == nil {
			continue
		}
		if first == nil {
			first = f
		}
		if oldest == nil || f.order < oldest.order {
			oldest = f
		}
	}
	if first == oldest {
		q.passed = 0
		return first
	}
	if q.passed++; q.passed >= oldestEvery {
		q.passed = 0
		return oldest
	}
	return first
}
