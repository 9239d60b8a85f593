package cases

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"codeberg.org/teapost/teapost/internal/cells"
)

// ours are the sequences that the screens themselves write: colours, and the place of the next column after text whose
// width terminals see differently, and links.
var ours = regexp.MustCompile("\x1b\\[[0-9;:]*m|\x1b7|\x1b8|\x1b\\[[0-9]*C|\x1b\\]8;[a-z0-9=:]*;[!-~]*\x1b\\\\")

// look holds the frame that is on the screen now against what no frame may ever do.
func (w *world) look() {
	rows := strings.Split(w.model.View(), "\n")
	if w.setup.height > 0 && len(rows) > w.setup.height {
		w.bar.Errorf("%d rows in a window of %d", len(rows), w.setup.height)
	}
	if w.seen == nil || w.seenWidth != w.setup.width {
		w.seen, w.seenWidth = map[string]bool{}, w.setup.width
	}
	for _, r := range rows {
		if w.seen[r] {
			continue // most rows stay from frame to frame
		}
		w.seen[r] = true
		if bad := unsafe(r); bad != "" {
			w.bar.Errorf("%s: %q", bad, ansi.Strip(r))
		}
		if n := len(drawRow(r, joining)); n > w.setup.width {
			w.bar.Errorf("a row takes %d cells in a window of %d: %q", n, w.setup.width, r)
		}
	}
}

// unsafe says what in a frame could do something to a terminal, or hide or turn round its text.
func unsafe(view string) string {
	if !utf8.ValidString(view) {
		return "no valid UTF-8"
	}
	for _, r := range ours.ReplaceAllString(view, "") {
		switch {
		case r == '\n':
		case unicode.IsControl(r):
			return "a control character " + string(rune('<')) + strings.ToUpper(hex(r)) + ">"
		case r == 0x61c, r >= 0x200e && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return "a bidirectional control <" + hex(r) + ">"
		case r == 0x200b, r == 0xad, r == 0x2060, r == 0xfeff, r == 0x34f, r >= 0xe0000 && r < 0xe0100:
			return "an invisible character <" + hex(r) + ">"
		case r == 0x2028, r == 0x2029:
			return "a line end <" + hex(r) + ">"
		}
	}
	return ""
}

func hex(r rune) string {
	const digits = "0123456789abcdef"
	s := ""
	for r > 0 {
		s = string(digits[r%16]) + s
		r /= 16
	}
	return "u+" + s
}

// frame is the screen without colours.
func (w *world) frame() string {
	rows := strings.Split(w.model.View(), "\n")
	for i, r := range rows {
		rows[i] = strings.TrimRight(ansi.Strip(r), " ")
	}
	return blanks.ReplaceAllString(strings.Join(rows, "\n"), "\n\n\n") + "\n"
}

var blanks = regexp.MustCompile("\n{4,}")

// measure is how a terminal draws text: it cuts the first character off and says how many cells it takes.
type measure func(s string) (length, width int)

// joining is a terminal that draws grapheme clusters.
func joining(s string) (length, width int) {
	cluster, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return len(cluster), width
}

// plain is a terminal that draws code point by code point, as many do.
func plain(s string) (length, width int) {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == 0x200d, r >= 0xfe00 && r <= 0xfe0f, unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r), unicode.Is(unicode.Cf, r):
		return n, 0
	case r >= 0x1160 && r <= 0x11ff: // conjoining vowels and finals
		return n, 0
	case r >= 0x1f3fb && r <= 0x1f3ff, r >= 0x1f1e6 && r <= 0x1f1ff:
		if r < 0x1f3fb {
			return n, 1
		}
		return n, 2
	}
	return n, cells.Width(string(r))
}

// indian is a terminal that gives spacing vowel signs no cell of their own.
func indian(s string) (length, width int) {
	r, n := utf8.DecodeRuneInString(s)
	if unicode.Is(unicode.Mc, r) {
		return n, 0
	}
	return plain(s)
}

// drawRow draws one row of a frame on a terminal and returns its cells; a wide character fills its second cell with an
// empty text.
func drawRow(row string, m measure) []string {
	var grid []string
	at, saved := 0, 0
	put := func(s string, width int) {
		for len(grid) < at+width {
			grid = append(grid, " ")
		}
		if width == 0 {
			if at > 0 && at <= len(grid) {
				grid[at-1] += s
			}
			return
		}
		grid[at] = s
		for i := 1; i < width; i++ {
			grid[at+i] = ""
		}
		at += width
	}
	for row != "" {
		if row[0] == 0x1b {
			seq := ours.FindString(row)
			if seq == "" || !strings.HasPrefix(row, seq) {
				row = row[1:]
				continue
			}
			switch {
			case seq == "\x1b7":
				saved = at
			case seq == "\x1b8":
				at = saved
			case strings.HasSuffix(seq, "C"):
				n := 0
				for _, d := range seq[2 : len(seq)-1] {
					n = n*10 + int(d-'0')
				}
				at += max(n, 1)
			}
			row = row[len(seq):]
			continue
		}
		n, width := m(row)
		put(row[:n], width)
		row = row[n:]
	}
	return grid
}
