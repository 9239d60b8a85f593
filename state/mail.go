package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// Options say which mailbox a [Mail] is for and how it behaves. Client, StateDir and CacheDir are needed.
type Options struct {
	Client *api.Client // of this account; its Observer belongs to the caller

	// StateDir holds state.db, the lock and files for the editor; CacheDir holds cache.db, which may be deleted
	// at any time. Both are of this account alone and are made with mode 0700.
	StateDir, CacheDir string

	// Origin names the base URL, the kind of credential and its mode, never the credential. When it changes,
	// an entry of the outbox whose fate is unknown is asked about instead of being sent again.
	Origin string

	From        []Address     // configured own addresses, best first; the server's own come after them
	Signature   string        // stands under new messages, below the line "-- "; empty for none
	Undo        time.Duration // how long a send can be taken back; zero: 10 s, negative: not at all
	DownloadDir string        // only shown; SaveFiles is told where

	// Renew asks for the credential again after the server refused it (401), and gives a client with it and its Origin; without a
	// client there is no other one. It may block until ctx ends. nil: nobody can be asked.
	Renew func(ctx context.Context) (client *api.Client, origin string, err error)

	// Poke receives a value when an embedded server has news. With it nothing is polled.
	Poke <-chan struct{}
	// OnOwner hears whether this process is the one that sends, syncs and runs schedules. May be nil.
	OnOwner func(owner bool)
	// Passive keeps from loading lists: for the command line, which only writes or looks at the outbox.
	Passive bool
	// Watch keeps from becoming the owner: nothing is sent because somebody looks at the outbox or changes an entry.
	Watch bool

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: none

	gate func() error // see store
}

// Mail is the state of one mailbox. Make it with [Open], end it with [Mail.Close].
type Mail struct {
	opts   Options
	now    func() time.Time
	log    *slog.Logger
	async  *api.Async
	client atomic.Pointer[api.Client] // the one with the newest credential
	state  *store
	cache  *store
	box    *eventBox
	lock   *processLock
	claim  *claim

	updates chan struct{}
	stop    chan struct{} // closed by Close: the loop ends
	ended   chan struct{} // closed by the loop

	mu      sync.Mutex // guards all below; never held over a wait
	closing bool
	rev     uint64
	seq     uint64 // counts events whose order matters: answers asked for, changes settled

	calls    map[string]*call
	history  []*call // ended calls, oldest first
	notices  []*notice
	noticeID uint64
	failing  string // what the call was about whose failure is being told

	folders   folderState
	lists     map[View]*list
	rows      map[ThreadID]*threadRecord
	fetching  map[ThreadID]*threadRecord // of rows: those with a call
	current   View
	visible   map[View][2]int
	openID    ThreadID
	changes   []*change // in the order of the person, settled ones kept while an older answer may come
	changeSeq int64
	undo      []undoStep

	outbox    []*entry
	drafts    map[DraftID]*draftRecord
	draftIx   draftIndex
	recovered []DraftID
	snoozes   map[ThreadID]time.Time // own snoozes
	people    peopleState
	renewal   renewal
	caps      map[string]string // what the server was found to lack, and why
	opened    []string

	owner        bool
	offline      bool // the last call that ended found no connection, or its answer was lost
	unsure       bool // only the latter, and others may go through: see cutOff
	offlineWhy   string
	offlineTries int
	nextTry      time.Time
	limitedUntil time.Time // after a 429 nothing is asked by itself until then
	askedUntil   time.Time // and nothing is looked up for the person either: the server named the time
	owed         bool      // something was not asked because of that
	lastContact  time.Time
	focused      bool
	lastKey      time.Time
	nextPoll     time.Time
	pollTries    int
	nextLock     time.Time
	nextLook     time.Time // at what other processes wrote
	dataVersion  int64
	removals     uint64 // rows of state.db that this process removed
	again        []later
	lastTick     time.Time
	attached     <-chan struct{} // the file that was attached last is read
	cacheStale   []ThreadID      // settled changes of them are not in the cache yet
}

// Open opens the files of one mailbox and starts its work. What the cache knows is ready when it returns; the
// server is asked afterwards. It blocks on the disk only. Errors say which file is at fault.
func Open(ctx context.Context, o Options) (*Mail, error) {
	if o.Client == nil {
		return nil, errors.New("there is no client")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Undo == 0 {
		o.Undo = 10 * time.Second
	}
	for _, dir := range []string{o.StateDir, o.CacheDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make the folder %s: %w", dir, err)
		}
	}
	m := &Mail{
		opts: o, log: o.Log,
		now:     func() time.Time { return o.Now().Round(0) }, // wall time: a computer that sleeps stops the other
		box:     newEventBox(),
		updates: make(chan struct{}, 1),
		stop:    make(chan struct{}), ended: make(chan struct{}),
		calls: map[string]*call{},
		lists: map[View]*list{},
		rows:  map[ThreadID]*threadRecord{}, fetching: map[ThreadID]*threadRecord{},
		visible: map[View][2]int{},
		drafts:  map[DraftID]*draftRecord{},
		caps:    map[string]string{},
		snoozes: map[ThreadID]time.Time{},
		focused: true,
	}
	m.current = View{Folder: "inbox"}
	m.lastKey = m.now()
	m.lastTick = m.now()
	var err error
	if m.state, err = openStore(filepath.Join(o.StateDir, "state.db"), true, stateMigrations, o.gate); err != nil {
		return nil, stateFileError(err, o.StateDir)
	}
	if m.cache, err = openCache(filepath.Join(o.CacheDir, "cache.db")); err != nil {
		return nil, errors.Join(err, m.state.close(ctx))
	}
	// The lock first: what is read then is what the owner before left.
	m.lock = newProcessLock(filepath.Join(o.StateDir, "owner.lock"))
	m.claim = newClaim(o.StateDir)
	locked := m.getLock()
	if err := m.load(ctx); err != nil {
		return nil, errors.Join(stateFileError(err, o.StateDir), m.state.close(ctx), m.cache.close(ctx), m.lock.release())
	}
	m.client.Store(o.Client)
	m.async = api.NewAsync(o.Client, api.AsyncOptions{Observer: m.box.event})
	m.mu.Lock()
	if locked {
		m.becomeOwner()
	}
	m.begin()
	m.mu.Unlock()
	go m.loop()
	return m, nil
}

// stateFileError adds the way out to an error of state.db: it must never be deleted lightly, it may hold unsent mail.
func stateFileError(err error, dir string) error {
	return fmt.Errorf("%w\nThe file holds unsent messages and drafts. Look at the space and the rights on the disk; "+
		"if it is damaged, move the folder %s aside (keep it) and start again", err, dir)
}

// openCache opens the cache, and starts it anew when it cannot be read: it holds nothing that the server has not.
func openCache(path string) (*store, error) {
	s, err := openStore(path, false, cacheMigrations, nil)
	if err == nil {
		return s, nil
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if rmErr := os.Remove(path + suffix); rmErr != nil && !errors.Is(rmErr, os.ErrNotExist) {
			return nil, errors.Join(err, rmErr)
		}
	}
	return openStore(path, false, cacheMigrations, nil)
}

// Updates receives a value after anything changed; at most one is waiting. It is closed when the mailbox is.
func (m *Mail) Updates() <-chan struct{} { return m.updates }

// Now is the time by the clock that the mailbox goes by.
func (m *Mail) Now() time.Time { return m.now() }

// changed tells the screens. Called with the lock held.
func (m *Mail) changed() {
	m.rev++
	if m.closing {
		return
	}
	select {
	case m.updates <- struct{}{}:
	default:
	}
}

// next counts one event whose order matters.
func (m *Mail) next() uint64 {
	m.seq++
	return m.seq
}

// loop is the one goroutine that applies what happened elsewhere: events of calls, finished writes, timers.
func (m *Mail) loop() {
	defer close(m.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-m.stop:
			m.drain()
			return
		case <-m.box.ready:
			m.drain()
		case <-timer.C:
		case <-m.opts.Poke:
			m.mu.Lock()
			m.news()
			m.mu.Unlock()
		}
		m.mu.Lock()
		wake := m.tick()
		m.mu.Unlock()
		timer.Reset(wake)
	}
}

// drain applies everything that waits in the box.
func (m *Mail) drain() {
	for {
		events, funcs := m.box.take()
		if len(events) == 0 && len(funcs) == 0 {
			return
		}
		m.mu.Lock()
		for _, e := range events {
			m.applyEvent(e)
		}
		for _, f := range funcs {
			f()
		}
		m.mu.Unlock()
	}
}

// post has f run by the loop with the lock held.
func (m *Mail) post(f func()) { m.box.post(f) }

// tick does what is due and says how long the loop may sleep. While anything is due by the clock it never sleeps
// longer than 30 s, because a laptop that slept has timers that are late.
func (m *Mail) tick() time.Duration {
	if m.closing {
		return time.Minute
	}
	now := m.now()
	if by := m.lastTick.Sub(now); by > time.Second { // this is called every lookEvery, so it is off by no more
		m.clockWentBack(by)
	}
	m.lastTick = now
	m.tickLater(now)
	m.tickLock(now)
	m.tickNotices(now)
	m.tickSync(now)
	m.tickDrafts(now)
	m.pumpChanges(now)
	m.pumpOutbox(now)
	m.fetchRows()
	m.tickCache()
	wake := now.Add(30 * time.Second)
	for _, at := range []time.Time{
		m.nextLock, m.nextLook, m.dueNotice(), m.dueSync(), m.dueDraft(), m.dueChange(), m.dueOutbox(), m.dueLater(),
	} {
		if !at.IsZero() && at.Before(wake) {
			wake = at
		}
	}
	return max(wake.Sub(now), time.Millisecond)
}

// Close takes no new work, cancels the calls that run, lets their last events change the state, writes everything and
// closes the files. A send that is cancelled so is unknown, and is settled at the next start. It blocks until that is
// done or ctx ends; a second call returns at once.
func (m *Mail) Close(ctx context.Context) error {
	m.mu.Lock()
	if m.closing {
		m.mu.Unlock()
		return nil
	}
	m.flushDrafts()
	m.tickCache()
	for _, l := range m.again { // a last try
		l.do()
	}
	m.again, m.closing = nil, true
	asked := m.renewal
	m.mu.Unlock()
	asyncErr := m.async.Close(ctx)
	if asked.done != nil {
		asked.stop()
		<-asked.done
	}
	close(m.stop)
	<-m.ended
	m.drain()
	err := errors.Join(asyncErr, m.state.close(ctx), m.cache.close(ctx), m.claim.release(), m.lock.release())
	close(m.updates)
	return err
}

// later is something to do again, because the disk refused it.
type later struct {
	at time.Time
	do func()
}

// afterAWhile has do run by the loop in two seconds, and before the mailbox closes. With the lock held.
func (m *Mail) afterAWhile(do func()) {
	m.again = append(m.again, later{m.now().Add(2 * time.Second), do})
}

func (m *Mail) tickLater(now time.Time) {
	all := m.again
	m.again = nil
	for _, l := range all {
		if now.Before(l.at) {
			m.again = append(m.again, l)
			continue
		}
		l.do()
	}
}

func (m *Mail) dueLater() time.Time {
	var due time.Time
	for _, l := range m.again {
		due = sooner(due, l.at)
	}
	return due
}

// clockWentBack moves everything that is to come, and what is counted from, by as much as somebody set the clock back:
// else what is due in a second would wait for as long.
func (m *Mail) clockWentBack(by time.Duration) {
	back := func(times ...*time.Time) {
		for _, t := range times {
			if !t.IsZero() {
				*t = t.Add(-by)
			}
		}
	}
	back(&m.nextTry, &m.limitedUntil, &m.askedUntil, &m.lastContact, &m.lastKey, &m.nextPoll, &m.nextLock, &m.nextLook, &m.draftIx.wantedAt, &m.folders.colorsNext)
	for i := range m.again {
		back(&m.again[i].at)
	}
	for _, n := range m.notices {
		back(&n.until)
	}
	for _, rec := range m.drafts {
		back(&rec.diskAt, &rec.serverAt)
	}
	for _, c := range m.changes {
		back(&c.NextAt)
		c.clockWentBack(by)
	}
	for _, c := range m.calls {
		back(&c.Began, &c.Until)
	}
	for _, rec := range m.rows {
		back(&rec.asOf)
	}
	for _, e := range m.outbox {
		back(&e.followAt)
		e.clockWentBack(by)
	}
}

// clockWentBack is the same for what a change has on the disk.
func (c *change) clockWentBack(by time.Duration) {
	if !c.AskedUntil.IsZero() {
		c.AskedAt, c.AskedUntil = c.AskedAt.Add(-by), c.AskedUntil.Add(-by)
	}
}

// clockWentBack is the same for what an entry has on the disk.
func (e *entry) clockWentBack(by time.Duration) {
	for _, t := range []*time.Time{&e.FirstAttempt, &e.LastTry, &e.NextAt, &e.AskedUntil, &e.SettledAt} {
		if !t.IsZero() {
			*t = t.Add(-by)
		}
	}
}

// jitter spreads d by a fifth either way, so that many programs do not ask at the same moment.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64())) // not a secret
}

// growing is the pause before try n+1 of work that goes on by itself: first, doubled each time, at most limit.
func growing(first, limit time.Duration, n int) time.Duration {
	d := first
	for range min(n, 30) {
		d *= 2
		if d >= limit {
			return limit
		}
	}
	return d
}

// eventBox collects what other goroutines report until the loop takes it: progress keeps the latest of each call.
// Its lock is never held while anything else is called, so reporting never waits.
type eventBox struct {
	mu     sync.Mutex
	latest map[string]int // call id to its place in events
	events []api.Event
	funcs  []func()
	ready  chan struct{}
}

func newEventBox() *eventBox {
	return &eventBox{latest: map[string]int{}, ready: make(chan struct{}, 1)}
}

func (b *eventBox) signal() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *eventBox) event(e api.Event) {
	b.mu.Lock()
	if i, ok := b.latest[e.Call]; ok {
		b.events[i] = e
	} else {
		b.latest[e.Call] = len(b.events)
		b.events = append(b.events, e)
	}
	b.mu.Unlock()
	b.signal()
}

func (b *eventBox) post(f func()) {
	b.mu.Lock()
	b.funcs = append(b.funcs, f)
	b.mu.Unlock()
	b.signal()
}

func (b *eventBox) take() ([]api.Event, []func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, f := b.events, b.funcs
	b.events, b.funcs, b.latest = nil, nil, map[string]int{}
	return e, f
}
