package ui

import (
	"os"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

// newSaveFiles asks in which folder attachments are saved, and saves them there. No attachments: all of the message's.
func newSaveFiles(thread state.ThreadID, message string, attachments []string, f *Frame) Screen {
	attachments = append([]string(nil), attachments...)
	title := "Save all attachments in"
	note := "Names are made safe, and nothing that is there is overwritten."
	switch n := len(attachments); {
	case n == 1:
		title = "Save this attachment in"
		if name := attachmentName(f.Mail.Thread(thread), message, attachments[0]); name != "" {
			title = "Save " + quoted(name) + " in"
		}
	case n > 1:
		title = "Save " + itoa(n) + " attachments in"
	}
	dir := f.Options.DownloadDir
	if dir == "" {
		dir = "~" + string(os.PathSeparator)
	}
	return &pathPrompt{
		title: title, verb: "saves", note: note, in: newInput(clean.Line(dir)), folders: true, sel: -1, owner: new(int),
		done: func(path string, f *Frame) tea.Cmd {
			f.Mail.SaveFiles(thread, message, attachments, path)
			return nil
		},
	}
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
