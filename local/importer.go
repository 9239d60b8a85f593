package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// importer is a running import. One goroutine reads the files into batches, one leaves out what is here already and
// parses the rest, one stores. A batch is stored in one transaction with the place in the file that it
// reaches to, so that a crash at any moment leaves whole batches and the right place to go on from.
type importer struct {
	s     *Server
	outer context.Context
	ctx   context.Context // ends with outer, or when a batch cannot be stored
	stop  context.CancelCauseFunc
	opts  ImportOptions

	lookup  *sql.Stmt // see known
	before  int64     // the highest message id before the import, or before the one of these that was interrupted
	batch   *importedBatch
	queue   chan *importedBatch
	running errgroup.Group

	// Only the reading goroutine uses these.
	current  string
	done     int64 // bytes of the finished files
	within   int64 // bytes of the current file
	skipped  int64
	total    int64
	lastTold time.Time

	mu     sync.Mutex
	report ImportReport
}

type importItem struct {
	path   string
	offset int64
	raw    []byte // the message
	old    []byte // as it stood in its mailbox; valid until the next one is read
	o      IngestOptions

	hash, oldHash [sha256.Size]byte
	hasOldHash    bool
	prepared      *parsed // nil for one that is here already
}

// importedFile is how far an import got in an mbox file.
type importedFile struct {
	name     string // as the person gave it
	path     string
	size     int64
	modified int64
	done     int64 // bytes
	messages int   // that lie before done
	imported int   // of them, those that were added
}

type importedBatch struct {
	items    []importItem
	bytes    int
	files    []importedFile
	problems []ImportProblem
}

func (s *Server) newImporter(ctx context.Context, opts ImportOptions) (*importer, error) {
	im := &importer{s: s, outer: ctx, opts: opts, batch: &importedBatch{}, queue: make(chan *importedBatch)}
	if im.opts.MaxMessageBytes <= 0 {
		im.opts.MaxMessageBytes = mailparse.DefaultMaxMessageBytes
	}
	if im.opts.batch <= 0 {
		im.opts.batch = importBatch
	}
	err := s.reader.QueryRowContext(ctx, `SELECT coalesce((SELECT done FROM import_files WHERE path = ''), max(id), 0) FROM messages`).Scan(&im.before)
	if err != nil {
		return nil, err
	}
	im.lookup, err = s.reader.PrepareContext(ctx, `SELECT hash FROM messages WHERE hash IN (?1, ?2)
		UNION ALL SELECT hash FROM imported_drafts WHERE ?3 AND hash = ?1 LIMIT 1`)
	if err != nil {
		return nil, err
	}
	im.ctx, im.stop = context.WithCancelCause(ctx)
	ready := make(chan *importedBatch)
	im.running.Go(func() error {
		defer close(ready)
		for b := range im.queue {
			if err := im.prepare(b); err != nil {
				im.stop(err)
				continue
			}
			select {
			case ready <- b:
			case <-im.ctx.Done():
			}
		}
		return nil
	})
	im.running.Go(func() error {
		for b := range ready {
			if im.ctx.Err() != nil {
				continue
			}
			if err := im.store(b); err != nil {
				im.stop(err)
			}
		}
		return nil
	})
	return im, nil
}

// finish stores what was read, unless the reading ended with an error, and ends the goroutines.
func (im *importer) finish(err error) error {
	if err == nil {
		err = im.flush()
	}
	close(im.queue)
	_ = im.running.Wait() // they report through stop
	err = errors.Join(err, im.lookup.Close())
	if im.ctx.Err() != nil {
		err = context.Cause(im.ctx)
	}
	im.stop(nil)
	if e := im.outer.Err(); e != nil {
		return e
	}
	if err != nil {
		return im.s.storeError(err)
	}
	// Nothing is left to go on with.
	return im.s.storeError(im.s.write(im.outer, func(t *tx) error {
		if err := t.exec("DELETE FROM import_files"); err != nil {
			return err
		}
		return t.exec("DELETE FROM import_problems")
	}))
}

func (im *importer) read(n int) {
	im.mu.Lock()
	im.report.Messages += n
	im.mu.Unlock()
}

// problem notes what cannot be read, for the report now and for that of an import that goes on later.
func (im *importer) problem(path string, offset int64, reason string) {
	im.batch.problems = append(im.batch.problems, ImportProblem{path, offset, reason})
	im.failed(ImportProblem{path, offset, reason})
}

func (im *importer) failed(p ImportProblem) {
	im.mu.Lock()
	defer im.mu.Unlock()
	im.report.Failed++
	if len(im.report.Problems) < maxImportProblems {
		im.report.Problems = append(im.report.Problems, p)
	}
}

func (im *importer) ignore(path string) {
	if len(im.report.Ignored) < maxImportIgnored {
		im.report.Ignored = append(im.report.Ignored, path)
	}
}

func (im *importer) progress(always bool) {
	if im.opts.Progress == nil || !always && time.Since(im.lastTold) < progressEvery {
		return
	}
	im.lastTold = time.Now()
	im.mu.Lock()
	r := im.report
	im.mu.Unlock()
	im.opts.Progress(ImportProgress{
		Path: im.current, BytesDone: im.done + im.within, BytesTotal: max(im.total, im.done+im.within), BytesSkipped: im.skipped,
		Messages: r.Messages, Imported: r.Imported, Skipped: r.Skipped, Failed: r.Failed,
	})
}

// resume finds how far an interrupted import got in a file that has not changed since, and counts that.
func (im *importer) resume(path string, fi fs.FileInfo) (importedFile, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	p := importedFile{name: path, path: abs, size: fi.Size(), modified: fi.ModTime().UnixNano()}
	err = im.s.reader.QueryRowContext(im.ctx, "SELECT done, messages, imported FROM import_files WHERE path = ? AND size = ? AND modified = ?",
		p.path, p.size, p.modified).Scan(&p.done, &p.messages, &p.imported)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	rows, err := im.s.reader.QueryContext(im.ctx, "SELECT at, reason FROM import_problems WHERE path = ? ORDER BY at", p.path)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	failed := 0
	for rows.Next() {
		problem := ImportProblem{Path: path}
		if err := rows.Scan(&problem.Offset, &problem.Reason); err != nil {
			return p, err
		}
		im.failed(problem)
		failed++
	}
	im.mu.Lock()
	im.report.Messages += p.messages
	im.report.Skipped += max(0, p.messages-failed)
	im.report.Resumed += p.imported
	im.mu.Unlock()
	im.skipped += p.done
	return p, rows.Err()
}

// passed notes how far the reading got, and sends the batch on when it is full.
func (im *importer) passed(p importedFile) error {
	b := im.batch
	if n := len(b.files); n > 0 && b.files[n-1].path == p.path {
		b.files[n-1] = p
	} else {
		b.files = append(b.files, p)
	}
	if len(b.items) < im.opts.batch && b.bytes < importBatchBytes && len(b.problems) < im.opts.batch {
		return nil
	}
	return im.flush()
}

// add puts a message into the batch.
func (im *importer) add(item importItem) error {
	im.read(1)
	im.progress(false)
	if len(bytes.TrimSpace(item.raw)) == 0 {
		im.problem(item.path, item.offset, mailparse.ErrEmpty.Error())
		return nil
	}
	item.hash = identity(item.raw)
	item.oldHash, item.hasOldHash = oldIdentity(item.old)
	item.old = nil
	im.batch.items = append(im.batch.items, item)
	im.batch.bytes += len(item.raw)
	if item.offset > 0 || len(im.batch.items) < im.opts.batch && im.batch.bytes < importBatchBytes {
		return nil // messages of an mbox file count when they are passed
	}
	return im.flush()
}

func (im *importer) flush() error {
	b := im.batch
	im.batch = &importedBatch{}
	if len(b.items) == 0 && len(b.files) == 0 && len(b.problems) == 0 {
		return im.ctx.Err()
	}
	select {
	case im.queue <- b:
		return nil
	case <-im.ctx.Done():
		return im.ctx.Err()
	}
}

// prepare finds what is here already, and parses and packs the rest.
func (im *importer) prepare(b *importedBatch) error {
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	failed := make([]error, len(b.items))
	for i := range b.items {
		item := &b.items[i]
		known, err := im.known(item)
		if err != nil {
			return errors.Join(err, work.Wait())
		}
		if !known {
			work.Go(func() error {
				item.prepared, failed[i] = im.prepareAnyway(item)
				return nil
			})
		}
	}
	_ = work.Wait() // it has no errors
	if err := im.ctx.Err(); err != nil {
		return err
	}
	kept := b.items[:0]
	for i := range b.items {
		if err := failed[i]; err != nil {
			p := ImportProblem{b.items[i].path, b.items[i].offset, err.Error()}
			b.problems = append(b.problems, p)
			im.failed(p)
			continue
		}
		kept = append(kept, b.items[i])
	}
	b.items = kept
	return nil
}

// prepareAnyway turns a crash of ours over one message into an error: the others go on.
func (im *importer) prepareAnyway(item *importItem) (p *parsed, err error) {
	defer func() {
		if r := recover(); r != nil {
			im.s.log.Error("reading a message panicked", "path", item.path, "offset", item.offset, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error in reading the message: %v", r)
		}
	}()
	return prepareKnown(im.ctx, item.raw, item.hash)
}

// known reports whether a message is here, and sets its hash to that under which it is.
func (im *importer) known(item *importItem) (bool, error) {
	old := item.hash[:]
	if item.hasOldHash {
		old = item.oldHash[:]
	}
	var hash []byte
	err := im.lookup.QueryRowContext(context.WithoutCancel(im.ctx), item.hash[:], old, item.o.draft).Scan(&hash)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	copy(item.hash[:], hash)
	return err == nil, err
}

// store writes a batch.
func (im *importer) store(b *importedBatch) error {
	var done []Ingested
	drafts := 0
	err := im.s.write(im.ctx, func(t *tx) error {
		done, drafts = make([]Ingested, 0, len(b.items)), 0
		added := map[string]int{}
		for i := range b.items {
			in, err := im.take(t, &b.items[i])
			if err != nil {
				return err
			}
			if !in.Duplicate {
				added[b.items[i].path]++
				if in.message == 0 {
					drafts++
				}
			}
			done = append(done, in)
		}
		if len(b.files) > 0 {
			// Where the import began, should it be interrupted.
			if err := t.exec("INSERT OR IGNORE INTO import_files(path, size, modified, done, messages, imported) VALUES('', 0, 0, ?, 0, 0)", im.before); err != nil {
				return err
			}
		}
		for _, f := range b.files {
			err := t.exec(`INSERT INTO import_files(path, size, modified, done, messages, imported) VALUES(?,?,?,?,?,?)
				ON CONFLICT(path) DO UPDATE SET imported = CASE WHEN size = excluded.size AND modified = excluded.modified
				THEN imported ELSE 0 END + excluded.imported,
				size = excluded.size, modified = excluded.modified, done = excluded.done, messages = excluded.messages`,
				f.path, f.size, f.modified, f.done, f.messages, added[f.name])
			if err != nil {
				return err
			}
		}
		for _, p := range b.problems {
			path, err := filepath.Abs(p.Path)
			if err != nil {
				path = p.Path
			}
			if err := t.exec("INSERT OR REPLACE INTO import_problems(path, at, reason) VALUES(?,?,?)", path, p.Offset, p.Reason); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	im.report.Drafts += drafts
	for _, d := range done {
		if d.Duplicate {
			im.report.Skipped++
		} else {
			im.report.Imported++
		}
	}
	im.s.poke(im.s.changes)
	return nil
}

// take stores one message.
func (im *importer) take(t *tx, item *importItem) (Ingested, error) {
	if item.prepared == nil {
		in, found, err := t.duplicate(item.hash, item.o)
		if err != nil || found {
			return in, err
		}
		if item.o.draft {
			return Ingested{Duplicate: true}, nil
		}
		// It was deleted for good since it was looked for.
		if item.prepared, err = im.prepareAnyway(item); err != nil {
			return Ingested{}, err
		}
	}
	if item.o.draft {
		if len(item.prepared.msg.Attachments) == 0 {
			return im.s.importedDraft(t, item.prepared, item.o)
		}
		item.o.Labels = append(item.o.Labels, "Drafts")
	}
	return im.s.ingest(t, item.prepared, item.o)
}
