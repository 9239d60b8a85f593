package ui

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
)

func TestComposeEditor(t *testing.T) {
	d := newDesk()
	f := &Frame{Width: 80, Height: 20, Now: deskNow, Mail: d, Options: &Options{Mail: d, Editor: []string{"vi"}}, Theme: NewTheme("", ColorsNone, false), asks: new([]tea.Msg)}
	c := newCompose(replyDraft()).(*compose)
	_, cmd, _ := c.Act(keymap.Editor, f)
	if cmd == nil || len(d.edits) != 1 {
		t.Fatal("the newest text must be handed over before the editor opens")
	}
	msg, ok := cmd().(editorFileMsg)
	if !ok || msg.path == "" {
		t.Fatalf("got %#v", msg)
	}
	if _, cmd = c.Update(msg, f); cmd == nil {
		t.Fatal("the editor was not started")
	}
	c.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("lost")}, f)
	d.file = replyDraft()
	d.file.Body = "From the editor\r\n\x1b[31mred\n"
	_, cmd = c.Update(editorDoneMsg{draft: "d1"}, f)
	c.Update(cmd(), f)
	if got := c.texts[partBody].text(); got != "From the editor\nred\n" {
		t.Errorf("the text is %q", got)
	}
	if got := d.edits[len(d.edits)-1].Body; got != "From the editor\nred\n" {
		t.Errorf("kept %q", got)
	}
	c.Act(keymap.EditUndo, f)
	if got := c.texts[partBody].text(); got != replyDraft().Body {
		t.Errorf("undo must bring back what stood there before: %q", got)
	}
	d.fileErr = errors.New("permission denied")
	_, cmd, _ = c.Act(keymap.Editor, f)
	c.Update(cmd(), f)
	if c.editing {
		t.Error("the text must be free again when the file cannot be written")
	}
	if got := editorProblem("ed", fmt.Errorf("x: %w", exec.ErrNotFound)); !strings.Contains(got, "There is no program “ed”") {
		t.Errorf("got %q", got)
	}
}

func TestEditorEnvironmentHasNoCredential(t *testing.T) {
	got := withoutSecrets([]string{"HOME=/x", "OPENEMAIL_API_KEY=secret", "OpenEmail_Base_URL=y", "TERM=z"})
	if !slices.Equal(got, []string{"HOME=/x", "TERM=z"}) {
		t.Errorf("got %q", got)
	}
}

// A program that finds a pipe where its terminal should be warns, or draws nothing.
func TestEditorWritesToTheTerminal(t *testing.T) {
	cmd := editorCommand([]string{"vim", "-n"}, "/tmp/draft.txt")
	if cmd.Stdout != os.Stdout {
		t.Errorf("standard output is %T", cmd.Stdout)
	}
	if want := []string{"vim", "-n", "/tmp/draft.txt"}; !slices.Equal(cmd.Args, want) {
		t.Errorf("runs %q, want %q", cmd.Args, want)
	}
}
