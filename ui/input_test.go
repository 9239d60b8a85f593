package ui

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"
)

// Letters that are read together are text, also when they spell the name of a key.
func TestInputTakesTheNamesOfKeysAsText(t *testing.T) {
	for _, word := range []string{"home", "end", "left", "right", "delete", "backspace", "ctrl+u", "delete x"} {
		for _, open := range []string{"/", ":"} {
			s := startTest(t, sampleMail(), 80, 24)
			s.keys(open)
			s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(word)})
			var got string
			switch d := s.app.top().(type) {
			case *search:
				got = d.in.String()
			case *palette:
				got = d.in.String()
			}
			if got != word {
				t.Errorf("%s %q became %q", open, word, got)
			}
		}
	}
}
