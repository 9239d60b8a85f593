package state

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// threadRecord is what is known of one thread.
type threadRecord struct {
	row      Row // as the server has it
	filled   bool
	inFolder map[string]bool // system labels by role, when the server gives them
	thread   *api.Thread     // nil: not in memory
	event    *api.CalendarEvent
	eventFor int    // messages when the event was asked for
	eventSeq uint64 // when the event was asked for, or answered
	noEvent  bool   // the server has none
	seq      uint64 // when the newest answer was asked for
	asOf     time.Time
	stale    bool
	call     string // the fetch that runs
	again    bool   // something changed since it began
	priority api.Priority
	cached   bool // the cache was asked for the bodies, or has none
	used     uint64
	problem  string
	rev      uint64
}

// SetVisible says which rows of v are on the screen: they are fetched first, the page behind them next.
func (m *Mail) SetVisible(v View, first, last int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v = v.canonical()
	if m.visible[v] == [2]int{first, last} {
		return
	}
	m.visible[v] = [2]int{first, last}
	m.fetchRows()
}

func (m *Mail) visibleRange(v View) (first, last int) {
	r, ok := m.visible[v]
	if !ok {
		return 0, aheadRows - 1
	}
	return r[0], r[1]
}

func (m *Mail) record(id ThreadID) *threadRecord {
	rec := m.rows[id]
	if rec == nil {
		rec = &threadRecord{}
		m.rows[id] = rec
	}
	return rec
}

// fetchRows asks for the rows that are on the screen and not known or stale, then for the page ahead, and lets go of
// what was scrolled past and has not begun. With the lock held.
func (m *Mail) fetchRows() {
	l := m.lists[m.current]
	if l == nil || m.opts.Passive || m.closing || (m.offline && m.now().Before(m.nextTry)) || m.quiet() {
		return
	}
	first, last := m.visibleRange(m.current)
	shown := l.shown
	if shown == nil {
		shown = &List{View: l.view, Rows: m.showList(l), Rev: m.next()}
		l.shown = shown
	}
	wanted := map[ThreadID]api.Priority{}
	for i := max(first, 0); i < len(shown.Rows) && i <= last+aheadRows; i++ {
		p := api.Visible
		if i > last {
			p = api.Background
		}
		wanted[shown.Rows[i].ID] = p
	}
	for id, rec := range m.fetching {
		if _, ok := wanted[id]; !ok && id != m.openID {
			if c := m.calls[rec.call]; c != nil && c.Phase == api.Queued && !c.Foreground {
				m.async.Cancel(rec.call)
			}
		}
	}
	for i := max(first, 0); i < len(shown.Rows) && i <= last+aheadRows; i++ {
		id := shown.Rows[i].ID
		rec := m.record(id)
		if rec.filled && !(rec.stale && i <= last) {
			continue
		}
		if rec.problem != "" {
			continue
		}
		if rec.call != "" {
			if p := wanted[id]; p != rec.priority {
				rec.priority = p
				m.async.Reprioritize(rec.call, p)
			}
			continue
		}
		m.fetchThread(id, wanted[id], false)
	}
}

// dropFetches lets go of row fetches that have not begun.
func (m *Mail) dropFetches() {
	for _, rec := range m.fetching {
		if c := m.calls[rec.call]; c != nil && c.Phase == api.Queued && !c.Foreground {
			m.async.Cancel(rec.call)
		}
	}
}

// fetchThread asks for one thread. With the lock held.
func (m *Mail) fetchThread(id ThreadID, p api.Priority, person bool) {
	rec := m.record(id)
	if m.now().Before(m.askedUntil) && m.holdBack(person) {
		rec.problem, rec.rev = "too many requests", m.next()
		return
	}
	seq := m.next()
	rec.stale, rec.priority, rec.problem = false, p, ""
	w := want{
		op: "threads.get", title: "Loading 1 thread", purpose: "rows", priority: p, foreground: person,
		shown: func() bool { return m.openID == id }, // only opening it makes it the person's
		many:  func(n int) string { return fmt.Sprintf("Loading %d threads", n) },
		key:   "thread/" + string(id), resources: []string{"thread/" + string(id)},
		retry: func() { m.fetchThread(id, api.Person, true) },
		run:   func(ctx context.Context, c *api.Client) (any, error) { return c.Threads.Get(ctx, string(id)) },
	}
	if rec.filled && rec.row.Subject != "" {
		w.title = "Checking " + quoted(rec.row.Subject)
	}
	if person {
		w.title, w.purpose, w.many = "Loading conversation", "thread", nil
	}
	w.done = func(f api.Final) {
		rec.call = ""
		delete(m.fetching, id)
		again := rec.again
		rec.again = false
		if f.Err != nil {
			m.threadFailed(id, rec, f.Err, person)
			return
		}
		if again && id == m.openID {
			defer m.fetchThread(id, api.Visible, false)
		}
		m.threadArrived(id, rec, f.Value.(*api.Thread), seq)
	}
	rec.call = m.start(w)
	m.fetching[id] = rec
}

func (m *Mail) threadFailed(id ThreadID, rec *threadRecord, err error, person bool) {
	var n *api.NetworkError
	if errors.Is(err, context.Canceled) {
		rec.stale = rec.filled
		if errors.Is(err, errStopped) {
			rec.problem = "stopped"
			rec.rev = m.next()
			m.listsChanged()
		}
		return
	}
	if !errors.As(err, &n) {
		rec.problem = reason(err)
	} else {
		rec.stale = true
	}
	if errors.Is(err, api.ErrNotFound) {
		// It is gone: take it out of the lists until the server says otherwise.
		for _, l := range m.lists {
			for i, have := range l.ids {
				if have == id {
					l.ids = append(append([]ThreadID(nil), l.ids[:i]...), l.ids[i+1:]...)
					break
				}
			}
		}
	}
	rec.rev = m.next()
	m.listsChanged()
	if person && n == nil {
		m.addNoticeRetry(Notice{Kind: NoticeFailure, Text: failureText("Loading conversation", err), Thread: id},
			func() { m.fetchThread(id, api.Person, true) })
	}
	if person && n != nil {
		rec.problem = reason(err)
	}
}

func (m *Mail) threadArrived(id ThreadID, rec *threadRecord, t *api.Thread, seq uint64) {
	if seq < rec.seq {
		return // a newer answer was here first
	}
	rec.thread, rec.seq, rec.asOf, rec.filled, rec.problem, rec.cached = t, seq, m.now(), true, "", true
	rec.row, rec.inFolder = m.rowOf(id, t)
	m.folders.tellsInbox = m.folders.tellsInbox || rec.inFolder[string(RoleInbox)]
	rec.used, rec.rev = seq, seq
	m.learnPeople(t)
	m.trimThreads()
	if id == m.openID {
		m.loadEvent(id, rec)
	}
	m.forgetSettled()
	m.listsChanged()
	m.writeThreadToCache(id, t, rec)
}

// trimThreads lets go of the bodies of the conversations that were not looked at for longest.
func (m *Mail) trimThreads() {
	var held []*threadRecord
	for id, rec := range m.rows {
		if rec.thread != nil && id != m.openID {
			held = append(held, rec)
		}
	}
	if len(held) <= threadsKept+50 {
		return
	}
	sort.Slice(held, func(i, j int) bool { return held[i].used < held[j].used })
	for _, rec := range held[:len(held)-threadsKept] {
		rec.thread, rec.cached = nil, false
	}
}

// OpenThread makes id the conversation that is read: what is known is shown at once, and checked behind it.
func (m *Mail) OpenThread(id ThreadID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.openID = id
	rec := m.record(id)
	rec.used = m.next()
	if rec.thread == nil && !rec.cached {
		rec.cached = true
		m.readThreadFromCache(id, rec)
	}
	if m.opts.Passive || m.closing {
		return
	}
	switch {
	case rec.call != "":
		if c := m.calls[rec.call]; c != nil && rec.thread == nil {
			c.Foreground, c.Title, c.purpose, c.many = true, "Loading conversation", "thread", nil
		}
		m.async.Reprioritize(rec.call, api.Person)
	case rec.thread == nil:
		m.fetchThread(id, api.Person, true)
	case m.now().Sub(rec.asOf) > 10*time.Second:
		m.fetchThread(id, api.Visible, false)
	}
	if rec.thread != nil {
		m.loadEvent(id, rec)
	}
	m.changed()
}

// loadEvent asks for the invitation of an open conversation, once for each state of it.
func (m *Mail) loadEvent(id ThreadID, rec *threadRecord) {
	if !rec.row.Invite || rec.eventFor == rec.row.Messages || m.opts.Passive || m.closing || m.quiet() {
		return
	}
	rec.eventFor = rec.row.Messages
	seq := m.next()
	m.start(want{
		op: "threads.getEvent", title: "Loading the invitation", purpose: "event", priority: api.Visible,
		key: "event/" + string(id), resources: []string{"thread/" + string(id)},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Threads.GetEvent(ctx, string(id)) },
		done: func(f api.Final) {
			rec.noEvent = errors.Is(f.Err, api.ErrNotFound)
			switch {
			case f.Err == nil:
				m.eventArrived(id, rec, f.Value.(*api.CalendarEvent), seq)
			case !rec.noEvent:
				rec.eventFor = 0 // asked again when the conversation is opened again
			}
		},
	})
}

// Thread is a snapshot of a conversation.
func (m *Mail) Thread(id ThreadID) Thread {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.rows[id]
	if rec == nil {
		return Thread{Row: Row{ID: id}}
	}
	t := Thread{Row: m.showRow(id, m.changesOf(id)), Known: rec.thread != nil, Loading: rec.call != "", AsOf: rec.asOf, Problem: rec.problem, Rev: rec.rev}
	if rec.thread != nil {
		t.Messages, t.Event, t.NoEvent, t.Answer = rec.thread.Messages, rec.event, rec.noEvent, m.answer(id, rec)
		rec.used = m.next()
	}
	return t
}
