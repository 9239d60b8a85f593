package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/clean"
)

// Attach reads a file and keeps its bytes with a draft. The draft's Files grow when that is done; what goes wrong is a
// failure notice.
func (m *Mail) Attach(id DraftID, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// The file may lie on a slow disk: neither the loop nor the writer waits for it, but the next file does.
	before, done := m.attached, make(chan struct{})
	m.attached = done
	go func() {
		defer close(done)
		bytes, err := readAttachment(path)
		if before != nil {
			<-before
		}
		m.attach(id, filepath.Base(path), "", bytes, err)
	}()
}

func readAttachment(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, plainPathError(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case info.Size() > MaxFiles:
		return nil, fmt.Errorf("it has %.1f MB; at most %.1f MB can be sent", float64(info.Size())/1e6, float64(MaxFiles)/1e6)
	}
	bytes, err := os.ReadFile(path)
	return bytes, plainPathError(err)
}

func plainPathError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

// attach stores an attachment, or tells the error why there is none, and joins it to the draft.
func (m *Mail) attach(id DraftID, name, contentType string, bytes []byte, err error) {
	f := File{ID: newID(), Name: clean.Filename(name), ContentType: contentType, SizeBytes: int64(len(bytes))}
	if f.ContentType == "" {
		f.ContentType = contentTypeOf(f.Name, bytes)
	}
	failed := func(err error) {
		m.addNotice(Notice{Kind: NoticeFailure, Text: fmt.Sprintf("Could not attach %s: %s", clean.Line(name), diskReason(err))})
	}
	if err != nil {
		m.post(func() { failed(err) })
		return
	}
	m.state.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO file(id, draft, bytes) VALUES(?, ?, ?)", f.ID, string(id), bytes)
		return err
	}, func(err error) {
		m.post(func() {
			if err != nil {
				failed(err)
				return
			}
			rec := m.drafts[id]
			if rec == nil || rec.sent {
				failed(errors.New("the message is not being written any more"))
				return
			}
			rec.Draft.Files = append(append([]File(nil), rec.Draft.Files...), f)
			rec.known = true
			m.writeDraft(rec)
		})
	})
}

func contentTypeOf(name string, bytes []byte) string {
	if t := mime.TypeByExtension(strings.ToLower(filepath.Ext(name))); t != "" {
		return t
	}
	return http.DetectContentType(bytes)
}

// Detach takes an attachment off a draft.
func (m *Mail) Detach(id DraftID, file string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.drafts[id]
	if rec == nil || rec.sent {
		return
	}
	var kept []File
	for _, f := range rec.Draft.Files {
		if f.ID != file {
			kept = append(kept, f)
		}
	}
	rec.Draft.Files = kept
	m.writeDraft(rec)
	m.state.write(func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM file WHERE id = ?", file)
		return err
	}, m.logWrite("file"))
}

// fetchFiles asks for the attachments of a message, with their bytes.
func (m *Mail) fetchFiles(title string, thread ThreadID, message string, retry func(), done func([]api.Attachment, error)) {
	m.start(want{
		op: "threads.listAttachments", title: title, purpose: "files " + message, priority: api.Person, foreground: true, retry: retry,
		key: "files/" + message, resources: []string{"thread/" + string(thread)},
		run: func(ctx context.Context, c *api.Client) (any, error) {
			return c.Threads.ListAttachments(ctx, string(thread), message)
		},
		done: func(f api.Final) {
			if f.Err != nil {
				done(nil, f.Err)
				return
			}
			done(f.Value.([]api.Attachment), nil)
		},
	})
}

// attachFrom joins the attachments of a message to a draft.
func (m *Mail) attachFrom(id DraftID, thread ThreadID, msg *api.Message) {
	inline := map[string]bool{}
	for _, a := range msg.Attachments {
		inline[a.AttachmentID] = a.Inline
	}
	again := func() { m.attachFrom(id, thread, msg) }
	m.fetchFiles("Fetching the attachments to forward", thread, msg.ID, again, func(files []api.Attachment, err error) {
		if err != nil {
			if !errors.Is(err, context.Canceled) || errors.Is(err, errStopped) {
				m.addNoticeRetry(Notice{Kind: NoticeFailure, Text: "The attachments are not in the forwarded message: " + reason(err)}, again)
			}
			return
		}
		for _, a := range files {
			if inline[a.AttachmentID] {
				continue
			}
			m.attach(id, a.Filename, a.ContentType, a.Content, nil)
		}
	})
}

// SaveFiles fetches attachments of a message and writes them into dir under clean names of their own; nothing that is
// there is written over. No attachments named: all that are not shown inside the text. A notice tells the end.
func (m *Mail) SaveFiles(thread ThreadID, message string, attachments []string, dir string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saveFiles(thread, message, attachments, dir)
}

func (m *Mail) saveFiles(thread ThreadID, message string, attachments []string, dir string) {
	wanted := map[string]bool{}
	for _, id := range attachments {
		wanted[id] = true
	}
	again := func() { m.saveFiles(thread, message, attachments, dir) }
	m.fetchFiles("Fetching attachments", thread, message, again, func(files []api.Attachment, err error) {
		if err != nil {
			m.filesFailed("Could not save the attachments", err, again)
			return
		}
		go func() { // the disk may be slow: neither the loop nor the writer waits for it
			names, err := writeFiles(files, wanted, dir)
			m.post(func() {
				if err != nil {
					m.addNoticeRetry(Notice{Kind: NoticeFailure, Text: fmt.Sprintf("Could not save into %s: %s", dir, err)}, again)
					return
				}
				what := plural(len(names), "file", "files")
				if len(names) == 1 {
					what = names[0]
				}
				m.replaceResult(Notice{Kind: NoticeResult, Text: "Saved " + what + " to " + dir})
			})
		}()
	})
}

func (m *Mail) filesFailed(what string, err error, again func()) {
	if errors.Is(err, context.Canceled) {
		return
	}
	m.addNoticeRetry(Notice{Kind: NoticeFailure, Text: what + ": " + reason(err)}, again)
}

// writeFiles writes attachments under names that are clean, new and, on any file system, different.
func writeFiles(files []api.Attachment, wanted map[string]bool, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, plainPathError(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, plainPathError(err)
	}
	var names clean.Names
	for _, e := range entries {
		names.Add(e.Name())
	}
	var out []string
	for _, a := range files {
		if len(wanted) > 0 && !wanted[a.AttachmentID] {
			continue
		}
		name, err := writeFile(dir, clean.Filename(a.Filename), &names, a.Content)
		if err != nil {
			return out, plainPathError(err)
		}
		out = append(out, name)
	}
	return out, nil
}

// writeFile writes a file under a name that is not taken, and gives that name. The file has the name only once it is whole.
func writeFile(dir, wish string, names *clean.Names, content []byte) (name string, err error) {
	f, err := os.CreateTemp(dir, ".teapost-saving-*") // mode 0600
	if err != nil {
		return "", err
	}
	defer func() {
		if rmErr := os.Remove(f.Name()); !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
	}()
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	for {
		name = names.Unique(wish)
		if err := nameFile(f.Name(), filepath.Join(dir, name)); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}

// nameFile gives a file its name, and fails with fs.ErrExist when that is taken.
func nameFile(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return renameFile(from, to)
}

// renameFile is nameFile for file systems without links: for a moment an empty file has the name.
func renameFile(from, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Rename(from, to)); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// ReadFile fetches one attachment into a private temporary file, for a viewer. [Mail.Opened] tells its path.
func (m *Mail) ReadFile(thread ThreadID, message, attachment string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readFile(thread, message, attachment)
}

func (m *Mail) readFile(thread ThreadID, message, attachment string) {
	again := func() { m.readFile(thread, message, attachment) }
	m.fetchFiles("Fetching an attachment", thread, message, again, func(files []api.Attachment, err error) {
		if err != nil {
			m.filesFailed("Could not open the attachment", err, again)
			return
		}
		m.view("Could not open the attachment", files, attachment)
	})
}

// view writes one of files into a private temporary folder, and tells its path by [Mail.Opened]. what says that it did not.
func (m *Mail) view(what string, files []api.Attachment, id string) {
	go func() { // the disk may be slow: neither the loop nor the writer waits for it
		err := m.claim.hold()
		var dir string
		if err == nil {
			dir, err = os.MkdirTemp(m.opts.StateDir, "view-"+m.claim.id+"-")
		}
		var names []string
		if err == nil {
			names, err = writeFiles(files, map[string]bool{id: true}, dir)
		}
		m.post(func() {
			switch {
			case err != nil:
				m.addNotice(Notice{Kind: NoticeFailure, Text: what + ": " + err.Error()})
			case len(names) == 0:
				m.addNotice(Notice{Kind: NoticeFailure, Text: "The attachment is not there any more"})
			default:
				m.opened = append(m.opened, filepath.Join(dir, names[0]))
				m.changed()
			}
		})
	}()
}

// Opened is the path of a file that ReadFile or ViewHTML made ready; each is told once.
func (m *Mail) Opened() (path string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.opened) == 0 {
		return "", false
	}
	path = m.opened[0]
	m.opened = m.opened[1:]
	return path, true
}

// removeViewed deletes the temporary files of processes that are not living any more.
func (m *Mail) removeViewed(living map[string]bool) {
	dirs, err := filepath.Glob(filepath.Join(m.opts.StateDir, "view-*"))
	if err != nil {
		return
	}
	for _, d := range dirs {
		name := strings.TrimPrefix(filepath.Base(d), "view-")
		if living[name[:max(strings.LastIndexByte(name, '-'), 0)]] {
			continue
		}
		if err := os.RemoveAll(d); err != nil {
			m.log.Warn("cannot remove a temporary file", "error", err.Error())
		}
	}
}
