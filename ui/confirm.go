package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/keymap"
)

// confirm asks one question. "y" says yes; enter takes the safe answer.
type confirm struct {
	question  string
	yes       tea.Cmd
	label     string
	offer     bool // yes is the safe answer
	other     func(f *Frame)
	otherwise string // what "n" does; empty: nothing
}

// newEither is newOffer with something else that "n" does.
func newEither(question, label string, yes tea.Cmd, otherwise string, other func(f *Frame)) Screen {
	return &confirm{question: question, yes: yes, label: label, offer: true, otherwise: otherwise, other: other}
}

// newOffer is newConfirm for what does no harm: enter says yes.
func newOffer(question, label string, yes tea.Cmd) Screen {
	return &confirm{question: question, yes: yes, label: label, offer: true}
}

// newConfirm asks question, with a word for what yes does: "trash", "quit anyway". It runs yes when the answer is yes.
func newConfirm(question, label string, yes tea.Cmd) Screen {
	return &confirm{question: question, yes: yes, label: label}
}

func (c *confirm) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	k, ok := msg.(tea.KeyMsg)
	if !ok || k.Paste {
		return c, nil
	}
	switch k.String() {
	case "y", "Y":
		f.Pop()
		return c, c.yes
	case "n", "N":
		f.Pop()
		if c.other != nil {
			c.other(f)
		}
	case "q":
		f.Pop()
	}
	return c, nil
}

func (c *confirm) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	switch a {
	case keymap.Accept:
		f.Pop()
		if c.offer {
			return c, c.yes, true
		}
		return c, nil, true
	case keymap.Back:
		f.Pop()
		return c, nil, true
	}
	return c, nil, false
}

func (c *confirm) View(f *Frame) string {
	t := f.Theme
	inner := min(60, f.Width-4)
	var body []string
	for _, p := range strings.Split(c.question, "\n") {
		body = append(body, cells.Wrap(p, inner)...)
	}
	yes := "y"
	if c.offer {
		yes = "enter"
	}
	keys := hint(t, yes, c.label) + "   " + hint(t, "n", "no") + "   " + hint(t, "esc", "no")
	if c.otherwise != "" {
		keys = hint(t, yes, c.label) + "   " + hint(t, "n", c.otherwise) + "   " + hint(t, "esc", "back")
	}
	body = append(body, "", keys)
	return box(t, "", body, inner)
}

func (c *confirm) Context() keymap.Context      { return keymap.InSearch }
func (c *confirm) Capturing() bool              { return true }
func (c *confirm) Title(*Frame) string          { return "" }
func (c *confirm) Hints(*Frame) []keymap.Action { return nil }

// hint is a key and what it does.
func hint(t *Theme, key, what string) string {
	return t.Key.Render(key) + " " + t.Hint.Render(what)
}
