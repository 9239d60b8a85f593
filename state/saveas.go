package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/clean"
)

// SaveFileAs fetches one attachment of a message and writes it to path; a number is added to a name that is taken. A path
// that is a folder, or ends as one, gets the file under its own name. A notice tells the end.
func (m *Mail) SaveFileAs(thread ThreadID, message, attachment, path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saveFileAs(thread, message, attachment, path)
}

func (m *Mail) saveFileAs(thread ThreadID, message, attachment, path string) {
	again := func() { m.saveFileAs(thread, message, attachment, path) }
	m.fetchFiles("Fetching an attachment", thread, message, again, func(files []api.Attachment, err error) {
		if err != nil {
			m.filesFailed("Could not save the attachment", err, again)
			return
		}
		for _, a := range files {
			if a.AttachmentID != attachment {
				continue
			}
			go func() { // the disk may be slow: neither the loop nor the writer waits for it
				name, err := writeFileAs(a, path)
				m.post(func() {
					if err != nil {
						m.addNoticeRetry(Notice{Kind: NoticeFailure, Text: fmt.Sprintf("Could not save %s: %s", clean.Line(path), err)}, again)
						return
					}
					m.replaceResult(Notice{Kind: NoticeResult, Text: "Saved " + clean.Line(name)})
				})
			}()
			return
		}
		m.addNotice(Notice{Kind: NoticeFailure, Text: "The attachment is not there any more"})
	})
}

// writeFileAs writes an attachment to a path and gives the one that it has now.
func writeFileAs(a api.Attachment, path string) (string, error) {
	dir, name := filepath.Split(path)
	if info, err := os.Stat(path); name == "" || err == nil && info.IsDir() {
		dir, name = path, clean.Filename(a.Filename)
	}
	if dir == "" {
		dir = "."
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", plainPathError(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", plainPathError(err)
	}
	var names clean.Names
	for _, e := range entries {
		names.Add(e.Name())
	}
	name, err = writeFile(dir, strings.TrimSpace(name), &names, a.Content)
	return filepath.Join(dir, name), plainPathError(err)
}
