package state

import (
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// EditorFile writes a draft's text to a file of its own for an editor, and gives its path. It blocks on the disk. The
// file is adopted by [Mail.AdoptEditorFile], or at the next start when the program died in between.
func (m *Mail) EditorFile(id DraftID) (string, error) {
	m.mu.Lock()
	rec := m.drafts[id]
	if rec == nil || !rec.known || rec.sent {
		m.mu.Unlock()
		return "", errors.New("there is no such draft")
	}
	body := rec.Draft.Body
	rec.Editor = sum(Draft{Body: body})
	m.writeDraft(rec)
	m.mu.Unlock()
	dir := filepath.Join(m.opts.StateDir, "editor")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := editorPath(dir, id)
	return path, os.WriteFile(path, []byte(body), 0o600)
}

func editorPath(dir string, id DraftID) string {
	return filepath.Join(dir, strings.NewReplacer("/", "_", ":", "_").Replace(string(id))+".md")
}

// AdoptEditorFile reads the text back that the editor wrote. It blocks on the disk; the file goes once the text is safe.
func (m *Mail) AdoptEditorFile(id DraftID) (Draft, error) {
	path := editorPath(filepath.Join(m.opts.StateDir, "editor"), id)
	text, err := os.ReadFile(path)
	if err != nil {
		return Draft{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.drafts[id]
	if rec == nil {
		return Draft{}, errors.New("there is no such draft")
	}
	d := rec.Draft
	d.Body, rec.Editor = editorText(text), ""
	m.editDraft(d)
	m.writeEdited(rec, path)
	return rec.Draft, nil
}

func editorText(text []byte) string {
	return strings.TrimSuffix(strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), "\r\n", "\n"), "\n")
}

// writeEdited writes a draft whose text came from an editor, whose file goes when that is done.
func (m *Mail) writeEdited(rec *draftRecord, path string) {
	m.writeDraftThen(rec, func(err error) {
		if err != nil {
			return // written again, and the file is adopted at the next start
		}
		m.state.read(func(*sql.DB) error { return os.Remove(path) }, func(err error) {
			if err != nil {
				m.log.Warn("cannot remove what an editor wrote", "error", err.Error())
			}
		})
	})
}

// adoptEditorFiles takes over what an editor wrote when the program died under it, but for drafts that are open elsewhere.
func (m *Mail) adoptEditorFiles(elsewhere func(*draftRecord) bool) {
	dir := filepath.Join(m.opts.StateDir, "editor")
	for id, rec := range maps.Clone(m.drafts) {
		if elsewhere(rec) {
			continue
		}
		path := editorPath(dir, id)
		info, err := os.Stat(path)
		if err != nil || rec.Editor == "" && !info.ModTime().After(rec.Draft.UpdatedAt) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 {
			continue
		}
		body := editorText(text)
		switch rec.Editor {
		case sum(Draft{Body: rec.Draft.Body}), sum(Draft{Body: body}):
		default: // the draft went on without the editor: both texts stay
			d := rec.Draft
			d.ID, d.ServerID, d.Files = DraftID(newID()), "", nil
			rec = &draftRecord{known: true}
			rec.Draft = d
			m.drafts[d.ID] = rec
		}
		if rec.Editor != sum(Draft{Body: body}) {
			rec.Draft.Body, rec.Draft.UpdatedAt, rec.Open = body, info.ModTime(), true
		}
		rec.Editor = ""
		m.writeEdited(rec, path)
	}
}
