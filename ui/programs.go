package ui

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
)

// copyCmd puts text on the clipboard and says so.
func copyCmd(f *Frame, text, said string) tea.Cmd {
	put := f.Options.Copy
	if put == nil {
		return func() tea.Msg { return flashMsg{text: "Copying does not work in this terminal", failure: true} }
	}
	return func() tea.Msg {
		if err := put(text); err != nil {
			return flashMsg{text: "Could not copy: " + err.Error(), failure: true}
		}
		return flashMsg{text: said}
	}
}

// openCmd gives a link or file to the system's program for it. It runs without a shell, and what it starts sees no
// credential of ours.
func openCmd(f *Frame, target string) tea.Cmd {
	if len(f.Options.Opener) == 0 {
		return func() tea.Msg {
			return flashMsg{text: "No program opens links and files: set opener in the configuration", failure: true}
		}
	}
	argv := append(append([]string(nil), f.Options.Opener...), target)
	instead := ""
	if k := firstKey(f.Keys, keymap.InReader, keymap.SaveAttachment); k != "" && !strings.Contains(target, ":") && !strings.HasSuffix(target, ".html") {
		instead = k + " saves the file"
	}
	return func() tea.Msg {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = withoutSecrets(os.Environ())
		if err := cmd.Run(); err != nil {
			say := fmt.Sprintf("Could not open it with %s: %s", clean.Line(argv[0]), whyNotRun(err))
			if noProgram(err) && instead != "" {
				say += f.Theme.Dot() + instead
			}
			return flashMsg{text: say, failure: true}
		}
		return nil
	}
}

func noProgram(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
}

// whyNotRun says in a person's words why a program did not do its work.
func whyNotRun(err error) string {
	var exit *exec.ExitError
	switch {
	case noProgram(err):
		return "it is not installed"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be run"
	case errors.As(err, &exit) && exit.Exited():
		return fmt.Sprintf("it ended with code %d", exit.ExitCode())
	}
	return clean.Line(err.Error())
}

// withoutSecrets is an environment without the variables that may hold a credential.
func withoutSecrets(environ []string) []string {
	var out []string
	for _, e := range environ {
		if !strings.HasPrefix(strings.ToUpper(e), "OPENEMAIL_") {
			out = append(out, e)
		}
	}
	return out
}
