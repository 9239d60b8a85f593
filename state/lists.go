package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
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

// threadRecord is what is known of one thread.
type threadRecord struct {
	row      Row // as the server has it
	filled   bool
	inFolder map[string]bool // system labels by role, when the server gives them
	thread   *api.Thread     // nil: not in memory
	event    *api.CalendarEvent
	eventFor int    // messages when the event was asked for
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
	m.changed()
}

// showList lays the person's changes over what the server said.
func (m *Mail) showList(l *list) []Row {
	ids := m.listedIDs(l, (*change).any)
	rows := make([]Row, len(ids))
	for i, id := range ids {
		rows[i] = m.showRow(id)
	}
	return rows
}

func (c *change) any() bool { return true }

// listedIDs is what the changes that which picks make of a list.
func (m *Mail) listedIDs(l *list, which func(*change) bool) []ThreadID {
	in := make(map[ThreadID]bool, len(l.ids))
	for _, id := range l.ids {
		in[id] = true
	}
	after := map[ThreadID]bool{} // what the changes make of it
	for _, c := range m.changes {
		if !c.counts(l.seq) || !which(c) {
			continue
		}
		was, seen := after[c.Thread]
		if !seen {
			was = in[c.Thread]
		}
		after[c.Thread] = m.membership(l.view, c, was)
	}
	ids := make([]ThreadID, 0, len(l.ids))
	for _, id := range l.ids {
		if stays, touched := after[id]; !touched || stays {
			ids = append(ids, id)
		}
	}
	for id, isIn := range after {
		if isIn && !in[id] {
			if r := m.rows[id]; r != nil && r.filled {
				ids = m.insertRow(ids, id)
			}
		}
	}
	return ids
}

// insertRow puts a row that came in by a change where its date puts it; the others stay in the order of the server.
func (m *Mail) insertRow(ids []ThreadID, id ThreadID) []ThreadID {
	date := m.rows[id].row.At
	at := slices.IndexFunc(ids, func(o ThreadID) bool {
		rec := m.rows[o]
		return rec != nil && rec.filled && (rec.row.At.Before(date) || rec.row.At.Equal(date) && o > id)
	})
	if at < 0 {
		at = len(ids)
	}
	return slices.Insert(ids, at, id)
}

// membership says whether a thread is in the view after c, when it was in it before or not.
func (m *Mail) membership(v View, c *change, was bool) bool {
	if v.Query != "" {
		return was && c.Change.Kind != ChangeDelete
	}
	if v.Label != "" {
		switch c.Change.Kind {
		case ChangeLabels:
			for _, l := range c.Change.Add {
				if l.ID == v.Label {
					return true
				}
			}
			for _, l := range c.Change.Remove {
				if l.ID == v.Label {
					return false
				}
			}
			return was
		case ChangeTrash, ChangeSpam, ChangeDelete, ChangeSnooze:
			return false
		}
		return was
	}
	role := roleOf(v.folder())
	switch c.Change.Kind {
	case ChangeArchive:
		switch role {
		case RoleInbox:
			return false
		case RoleArchive:
			return true
		}
	case ChangeInbox:
		switch role {
		case RoleInbox:
			return true
		case RoleArchive, RoleSpam:
			return false
		}
	case ChangeSpam:
		return role == RoleSpam
	case ChangeTrash:
		return role == RoleTrash
	case ChangeRestore:
		switch role {
		case RoleTrash:
			return false
		case RoleAll:
			return true
		}
		return was || c.Home == role
	case ChangeSnooze:
		return role == RoleSnoozed
	case ChangeUnsnooze:
		switch role {
		case RoleSnoozed:
			return false
		case RoleInbox:
			return true
		}
	case ChangeStar:
		if role == RoleStarred {
			return true
		}
	case ChangeUnstar:
		if role == RoleStarred {
			return false
		}
	case ChangeDelete:
		return false
	}
	return was
}

// showRow is the row of a thread with the person's changes.
func (m *Mail) showRow(id ThreadID) Row {
	rec := m.rows[id]
	if rec == nil {
		return Row{ID: id}
	}
	row := m.rowWith(id, rec, (*change).any)
	for _, c := range m.changes {
		row.Pending = row.Pending || c.Thread == id && c.open()
	}
	return row
}

// rowWith is a row with the changes that which picks.
func (m *Mail) rowWith(id ThreadID, rec *threadRecord, which func(*change) bool) Row {
	row := rec.row
	row.ID, row.Filled = id, rec.filled
	for _, c := range m.changes {
		if c.Thread == id && c.counts(rec.seq) && which(c) {
			c.Change.apply(&row)
		}
	}
	return row
}

func (c Change) apply(row *Row) {
	switch c.Kind {
	case ChangeRead:
		row.Unread = false
	case ChangeUnread:
		row.Unread = true
	case ChangeStar:
		row.Starred = true
	case ChangeUnstar:
		row.Starred = false
	case ChangeSnooze:
		row.SnoozedUntil = c.Until
	case ChangeUnsnooze:
		row.SnoozedUntil = time.Time{}
	case ChangeMute:
		row.Muted = true
	case ChangeUnmute:
		row.Muted = false
	case ChangeLabels:
		var labels []Label
		for _, l := range row.Labels {
			if !hasLabel(c.Remove, l.ID) && !hasLabel(c.Add, l.ID) {
				labels = append(labels, l)
			}
		}
		row.Labels = append(labels, c.Add...)
	}
}

func hasLabel(ls []Label, id string) bool {
	for _, l := range ls {
		if l.ID == id {
			return true
		}
	}
	return false
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
		key: "list/" + l.view.key(), resources: []string{"threads"},
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
	for i, id := range ids {
		rec := m.record(id)
		if old, ok := before[id]; l.known && (!ok || old != i) {
			rec.stale = true
		}
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
	if errors.As(err, &n) {
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
	if l.token == "" || l.more != "" || l.call != "" || m.closing || m.offline && m.now().Before(m.nextTry) || m.now().Before(m.limitedUntil) {
		return
	}
	token, title := l.token, "Loading more of "+m.viewTitle(l.view)
	p := m.listParams(l.view)
	p.PageToken = token
	l.more = m.start(want{
		op: "threads.list", title: title, purpose: "more " + l.view.key(), priority: api.Visible, foreground: true,
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
	} else if !errors.As(err, &n) {
		m.addNoticeRetry(Notice{Kind: NoticeFailure, Text: failureText(title, err)}, func() { m.loadMore(l) })
	}
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
	if l == nil || m.opts.Passive || m.closing || (m.offline && m.now().Before(m.nextTry)) || m.now().Before(m.limitedUntil) {
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
	seq := m.next()
	rec.stale, rec.priority, rec.problem = false, p, ""
	w := want{
		op: "threads.get", title: "Loading 1 thread", purpose: "rows", priority: p, foreground: person,
		many: func(n int) string { return fmt.Sprintf("Loading %d threads", n) },
		key:  "thread/" + string(id), resources: []string{"thread/" + string(id)},
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
	if !rec.row.Invite || rec.eventFor == rec.row.Messages || m.opts.Passive || m.closing {
		return
	}
	rec.eventFor = rec.row.Messages
	m.start(want{
		op: "threads.getEvent", title: "Loading the invitation", purpose: "event", priority: api.Visible,
		key: "event/" + string(id), resources: []string{"thread/" + string(id)},
		run: func(ctx context.Context, c *api.Client) (any, error) { return c.Threads.GetEvent(ctx, string(id)) },
		done: func(f api.Final) {
			switch {
			case f.Err == nil:
				rec.event = f.Value.(*api.CalendarEvent)
				rec.rev = m.next()
			case !errors.Is(f.Err, api.ErrNotFound):
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
	t := Thread{Row: m.showRow(id), Known: rec.thread != nil, Loading: rec.call != "", AsOf: rec.asOf, Problem: rec.problem, Rev: rec.rev}
	if rec.thread != nil {
		t.Messages, t.Event = rec.thread.Messages, rec.event
		rec.used = m.next()
	}
	return t
}

// rowOf makes the row of a thread and the roles of the folders that its labels name.
func (m *Mail) rowOf(id ThreadID, t *api.Thread) (Row, map[string]bool) {
	row := Row{ID: id, Filled: true, Messages: max(t.MessageCount, len(t.Messages)), Unread: t.HasUnread}
	if t.SnoozedUntil != nil {
		row.SnoozedUntil = *t.SnoozedUntil
	}
	if t.Muted != nil {
		row.Muted = *t.Muted
	} else if rec := m.rows[id]; rec != nil {
		row.Muted = rec.row.Muted // as it was muted here
	}
	in := map[string]bool{}
	for _, l := range t.Labels {
		if role := systemLabel(l); role != "" {
			in[role] = true
			continue
		}
		row.Labels = append(row.Labels, m.labelOf(l))
	}
	row.Starred = in[string(RoleStarred)]
	msgs := t.Messages
	if len(msgs) == 0 {
		return row, in
	}
	people := map[string]bool{}
	foreign := -1
	for i, msg := range msgs {
		from := strings.ToLower(msg.From.Email)
		if !m.isMe(from) {
			people[from] = true
			foreign = i
		}
		if msg.Unread {
			row.Unread = true
		}
		for _, a := range msg.Attachments {
			if isInvite(a) {
				row.Invite = true
			} else if !a.Inline {
				row.Attachment = true
			}
		}
	}
	newest := msgs[len(msgs)-1]
	row.At, row.Snippet = newest.ReceivedAt, newest.Snippet
	row.Subject = msgs[0].Subject
	if newest.Subject != "" && len(msgs) == 1 || row.Subject == "" {
		row.Subject = newest.Subject
	}
	switch {
	case foreign >= 0:
		f := msgs[foreign].From
		row.From = Address{Name: f.Name, Email: f.Email}
		row.Others = len(people) - 1
		row.Answered = foreign < len(msgs)-1
	case len(newest.To) > 0:
		row.From = Address{Name: newest.To[0].Name, Email: newest.To[0].Email}
		row.Others = len(newest.To) - 1
		row.Answered = false
	default:
		row.From = Address{Name: newest.From.Name, Email: newest.From.Email}
	}
	return row, in
}

func isInvite(a api.Attachment) bool {
	kind := strings.ToLower(a.ContentType)
	return strings.HasPrefix(kind, "text/calendar") || strings.HasPrefix(kind, "application/ics") || strings.HasSuffix(strings.ToLower(a.Filename), ".ics")
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

// cachedThread is how the cache keeps a conversation.
type cachedThread struct {
	Thread *api.Thread `json:"t"`
	Row    Row         `json:"r"`
	AsOf   time.Time   `json:"a"`
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // only own types come here; none of them can fail
		panic("state: " + err.Error())
	}
	return b
}
