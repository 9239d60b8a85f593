package ui

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
)

func itoa(n int) string { return strconv.Itoa(n) }

// quoted puts foreign text in quotation marks, clean and not too long for a sentence.
func quoted(s string) string { return "“" + short(s) + "”" }

// sentence makes s begin with a capital and end with a stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// plural is a number with the right word.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// short is a subject for a sentence: clean, not empty, not long.
func short(subject string) string {
	s := clean.Line(subject)
	if s == "" {
		return "(no subject)"
	}
	return cells.Truncate(s, 40, "…")
}
