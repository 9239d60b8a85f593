package ui

import (
	"strings"
	"testing"

	"codeberg.org/teapost/teapost/keymap"
)

// presetTest is startTest with the keys of a preset.
func presetTest(t *testing.T, m *fakeMail, preset string) *screenTest {
	t.Helper()
	keys, err := keymap.New(preset, nil)
	if err != nil {
		t.Fatal(err)
	}
	return startTest(t, m, 100, 24, func(o *Options) { o.Keys = keys })
}

// In Gmail I makes read and U unread, whatever a thread was before.
func TestReadAndUnreadByName(t *testing.T) {
	for _, tt := range []struct {
		preset string
		keys   []string
		want   string
	}{
		{"gmail", []string{"I"}, "read [t1]"},
		{"gmail", []string{"j", "I"}, "read [t2]"}, // it is read already
		{"gmail", []string{"U"}, "unread [t1]"},    // it is unread already
		{"gmail", []string{"j", "U"}, "unread [t2]"},
		{"", []string{",", "u"}, "unread [t1]"},
		{"", []string{"u"}, "read [t1]"},
	} {
		s := presetTest(t, sampleMail(), tt.preset)
		s.keys(tt.keys...)
		if got := s.mail.took(); !strings.HasSuffix(got, tt.want) || strings.HasSuffix(got, "un"+tt.want) {
			t.Errorf("%q %v: %q, want %q", tt.preset, tt.keys, got, tt.want)
		}
	}
}

func TestMarkUnreadLeavesTheReader(t *testing.T) {
	s := presetTest(t, sampleMail(), "gmail")
	s.keys("enter", "U")
	if s.app.focus != paneThreads {
		t.Error("a conversation that was made unread stays open")
	}
}

func TestReplyWithoutQuote(t *testing.T) {
	m := sampleMail()
	m.replyBody = "\n\n-- \nAda\n\nOn Mon, 30 Nov 2026 at 09:00, Grace wrote:\n> one\n> two\n"
	s := presetTest(t, m, "aerc")
	s.keys("r", "q")
	s.has("> one", "Grace wrote:")
	s = presetTest(t, m, "aerc")
	s.keys("r", "r")
	if got := m.took(); !strings.Contains(got, "reply t1 m4 true") {
		t.Errorf("calls %q", got)
	}
	s.has("Ada")
	s.hasNot("> one", "wrote:")
	s = presetTest(t, m, "aerc")
	s.keys("R", "r")
	if got := m.took(); !strings.Contains(got, "reply t1 m4 false") {
		t.Errorf("calls %q", got)
	}
	s.hasNot("> one")
}

func TestUnquoted(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"Hello\n", "Hello\n"},
		{"\n\nOn Monday, Grace wrote:\n> a\n> b\n", ""},
		{"\n\n-- \nAda\n\nGrace wrote:\n> a\n", "\n\n-- \nAda\n"},
		{"> a\n", ""},
		{"\n\nOn Monday, Grace wrote:\n> a\n>\n>> b\n\n\n-- \nAda\n", "\n\n-- \nAda\n"},
	} {
		if got := unquoted(tt.in); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}
