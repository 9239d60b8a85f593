package ui

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// The answer to the question for the background is never read as keys, however late and in whatever pieces it comes.
func TestBackgroundAnswer(t *testing.T) {
	runes := func(s string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)} }
	alt := func(s string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Alt: true} }
	for name, keys := range map[string][]tea.KeyMsg{
		"whole":        {alt("]"), runes("11;rgb:1010/1010/1010"), alt(`\`)},
		"ends in BEL":  {alt("]"), runes("11;rgb:1010/1010/1010"), {Type: tea.KeyCtrlG}},
		"in pieces":    {alt("]"), runes("11;r"), runes("gb:1010/10"), runes("10/1010"), alt(`\`)},
		"escape alone": {runes("]11;rgb:1010/1010/1010"), alt(`\`)},
	} {
		t.Run(name, func(t *testing.T) {
			b := background{asked: true}
			now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
			if taken, _, _ := b.take(runes("j"), now); taken {
				t.Fatal("a key before the answer was taken")
			}
			now = now.Add(3 * time.Hour) // the program was stopped, or the line is slow
			for i, k := range keys {
				taken, known, dark := b.take(k, now)
				if !taken || known != (i == len(keys)-1) || known && !dark {
					t.Fatalf("part %d: taken %v, known %v, dark %v", i, taken, known, dark)
				}
				now = now.Add(20 * time.Millisecond)
			}
			if taken, _, _ := b.take(alt("]"), now); taken {
				t.Error("a key after the answer was taken")
			}
		})
	}
}
