package ui

import (
	"strings"
	"unicode"

	"codeberg.org/teapost/teapost/internal/cells"
)

const tabStop = 8 // cells

// drawn returns what is put on the screen for a cluster, and its cells. A tab depends on its column.
func drawn(cluster string, x int) (string, int) {
	if len(cluster) == 1 {
		switch c := cluster[0]; {
		case c == '\t':
			n := tabStop - x%tabStop
			return "        "[:n], n
		case c < 0x20 || c == 0x7f:
			return "", 0
		}
		return cluster, 1
	}
	for _, r := range cluster {
		if unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c' {
			cluster = strings.Map(dropFormat, cluster)
			break
		}
	}
	if cluster == "" {
		return "", 0
	}
	cluster = cells.Stable(cluster)
	return cluster, cells.Width(cluster)
}

func dropFormat(r rune) rune {
	if unicode.Is(unicode.Cf, r) && r != '\u200d' && r != '\u200c' {
		return -1
	}
	return r
}

// rows draws what is shown. mark draws the cluster under the cursor, "" at the end of a row; nil: no cursor.
// style draws a whole row by its line's text, and quote the quote marks that a further row of a quoted line is drawn
// with, which are not in the text; nil: as they are.
func (e *editor) rows(mark func(string) string, style func(line, row string) string, quote func(marks string) string) []string {
	out := make([]string, 0, e.height)
	row, sub := e.top.row, e.top.col
	csub := e.line(e.cur.row).sub(e.cur.col)
	for len(out) < e.height && row < len(e.lines) {
		l := e.line(row)
		start, end := l.span(sub)
		col := -1
		if mark != nil && row == e.cur.row && sub == csub {
			col = e.cur.col
		}
		lead := e.lead(l, sub)
		a, m, z := drawRow(l.text, start, end, col, e.width-lead)
		if style != nil {
			a, z = style(l.text, a), style(l.text, z)
		}
		if col >= 0 {
			a += mark(m) + z
		}
		if marks := l.text[:lead]; quote != nil {
			a = quote(marks) + a
		} else {
			a = marks + a
		}
		out = append(out, a)
		if sub < len(l.brk) {
			sub++
		} else {
			row, sub = row+1, 0
		}
	}
	return out
}

// drawRow returns a row of at most limit cells in three parts: before the cursor, the cluster under it, and the rest.
func drawRow(s string, start, end, col, limit int) (a, m, z string) {
	var b strings.Builder
	it := clusters{s: s[:end], i: start}
	x, seen := 0, col < 0
	for {
		i := it.i
		c, ok := it.next()
		if !ok {
			break
		}
		t, w := drawn(c, x)
		at := !seen && i >= col
		if x+w > limit {
			// Blanks hang over the edge; the cursor stays on it.
			break
		}
		if at {
			a, seen = b.String(), true
			b.Reset()
			if m = t; w == 0 {
				m = " "
				// The cell of the cursor must not move what follows.
				x++
			}
			if c == "\t" {
				m = " "
				b.WriteString(t[1:])
			}
			x += w
			continue
		}
		b.WriteString(t)
		x += w
	}
	if !seen {
		return b.String(), " ", ""
	}
	if col < 0 {
		return b.String(), "", ""
	}
	return a, m, b.String()
}
