package ui

import (
	"errors"
	"os"
	"path/filepath"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
)

// What a file that is fetched is for.
type fileUse int

const (
	useOpen fileUse = iota // the system's program for it
	useRead                // shown here
	usePipe                // given to a command
)

// wantedFile is what is to be done with a file when it is here.
type wantedFile struct {
	name    string // of the file
	use     fileUse
	command string
}

// fetch asks for a file of a message and notes what it is for.
func (r *reader) fetch(message string, a api.Attachment, want wantedFile, f *Frame) {
	want.name = fileName(a)
	r.wanted = &want
	f.Mail.ReadFile(r.id, message, a.AttachmentID)
	f.Flash("Fetching " + want.name)
}

// fetched does with the files that are here what they were asked for. Who has gone on to another screen is not disturbed.
func (r *reader) fetched(f *Frame) tea.Cmd {
	var cmd tea.Cmd
	for path, ok := f.Mail.Opened(); ok; path, ok = f.Mail.Opened() {
		want := r.wanted
		if want == nil {
			continue // it is not waited for any more
		}
		if want.use == usePipe && filepath.Base(path) != want.name {
			continue // another one, that was asked for before
		}
		r.wanted = nil
		if want.use != useOpen && !f.Focused {
			f.Flash(want.name + " is here: ask for it again")
			continue
		}
		switch want.use {
		case useRead:
			cmd = join(cmd, readTextCmd(path, f.Width))
		case usePipe:
			cmd = join(cmd, pipeCmd(&pipeRun{command: want.command, path: path}))
		default:
			f.Ask(openFileMsg{path})
		}
	}
	return cmd
}

// textRead shows a file that was read. What is no text after all goes to the system's program.
func (r *reader) textRead(msg textReadMsg, f *Frame) {
	var pe *os.PathError
	switch {
	case errors.As(msg.err, &pe):
		f.Warn("Could not read the file: " + plainError(pe.Err))
	case msg.err != nil:
		f.Warn("Could not read the file: " + plainError(msg.err))
	case msg.view == nil:
		f.Ask(openFileMsg{msg.path})
	case f.Focused:
		f.Ask(pushScreenMsg{msg.view})
	}
}
