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
