package ui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
)

func TestPaletteFindsActionsByTheirNames(t *testing.T) {
	for _, tt := range []struct{ typed, first string }{
		{"snooze", "Hide it until a time"},
		{"later", "Hide it until a time"},
		{"reply all", "Reply to everybody"},
		{"reply-all", "Reply to everybody"},
		{"compose", "Write a new message"},
		{"help", "Show the keys"},
		{"archive", "Archive: take it out of the inbox"},
		{"arch", "Archive: take it out of the inbox"},
		{"star", "Star, or take the star away"},
		{"trash", "Move to the trash"},
		{"delete", "Delete for good"},
		{"spam", "Mark as spam"},
		{"log", "Show every call"},
		{"exit", "Quit"},
		{"tag", "Put labels on"},
		{"go to archive", "Go to Archive"},
		{"go sent", "Go to Sent"},
		{"gts", "Go to"},
		{"#work", "Go to the label #work"},
		{"select unread", "Select the unread rows"},
		{"ARCHIVE", "Archive: take it out of the inbox"},
		{"  new   message ", "Write a new message"},
	} {
		s := startTest(t, sampleMail(), 120, 30)
		s.keys(":")
		s.paste(tt.typed)
		p := s.app.top().(*palette)
		if len(p.found) == 0 || !strings.HasPrefix(p.all[p.found[0]].long, tt.first) {
			got := "nothing"
			if len(p.found) > 0 {
				got = p.all[p.found[0]].long
			}
			t.Errorf("%q finds %q first, want %q", tt.typed, got, tt.first)
		}
	}
	for _, typed := range []string{"print", "signat", "xyzzy", "lgtr"} {
		s := startTest(t, sampleMail(), 80, 24)
		s.keys(":")
		s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(typed), Paste: true})
		s.has("Nothing has that name")
	}
}

// Whatever the bottom line, the help and the configuration call an action, the palette finds it by.
func TestPaletteFindsEveryActionByEveryName(t *testing.T) {
	for _, ctx := range []keymap.Context{keymap.InThreads, keymap.InReader, keymap.InCompose, keymap.InOutbox, keymap.InActivity} {
		s := startTest(t, sampleMail(), 80, 24)
		p := newPalette(ctx, s.app.frame(s.app.threads)).(*palette)
		for _, c := range p.all {
			for _, text := range []string{c.name, c.long, c.other} {
				if text = strings.ToLower(text); c.match(text) < 0 {
					t.Errorf("%q is not found by %q", c.long, text)
				}
			}
		}
	}
}
