package ui

import (
	"strings"
	"unicode/utf8"
)

// cleanInput makes text fit for the editor: line ends become "\n", control characters and broken UTF-8 go, escape
// sequences with them.
func cleanInput(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\r':
			b.WriteByte('\n')
			i++
			if i < len(s) && s[i] == '\n' {
				i++
			}
		case c == 0x1b:
			i = skipEscape(s, i)
		case c == '\n' || c == '\t' || c >= 0x20 && c < 0x7f:
			b.WriteByte(c)
			i++
		case c < 0x80:
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1, r >= 0x80 && r < 0xa0:
			case r == '\u2028' || r == '\u2029':
				b.WriteByte('\n')
			default:
				b.WriteString(s[i : i+n])
			}
			i += n
		}
	}
	return b.String()
}

// skipEscape returns the offset after the escape sequence at i: CSI up to its final byte, string sequences up to
// their end, else the escape alone. An unfinished one takes no text with it.
func skipEscape(s string, i int) int {
	if i+1 >= len(s) {
		return i + 1
	}
	switch s[i+1] {
	case '[':
		j := i + 2
		for j < len(s) && s[j] >= 0x20 && s[j] < 0x40 {
			j++
		}
		if j < len(s) && s[j] >= 0x40 && s[j] < 0x7f {
			return j + 1
		}
		return j
	case ']', 'P', 'X', '^', '_':
		for j := i + 2; j < len(s); j++ {
			switch {
			case s[j] == 0x07:
				return j + 1
			case s[j] == 0x1b && j+1 < len(s) && s[j+1] == '\\':
				return j + 2
			case s[j] == '\n' || s[j] == '\r':
				return i + 1
			}
		}
	}
	return i + 1
}

// flatLine makes line ends and tabs blanks, and drops those at the end.
func flatLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(s)
}
