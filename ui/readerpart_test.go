package ui

import (
	"strings"
	"testing"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/state"
)

// alone puts one message into the first thread.
func alone(m *fakeMail, msg api.Message) {
	msg.ID = "m1"
	m.threads["t1"] = state.Thread{
		Row: state.Row{ID: "t1", Filled: true, Subject: msg.Subject}, Known: true, Rev: 1, Messages: []api.Message{msg},
	}
}

func TestQuotesAreOpenWhenThereIsNothingElse(t *testing.T) {
	const quote = "> one\n> two\n> three\n> THE END\n"
	for _, tt := range []struct {
		name, subject, text string
		open                bool
	}{
		{"an answer", "Re: Tea", "Yes, at four.\n\n" + quote, false},
		{"an answer of one sign", "Re: Tea", "👍\n\n" + quote, false},
		{"a quote and no word", "Re: Tea", "\n" + quote, true},
		{"a quote and its attribution", "Re: Tea", "On Tue, 3 Mar 2026 Ada wrote:\n" + quote, true},
		{"a quote and a signature", "Tea", quote + "\n-- \nAda\n", true},
		{"forwarded as teapost does it", "Tea", "See below.\n\n---------- Forwarded message ----------\nFrom: Ada\nDate: Tuesday\nTo: Grace\n\none\ntwo\nTHE END\n", true},
		{"forwarded as Outlook does it", "FW: Tea", "FYI\n\nFrom: Ada\nSent: Tuesday\nTo: Grace\nSubject: Tea\n\none\ntwo\nTHE END\n", true},
		{"an answer to what was forwarded", "Re: FW: Tea", "FYI\n\nFrom: Ada\nSent: Tuesday\nTo: Grace\nSubject: Tea\n\none\ntwo\nTHE END\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := sampleMail()
			alone(m, api.Message{Subject: tt.subject, Text: tt.text})
			s := startTest(t, m, 80, 24)
			s.keys("enter")
			if got := strings.Contains(s.frame(), "THE END"); got != tt.open {
				t.Errorf("what is quoted is shown: %v, want %v\n%s", got, tt.open, s.frame())
			}
			s.keys("tab")
			if got := strings.Contains(s.frame(), "THE END"); got == tt.open && strings.Contains(tt.text, ">") {
				t.Errorf("tab changes nothing\n%s", s.frame())
			}
		})
	}
}

func TestSwitchPart(t *testing.T) {
	m := sampleMail()
	alone(m, api.Message{Text: "The plain words.", HTML: `<p>The rich words, <a href="https://a.example/x">with a link</a></p>`})
	s := startTest(t, m, 140, 24)
	s.keys("enter")
	s.has("The plain words.", "t its HTML")
	s.keys("t")
	s.has("The rich words", "[1]", "t its text", "This is the HTML of the message")
	s.keys("1")
	s.has("https://a.example/x")
	s.keys("esc", "t")
	s.has("The plain words.")
	s.hasNot("[1]")

	alone(m, api.Message{Text: "Please use an HTML viewer.", HTML: "<p>The rich words</p>"})
	s = startTest(t, m, 140, 24)
	s.keys("enter")
	s.has("The rich words", "t its text")
	s.keys("t")
	s.has("Please use an HTML viewer.", "t its HTML")
}

func TestOnePartIsNotSwitched(t *testing.T) {
	for _, tt := range []struct{ text, html, want string }{
		{"Words", "", "This message is plain text only"},
		{"", "<p>Words</p>", "This message is HTML only"},
	} {
		m := sampleMail()
		alone(m, api.Message{Text: tt.text, HTML: tt.html})
		s := startTest(t, m, 140, 24)
		s.keys("enter")
		s.hasNot("t its")
		s.keys("t")
		s.has("Words", tt.want)
	}
}

// A long body is laid out by a command; an answer for the part that is not wanted any more is dropped.
func TestSwitchPartOfALongMessage(t *testing.T) {
	m := sampleMail()
	long := strings.Repeat("many words\n", 3000)
	alone(m, api.Message{Text: "Plain. " + long, HTML: "<p>Rich. " + long + "</p>"})
	s := startTest(t, m, 80, 24)
	s.keys("enter")
	s.has("Plain. many words")
	s.keys("t")
	s.has("Rich. many words")
	s.keys("t")
	s.has("Plain. many words")
}
