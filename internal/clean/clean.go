// Package clean is the one way by which text that others wrote (mail, servers, file names, links) goes to a terminal, a
// log, the clipboard, a file name or another program.
//
// What it returns is valid UTF-8 without control characters, escape sequences, bidirectional controls and invisible
// characters, and cleaning it again changes nothing. Two clean texts joined are clean. All functions are pure and safe
// for concurrent use; plain ASCII text costs no allocation.
package clean

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/internal/cells"
)

const (
	maxMarks = 5 // combining marks kept on one letter
	maxJoins = 8 // emoji joined into one
	tabStop  = 8 // cells
)

// Line returns s as one line: line ends and tabs become a blank.
func Line(s string) string { return run(s, false, len(s)) }

// LineMax is Line cut to at most max bytes, an ellipsis included when something was cut. It reads no more of s than it
// needs.
func LineMax(s string, max int) string {
	const tail = "…"
	if max <= 0 {
		return ""
	}
	out := run(s, false, max+1)
	if len(out) <= max {
		return out
	}
	end := max - len(tail)
	if end < 0 {
		return ""
	}
	for end > 0 && !utf8.RuneStart(out[end]) {
		end--
	}
	return Line(out[:end]) + tail // again, for what the cut left at the end
}

// Text returns s with line ends of every kind (CRLF, CR, VT, FF, NEL, U+2028, U+2029) as "\n" and tabs as blanks up to
// the next stop of 8 cells.
func Text(s string) string { return run(s, true, len(s)) }

// run cleans s and stops soon after it has max bytes; tabs may make it longer than s.
func run(s string, lines bool, max int) string {
	i := plain(s, lines)
	if i == len(s) {
		return s
	}
	if len(s) > max && i > max {
		return s[:max]
	}
	c := cleaner{lines: lines, out: make([]byte, 0, min(len(s), max)+16)}
	if i > 0 {
		c.ascii(s[:i])
	}
	for i < len(s) {
		if len(c.out) >= max && len(s) > max {
			break
		}
		if n := plain(s[i:], false); n > 0 {
			c.ascii(s[i : i+n])
			i += n
			continue
		}
		i += c.next(s[i:])
	}
	return string(c.out)
}

// plain is the length of the printable ASCII at the start of s.
func plain(s string, lines bool) int {
	for i := 0; i < len(s); i++ {
		if b := s[i]; (b < 0x20 || b > 0x7e) && (!lines || b != '\n') {
			return i
		}
	}
	return len(s)
}

type cleaner struct {
	lines bool
	out   []byte
	prev  rune // last code point written, 0 at the start of a line
	marks int  // combining marks since the last letter
	joins int  // joiners since the emoji began
	stop  int  // where in out the last tab stop or line began
}

func (c *cleaner) ascii(s string) {
	c.out = append(c.out, s...)
	c.prev, c.marks, c.joins = rune(s[len(s)-1]), 0, 0
	if end := strings.LastIndexByte(s, '\n'); end >= 0 {
		c.stop = len(c.out) - len(s) + end + 1
		if end == len(s)-1 {
			c.prev = 0
		}
	}
}

func (c *cleaner) write(r rune) {
	c.out = utf8.AppendRune(c.out, r)
	c.prev = r
}

func (c *cleaner) blank() {
	c.out = append(c.out, ' ')
	c.prev, c.marks, c.joins = ' ', 0, 0
}

func (c *cleaner) lineEnd() {
	if !c.lines {
		c.blank()
		return
	}
	c.out = append(c.out, '\n')
	c.prev, c.marks, c.joins, c.stop = 0, 0, 0, len(c.out)
}

func (c *cleaner) tab() {
	if !c.lines {
		c.blank()
		return
	}
	w := cells.Width(string(c.out[c.stop:]))
	c.out = append(c.out, cells.Blank(tabStop-w%tabStop)...)
	c.prev, c.marks, c.joins, c.stop = ' ', 0, 0, len(c.out)
}

// next deals with what stands at the start of s, which is not plain ASCII, and returns how many bytes that was.
func (c *cleaner) next(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		if b := rune(s[0]); b >= 0x80 && b < 0xa0 && introducer(b) {
			return 1 + sequence(b-0x40, s[1:])
		}
		c.visible(utf8.RuneError)
		return 1
	}
	switch {
	case r == 0x1b:
		if len(s) == 1 {
			return 1
		}
		return 1 + escape(s[1:])
	case r == '\t':
		c.tab()
	case r == '\r':
		c.lineEnd()
		if len(s) > 1 && s[1] == '\n' {
			return 2
		}
	case r == '\n', r == '\v', r == '\f', r == 0x85, r == 0x2028, r == 0x2029:
		c.lineEnd()
	case r < 0x20, r == 0x7f:
	case r >= 0x80 && r < 0xa0:
		if introducer(r) {
			return n + sequence(r-0x40, s[n:])
		}
	default:
		return c.character(r, s, n)
	}
	return n
}

// character writes r, which is no control character, unless it must not be seen.
func (c *cleaner) character(r rune, s string, n int) int {
	switch {
	case r == zwj && pictograph(c.prev) || r == zwj && (c.prev == vs16 || skinTone(c.prev)):
		after, _ := utf8.DecodeRuneInString(s[n:])
		if c.joins < maxJoins && pictograph(after) && !skinTone(after) {
			c.joins++
			c.write(r)
			c.marks = 0
		}
	case r == zwj, r == zwnj:
		if shaping(c.prev) {
			c.write(r)
		}
	case r == vs16:
		if pictograph(c.prev) && !skinTone(c.prev) {
			c.write(r)
			break
		}
		if after, _ := utf8.DecodeRuneInString(s[n:]); after == keycap && keyBase(c.prev) && c.marks == 0 {
			c.write(r)
		}
	case unicode.Is(unicode.Variation_Selector, r):
		// Chooses the shape of an ideograph or a Mongolian letter; elsewhere it can only hide data.
		if r >= 0xe0100 && unicode.Is(unicode.Han, c.prev) || r < 0x1810 && unicode.Is(unicode.Mongolian, c.prev) {
			c.write(r)
		}
	case r == blackFlag:
		c.visible(r)
		if m := tags(s[n:]); m > 0 {
			c.out = append(c.out, s[n:n+m]...)
			c.prev = cancelTag
			return n + m
		}
	case invisible(r):
	case r&0xfffe == 0xfffe, r >= 0xfdd0 && r < 0xfdf0:
		c.visible(utf8.RuneError)
	case r != 0x3000 && unicode.Is(unicode.Zs, r):
		c.blank()
	case unicode.Is(unicode.M, r):
		// Without a letter before it a mark would be drawn on whatever stands to the left of the text.
		if c.prev != 0 && c.marks < maxMarks {
			c.write(r)
			c.marks++
		}
	default:
		c.visible(r)
	}
	return n
}

func (c *cleaner) visible(r rune) {
	if c.prev != zwj {
		c.joins = 0
	}
	c.marks = 0
	c.write(r)
}

const (
	zwnj      = 0x200c
	zwj       = 0x200d
	vs16      = 0xfe0f
	keycap    = 0x20e3
	blackFlag = 0x1f3f4
	cancelTag = 0xe007f
)

// invisible reports whether r takes no place and says nothing: bidirectional controls, zero width spaces, soft hyphens,
// fillers, tags, annotations.
func invisible(r rune) bool {
	switch {
	case r == 0xfffc, r == 0x034f:
		return true
	case r >= 0x600 && r <= 0x605, r == 0x6dd, r == 0x70f, r == 0x890, r == 0x891, r == 0x8e2, r == 0x110bd, r == 0x110cd:
		return false // signs that are drawn, although of the category Cf
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r >= 0xe0000 && r < 0xe1000
}

// tags returns the length of the tag characters after a black flag that make it the flag of a region, 0 when they do not.
func tags(s string) int {
	for i, count := 0, 0; i < len(s) && count < 8; count++ {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == cancelTag && count > 0:
			return i
		case r < 0xe0030 || r > 0xe007a:
			return 0
		}
	}
	return 0
}

func keyBase(r rune) bool  { return r >= '0' && r <= '9' || r == '#' || r == '*' }
func skinTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// pictograph reports whether r may be a part of an emoji sequence.
func pictograph(r rune) bool {
	switch {
	case r < 0x203c:
		return r == 0xa9 || r == 0xae
	case r >= 0x2190 && r < 0x2c00, r >= 0x1f000 && r < 0x1fb00:
		return true
	}
	switch r {
	case 0x203c, 0x2049, 0x2122, 0x2139, 0x3030, 0x303d, 0x3297, 0x3299:
		return true
	}
	return false
}

// shaping reports whether r belongs to a script in which joiners choose the shape of letters.
func shaping(r rune) bool {
	switch {
	case r < 0x600:
		return false
	case r < 0xe00, r >= 0xf00 && r < 0x10a0, r >= 0x1780 && r < 0x18b0, r >= 0x1900 && r < 0x1c80:
		return unicode.IsLetter(r) || unicode.IsMark(r)
	case r >= 0xa800 && r < 0xab00, r >= 0xabc0 && r < 0xac00, r >= 0xfb50 && r < 0xfdd0, r >= 0xfe70 && r < 0xff00,
		r >= 0x10800 && r < 0x12000, r >= 0x1e800 && r < 0x1ef00:
		return unicode.IsLetter(r) || unicode.IsMark(r)
	}
	return false
}
