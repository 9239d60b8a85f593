package state

import (
	"database/sql"
	"errors"
	"os"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockEvery = time.Second            // how often a process that is not the owner tries to become it
	lookEvery = 500 * time.Millisecond // how often state.db is asked whether another process wrote to it
)

// processLock is an OS file lock: the kernel lets go of it when its process dies, so there is no stale lock to clean up.
type processLock struct{ f *flock.Flock }

func newProcessLock(path string) *processLock {
	return &processLock{flock.New(path, flock.SetPermissions(0o600))}
}

func (l *processLock) try() (bool, error) { return l.f.TryLock() }

// release lets go; the file stays, because deleting it would let two processes hold "the" lock.
func (l *processLock) release() error {
	if err := l.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// getLock takes the lock if nobody has it, and reports whether this process has it now. With the lock held.
func (m *Mail) getLock() bool {
	m.nextLock = m.now().Add(lockEvery)
	if m.opts.Watch {
		return false
	}
	got, err := m.lock.try()
	if err != nil {
		m.log.Warn("cannot lock", "error", err.Error())
	}
	return got
}

// becomeOwner begins to send and sync. What is in memory must have been read since the lock was taken: the owner before
// may have sent what an older look shows as waiting. With the lock held.
func (m *Mail) becomeOwner() {
	if m.owner || m.closing {
		return
	}
	m.owner = true
	m.nextLock = time.Time{}
	if m.opts.OnOwner != nil {
		m.opts.OnOwner(true)
	}
	m.adoptOutbox()
	m.adoptChanges()
	m.nextPoll = m.now()
	m.changed()
}

func (m *Mail) tickLock(now time.Time) {
	if !m.owner && !now.Before(m.nextLock) && m.getLock() {
		m.reloadThen(m.becomeOwner)
	}
	if !now.Before(m.nextLook) {
		m.nextLook = now.Add(lookEvery)
		m.lookAtOthers()
	}
}

// lookAtOthers reads what other processes wrote to state.db since the last look.
func (m *Mail) lookAtOthers() {
	var version int64
	m.state.read(func(db *sql.DB) error {
		return db.QueryRow("PRAGMA data_version").Scan(&version)
	}, func(err error) {
		if err != nil {
			return
		}
		m.post(func() {
			if version == m.dataVersion {
				return
			}
			m.dataVersion = version
			m.reload()
		})
	})
}

// reload reads the tables that several processes write to.
func (m *Mail) reload() { m.reloadThen(nil) }

// reloadThen is reload, and has then, if any, run once what was read is taken over.
func (m *Mail) reloadThen(then func()) {
	var got sharedTables
	removals := m.removals
	m.state.read(func(db *sql.DB) error {
		var err error
		got, err = readShared(db)
		return err
	}, func(err error) {
		if err != nil {
			m.log.Warn("cannot read what another teapost wrote", "error", err.Error())
			m.post(func() { m.afterAWhile(func() { m.reloadThen(then) }) })
			return
		}
		m.post(func() {
			if removals != m.removals { // what was read may still hold what was removed here meanwhile
				m.reloadThen(then)
				return
			}
			m.mergeShared(got)
			if then != nil {
				then()
			}
		})
	})
}
