package ui

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

// startEditor begins the way out to $EDITOR: the text goes to a file, the editor works on it, and the file is read
// back. The disk is touched in commands only.
func (c *compose) startEditor(f *Frame) tea.Cmd {
	if len(f.Options.Editor) == 0 {
		f.Warn("There is no editor to open: set EDITOR, or editor in the configuration")
		return nil
	}
	c.people.close()
	c.collect(f)
	c.touched = true
	f.Mail.EditDraft(c.draft)
	c.editing = true
	return editorFileCmd(f.Mail, c.draft.ID)
}

func editorFileCmd(m Mail, id state.DraftID) tea.Cmd {
	return func() tea.Msg {
		path, err := m.EditorFile(id)
		return editorFileMsg{id, path, err}
	}
}

func adoptEditorCmd(m Mail, id state.DraftID) tea.Cmd {
	return func() tea.Msg {
		d, err := m.AdoptEditorFile(id)
		return editorAdoptedMsg{id, d, err}
	}
}

// editor takes the next step of the way.
func (c *compose) editor(msg tea.Msg, f *Frame) tea.Cmd {
	switch msg := msg.(type) {
	case editorFileMsg:
		if msg.draft != c.draft.ID {
			return nil
		}
		if msg.err != nil {
			c.editing = false
			f.Warn("The editor was not opened: " + plainError(msg.err))
			return nil
		}
		id := c.draft.ID
		return tea.ExecProcess(editorCommand(f.Options.Editor, msg.path), func(err error) tea.Msg { return editorDoneMsg{id, err} })
	case editorDoneMsg:
		if msg.draft != c.draft.ID {
			return nil
		}
		if msg.err != nil {
			f.Warn(editorProblem(f.Options.Editor[0], msg.err))
		}
		// Also after a failure: what was written before it is worth having.
		return adoptEditorCmd(f.Mail, msg.draft)
	case editorAdoptedMsg:
		if msg.draft != c.draft.ID {
			return nil
		}
		c.editing = false
		if msg.err != nil {
			f.Warn("What the editor wrote could not be read: " + plainError(msg.err))
			return nil
		}
		if body := cleanInput(msg.text.Body); body != c.texts[partBody].text() {
			c.texts[partBody].setText(body)
		}
		c.focus(partBody)
		c.sync(f)
	}
	return nil
}

// editorCommand is the editor at work on a file. It writes to the terminal itself: through the writer that the screen
// is drawn with it would find a pipe.
func editorCommand(editor []string, path string) *exec.Cmd {
	argv := append(append([]string(nil), editor...), path)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = withoutSecrets(os.Environ())
	cmd.Stdout = os.Stdout
	return cmd
}

// editorProblem says why the editor did not do its work.
func editorProblem(name string, err error) string {
	name = clean.Line(name)
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "There is no program " + quoted(name) + ": set EDITOR, or editor in the configuration"
	case errors.As(err, &exit):
		return "The editor ended with an error; what it saved is here"
	}
	return "The editor could not be run: " + plainError(err)
}
