package ui

import (
	"os"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

// newSaveFiles asks where attachments are saved, and saves them there: one under a name that can be changed, several in a
// folder. No attachments: all of the message's.
func newSaveFiles(thread state.ThreadID, message string, attachments []string, f *Frame) Screen {
	attachments = append([]string(nil), attachments...)
	dir := f.Options.DownloadDir
	if dir == "" {
		dir = "~"
	}
	dir = strings.TrimSuffix(clean.Line(dir), string(os.PathSeparator)) + string(os.PathSeparator)
	p := &pathPrompt{title: "Save all attachments in", verb: "saves", folders: true, sel: -1, owner: new(int)}
	if len(attachments) == 1 {
		p.title = "Save this attachment as"
		p.note = "Nothing that is there is overwritten."
		p.in = newInput(dir + attachmentName(f.Mail.Thread(thread), message, attachments[0]))
		p.done = func(path string, f *Frame) tea.Cmd {
			f.Mail.SaveFileAs(thread, message, attachments[0], path)
			return nil
		}
		return p
	}
	if n := len(attachments); n > 1 {
		p.title = "Save " + itoa(n) + " attachments in"
	}
	p.note = "Names are made safe, and nothing that is there is overwritten."
	p.in = newInput(dir)
	p.done = func(path string, f *Frame) tea.Cmd {
		f.Mail.SaveFiles(thread, message, attachments, path)
		return nil
	}
	return p
}

func attachmentName(th state.Thread, message, attachment string) string {
	for _, m := range th.Messages {
		if m.ID != message {
			continue
		}
		for _, a := range m.Attachments {
			if a.AttachmentID == attachment {
				return clean.Filename(a.Filename)
			}
		}
	}
	return ""
}
