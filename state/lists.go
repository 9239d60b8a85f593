package state

import (
	"context"
	"errors"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/api"
)

const (
	pageSize    = 50  // ids a list call asks for
	aheadRows   = 25  // rows beyond the screen that are fetched with low priority
	threadsKept = 200 // conversations kept in memory with their bodies
)

// list is one list of threads as the server gave it last; the person's own changes are laid over it when it is shown.
type list struct {
	view    View
	ids     []ThreadID
	token   string // of the next page; empty: that is all
	seq     uint64 // when the answer was asked for
	asOf    time.Time
	known   bool
	asked   bool // the cache was asked for it
	call    string
	more    string // the call that loads the next page
	again   bool   // something changed since the call began
	problem string

	shown *List // what List returned last; nil after a change
}

// folder is the folder that the view asks the server for.
func (v View) folder() string {
	if v.Folder == "" && v.Label == "" && v.Query == "" {
		return "inbox"
	}
	return v.Folder
}

func (v View) key() string { return v.folder() + "\x00" + v.Label + "\x00" + v.Query }

func (v View) canonical() View {
	v.Folder = v.folder()
	return v
}

// viewTitle is the view's name in a sentence: "inbox", "#work", "“budget”".
func (m *Mail) viewTitle(v View) string {
	switch {
	case v.Query != "":
		return quoted(v.Query)
	case v.Label != "":
		for _, l := range m.folders.labels {
			if l.ID == v.Label {
				return "#" + l.Name
			}
		}
		return "label"
	}
	return strings.ToLower(folderName(roleOf(v.folder()), v.folder()))
}

// List is a snapshot of the list that v names.
func (m *Mail) List(v View) List {
	m.mu.Lock()
	defer m.mu.Unlock()
	v = v.canonical()
	l := m.lists[v]
	if l == nil {
		return List{View: v}
	}
	if l.shown == nil {
		l.shown = &List{View: v, Rows: m.showList(l), Rev: m.next()}
	}
	s := *l.shown
	s.Known, s.Loading, s.More, s.AsOf, s.Problem = l.known, l.call != "" || l.more != "", l.token != "", l.asOf, l.problem
	return s
}

// listsChanged forgets what was shown: rows or changes are different now.
func (m *Mail) listsChanged() {
	for _, l := range m.lists {
		l.shown = nil
	}
	m.folders.view = nil
	m.changed()
}

// OpenView makes v the list that is looked at: what the cache has is shown at once and the server is asked.
func (m *Mail) OpenView(v View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v = v.canonical()
	if m.current != v {
		m.dropFetches()
	}
	m.current = v
	l := m.list(v)
	if !l.known && !l.asked {
		l.asked = true
		m.readListFromCache(l)
	}
	m.loadList(l, true)
	m.trimLists()
	m.changed()
}

func (m *Mail) list(v View) *list {
	l := m.lists[v]
	if l == nil {
		l = &list{view: v}
		m.lists[v] = l
	}
	return l
}

// trimLists forgets searches that nobody looks at.
func (m *Mail) trimLists() {
	n := 0
	for v, l := range m.lists {
		if v.Query == "" || v == m.current {
			continue
		}
		if n++; n > 20 && l.call == "" && l.more == "" {
			delete(m.lists, v)
			delete(m.visible, v)
		}
	}
}

// loadList asks for page one. person: somebody waits for it. With the lock held.
func (m *Mail) loadList(l *list, person bool) {
	if m.opts.Passive || m.closing {
		return
	}
	if l.call != "" {
		if c := m.calls[l.call]; c != nil && person && !c.Foreground {
			c.Foreground = true
			m.async.Reprioritize(l.call, api.Person)
		}
		return
	}
	if m.holdBack(person) {
		if !l.known {
			l.problem = "too many requests"
		}
		return
	}
	if why := m.caps["folder:"+l.view.folder()]; why != "" && roleOf(l.view.folder()) == RoleSnoozed {
		m.ownSnoozeList(l)
		return
	}
	seq := m.next()
	title := "Loading " + m.viewTitle(l.view)
	if l.view.Query != "" {
		title = "Searching " + m.viewTitle(l.view)
	}
	p := m.listParams(l.view)
	prio := api.Background
	if person {
		prio = api.Person
	} else {
		title = "Checking " + m.viewTitle(l.view)
	}
	l.call = m.start(want{
		op: "threads.list", title: title, purpose: "list " + l.view.key(), priority: prio, foreground: person,
		shown: func() bool { return m.current == l.view },
		key:   "list/" + l.view.key(), resources: []string{"threads"},
		retry: func() { m.loadList(l, true) },
		run:   func(ctx context.Context, c *api.Client) (any, error) { return c.Threads.List(ctx, p) },
		done:  func(f api.Final) { m.listArrived(l, seq, f, person) },
	})
}

func (m *Mail) listParams(v View) api.ThreadListParams {
	p := api.ThreadListParams{Folder: v.Folder, Query: v.Query, Limit: pageSize}
	if v.Label != "" {
		p.LabelIDs = []string{v.Label}
	}
	return p
}

func (m *Mail) listArrived(l *list, seq uint64, f api.Final, person bool) {
	l.call = ""
	again := l.again
	l.again = false
	if f.Err != nil {
		m.listFailed(l, f.Err, person)
		return
	}
	if again {
		defer m.loadList(l, false)
	}
	page := f.Value.(*api.Page[api.ThreadSummary])
	ids := make([]ThreadID, 0, len(page.Items))
	seen := map[ThreadID]bool{}
	for _, t := range page.Items {
		if id := ThreadID(t.ID); !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	before := map[ThreadID]int{}
	for i, id := range l.ids {
		before[id] = i
	}
	news := false
	for i, id := range ids {
		rec := m.record(id)
		if old, ok := before[id]; l.known && (!ok || old != i) {
			rec.stale, news = true, true
		}
	}
	if news || person {
		m.lookAfterSent()
	}
	first, last := m.visibleRange(l.view)
	for i, id := range ids {
		rec := m.record(id)
		rec.problem = ""
		if i >= first && i <= last {
			rec.stale = true
		}
	}
	token := ""
	if page.HasMore {
		token = page.Next
	}
	// What lies behind page one stays, as long as the old list and the new page meet.
	if l.known && token != "" && len(ids) > 0 {
		if at, ok := before[ids[len(ids)-1]]; ok && at+1 < len(l.ids) {
			for _, id := range l.ids[at+1:] {
				if !seen[id] {
					ids = append(ids, id)
				}
			}
			token = l.token
			if len(ids) == len(page.Items) {
				token = page.Next
			}
		}
	}
	l.ids, l.token, l.seq, l.asOf, l.known, l.problem = ids, token, seq, m.now(), true, ""
	m.pollTries = 0
	m.forgetSettled()
	m.listsChanged()
	m.writeListToCache(l)
	m.fetchRows()
}

func (m *Mail) listFailed(l *list, err error, person bool) {
	if errors.Is(err, context.Canceled) {
		return
	}
	var e *api.Error
	if errors.As(err, &e) && (e.Param == "folder" || e.Status == 404) && l.view.Folder != "" && l.view.Folder != "inbox" {
		m.caps["folder:"+l.view.folder()] = "this server has no such folder"
		if roleOf(l.view.folder()) == RoleSnoozed {
			m.ownSnoozeList(l)
			return
		}
	}
	l.problem = reason(err)
	m.pollTries++
	if !person {
		return
	}
	var n *api.NetworkError
	if errors.As(err, &n) && m.cutOff() {
		return // the line about the connection says it
	}
	title := "Loading " + m.viewTitle(l.view)
	if l.view.Query != "" {
		title = "Searching " + m.viewTitle(l.view)
	}
	m.addNoticeRetry(Notice{Kind: NoticeFailure, Text: failureText(title, err)}, func() { m.loadList(l, true) })
}

// LoadMore asks for the next page of v.
func (m *Mail) LoadMore(v View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.lists[v.canonical()]; l != nil {
		m.loadMore(l)
	}
}

func (m *Mail) loadMore(l *list) {
	// Screens ask again and again while the end is near: not without a connection, and not against the server's wish.
	if l.token == "" || l.more != "" || l.call != "" || m.closing || m.offline && m.now().Before(m.nextTry) || m.quiet() {
		return
	}
	token, title := l.token, "Loading more of "+m.viewTitle(l.view)
	p := m.listParams(l.view)
	p.PageToken = token
	l.more = m.start(want{
		op: "threads.list", title: title, purpose: "more " + l.view.key(), priority: api.Visible, foreground: true,
		shown:     func() bool { return m.current == l.view },
		resources: []string{"threads"},
		retry:     func() { m.loadMore(l) },
		run:       func(ctx context.Context, c *api.Client) (any, error) { return c.Threads.List(ctx, p) },
		done: func(f api.Final) {
			l.more = ""
			if f.Err != nil {
				m.moreFailed(l, title, f.Err)
				return
			}
			if l.token != token {
				return
			}
			page := f.Value.(*api.Page[api.ThreadSummary])
			have := map[ThreadID]bool{}
			for _, id := range l.ids {
				have[id] = true
			}
			for _, t := range page.Items {
				if id := ThreadID(t.ID); !have[id] {
					have[id] = true
					l.ids = append(l.ids, id)
					m.record(id)
				}
			}
			l.token = ""
			if page.HasMore && page.Next != token {
				l.token = page.Next
			}
			m.listsChanged()
			m.writeListToCache(l)
			m.fetchRows()
		},
	})
}

// moreFailed keeps the next page from being asked for by itself until page one is here again.
func (m *Mail) moreFailed(l *list, title string, err error) {
	var n *api.NetworkError
	if errors.Is(err, context.Canceled) && !errors.Is(err, errStopped) {
		return
	}
	l.problem = reason(err)
	if errors.Is(err, errStopped) {
		l.problem = "stopped"
	} else if !errors.As(err, &n) || !m.cutOff() {
		m.addNoticeRetry(Notice{Kind: NoticeFailure, Text: failureText(title, err)}, func() { m.loadMore(l) })
	}
}

// ownSnoozeList fills the list of snoozed threads from what was snoozed here, for a server that has no such list.
func (m *Mail) ownSnoozeList(l *list) {
	l.known, l.problem, l.asOf = true, "", m.now()
	l.ids, l.token = nil, ""
	for _, s := range m.ownSnoozes() {
		l.ids = append(l.ids, s)
		m.record(s)
	}
	m.listsChanged()
}
