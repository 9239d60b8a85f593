package state

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"strconv"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// call is what is kept of a call while it runs, and, made small, for a while after it.
type call struct {
	Call
	purpose    string             // calls of one purpose share one status line
	batch      string             // the first call of those of one purpose that run together
	many       func(n int) string // the line of several calls of one purpose; nil: the title of the first
	retry      func()             // does it again; with the lock held
	shown      func() bool        // whether the screen that waits for it is still there; nil: yes
	stops      bool               // esc may stop it
	write      bool
	about      string // see want
	ended      bool
	again      bool // with another credential; see renewal
	credential int
	stopped    bool // the person stopped it
}

// inFront reports that the person waits for it here.
func (c *call) inFront() bool { return c.Foreground && (c.shown == nil || c.shown()) }

const historyLimit = 200

// want describes a call that state makes.
type want struct {
	op         string
	title      string
	purpose    string
	many       func(n int) string
	group      string
	key        string
	about      string // what succeeds or fails with it: a failure takes the place of the one before, a success ends it; empty: key, else purpose
	resources  []string
	write      bool
	priority   api.Priority
	foreground bool
	shown      func() bool // see call
	kept       bool        // a read that esc does not stop: a wish of the person hangs on it
	retry      func()
	run        func(ctx context.Context, c *api.Client) (any, error)
	// done applies the answer, with the lock held. final.Err is nil, or why there is no answer.
	done func(final api.Final)
}

// start begins a call and returns its id. With the lock held.
func (m *Mail) start(w want) string {
	id := newID()
	if w.purpose == "" {
		w.purpose = id
	}
	c := &call{purpose: w.purpose, batch: id, many: w.many, retry: w.retry, shown: w.shown, write: w.write, about: cmp.Or(w.about, w.key, w.purpose)}
	c.stops = w.op == "emails.send" || !w.write && !w.kept
	for _, other := range m.calls {
		if other.purpose == c.purpose {
			c.batch = other.batch
		}
	}
	c.Call = Call{ID: id, Op: w.op, Title: w.title, Phase: api.Queued, Attempt: 1, Began: m.now(), Foreground: w.foreground}
	m.calls[id] = c
	c.credential = m.renewal.count
	m.submit(c, w)
	return id
}

// submit has a call made.
func (m *Mail) submit(c *call, w want) {
	_, err := m.async.Submit(api.Job{
		ID: c.ID, Op: w.op, Group: w.group, Priority: w.priority, Key: w.key, Resources: w.resources, Write: w.write,
		Run: func(ctx context.Context, _ *api.Client) (any, error) { return w.run(ctx, m.client.Load()) },
		Done: func(f api.Final) {
			m.post(func() { m.finish(c, f, w) })
		},
	})
	if err != nil {
		m.post(func() { m.finish(c, api.Final{Call: c.ID, Op: w.op, Err: err}, w) })
	}
	m.changed()
}

// applyEvent notes the newest step of a call. With the lock held.
func (m *Mail) applyEvent(e api.Event) {
	c := m.calls[e.Call]
	if c == nil || c.ended {
		return
	}
	c.Phase, c.Cause, c.Status, c.Code, c.Bytes = e.Phase, e.Cause, e.Status, e.Code, e.Bytes
	if e.Attempt > 0 {
		c.Attempt = e.Attempt
	}
	if e.Limit > 0 {
		c.Limit = e.Limit
	}
	if e.RequestID != "" {
		c.Request = e.RequestID
	}
	c.Wait, c.Until = 0, time.Time{}
	if e.Phase == api.Waiting {
		c.Wait, c.Until = e.Wait, e.Until
		c.Attempt = e.Attempt + 1
		// A new array, since snapshots hold the old one.
		c.Tries = append(slices.Clip(c.Tries), Try{
			N: e.Attempt, EndedAt: e.At, Cause: e.Cause, Status: e.Status, Code: e.Code, Request: e.RequestID, Wait: e.Wait,
		})
	}
	m.changed()
}

// finish ends a call and applies its answer. With the lock held.
func (m *Mail) finish(c *call, f api.Final, w want) {
	if c.ended || m.renew(c, f, w) {
		return
	}
	c.ended = true
	delete(m.calls, c.ID)
	c.Ended = m.now()
	c.Wait, c.Until = 0, time.Time{}
	switch {
	case f.Err == nil:
		c.Phase = api.Done
		m.contact()
		m.removeNotices(func(n *notice) bool { return n.about == c.about && n.Kind == NoticeFailure && n.change == "" })
	case errors.Is(f.Err, context.Canceled):
		c.Phase, c.Stopped = api.Cancelled, c.stopped
		if c.stopped {
			f.Err = errors.Join(errStopped, f.Err)
		}
	default:
		c.Phase = api.GaveUp
		m.noteFailure(c, f.Err)
		c.CanRetry = c.retry != nil
	}
	var e *api.Error
	if errors.As(f.Err, &e) {
		c.Status, c.Code, c.Request = e.Status, e.Code, e.RequestID
	}
	if c.Phase == api.Cancelled {
		c.CanRetry = c.retry != nil
	}
	if f.Err != nil {
		m.failing = c.about
	}
	w.done(f)
	m.failing = ""
	if c.Phase == api.Cancelled && !c.stopped {
		m.changed() // let go of by the program itself: nothing to tell
		return
	}
	m.history = append(m.history, c)
	if n := len(m.history) - historyLimit; n > 0 {
		m.history = append([]*call(nil), m.history[n:]...)
	}
	m.changed()
}

// notSent reports that nothing of a call left this machine: what it was to do has not happened.
func notSent(f api.Final) bool {
	var n *api.NetworkError
	return f.Attempts == 0 || errors.As(f.Err, &n) && n.NotSent
}

// contact notes that the server answered: whatever waits for a connection goes now.
func (m *Mail) contact() {
	m.lastContact, m.renewal.asked = m.now(), false
	m.pokeOutbox()
	if !m.offline {
		return
	}
	was := m.cutOff()
	m.offline, m.offlineTries, m.nextTry = false, 0, time.Time{}
	if was {
		m.pokeChanges()
		m.nextPoll = m.now()
		m.refresh(false)
	}
}

// cutOff reports that there is no connection. After one answer was lost nobody knows: that is looked at soon.
func (m *Mail) cutOff() bool { return m.offline && !m.unsure }

// noteFailure draws what follows for all calls from the failure of one.
func (m *Mail) noteFailure(c *call, err error) {
	var n *api.NetworkError
	if errors.As(err, &n) {
		cutOff := n.NotSent || !c.write && m.lastContact.Before(c.Began) // a read that failed while nothing else went through
		m.offlineWhy = n.Cause
		switch {
		case !m.offline:
			m.offline, m.offlineTries, m.unsure = true, 0, !cutOff
			m.nextTry = m.now().Add(jitter(growing(15*time.Second, 15*time.Minute, 0)))
			if m.unsure && c.write {
				m.nextTry = m.now().Add(2 * time.Second)
			}
		case cutOff:
			m.unsure = false
		}
		return
	}
	var e *api.Error
	if errors.As(err, &e) {
		m.lastContact = m.now()
		if e.Status == 429 {
			wait := time.Minute
			if e.HasRetryAfter {
				wait = e.RetryAfter
			}
			if until := m.now().Add(wait); until.After(m.limitedUntil) {
				m.limitedUntil = until
			}
			m.dropFetches()
			if until := m.now().Add(e.RetryAfter); e.HasRetryAfter && until.After(m.askedUntil) {
				m.askedUntil = until
			}
		}
	}
}

// Activity lists the calls: those that run first, newest first within each part.
func (m *Mail) Activity() []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*call, 0, len(m.calls)+len(m.history))
	for _, c := range m.calls {
		list = append(list, c)
	}
	sort.Slice(list, func(i, j int) bool {
		if !list[i].Began.Equal(list[j].Began) {
			return list[i].Began.After(list[j].Began)
		}
		return list[i].ID > list[j].ID
	})
	for i := len(m.history) - 1; i >= 0; i-- {
		list = append(list, m.history[i])
	}
	line := func(c *call) string { return c.purpose + "/" + c.batch }
	type together struct {
		n    int
		many func(n int) string
	}
	lines := map[string]together{}
	for _, c := range list {
		l := lines[line(c)]
		l.n++
		if c.many != nil {
			l.many = c.many
		}
		lines[line(c)] = l
	}
	out := make([]Call, len(list))
	for i, c := range list {
		out[i] = c.Call
		out[i].Line, out[i].LineTitle = line(c), c.Title
		if l := lines[out[i].Line]; l.n > 1 && l.many != nil {
			out[i].LineTitle = l.many(l.n)
		}
	}
	return out
}

// Status is what the line of news is made from.
func (m *Mail) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Status{
		Offline: m.cutOff(), OfflineFor: m.offlineWhy, NextTry: m.nextTry, LimitedUntil: m.limitedUntil, AskedUntil: m.askedUntil,
		Owner: m.owner, Running: len(m.calls),
	}
	if l := m.lists[m.current]; l != nil {
		s.AsOf = l.asOf
	}
	for i := len(m.notices) - 1; i >= 0; i-- {
		n := m.notices[i]
		if n.Kind == NoticeFailure {
			s.Failures = append(s.Failures, n.Notice)
		} else {
			s.Results = append(s.Results, n.Notice)
		}
	}
	byPurpose := map[string][]*call{}
	for _, c := range m.calls {
		if c.Phase == api.Waiting {
			s.Waiting++
		}
		byPurpose[c.purpose] = append(byPurpose[c.purpose], c)
	}
	for _, group := range byPurpose {
		best := group[0]
		for _, c := range group[1:] {
			if moreImportant(c, best) {
				best = c
			}
		}
		line := best.Call
		line.Foreground = best.inFront()
		line.Stoppable = line.Foreground && best.stops
		if best.many != nil && len(group) > 1 {
			line.Title = best.many(len(group))
		}
		for _, c := range group {
			if c.Began.Before(line.Began) {
				line.Began = c.Began
			}
		}
		s.Calls = append(s.Calls, line)
	}
	sort.Slice(s.Calls, func(i, j int) bool {
		return moreImportant(&call{Call: s.Calls[i]}, &call{Call: s.Calls[j]})
	})
	for _, e := range m.outbox {
		if e.live() {
			s.Outbox++
		}
	}
	for _, c := range m.changes {
		if c.open() {
			s.Unsent++
		}
	}
	return s
}

// moreImportant orders calls for the status line: what a person asked for before what runs by itself, what waits
// before what runs, then the older one.
func moreImportant(a, b *call) bool {
	if fa, fb := a.inFront(), b.inFront(); fa != fb {
		return fa
	}
	if wa, wb := a.Phase == api.Waiting, b.Phase == api.Waiting; wa != wb {
		return wa
	}
	if !a.Began.Equal(b.Began) {
		return a.Began.Before(b.Began)
	}
	return a.ID < b.ID
}

// StopLine stops the calls of the line of [Status].Calls with that id, and reports whether esc may do that: what the person
// did already (a star, a label) goes to the server all the same, and is taken back by undoing it.
func (m *Mail) StopLine(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	best := m.calls[id]
	if best == nil || !best.stops || !best.inFront() {
		return false
	}
	for _, c := range m.calls { // its line may stand for several
		if c.purpose == best.purpose && c.stops {
			m.stopCall(c)
		}
	}
	m.addNotice(Notice{Kind: NoticeInfo, Text: "Stopped: " + lowerFirst(best.Title)})
	return true
}

// StopCall stops one call. A send that an attempt was made for becomes unknown, not cancelled.
func (m *Mail) StopCall(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.calls[id]; c != nil {
		m.stopCall(c)
		m.addNotice(Notice{Kind: NoticeInfo, Text: "Stopped: " + lowerFirst(c.Title)})
	}
}

// StopAll stops every call that runs.
func (m *Mail) StopAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, c := range m.calls {
		m.stopCall(c)
		n++
	}
	if n > 0 {
		m.addNotice(Notice{Kind: NoticeInfo, Text: "Stopped " + plural(n, "call", "calls")})
	}
}

func (m *Mail) stopCall(c *call) {
	c.stopped = true
	if !m.stopRenewal(c) {
		m.async.Cancel(c.ID)
	}
}

// errStopped marks the failure of a call that the person stopped.
var errStopped = errors.New("stopped")

// RetryCall does an ended call again, where that is safe.
func (m *Mail) RetryCall(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.history {
		if c.ID == id && c.CanRetry {
			c.CanRetry = false
			m.insist()
			c.retry()
			m.changed()
			return
		}
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
