package clean

import "unicode/utf8"

// escape returns how many bytes of s, which follows ESC, belong to the escape sequence.
func escape(s string) int {
	switch b := s[0]; {
	case introducer(rune(b) + 0x40):
		return 1 + sequence(rune(b), s[1:])
	case b < 0x20 || b > 0x7e:
		return 0
	}
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b >= 0x20 && b < 0x30:
		case b < 0x7f && b >= 0x30:
			return i + 1
		default:
			return i
		}
	}
	return len(s)
}

// introducer reports whether the C1 control r begins a sequence: DCS, SOS, CSI, OSC, PM, APC.
func introducer(r rune) bool {
	switch r {
	case 0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f:
		return true
	}
	return false
}

// sequence returns how many bytes of s, which follows the introducer (in its 7-bit form), are not text. Of a string
// (OSC and the like) that is never ended only the introducer goes, so that it cannot swallow what follows.
func sequence(intro rune, s string) int {
	if intro == '[' {
		for i := 0; i < len(s); i++ {
			switch b := s[i]; {
			case b >= 0x20 && b < 0x40:
			case b < 0x7f && b >= 0x40:
				return i + 1
			default:
				return i
			}
		}
		return len(s)
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			r = rune(s[i])
		}
		switch {
		case r == 0x07, r == 0x9c:
			return i + n
		case r == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case r < 0x20 && r != '\t', r >= 0x7f && r < 0xa0:
			return code(s)
		}
		i += n
	}
	return code(s)
}

// code returns the length of the number and semicolon at the start of an unfinished string, such as "2;".
func code(s string) int {
	for i := 0; i < len(s) && i < 6; i++ {
		switch {
		case s[i] == ';':
			return i + 1
		case s[i] < '0' || s[i] > '9':
			return 0
		}
	}
	return 0
}
