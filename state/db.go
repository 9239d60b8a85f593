package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"

	"codeberg.org/teapost/teapost/api"
)

// stateMigrations make the tables of state.db. One that was released is never changed: a new one follows it.
var stateMigrations = []string{`
CREATE TABLE outbox (id TEXT PRIMARY KEY, rev INTEGER NOT NULL, doc BLOB NOT NULL, body BLOB NOT NULL) STRICT;
CREATE TABLE change (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, rev INTEGER NOT NULL, doc BLOB NOT NULL) STRICT;
CREATE TABLE draft (id TEXT PRIMARY KEY, rev INTEGER NOT NULL, doc BLOB NOT NULL) STRICT;
CREATE TABLE file (id TEXT PRIMARY KEY, draft TEXT NOT NULL, bytes BLOB NOT NULL) STRICT;
CREATE INDEX file_draft ON file(draft);
CREATE TABLE snooze (thread TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT;
`, `
CREATE TABLE refused (change TEXT PRIMARY KEY, at INTEGER NOT NULL, text TEXT NOT NULL) STRICT;
`}

// cacheMigrations make the tables of cache.db.
var cacheMigrations = []string{`
CREATE TABLE thread (id TEXT PRIMARY KEY, doc BLOB NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE TABLE row (id TEXT PRIMARY KEY, doc BLOB NOT NULL) STRICT;
CREATE TABLE list (view TEXT PRIMARY KEY, doc BLOB NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE TABLE value (name TEXT PRIMARY KEY, doc BLOB NOT NULL) STRICT;
`}

func newID() string { return uuid.NewString() }

// sharedTables are the tables that several processes write to.
type sharedTables struct {
	entries []*entry
	changes []*change
	drafts  []*draftDoc
	snoozes map[ThreadID]time.Time
	refused map[string]string // what is to be told of changes that the server refused, by their ids
}

func readShared(db *sql.DB) (sharedTables, error) {
	t := sharedTables{snoozes: map[ThreadID]time.Time{}, refused: map[string]string{}}
	err := eachDoc(db, "SELECT doc FROM outbox", func(doc []byte) error {
		e, err := decodeEntry(doc)
		t.entries = append(t.entries, e)
		return err
	})
	if err != nil {
		return t, err
	}
	err = eachDoc(db, "SELECT doc FROM change ORDER BY seq", func(doc []byte) error {
		c, err := decodeChange(doc)
		t.changes = append(t.changes, c)
		return err
	})
	if err != nil {
		return t, err
	}
	err = eachDoc(db, "SELECT doc FROM draft", func(doc []byte) error {
		d, err := decodeDraft(doc)
		t.drafts = append(t.drafts, d)
		return err
	})
	if err != nil {
		return t, err
	}
	if err := readRefused(db, t.refused); err != nil {
		return t, err
	}
	rows, err := db.Query("SELECT thread, until FROM snooze")
	if err != nil {
		return t, err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells what matters
	for rows.Next() {
		var id string
		var until int64
		if err := rows.Scan(&id, &until); err != nil {
			return t, err
		}
		t.snoozes[ThreadID(id)] = time.UnixMilli(until)
	}
	return t, rows.Err()
}

// querier is the file, or a transaction on it.
type querier interface {
	Query(query string, args ...any) (*sql.Rows, error)
}

// eachDoc gives f the first column of every row, and ends with the first error.
func eachDoc(q querier, query string, f func([]byte) error) error {
	rows, err := q.Query(query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells what matters
	for rows.Next() {
		var doc []byte
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		if err := f(doc); err != nil {
			return err
		}
	}
	return rows.Err()
}

// await runs a read on the writer goroutine and waits for it: only while the mailbox is opened.
func (s *store) await(ctx context.Context, fn func(*sql.DB) error) error {
	done := make(chan error, 1)
	s.read(fn, func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// load reads everything that the first screen and the outbox need. It runs before any other goroutine looks.
func (m *Mail) load(ctx context.Context) error {
	var shared sharedTables
	if err := m.state.await(ctx, func(db *sql.DB) (err error) {
		// The version first: what is written after it is seen by the next look.
		if err := db.QueryRow("PRAGMA data_version").Scan(&m.dataVersion); err != nil {
			return err
		}
		shared, err = readShared(db)
		return err
	}); err != nil {
		return fmt.Errorf("%s: %w", m.state.path, err)
	}
	m.outbox, m.changes, m.snoozes = shared.entries, shared.changes, shared.snoozes
	sort.SliceStable(m.outbox, func(i, j int) bool { return m.outbox[i].CreatedAt.Before(m.outbox[j].CreatedAt) })
	for _, c := range m.changes {
		m.changeSeq = max(m.changeSeq, c.Seq)
	}
	for _, d := range shared.drafts {
		rec := &draftRecord{draftDoc: *d, known: true, stored: true, status: DraftStatus{State: d.saveState(), At: d.Draft.UpdatedAt}}
		rec.disk.Store(d.Rev)
		m.drafts[d.Draft.ID] = rec
	}
	return m.cache.await(ctx, m.loadCache)
}

// mergeShared takes over what other processes wrote. A row that this process has newer stays.
func (m *Mail) mergeShared(t sharedTables) {
	stored := map[EntryID]bool{}
	for _, e := range t.entries {
		stored[e.ID] = true
		if have := m.entry(e.ID); have != nil {
			m.mergeEntry(have, e)
		} else {
			m.outbox = append(m.outbox, e)
		}
	}
	m.outbox = slices.DeleteFunc(slices.Clone(m.outbox), func(e *entry) bool {
		return !stored[e.ID] && !e.busy() && !e.unsaved && e.saving == 0
	})
	if m.owner {
		m.adoptSending()
	}

	there := map[string]bool{}
	here := map[string]*change{}
	for _, c := range m.changes {
		here[c.ID] = c
	}
	for _, c := range t.changes {
		there[c.ID] = true
		have := here[c.ID]
		if have == nil {
			m.changes = append(m.changes, c)
			continue
		}
		if c.Rev > have.Rev && have.call == "" {
			was := have.State
			have.State, have.NextAt, have.AskedAt, have.AskedUntil, have.Tries, have.Attempted, have.Rev = c.State, c.NextAt, c.AskedAt, c.AskedUntil, c.Tries, c.Attempted, c.Rev
			m.mergeQuestion(have, was)
		}
	}
	for _, c := range m.changes {
		if c.open() && !there[c.ID] && c.State != changeSaving && c.call == "" {
			m.endedElsewhere(c, t.refused[c.ID])
		}
	}
	sort.SliceStable(m.changes, func(i, j int) bool { return m.changes[i].Seq < m.changes[j].Seq })
	m.mergeDrafts(t.drafts)
	m.snoozes = t.snoozes
	m.listsChanged()
}

// mergeEntry takes over what another process wrote of an entry.
func (m *Mail) mergeEntry(have, e *entry) {
	if have.saving > 0 { // the write that is on its way decides, and when it fails there is another look
		return
	}
	have.taken = false
	switch {
	case e.Rev == *have.disk:
	case have.busy(): // the one thing that can be wished of a message that is being sent
		have.CancelWanted = e.CancelWanted
		*have.disk = e.Rev
	default:
		run, was, wanted := have.entryRun, have.State, have.CancelWanted || have.TooLate
		*have = *e
		have.entryRun = run
		*have.disk, have.kept = e.Rev, false
		if have.mine && was != have.State {
			m.tellEntry(have, wanted)
		}
	}
}

// tellEntry says what became of a message that this process made, or had taken back, and another one sent.
func (m *Mail) tellEntry(e *entry, takenBack bool) {
	switch e.State {
	case EntrySent:
		m.sentNotice(e, string(api.EmailSent))
	case EntryFailed:
		m.failedNotice(e)
	case EntryCancelled:
		if takenBack {
			m.tookBack(e)
		}
	case EntryAccepted, EntryUnknown:
		if !takenBack && m.now().Before(e.CancelUntil) {
			m.windowNotice(e)
		}
		if takenBack && !e.CancelWanted && e.TooLate {
			m.addNotice(Notice{Kind: NoticeFailure, Entry: e.ID, Text: "Not known whether " + quoted(e.Subject) + " was taken back"})
		}
	}
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // only own types come here; none of them can fail
		panic("state: " + err.Error())
	}
	return b
}
