package state

import (
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"codeberg.org/teapost/teapost/api"
)

// The cache holds nothing that the server has not: what cannot be read is as if it were not there.

const cachedThreads = 2000 // conversations kept in cache.db

type cachedList struct {
	IDs   []ThreadID `json:"ids"`
	Token string     `json:"token"`
	AsOf  time.Time  `json:"asOf"`
}

// loadCache reads what the first frame needs: the inbox with its rows, the numbers, the labels.
func (m *Mail) loadCache(db *sql.DB) error {
	value := func(name string, into any) {
		var doc []byte
		if db.QueryRow("SELECT doc FROM value WHERE name = ?", name).Scan(&doc) == nil {
			_ = json.Unmarshal(doc, into) // unreadable: as if it were not there
		}
	}
	value("counts", &m.folders.counts)
	value("labels", &m.folders.labels)
	value("addresses", &m.folders.addresses)
	value("people", &m.people.list)
	l := m.list(m.current)
	l.asked = true
	doc, rows := readCachedList(db, l.view.key())
	m.takeCachedList(l, doc, rows)
	for _, c := range m.changes { // one that brings a thread into the list shows nothing without its row
		m.takeCachedRow(c.Thread, readCachedRow(db, c.Thread))
	}
	return nil
}

func readCachedList(db *sql.DB, view string) (*cachedList, map[ThreadID]Row) {
	var doc []byte
	if db.QueryRow("SELECT doc FROM list WHERE view = ?", view).Scan(&doc) != nil {
		return nil, nil
	}
	l := &cachedList{}
	if json.Unmarshal(doc, l) != nil {
		return nil, nil
	}
	rows := make(map[ThreadID]Row, len(l.IDs))
	for i, id := range l.IDs {
		if i >= 4*pageSize {
			break
		}
		if r := readCachedRow(db, id); r != nil {
			rows[id] = *r
		}
	}
	return l, rows
}

// readCachedRow gives nil when it has none.
func readCachedRow(db *sql.DB, id ThreadID) *Row {
	var doc []byte
	var r Row
	if db.QueryRow("SELECT doc FROM row WHERE id = ?", string(id)).Scan(&doc) != nil || json.Unmarshal(doc, &r) != nil {
		return nil
	}
	return &r
}

func (m *Mail) takeCachedRow(id ThreadID, row *Row) {
	if rec := m.record(id); !rec.filled && row != nil {
		rec.row, rec.filled, rec.stale = *row, true, true
	}
}

func (m *Mail) takeCachedList(l *list, c *cachedList, rows map[ThreadID]Row) {
	for id, row := range rows {
		m.takeCachedRow(id, &row)
	}
	if c == nil || l.known {
		return
	}
	l.ids, l.token, l.asOf, l.known = c.IDs, "", c.AsOf, true
	m.listsChanged()
}

func (m *Mail) readListFromCache(l *list) {
	var c *cachedList
	var rows map[ThreadID]Row
	key := l.view.key()
	m.cache.read(func(db *sql.DB) error {
		c, rows = readCachedList(db, key)
		return nil
	}, func(error) {
		m.post(func() { m.takeCachedList(l, c, rows) })
	})
}

func (m *Mail) writeListToCache(l *list) {
	if l.view.Query != "" {
		return
	}
	key, now := l.view.key(), m.now().UnixMilli()
	doc := marshal(cachedList{IDs: m.listedIDs(l, (*change).settledOnly), Token: l.token, AsOf: l.asOf})
	m.cache.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT OR REPLACE INTO list(view, doc, used) VALUES(?, ?, ?)", key, doc, now)
		return err
	}, m.cacheTrouble)
}

// settledOnly picks the changes that the cache holds: the others are in state.db.
func (c *change) settledOnly() bool { return c.State == changeSettled }

// tickCache writes what settled changes made of lists and rows, so that the next start does not show how it was before.
func (m *Mail) tickCache() {
	if len(m.cacheStale) == 0 {
		return
	}
	for _, l := range m.lists {
		if l.known {
			m.writeListToCache(l)
		}
	}
	for _, id := range m.cacheStale {
		rec := m.rows[id]
		if rec == nil || !rec.filled {
			continue
		}
		doc := marshal(m.rowWith(id, rec, m.changesOf(id), (*change).settledOnly))
		m.cache.write(func(tx *sql.Tx) error {
			_, err := tx.Exec("INSERT OR REPLACE INTO row(id, doc) VALUES(?, ?)", string(id), doc)
			return err
		}, m.cacheTrouble)
	}
	m.cacheStale = nil
}

func (m *Mail) writeThreadToCache(id ThreadID, t *api.Thread, rec *threadRecord) {
	row, asOf, now := rec.row, rec.asOf, m.now().UnixMilli()
	m.cache.write(func(tx *sql.Tx) error {
		if _, err := tx.Exec("INSERT OR REPLACE INTO row(id, doc) VALUES(?, ?)", string(id), marshal(row)); err != nil {
			return err
		}
		doc := marshal(cachedThread{Thread: t, Row: row, AsOf: asOf})
		if len(doc) > 4<<20 { // a conversation this large is fetched again instead
			_, err := tx.Exec("DELETE FROM thread WHERE id = ?", string(id))
			return err
		}
		if _, err := tx.Exec("INSERT OR REPLACE INTO thread(id, doc, used) VALUES(?, ?, ?)", string(id), doc, now); err != nil {
			return err
		}
		if now%64 != 0 { // now and then: look for what is too much
			return nil
		}
		_, err := tx.Exec("DELETE FROM thread WHERE id IN (SELECT id FROM thread ORDER BY used DESC LIMIT -1 OFFSET ?)", cachedThreads)
		return err
	}, m.cacheTrouble)
}

func (m *Mail) readThreadFromCache(id ThreadID, rec *threadRecord) {
	var got cachedThread
	m.cache.read(func(db *sql.DB) error {
		var doc []byte
		if err := db.QueryRow("SELECT doc FROM thread WHERE id = ?", string(id)).Scan(&doc); err != nil {
			return err
		}
		return json.Unmarshal(doc, &got)
	}, func(err error) {
		if err != nil || got.Thread == nil {
			return
		}
		m.post(func() {
			if rec.thread != nil {
				return
			}
			rec.thread, rec.asOf, rec.rev = got.Thread, got.AsOf, m.next()
			if !rec.filled {
				rec.row, rec.filled = got.Row, true
			}
			m.listsChanged()
		})
	})
}

func (m *Mail) cacheValue(name string, v any) {
	doc := marshal(v)
	m.cache.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT OR REPLACE INTO value(name, doc) VALUES(?, ?)", name, doc)
		return err
	}, m.cacheTrouble)
}

// cacheTrouble logs: without a cache everything still works.
func (m *Mail) cacheTrouble(err error) {
	if err != nil && !errors.Is(err, errClosed) {
		m.log.Warn("cannot write the cache", "error", err.Error())
	}
}

// cachedThread is how the cache keeps a conversation.
type cachedThread struct {
	Thread *api.Thread `json:"t"`
	Row    Row         `json:"r"`
	AsOf   time.Time   `json:"a"`
}
