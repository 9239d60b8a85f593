package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// ImportOptions says how mail is taken in. The zero value keeps folders and flags as the files have them.
type ImportOptions struct {
	// Folder puts everything into "inbox", "archive", "sent", "spam" or "trash"; empty takes the folder
	// from the name of the mailbox, its flags and the sender.
	Folder string
	// MaxMessageBytes is the size above which a message is reported and left out; 0 means 64 MiB.
	MaxMessageBytes int64
	// Progress is called from the importing goroutine, a few times a second at most and once at the end.
	// It may be nil.
	Progress func(ImportProgress)
}

// ImportProgress is a moment of an import.
type ImportProgress struct {
	Path                  string // the file being read
	BytesDone, BytesTotal int64
	Messages              int // read so far: Imported + Skipped + Failed + what waits for its batch
	Imported              int
	Skipped               int // there already
	Failed                int
}

// ImportProblem is a message or a file that could not be read.
type ImportProblem struct {
	Path   string
	Offset int64 // of the message in the file; 0 for a whole file
	Reason string
}

func (p ImportProblem) String() string {
	if p.Offset > 0 {
		return fmt.Sprintf("%s, byte %d: %s", p.Path, p.Offset, p.Reason)
	}
	return fmt.Sprintf("%s: %s", p.Path, p.Reason)
}

// ImportReport is the outcome of an import.
type ImportReport struct {
	Files    int // mailboxes and messages that were read
	Messages int
	Imported int
	Skipped  int // there already
	Failed   int
	// Problems names what could not be read; it holds the first thousand of Failed.
	Problems []ImportProblem
	// Ignored names files of imported folders that hold no mail; it holds the first hundred.
	Ignored []string
}

const (
	maxImportProblems = 1000
	maxImportIgnored  = 100
	importBatch       = 200
	importBatchBytes  = 16 << 20
	progressEvery     = 150 * time.Millisecond
)

// String says in one sentence what came of the import.
func (r ImportReport) String() string {
	if r.Messages == 0 && r.Failed == 0 {
		return "There was no message to import."
	}
	s := fmt.Sprintf("%s imported", plural(r.Imported, "message"))
	if r.Skipped > 0 {
		s += fmt.Sprintf(", %d skipped because they were here already", r.Skipped)
	}
	if r.Failed > 0 {
		s += fmt.Sprintf(", %d could not be read", r.Failed)
	}
	return s + "."
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Import takes in mbox files, Maildirs with their subfolders, message files and folders of all these. It
// needs constant memory, adds nothing twice, and goes on after what it cannot read, which the report
// names. The error is the context's, after the batch at hand was stored or dropped as a whole, or that of
// the store; the report is filled in both cases. An import may be repeated at any time.
func (s *Server) Import(ctx context.Context, paths []string, opts ImportOptions) (ImportReport, error) {
	im := &importer{s: s, ctx: ctx, opts: opts}
	if im.opts.MaxMessageBytes <= 0 {
		im.opts.MaxMessageBytes = mailparse.DefaultMaxMessageBytes
	}
	switch opts.Folder {
	case "", "inbox", "archive", "sent", "spam", "trash":
	default:
		return im.report, fmt.Errorf("mail cannot be imported into the folder %q; it must be inbox, archive, sent, spam or trash", opts.Folder)
	}
	if opts.Progress != nil {
		for _, p := range paths {
			im.total += treeSize(ctx, p)
		}
	}
	for _, p := range paths {
		if err := im.path(p); err != nil {
			return im.report, err
		}
	}
	err := im.flush()
	im.progress(true)
	return im.report, err
}

type importer struct {
	s      *Server
	ctx    context.Context
	opts   ImportOptions
	report ImportReport

	batch      []importItem
	batchBytes int

	current  string
	done     int64 // bytes of the finished files
	within   int64 // bytes of the current file
	total    int64
	lastTold time.Time
}

type importItem struct {
	path   string
	offset int64
	item   Item
}

func (im *importer) problem(path string, offset int64, reason string) {
	im.report.Failed++
	if len(im.report.Problems) < maxImportProblems {
		im.report.Problems = append(im.report.Problems, ImportProblem{path, offset, reason})
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
	im.opts.Progress(ImportProgress{
		Path: im.current, BytesDone: im.done + im.within, BytesTotal: max(im.total, im.done+im.within),
		Messages: im.report.Messages, Imported: im.report.Imported, Skipped: im.report.Skipped, Failed: im.report.Failed,
	})
}

// path imports what a person named.
func (im *importer) path(p string) error {
	fi, err := os.Stat(p)
	if err != nil {
		im.problem(p, 0, plainFileError(err))
		return im.ctx.Err()
	}
	if fi.IsDir() {
		return im.dir(p, "")
	}
	return im.file(p, folderOfFile(filepath.Base(p), true), true)
}

func plainFileError(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be read: permission denied"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return "it cannot be read: " + pe.Err.Error()
	}
	return "it cannot be read: " + err.Error()
}

// dir imports a folder; rel is its place below the folder that was named.
func (im *importer) dir(path, rel string) error {
	maildir := mailparse.IsMaildir(path)
	if maildir {
		folder := mailparse.MaildirFolder(rel)
		im.report.Files++
		err := mailparse.WalkMaildir(path, func(file string, flags mailparse.Flags) error {
			return im.messageFile(file, folder, flags)
		})
		if im.ctx.Err() != nil {
			return im.ctx.Err()
		}
		var stop *stopError
		if errors.As(err, &stop) {
			return stop.err
		}
		if err != nil {
			im.problem(path, 0, plainFileError(err))
		}
	}
	var dirs []string
	err := eachEntry(path, func(e fs.DirEntry) error {
		if err := im.ctx.Err(); err != nil {
			return err
		}
		name := e.Name()
		full := filepath.Join(path, name)
		if e.IsDir() {
			if !maildir || name != "cur" && name != "new" && name != "tmp" {
				dirs = append(dirs, name)
			}
			return nil
		}
		if maildir {
			return nil // the index files of mail programs
		}
		if fi, err := os.Stat(full); err != nil || !fi.Mode().IsRegular() {
			return nil
		}
		return im.file(full, folderOfFile(filepath.Join(rel, name), false), false)
	})
	if err != nil {
		if e := im.ctx.Err(); e != nil {
			return e
		}
		var stop *stopError
		if errors.As(err, &stop) {
			return stop.err
		}
		im.problem(path, 0, plainFileError(err))
	}
	sort.Strings(dirs)
	for _, d := range dirs {
		if err := im.dir(filepath.Join(path, d), filepath.Join(rel, d)); err != nil {
			return err
		}
	}
	return nil
}

// stopError ends the import: the store failed, not the mail.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }
func (e *stopError) Unwrap() error { return e.err }

// eachEntry reads a folder in pieces, so that its size does not matter, and in order within a piece.
func eachEntry(path string, fn func(fs.DirEntry) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		const piece = 2000
		entries, err := f.ReadDir(piece)
		sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
		for _, e := range entries {
			if err := fn(e); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// treeSize sums the sizes of what would be read.
func treeSize(ctx context.Context, path string) int64 {
	fi, err := os.Stat(path)
	if err != nil || ctx.Err() != nil {
		return 0
	}
	if !fi.IsDir() {
		return fi.Size()
	}
	var sum int64
	var dirs []string
	// What cannot be read is reported when its turn comes.
	_ = eachEntry(path, func(e fs.DirEntry) error {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
		} else if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return ctx.Err()
	})
	for _, d := range dirs {
		sum += treeSize(ctx, filepath.Join(path, d))
	}
	return sum
}

// file imports a file that is an mbox or a message. named says that the person asked for this very file.
func (im *importer) file(path, folder string, named bool) error {
	im.current, im.within = path, 0
	f, err := os.Open(path)
	if err != nil {
		im.problem(path, 0, plainFileError(err))
		return nil
	}
	defer f.Close()
	head := make([]byte, mailparse.SniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		im.problem(path, 0, plainFileError(err))
		return nil
	}
	head = head[:n]
	kind := mailparse.Sniff(head)
	ext := strings.ToLower(filepath.Ext(path))
	if kind == mailparse.KindOther && ext == ".eml" && !bytes.Contains(head, []byte{0}) {
		kind = mailparse.KindMessage // text without a header is shown as it stands
	}
	switch kind {
	case mailparse.KindMbox:
		if ext != ".eml" {
			im.report.Files++
			return im.mbox(path, folder, io.MultiReader(bytes.NewReader(head), f))
		}
		fallthrough // saved with its From line
	case mailparse.KindMessage:
		im.report.Files++
		return im.unwrap(im.messageFile(path, "", mailparse.Flags{}))
	case mailparse.KindEmpty:
		im.report.Files++
	default:
		if named || ext == ".eml" || ext == ".mbox" || ext == ".mbx" {
			im.problem(path, 0, "it is no mailbox and no message")
		} else {
			im.ignore(path)
		}
	}
	if fi, err := f.Stat(); err == nil {
		im.done += fi.Size()
	}
	return im.ctx.Err()
}

func (im *importer) unwrap(err error) error {
	var stop *stopError
	if errors.As(err, &stop) {
		return stop.err
	}
	return err
}

func (im *importer) mbox(path, folder string, r io.Reader) error {
	box := mailparse.NewMbox(r)
	box.MaxMessageBytes = im.opts.MaxMessageBytes
	defer func() { im.done, im.within = im.done+box.Offset(), 0 }()
	for {
		if err := im.ctx.Err(); err != nil {
			return err
		}
		raw, info, err := box.Next()
		im.within = box.Offset()
		var large *mailparse.TooLargeError
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &large):
			im.report.Messages++
			im.problem(path, info.Offset, large.Error())
			continue
		case err != nil:
			im.problem(path, info.Offset, plainFileError(err))
			return nil
		}
		o := im.place(folder, info.Flags)
		o.undated = info.EnvelopeDate
		if err := im.add(path, info.Offset, raw, o); err != nil {
			return im.unwrap(err)
		}
	}
}

// messageFile imports a file that holds one message.
func (im *importer) messageFile(path, folder string, flags mailparse.Flags) error {
	if err := im.ctx.Err(); err != nil {
		return err
	}
	im.current, im.within = path, 0
	fi, err := os.Stat(path)
	if err != nil {
		im.problem(path, 0, plainFileError(err))
		return nil
	}
	if !fi.Mode().IsRegular() {
		return nil
	}
	defer func() { im.done += fi.Size() }()
	if fi.Size() > im.opts.MaxMessageBytes {
		im.report.Messages++
		im.problem(path, 0, (&mailparse.TooLargeError{Size: fi.Size(), Limit: im.opts.MaxMessageBytes}).Error())
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		im.problem(path, 0, plainFileError(err))
		return nil
	}
	o := im.place(folder, flags)
	o.undated = fi.ModTime()
	return im.add(path, 0, raw, o)
}

func (im *importer) add(path string, offset int64, raw []byte, o IngestOptions) error {
	im.report.Messages++
	if len(bytes.TrimSpace(raw)) == 0 {
		im.problem(path, offset, mailparse.ErrEmpty.Error())
		return nil
	}
	// The reader uses its memory again for the next message.
	im.batch = append(im.batch, importItem{path, offset, Item{Raw: bytes.Clone(raw), IngestOptions: o}})
	im.batchBytes += len(raw)
	im.progress(false)
	if len(im.batch) < importBatch && im.batchBytes < importBatchBytes {
		return nil
	}
	return im.flush()
}

// flush stores the batch in one transaction. When that fails for another reason than the store, its
// messages go one by one, so that one of them does not take the others with it.
func (im *importer) flush() error {
	batch := im.batch
	im.batch, im.batchBytes = nil, 0
	if len(batch) == 0 {
		return im.ctx.Err()
	}
	items := make([]Item, len(batch))
	for i, b := range batch {
		items[i] = b.item
	}
	done, err := im.s.IngestBatch(im.ctx, items)
	if err == nil {
		im.count(done)
		im.progress(false)
		return nil
	}
	if stop := im.fatal(err); stop != nil {
		return stop
	}
	for _, b := range batch {
		one, err := im.s.Ingest(im.ctx, b.item.Raw, b.item.IngestOptions)
		if err == nil {
			im.count([]Ingested{one})
			continue
		}
		if stop := im.fatal(err); stop != nil {
			return stop
		}
		im.problem(b.path, b.offset, err.Error())
	}
	im.progress(false)
	return nil
}

// fatal returns the error when it is not the message's fault.
func (im *importer) fatal(err error) error {
	if e := im.ctx.Err(); e != nil {
		return e
	}
	var store *apiError
	if errors.As(err, &store) || sqliteCode(err) != 0 {
		return &stopError{err}
	}
	return nil
}

func (im *importer) count(done []Ingested) {
	for _, d := range done {
		if d.Duplicate {
			im.report.Skipped++
		} else {
			im.report.Imported++
		}
	}
}

// place turns a folder's name and a message's flags into where it belongs here.
func (im *importer) place(folder string, f mailparse.Flags) IngestOptions {
	o := IngestOptions{Unread: f.Known && !f.Seen, Starred: f.Flagged}
	names := f.Labels
	if folder != "" {
		names = append([]string{folder}, names...)
	}
	draft := f.Draft
	for _, name := range names {
		switch place := placeOfFolder(name); place {
		case "":
			o.Labels = append(o.Labels, name)
		case "draft":
			draft = true
		case "skip":
		default:
			o.Folder = strongerPlace(o.Folder, place)
		}
	}
	switch {
	case f.Deleted:
		o.Folder = "trash"
	case o.Folder == "" && draft:
		o.Folder = "archive"
		o.Labels = append(o.Labels, "Drafts")
	case o.Folder == "" && len(names) > 0:
		o.Folder = "archive" // in a folder or under a label of its own, so not in the inbox
	}
	if im.opts.Folder != "" {
		o.Folder = im.opts.Folder
	}
	return o
}

// strongerPlace decides when Gmail's labels name several places.
func strongerPlace(a, b string) string {
	for _, p := range []string{"trash", "spam", "inbox", "sent", "archive"} {
		if a == p || b == p {
			return p
		}
	}
	return b
}

var folderPlaces = map[string]string{
	"inbox": "inbox", "posteingang": "inbox", "boîte de réception": "inbox", "bandeja de entrada": "inbox",
	"sent": "sent", "sent mail": "sent", "sent items": "sent", "sent messages": "sent", "sent-mail": "sent", "outbox": "sent",
	"gesendet": "sent", "gesendete objekte": "sent", "gesendete elemente": "sent", "envoyés": "sent", "messages envoyés": "sent", "enviados": "sent",
	"trash": "trash", "bin": "trash", "deleted": "trash", "deleted items": "trash", "deleted messages": "trash", "papierkorb": "trash", "corbeille": "trash", "papelera": "trash",
	"spam": "spam", "junk": "spam", "junk e-mail": "spam", "junk email": "spam", "bulk mail": "spam",
	"archive": "archive", "archives": "archive", "archived": "archive", "all mail": "archive", "all": "archive", "archiv": "archive", "mbox": "archive",
	"draft": "draft", "drafts": "draft", "entwürfe": "draft", "brouillons": "draft", "borradores": "draft", "templates": "draft",
	"important": "skip", "opened": "skip", "unread": "skip", "starred": "skip", "chat": "skip", "chats": "skip", "muted": "skip", "snoozed": "skip",
	"scheduled": "skip", "nonjunk": "skip", "$mdnsent": "skip", "$forwarded": "skip", "forwarded": "skip", "unwanted": "skip",
}

// placeOfFolder returns the place that the name of a folder or label means, "draft", "skip" for a mark
// that is no folder, or "" for a name of its own.
func placeOfFolder(name string) string {
	l := strings.ToLower(strings.TrimSpace(name))
	for _, p := range []string{"[gmail]/", "[google mail]/"} {
		l = strings.TrimPrefix(l, p)
	}
	if strings.HasPrefix(l, "category ") || strings.HasPrefix(l, "imap_") {
		return "skip"
	}
	return folderPlaces[l]
}

// folderOfFile takes the name of a folder from the name of an mbox file. A file that the person named, or
// with the ending of an export, counts only when its name is that of a usual folder: "old.mbox" is none.
func folderOfFile(rel string, named bool) string {
	rel = filepath.ToSlash(rel)
	var parts []string
	mboxFile := false // the last part has the ending of an exported file
	for _, p := range strings.Split(rel, "/") {
		p = strings.TrimSuffix(p, ".sbd") // Thunderbird's folders of folders
		mboxFile = false
		switch ext := strings.ToLower(filepath.Ext(p)); ext {
		case ".mbox", ".mbx", ".mboxrd", ".mboxo":
			p, mboxFile = p[:len(p)-len(ext)], true
		}
		// Apple Mail keeps a folder "Name.mbox" with a file "mbox" in it.
		if p != "" && !strings.EqualFold(p, "mbox") {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if last := parts[len(parts)-1]; placeOfFolder(last) != "" {
		return last
	}
	if named || mboxFile {
		return ""
	}
	return strings.Join(parts, "/")
}
