package ui

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

func TestBackgroundAnswer(t *testing.T) {
	asked := make(chan string, 1)
	start := func() *screenTest {
		return startTest(t, sampleMail(), 80, 24, func(o *Options) {
			o.Theme = "auto"
			o.Query = func(s string) error { asked <- s; return nil }
		})
	}
	alt := func(r rune) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: true} }
	bell := tea.KeyMsg{Type: tea.KeyCtrlG}
	for _, tt := range []struct {
		name, theme string
		keys        []tea.KeyMsg
	}{
		{"dark", "dark", []tea.KeyMsg{alt(']'), keyMsg("11;rgb:1e1e/1e1e/2e2e"), bell}},
		{"light, in parts, other end", "light", []tea.KeyMsg{alt(']'), keyMsg("11;rgb:ff/f"), keyMsg("f/ee"), alt('\\')}},
		{"escape alone before it", "light", []tea.KeyMsg{keyMsg("esc"), keyMsg("]11;rgb:ffff/ffff/eeee"), bell}},
		{"garbage", "auto", []tea.KeyMsg{alt(']'), keyMsg("11;rgb:zz/e/#"), bell}},
		{"nothing", "auto", nil},
	} {
		s := start()
		if got := <-asked; got != "\x1b]11;?\x07" {
			t.Fatalf("asked %q", got)
		}
		for _, k := range tt.keys {
			s.send(k)
		}
		if got := s.app.theme.choice; got != tt.theme {
			t.Errorf("%s: the theme is %q", tt.name, got)
		}
		if got := s.mail.took(); strings.ContainsAny(got, "[") {
			t.Errorf("%s: the answer did %q", tt.name, got)
		}
		s.mail.now = s.mail.now.Add(time.Second)
		s.keys("e")
		if got := s.mail.took(); got != "archive [t1]" {
			t.Errorf("%s: keys work on: %q", tt.name, got)
		}
	}
}

// The answer to the question for the background is never read as keys, however late and in whatever pieces it comes.
func TestBackgroundAnswerComesLate(t *testing.T) {
	runes := func(s string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)} }
	alt := func(s string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Alt: true} }
	for name, keys := range map[string][]tea.KeyMsg{
		"whole":        {alt("]"), runes("11;rgb:1010/1010/1010"), alt(`\`)},
		"ends in BEL":  {alt("]"), runes("11;rgb:1010/1010/1010"), {Type: tea.KeyCtrlG}},
		"in pieces":    {alt("]"), runes("11;r"), runes("gb:1010/10"), runes("10/1010"), alt(`\`)},
		"no start":     {runes("11;rgb:1010/1010/1010"), alt(`\`)},
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
			b = background{asked: true}
			b.take(alt("]"), now)
			if taken, _, _ := b.take(runes("j"), now); taken {
				t.Error("a key that goes on with no answer was taken")
			}
		})
	}
}
