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

	batch int // messages stored at once; 0 means importBatch
}

// ImportProgress is a moment of an import.
type ImportProgress struct {
	Path                  string // the file being read
	BytesDone, BytesTotal int64
	BytesSkipped          int64 // of BytesDone: passed over, because an interrupted import had read them
	Messages              int   // read so far: Imported + Skipped + Failed + what waits for its batch
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
	Drafts   int // of Imported: they are among the drafts
	Skipped  int // there already
	Resumed  int // of Skipped: an import of the same files that was interrupted had taken them in
	Failed   int
	// Problems names what could not be read; it holds the first thousand of Failed.
	Problems []ImportProblem
	// Ignored names files of imported folders that hold no mail; it holds the first hundred.
	Ignored []string
}

const (
	maxImportProblems = 1000
	maxImportIgnored  = 100
	importBatch       = 500
	importBatchBytes  = 8 << 20
	progressEvery     = 100 * time.Millisecond
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
// names. The error is the context's, or that of the store; what was stored until then stays, whole
// batches of it, and the report is filled. An import may be repeated at any time: after an interruption it
// goes on in the mbox file in which it was.
func (s *Server) Import(ctx context.Context, paths []string, opts ImportOptions) (ImportReport, error) {
	switch opts.Folder {
	case "", "inbox", "archive", "sent", "spam", "trash":
	default:
		return ImportReport{}, fmt.Errorf("mail cannot be imported into the folder %q; it must be inbox, archive, sent, spam or trash", opts.Folder)
	}
	im, err := s.newImporter(ctx, opts)
	if err != nil {
		return ImportReport{}, s.storeError(err)
	}
	if opts.Progress != nil {
		for _, p := range paths {
			im.total += treeSize(im.ctx, p)
		}
	}
	for _, p := range paths {
		if err = im.path(p); err != nil {
			break
		}
	}
	err = im.finish(err)
	im.progress(true)
	return im.report, err
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
		if e := im.ctx.Err(); e != nil {
			return e
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
			return im.mbox(path, folder, f, head)
		}
		fallthrough // saved with its From line
	case mailparse.KindMessage:
		im.report.Files++
		return im.messageFile(path, "", mailparse.Flags{})
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

// mbox imports an mbox file of which head was read. What an interrupted import did of it is passed over.
func (im *importer) mbox(path, folder string, f *os.File, head []byte) error {
	fi, err := f.Stat()
	if err != nil {
		im.problem(path, 0, plainFileError(err))
		return nil
	}
	p, err := im.resume(path, fi)
	if err != nil {
		return err
	}
	defer func() { im.done, im.within = im.done+fi.Size(), 0 }()
	if p.done > 0 && p.done >= p.size {
		return im.ctx.Err()
	}
	var r io.Reader = f
	if !fi.Mode().IsRegular() {
		r = io.MultiReader(bytes.NewReader(head), f) // a pipe cannot go back
	} else if _, err := f.Seek(p.done, io.SeekStart); err != nil {
		im.problem(path, 0, plainFileError(err))
		return nil
	}
	start := p.done
	box := mailparse.NewMbox(r)
	box.MaxMessageBytes = im.opts.MaxMessageBytes
	for {
		if err := im.ctx.Err(); err != nil {
			return err
		}
		raw, info, err := box.Next()
		im.within = start + box.Offset()
		offset := start + info.Offset
		var large *mailparse.TooLargeError
		switch {
		case errors.Is(err, io.EOF):
			p.done = max(p.size, im.within)
			return im.passed(p)
		case errors.As(err, &large):
			im.read(1)
			im.problem(path, offset, large.Error())
		case err != nil:
			im.problem(path, offset, plainFileError(err))
			return nil
		default:
			item := importItem{path: path, offset: offset, old: raw}
			var st *mailState
			if st, item.raw = cutState(raw); st == nil {
				item.raw = bytes.Clone(withoutMailboxFields(raw))
			}
			item.o = im.place(folder, info.Flags)
			item.o.undated = info.EnvelopeDate
			if im.opts.Folder == "" {
				item.o.restore(st)
			}
			if err := im.add(item); err != nil {
				return err
			}
		}
		p.done, p.messages = offset+info.Size, p.messages+1
		if err := im.passed(p); err != nil {
			return err
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
		im.read(1)
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
	return im.add(importItem{path: path, raw: raw, old: raw, o: o})
}

// place turns a folder's name and a message's flags into where it belongs here.
func (im *importer) place(folder string, f mailparse.Flags) IngestOptions {
	o := IngestOptions{Unread: f.Known && !f.Seen, Starred: f.Flagged, Answered: f.Answered, firstID: im.before + 1}
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
	case draft && o.Folder != "trash" && o.Folder != "spam":
		o.Folder, o.draft = "archive", true
	case o.Folder == "" && len(names) > 0:
		o.Folder = "archive" // in a folder or under a label of its own, so not in the inbox
	}
	if im.opts.Folder != "" {
		o.Folder, o.draft = im.opts.Folder, false
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
