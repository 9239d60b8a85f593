package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	_ "modernc.org/sqlite" // the database driver
)

// store is one SQLite file with one writer goroutine. Everything that touches the file runs on that goroutine, in
// the order it was asked for, so that nobody else ever waits for the disk.
type store struct {
	path string
	db   *sql.DB
	gate func() error // tests: refuses writes, as a full disk or a dead process does; nil: none

	mu     sync.Mutex
	cond   *sync.Cond
	queue  []storeJob
	closed bool
	done   chan struct{}
}

type storeJob struct {
	write func(*sql.Tx) error // in a transaction of its own, or
	read  func(*sql.DB) error
	after func(error) // on the writer goroutine; may be nil
}

// openStore opens the file, makes it with mode 0600 when it is missing, and brings its tables up to date.
func openStore(path string, durable bool, migrations []string, gate func() error) (*store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder %s: %w", filepath.Dir(path), err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	level := "FULL"
	if !durable {
		level = "NORMAL"
	}
	q := url.Values{}
	q.Set("_txlock", "immediate")
	for _, p := range []string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(" + level + ")", "foreign_keys(1)"} {
		q.Add("_pragma", p)
	}
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	s := &store{path: path, db: db, gate: gate, done: make(chan struct{})}
	s.cond = sync.NewCond(&s.mu)
	if err := s.migrate(migrations); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	go s.run()
	return s, nil
}

// errNewer says that the file was written by a later version.
var errNewer = errors.New("was written by a newer teapost: use that version, or move the file away")

func (s *store) migrate(migrations []string) error {
	tx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	var version int
	if err := tx.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(migrations) {
		return errNewer
	}
	for i := version; i < len(migrations); i++ {
		if _, err := tx.Exec(migrations[i]); err != nil {
			return fmt.Errorf("migration %d: %w", i+1, err)
		}
	}
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA user_version = %d", len(migrations))); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *store) add(j storeJob) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		if j.after != nil {
			j.after(errClosed)
		}
		return
	}
	s.queue = append(s.queue, j)
	s.cond.Signal()
	s.mu.Unlock()
}

// write queues a transaction. after, if any, hears of it once the commit is on the disk, or of its error.
func (s *store) write(fn func(*sql.Tx) error, after func(error)) {
	s.add(storeJob{write: fn, after: after})
}

// read queues a look at the file behind all writes that were queued before it.
func (s *store) read(fn func(*sql.DB) error, after func(error)) {
	s.add(storeJob{read: fn, after: after})
}

func (s *store) run() {
	defer close(s.done)
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closed {
			s.cond.Wait()
		}
		if len(s.queue) == 0 {
			s.mu.Unlock()
			return
		}
		j := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		err := s.do(j)
		if j.after != nil {
			j.after(err)
		}
	}
}

func (s *store) do(j storeJob) error {
	if j.read != nil {
		return j.read(s.db)
	}
	if s.gate != nil {
		if err := s.gate(); err != nil {
			return err
		}
	}
	tx, err := s.db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	if err := j.write(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// close lets what is queued finish, then closes the file. It blocks until that is done or the context ends.
func (s *store) close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.cond.Signal()
	s.mu.Unlock()
	select {
	case <-s.done:
		return s.db.Close()
	case <-ctx.Done():
		return fmt.Errorf("%s: not everything was written: %w", s.path, context.Cause(ctx))
	}
}

// errClosed is what a method reports after Close.
var errClosed = errors.New("the mailbox is closed")
