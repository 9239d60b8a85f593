package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/keymap"
)

// showsQuotes reports whether what a message quotes is shown: as the person said, else when there is nothing else to read.
func (r *reader) showsQuotes(m *api.Message) bool {
	if shown, said := r.quotes[m.ID]; said {
		return shown
	}
	return r.body(m.ID).bare || passedOn(m.Subject)
}

// passedOn reports whether a subject is that of a forwarded message.
func passedOn(subject string) bool {
	s := strings.ToLower(strings.TrimSpace(subject))
	for _, p := range []string{"fw:", "fwd:", "wg:", "tr:", "rv:", "i:", "enc:", "doorst:"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// switchPart shows the HTML of a message in place of its text, or the other way round.
func (r *reader) switchPart(m *api.Message, f *Frame) tea.Cmd {
	switch {
	case m == nil:
		return nil
	case !bothParts(m.Text, m.HTML):
		what := "plain text"
		if strings.TrimSpace(m.HTML) != "" {
			what = "HTML"
		}
		f.Flash("This message is " + what + " only")
		return nil
	}
	r.other[m.ID], r.open[m.ID] = !r.other[m.ID], true
	cmd := r.lay(f)
	r.toMessage(r.cur, f)
	if b := r.body(m.ID); b.doc != nil {
		f.Flash("This is the " + partName(b.doc.HTML) + " of the message")
	}
	return cmd
}

func partName(html bool) string {
	if html {
		return "HTML"
	}
	return "text"
}

// Word says to which part of the message the key goes.
func (r *reader) Word(a keymap.Action, _ *Frame) string {
	if m := r.message(); a == keymap.SwitchPart && m != nil {
		if b := r.bodies[m.ID]; b != nil && b.doc != nil {
			return "its " + partName(!b.doc.HTML)
		}
	}
	return ""
}
