package mailparse

import "testing"

func TestSniff(t *testing.T) {
	for s, want := range map[string]Kind{
		"":       KindEmpty,
		" \r\n ": KindEmpty,
		"From a@example.com Tue Mar  3 09:30:00 2026\nSubject: x\n\nbody": KindMbox,
		"\nFrom 12345@xxx\nX-GM-THRID: 1\n\n":                             KindMbox,
		"From: a@example.com\n\nbody":                                     KindMessage,
		"      \nMIME-Version: 1.0\nFrom: a@example.com\n\nx":             KindMessage,
		"From : a@example.com\n\nbody":                                    KindMessage,
		"From here on it is prose.\nNothing else.\n":                      KindOther,
		`{"this": "is no mail"}`:                                          KindOther,
		"Note: this is prose\nAnd more":                                   KindOther,
		"\x89PNG\r\n\x1a\n\x00\x00":                                       KindOther,
	} {
		if got := Sniff([]byte(s)); got != want {
			t.Errorf("%q is %d, want %d", s, got, want)
		}
	}
}
