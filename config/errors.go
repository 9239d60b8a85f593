package config

import "strings"

// Error is one thing wrong with the configuration, in words for a person. It never holds the
// value of a credential.
type Error struct {
	Where string // file, line and column and the key; or the flag or variable; may be empty
	What  string // what is wrong
	Mend  string // the way out; may be empty
}

// Error returns "Where: What; Mend".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Where != "" {
		b.WriteString(e.Where)
		b.WriteString(": ")
	}
	b.WriteString(e.What)
	if e.Mend != "" {
		b.WriteString("; ")
		b.WriteString(e.Mend)
	}
	return b.String()
}
