// Package local is the embedded OpenEmail server: an http.Handler that speaks the wire contract of the
// OpenEmail API over a mailbox in one SQLite file. Client programs reach it in process through Transport,
// or over a loopback address through Serve.
package local

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
)

// FileName is the name of the mailbox file inside its folder.
const FileName = "mail.db"

// applicationID marks the file as a mailbox of this program ("teap" in ASCII).
const applicationID = 0x74656170

// DefaultAddress is the own address of a mailbox that was never given one.
const DefaultAddress = "you@localhost"

// Options says which mailbox to open and how.
type Options struct {
	// Dir is the folder of the mailbox. It is made with mode 0700 when it is missing.
	Dir string
	// Addresses are the person's own addresses, the first one being the default sender. Mail to them comes
	// back into the inbox. They are kept in the mailbox; when empty, the ones kept there are used, and with
	// none there either DefaultAddress, and any sender is then allowed.
	Addresses []string
	// Name is the person's own name; kept and defaulted like Addresses.
	Name string
	// Now gives the present. Nil means time.Now.
	Now func() time.Time
	// Log receives what goes wrong beside any request. Nil discards it.
	Log *slog.Logger
	// Relay takes the mail for addresses that are not the mailbox's own. Nil keeps such mail as sent, in the
	// mode test; so does an API key that begins with oe_test_.
	Relay *Relay
	// Reply, when set, is asked after a message was kept as sent to addresses that are not the mailbox's own. What
	// it returns is accepted as new mail at the given times. It is how the people of the sample answer.
	Reply func(sent Sent) []Incoming
	// Schedules says that this process wakes snoozed threads and delivers what is due. At most one process
	// a mailbox should; a job is claimed in a transaction all the same.
	Schedules bool
}

// Server is an open mailbox. It is safe for use by many goroutines.
type Server struct {
	dir  string
	path string
	now  func() time.Time
	log  *slog.Logger

	reply func(Sent) []Incoming

	relay       *Relay
	token       string        // names this process in the claims of attempts
	relayWake   chan struct{} // something may be due for the relay
	delivering  sync.Mutex    // held while attempts are made
	recovered   bool          // what another process left was taken up; guarded by delivering
	attemptMu   sync.Mutex
	stopAttempt context.CancelFunc // guarded by attemptMu
	at          func(step string)  // nil but in tests

	own          map[string]bool // lower-case own addresses
	addresses    []string
	name         string
	unrestricted bool

	writer *sql.DB // one connection
	reader *sql.DB

	schedules atomic.Bool
	changes   chan struct{}
	wake      chan struct{}
	stop      context.CancelFunc
	running   sync.WaitGroup
	closeOnce sync.Once
	closeErr  error
}

// DamagedError says that the mailbox file cannot be used, and how to mend it.
type DamagedError struct {
	Path  string
	Cause string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the mailbox %s is damaged (%s); nothing was changed in it. Put the newest backup in its place, or move the file away and import the mail again; `sqlite3 %s .recover` saves what can still be read",
		e.Path, e.Cause, e.Path)
}

// NewerError says that the mailbox was written by a newer version of the program.
type NewerError struct {
	Path       string
	Have, Know int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the mailbox %s was written by a newer teapost (format %d, this one knows %d); use that version, nothing was changed",
		e.Path, e.Have, e.Know)
}

// Open opens the mailbox in o.Dir, making or migrating it as needed. The errors for a file that cannot be
// used are *DamagedError and *NewerError. The caller closes the server.
func Open(ctx context.Context, o Options) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("no folder was named for the mailbox")
	}
	if o.Relay != nil {
		if err := o.Relay.check(); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("the folder of the mailbox: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the mailbox cannot be made: %w", err)
	}
	s := &Server{
		dir:       dir,
		path:      filepath.Join(dir, FileName),
		now:       o.Now,
		log:       o.Log,
		reply:     o.Reply,
		relay:     o.Relay,
		token:     rand.Text(),
		changes:   make(chan struct{}, 1),
		wake:      make(chan struct{}, 1),
		relayWake: make(chan struct{}, 1),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.openFile(ctx); err != nil {
		return nil, err
	}
	if err := s.loadIdentity(ctx, o.Addresses, o.Name); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	s.schedules.Store(o.Schedules)
	s.poke(s.relayWake) // for what another process left behind
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if o.Schedules {
		if err := s.runDue(run); err != nil {
			s.log.Error("jobs that were due could not run", "error", err)
		}
	}
	s.running.Go(func() { s.schedule(run) })
	s.running.Go(func() { s.relayWork(run) })
	s.running.Go(func() { s.indexOld(run) })
	return s, nil
}

func (s *Server) openFile(ctx context.Context) error {
	unclean := false
	if fi, err := os.Stat(s.path + "-wal"); err == nil && fi.Size() > 0 {
		unclean = true
	}
	// SQLite would make the file readable by everybody.
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("the mailbox cannot be opened for writing: %w", err)
	}
	fi, err := f.Stat()
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("the mailbox cannot be opened: %w", err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(s.path, 0o600); err != nil {
			return fmt.Errorf("the mailbox can be read by others and its mode cannot be changed: %w", err)
		}
	}
	if s.writer, err = sql.Open("sqlite", dsn(s.path, false)); err != nil {
		return fmt.Errorf("the mailbox cannot be opened: %w", err)
	}
	s.writer.SetMaxOpenConns(1)
	if s.reader, err = sql.Open("sqlite", dsn(s.path, true)); err != nil {
		return errors.Join(fmt.Errorf("the mailbox cannot be opened: %w", err), s.closeFiles())
	}
	s.reader.SetMaxOpenConns(4)
	s.reader.SetMaxIdleConns(4)
	if err := s.migrate(ctx); err != nil {
		return errors.Join(s.openError(err), s.closeFiles())
	}
	const always, afterCrash = 16 << 20, 256 << 20
	if fi.Size() > 0 && (fi.Size() <= always || unclean && fi.Size() <= afterCrash) {
		if err := s.quickCheck(ctx); err != nil {
			return errors.Join(s.openError(err), s.closeFiles())
		}
	}
	return nil
}

// dsn escapes the path: a plain "?" in it would cut the name.
func dsn(path string, readOnly bool) string {
	q := url.Values{"_pragma": {"busy_timeout(10000)", "foreign_keys(1)"}}
	if readOnly {
		q["_pragma"] = append(q["_pragma"], "query_only(1)", "cache_size(-8192)")
	} else {
		q["_pragma"] = append(q["_pragma"], "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-32768)")
		q.Set("_txlock", "immediate")
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	return u.String()
}

func (s *Server) migrate(ctx context.Context) error {
	var version, id, tables int
	if err := s.writer.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if err := s.writer.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if err := s.writer.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return err
	}
	if id != applicationID && tables > 0 {
		return &DamagedError{Path: s.path, Cause: "it is a database of another program"}
	}
	if version > len(migrations) {
		return &NewerError{Path: s.path, Have: version, Know: len(migrations)}
	}
	if version == len(migrations) {
		return nil
	}
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	// Another process may have migrated between the look and the lock.
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	for v := version; v < len(migrations); v++ {
		if _, err := tx.ExecContext(ctx, migrations[v]); err != nil {
			return fmt.Errorf("format %d: %w", v+1, err)
		}
	}
	for _, q := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", max(version, len(migrations))),
	} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (s *Server) quickCheck(ctx context.Context) error {
	var verdict string
	if err := s.reader.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return &DamagedError{Path: s.path, Cause: strings.ReplaceAll(verdict, "\n", " ")}
	}
	return nil
}

const (
	codeBusy     = 5
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeNotADB   = 26
)

// sqliteCode gives the primary result code of an error of the database, 0 for any other error.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func (s *Server) openError(err error) error {
	var damaged *DamagedError
	var newer *NewerError
	if errors.As(err, &damaged) || errors.As(err, &newer) {
		return err
	}
	switch sqliteCode(err) {
	case codeCorrupt, codeNotADB:
		return &DamagedError{Path: s.path, Cause: err.Error()}
	case codeFull:
		return fmt.Errorf("the mailbox %s cannot be opened: the disk is full: %w", s.path, err)
	case codeReadOnly, codeIOErr:
		return fmt.Errorf("the mailbox %s cannot be written; check the disk and who owns the folder: %w", s.path, err)
	case codeBusy:
		return fmt.Errorf("the mailbox %s is kept busy by another process: %w", s.path, err)
	}
	return fmt.Errorf("the mailbox %s cannot be opened: %w", s.path, err)
}

func (s *Server) loadIdentity(ctx context.Context, addresses []string, name string) error {
	var clean []string
	for _, a := range addresses {
		if a = strings.TrimSpace(a); a == "" {
			continue
		}
		if !validAddress(a) {
			return fmt.Errorf("%q is not an email address", a)
		}
		clean = append(clean, a)
	}
	stored, storedName := "", ""
	rows := map[string]*string{"addresses": &stored, "name": &storedName}
	for key, into := range rows {
		err := s.reader.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = ?", key).Scan(into)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return s.openError(err)
		}
	}
	joined := strings.Join(clean, "\n")
	if joined == "" {
		joined = stored
	}
	if name == "" {
		name = storedName
	}
	if joined != stored || name != storedName {
		err := s.write(ctx, func(tx *tx) error {
			const q = "INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
			if err := tx.exec(q, "addresses", joined); err != nil {
				return err
			}
			return tx.exec(q, "name", name)
		})
		if err != nil {
			return s.openError(err)
		}
	}
	if joined == "" {
		joined, s.unrestricted = DefaultAddress, true
	}
	s.addresses, s.name, s.own = strings.Split(joined, "\n"), name, map[string]bool{}
	for _, a := range s.addresses {
		s.own[strings.ToLower(a)] = true
	}
	return nil
}

// Addresses returns the mailbox's own addresses, the default sender first.
func (s *Server) Addresses() []string { return append([]string(nil), s.addresses...) }

// Dir returns the absolute path of the folder of the mailbox.
func (s *Server) Dir() string { return s.dir }

// Empty reports whether the mailbox holds no message and no draft.
func (s *Server) Empty(ctx context.Context) (bool, error) {
	var any bool
	err := s.reader.QueryRowContext(ctx,
		"SELECT EXISTS(SELECT 1 FROM messages) OR EXISTS(SELECT 1 FROM drafts) OR EXISTS(SELECT 1 FROM emails)").Scan(&any)
	return !any, err
}

// Changes pokes when the mailbox changed without a request of this process: mail came, a thread woke,
// another process wrote. Several changes may be one poke. The channel is never closed.
func (s *Server) Changes() <-chan struct{} { return s.changes }

// SetSchedules says whether this process runs wake-ups and deliveries from now on: it won or lost the
// lock of the mailbox. What is due runs at once, in the background. Turning it off waits until a delivery that is
// under way has ended, for a few seconds at most.
func (s *Server) SetSchedules(on bool) {
	s.schedules.Store(on)
	if on {
		s.poke(s.relayWake) // for what another process left behind
	} else {
		s.stopDelivery()
	}
	s.poke(s.wake)
}

// Close ends the background work, waits for it and closes the file. Requests must have ended.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.stop()
		s.running.Wait()
		s.closeErr = s.closeFiles()
	})
	return s.closeErr
}

func (s *Server) closeFiles() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

func (s *Server) poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// tx is one write transaction with the one instant at which it happens.
type tx struct {
	*sql.Tx
	ctx       context.Context
	cancelled func() error
	now       int64 // milliseconds
	stmts     map[string]*sql.Stmt
	dirty     map[int64]bool // threads whose places must be brought up to date
	search    []searchRow    // what goes into the search index at the end
	rules     *ruleSet       // read when the first message comes in
}

func (t *tx) prepare(query string) (*sql.Stmt, error) {
	if err := t.cancelled(); err != nil {
		return nil, err
	}
	if st, ok := t.stmts[query]; ok {
		return st, nil
	}
	st, err := t.PrepareContext(t.ctx, query) // closed with the transaction
	if err != nil {
		return nil, err
	}
	t.stmts[query] = st
	return st, nil
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.result(query, args...)
	return err
}

func (t *tx) result(query string, args ...any) (sql.Result, error) {
	st, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(t.ctx, args...)
}

func (t *tx) insert(query string, args ...any) (int64, error) {
	res, err := t.result(query, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// row scans the first row into the targets; without a row it returns sql.ErrNoRows.
func (t *tx) row(query string, args []any, into ...any) error {
	st, err := t.prepare(query)
	if err != nil {
		return err
	}
	return st.QueryRowContext(t.ctx, args...).Scan(into...)
}

// write runs fn in one transaction that is written through to the disk, or not at all.
func (s *Server) write(ctx context.Context, fn func(*tx) error) error {
	stx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = stx.Rollback() }()
	// The driver watches a context that can end with a goroutine for each statement. These are short: the
	// context is looked at between them instead.
	t := &tx{Tx: stx, ctx: context.WithoutCancel(ctx), cancelled: ctx.Err, now: s.now().UnixMilli(), stmts: map[string]*sql.Stmt{}, dirty: map[int64]bool{}}
	if err := t.finish(fn); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	s.poke(s.wake)
	return nil
}

func (t *tx) finish(fn func(*tx) error) error {
	if err := fn(t); err != nil {
		return err
	}
	for id := range t.dirty {
		if err := t.refreshPlaces(id); err != nil {
			return err
		}
	}
	if err := t.flushSearch(); err != nil {
		return err
	}
	return t.Commit()
}

func validAddress(a string) bool {
	if len(a) > 320 || strings.ContainsAny(a, " \t\r\n\x00<>,;\"()") {
		return false
	}
	local, host, ok := strings.Cut(a, "@")
	if !ok || local == "" || host == "" || strings.Contains(host, "@") {
		return false
	}
	if strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") || strings.Contains(host, "..") {
		return false
	}
	for _, r := range a {
		if r < 0x20 || r == 0x7f {
			return false
		}
	}
	_, err := mail.ParseAddress(a)
	return err == nil
}

func instant(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

func instantOrNull(ms sql.NullInt64) any {
	if !ms.Valid {
		return nil
	}
	return instant(ms.Int64)
}

func wireID(prefix string, id int64) string { return prefix + "_" + strconv.FormatInt(id, 10) }

// parseID reads an id that wireID made; ok is false for anything else.
func parseID(prefix, id string) (n int64, ok bool) {
	rest, found := strings.CutPrefix(id, prefix+"_")
	if !found || rest == "" || rest[0] < '1' || rest[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	return n, err == nil && n > 0
}
