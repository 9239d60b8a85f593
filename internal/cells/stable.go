package cells

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	zwnj   = "\u200c"
	vs15   = '\ufe0e'
	vs16   = '\ufe0f'
	keycap = '\u20e3'
)

var zwj = []byte("\u200d")

// Stable replaces sequences on whose width terminals differ by a readable form that all draw alike: emoji lose their
// variation selector, skin tone, tag and joiner (a family is drawn as its members), lone flag letters become letters,
// conjoining jamo are composed, and consonants of Indian scripts that would merge are kept apart. Text without such
// sequences is returned as it is. Spacing vowel signs cannot be helped: see Column and Steady.
func Stable(s string) string {
	if !suspect(s) {
		return s
	}
	s = norm.NFC.String(s)
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == vs15, r == vs16, r == keycap, skinTone(r), r >= 0xe0020 && r <= 0xe007f:
		case prepended(r):
			// Takes no cell of its own for the renderer, one or none in terminals.
		case pictograph(r):
			// Only a joiner inside an emoji changes a width; in a script it chooses a shape.
			joined := false
			for bytes.HasSuffix(b, zwj) {
				b, joined = b[:len(b)-len(zwj)], true
			}
			if regional(r) {
				after, m := utf8.DecodeRuneInString(s[i:])
				if !regional(after) {
					b = append(b, byte('A'+r-0x1f1e6))
					break
				}
				b = utf8.AppendRune(b, r)
				r = after
				i += m
			}
			if !joined || r != '♀' && r != '♂' {
				b = utf8.AppendRune(b, r)
			}
		case r == 0x0e33:
			b = append(b, "\u0e4d\u0e32"...)
		case r == 0x0eb3:
			b = append(b, "\u0ecd\u0eb2"...)
		case r >= 0x1100 && r < 0x1200, r >= 0xa960 && r < 0xa980, r >= 0xd7b0 && r < 0xd800:
			b = utf8.AppendRune(b, jamo(r))
		default:
			b = utf8.AppendRune(b, r)
			if virama(r) && i < len(s) && !strings.HasPrefix(s[i:], zwnj) {
				b = append(b, zwnj...)
			}
		}
	}
	return norm.NFC.String(string(b))
}

// suspect is a quick look for anything that Stable may change.
func suspect(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c < 0xd8:
		case c <= 0xdf: // Arabic number signs
			if c == 0xd8 || c == 0xdb || c == 0xdc {
				return true
			}
		case c == 0xe0, c == 0xe1, c == 0xe2, c == 0xea, c == 0xed, c == 0xef, c >= 0xf0:
			return true
		}
	}
	return false
}

func skinTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }
func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func pictograph(r rune) bool {
	return r >= 0x1f000 && r < 0x1fb00 || r >= 0x2190 && r < 0x2c00 || r == 0x3030 || r == 0x303d || r == 0x3297 || r == 0x3299
}

// prepended reports whether r is a sign that is drawn around the digits after it.
func prepended(r rune) bool {
	switch r {
	case 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd:
		return true
	}
	return r >= 0x600 && r <= 0x605
}

// virama reports whether r joins two consonants into one grapheme cluster (Indic_Conjunct_Break=Linker).
func virama(r rune) bool {
	switch r {
	case 0x94d, 0x9cd, 0xacd, 0xb4d, 0xc4d, 0xd4d, 0x1039, 0x17d2, 0x1a60, 0x1b44, 0x1bab, 0xa9c0, 0xaaf6,
		0x10a3f, 0x11133, 0x113d0, 0x1193e, 0x11a47, 0x11a99, 0x11f42:
		return true
	}
	return false
}

// Compatibility letters for the modern conjoining jamo.
var (
	leading  = []rune("ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ")
	vowels   = []rune("ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ")
	trailing = []rune("ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")
)

func jamo(r rune) rune {
	for _, t := range []struct {
		base rune
		to   []rune
	}{{0x1100, leading}, {0x1161, vowels}, {0x11a8, trailing}} {
		if i := int(r - t.base); i >= 0 && i < len(t.to) {
			return t.to[i]
		}
	}
	return utf8.RuneError
}
