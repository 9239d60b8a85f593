// Package cells measures and cuts text by terminal cells.
//
// A cell is one column of a terminal's grid. Widths are those that the Bubble Tea renderer uses (grapheme clusters,
// East Asian ambiguous characters narrow), so that a line which fits here is never cut by the renderer.
//
// Text is expected to be clean (see package clean): one line, no control characters. Width, Truncate, Pad and Fit also
// take text that holds SGR sequences; everything else does not. Nothing here keeps state; all functions are safe for
// concurrent use.
package cells

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/displaywidth"
)

// printable reports whether s holds only printable ASCII, one cell a byte.
func printable(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// Width returns the number of cells that s takes.
func Width(s string) int {
	if printable(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// next returns the first grapheme cluster of s and its width.
func next(s string) (cluster string, width int) {
	if len(s) > 1 && s[0] < utf8.RuneSelf && s[1] < utf8.RuneSelf {
		if s[0] < 0x20 || s[0] == 0x7f {
			return s[:1], 0
		}
		return s[:1], 1
	}
	g := displaywidth.StringGraphemes(s)
	if !g.Next() {
		return "", 0
	}
	cluster = g.Value()
	return cluster, Width(cluster)
}

// Truncate cuts s so that it takes at most width cells, tail included; tail is added only when something was cut.
// It never cuts inside a grapheme cluster. A tail that does not fit is left out.
func Truncate(s string, width int, tail string) string {
	if width <= 0 {
		return ""
	}
	if len(s) <= width && printable(s) {
		return s
	}
	if strings.IndexByte(s, 0x1b) >= 0 {
		return truncateStyled(s, width, tail)
	}
	tw := Width(tail)
	if tw > width {
		tail, tw = "", 0
	}
	if printable(s) {
		return s[:width-tw] + tail
	}
	// cut is the longest prefix that leaves room for the tail; the rest is read on only to see whether it is needed.
	w, cut, pos := 0, 0, 0
	for pos < len(s) {
		c, cw := next(s[pos:])
		if w+cw > width {
			return s[:cut] + tail
		}
		w += cw
		pos += len(c)
		if w <= width-tw {
			cut = pos
		}
	}
	return s
}

// truncateStyled is Truncate for text with sequences. The library may keep a cluster that is too wide at the edge, so
// the result is checked.
func truncateStyled(s string, width int, tail string) string {
	if ansi.StringWidth(s) <= width {
		return s
	}
	for w := width; w > 0; w-- {
		if out := ansi.Truncate(s, w, tail); ansi.StringWidth(out) <= width {
			return out
		}
	}
	return ""
}

const blanks = "                                                                                                    "

// Blank returns n blanks; none when n is negative.
func Blank(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blanks) {
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}

// Pad adds blanks on the right up to width cells. Wider text is returned as it is.
func Pad(s string, width int) string {
	w := Width(s)
	out := s + Blank(width-w)
	if w < width && !printable(s) {
		// A sign such as U+0600 at the end takes the first blank into its cluster.
		out += Blank(width - Width(out))
	}
	return out
}

// PadLeft adds blanks on the left up to width cells. Wider text is returned as it is.
func PadLeft(s string, width int) string {
	return Blank(width-Width(s)) + s
}

// Fit returns s in exactly width cells: cut with an ellipsis, or padded on the right.
func Fit(s string, width int) string {
	return Pad(Truncate(s, width, "…"), width)
}

// FitLeft is Fit with the text at the right edge.
func FitLeft(s string, width int) string {
	return PadLeft(Truncate(s, width, "…"), width)
}

// Column returns s in exactly width cells for a row with more columns to its right, whatever the terminal thinks of
// its width. The text goes through Stable. Where terminals still differ (spacing vowel signs of Indian scripts) the
// result saves the cursor, draws, and moves on from the saved place, so the next column begins where it should.
func Column(s string, width int) string {
	if width <= 0 {
		return ""
	}
	s = Stable(s)
	if Steady(s) {
		return Fit(s, width)
	}
	for w := width; w > 0; w-- {
		cut := Truncate(s, w, "…")
		if widest(cut) <= width {
			n := strconv.Itoa(width)
			return "\x1b[" + n + "X\x1b7" + Pad(cut, width) + "\x1b8\x1b[" + n + "C"
		}
	}
	return Blank(width)
}

// Steady reports whether all terminals are expected to draw s in Width(s) cells.
func Steady(s string) bool {
	return printable(s) || widest(s) == Width(s)
}

// widest is the width of s in a terminal that counts code points one by one.
func widest(s string) int {
	w := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mc, r), regional(r):
			w++
		default:
			w += displaywidth.Rune(r)
		}
	}
	return w
}
