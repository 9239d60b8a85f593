package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
)

// textPrompt is a dialog that asks for one line of text.
type textPrompt struct {
	title string
	in    input
	done  func(string) tea.Cmd
}

// newTextPrompt asks for a line of text and gives it to done, unless the person changes their mind.
func newTextPrompt(title, initial string, done func(string) tea.Cmd) Screen {
	return &textPrompt{title: title, in: newInput(initial), done: done}
}

func (p *textPrompt) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	if k, ok := msg.(tea.KeyMsg); ok {
		p.in.Key(k)
	}
	return p, nil
}

func (p *textPrompt) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	switch a {
	case keymap.Accept:
		f.Pop()
		return p, p.done(p.in.String()), true
	case keymap.Back:
		f.Pop()
		return p, nil, true
	}
	return p, nil, false
}

func (p *textPrompt) View(f *Frame) string {
	t := f.Theme
	inner := min(56, f.Width-4)
	return box(t, p.title, []string{
		p.in.View(t, inner, true),
		hint(t, "enter", "done") + t.Dot() + hint(t, "esc", "back"),
	}, inner)
}

func (p *textPrompt) Context() keymap.Context { return keymap.InSearch }
func (p *textPrompt) Capturing() bool         { return true }
func (p *textPrompt) Title(*Frame) string     { return "" }
func (p *textPrompt) Hints(*Frame) []keymap.Action {
	return []keymap.Action{keymap.Accept, keymap.Back}
}
