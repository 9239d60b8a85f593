package ui

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"codeberg.org/teapost/teapost/internal/cells"
)

const (
	wideFrom  = 110 // columns from which the panes stand beside each other
	minWidth  = 24  // below that, or below minHeight, a plain sentence is all
	minHeight = 5
	scrollRow = 3 // rows a turn of the wheel
)

// layout is where everything stands, in cells.
type layout struct {
	width, height int
	tiny, wide    bool
	bodyTop       int
	bodyHeight    int
	ruled         bool // the line above the news is drawn
	hinted        bool // the line of hints is drawn
	folders       int  // widths of the panes, in a wide layout
	threads       int
	reader        int
}

// newLayout is a pure function of the size.
func newLayout(width, height int) layout {
	l := layout{width: width, height: height}
	if width < minWidth || height < minHeight {
		l.tiny = true
		return l
	}
	l.wide = width >= wideFrom
	l.bodyTop = 1
	chrome := 2 // top line and news
	if height >= 8 {
		l.hinted = true
		chrome++
	}
	if height >= 12 {
		l.ruled = true
		chrome++
	}
	l.bodyHeight = height - chrome
	if l.wide {
		l.folders = min(24, 14+(width-wideFrom)/10)
		rest := width - l.folders - 2
		l.threads = rest * 46 / 100
		l.reader = rest - l.threads
	}
	return l
}

// beside is the width of a screen that stands beside the sidebar.
func (l layout) beside() int { return l.width - l.folders - 1 }

// lines makes s exactly height lines, none longer than width cells.
func lines(s string, width, height int) []string {
	var out []string
	if s != "" {
		out = strings.Split(s, "\n")
	}
	if len(out) > height {
		out = out[:height]
	}
	for len(out) < height {
		out = append(out, "")
	}
	for i, l := range out {
		if len(l) > width && cells.Width(l) > width {
			out[i] = cells.Truncate(l, width, "")
		}
	}
	return out
}

// block is lines joined again.
func block(s string, width, height int) string {
	return strings.Join(lines(s, width, height), "\n")
}

// beside puts columns beside each other, each padded to its width, with a line between.
func beside(t *Theme, height int, columns []string, widths []int, focus int) string {
	split := make([][]string, len(columns))
	for i, c := range columns {
		split[i] = lines(c, widths[i], height)
	}
	bars := make([]string, len(columns))
	for i := range bars {
		bars[i] = t.Rule.Render(t.Glyphs.Vertical)
		if i == focus || i+1 == focus {
			bars[i] = t.Accent.Render(t.Glyphs.FocusEdge)
		}
	}
	var b strings.Builder
	for y := range height {
		if y > 0 {
			b.WriteByte('\n')
		}
		for i := range columns {
			line := split[i][y]
			b.WriteString(line)
			if i < len(columns)-1 {
				b.WriteString(cells.Blank(widths[i] - cells.Width(line)))
				b.WriteString(bars[i])
			}
		}
	}
	return b.String()
}

// movedCells is text that moves the cursor by itself, as cells.Column draws it: it cannot be cut.
var movedCells = regexp.MustCompile(`\x1b\[(\d+)X\x1b7.*?\x1b8\x1b\[\d+C`)

// overlay draws box above the middle of base, which has height lines.
func overlay(base, box string, width, height int) string {
	under := lines(base, width, height)
	over := strings.Split(box, "\n")
	if len(over) > height {
		over = over[:height]
	}
	bw := 0
	for _, l := range over {
		bw = max(bw, cells.Width(l))
	}
	bw = min(bw, width)
	x, y := (width-bw)/2, (height-len(over))/3
	for i, l := range over {
		row := under[y+i]
		if strings.Contains(row, "\x1b7") {
			row = movedCells.ReplaceAllStringFunc(row, func(s string) string {
				n, _ := strconv.Atoi(movedCells.FindStringSubmatch(s)[1])
				return cells.Blank(min(n, width))
			})
		}
		left := cells.Pad(ansi.Truncate(row, x, ""), x)
		right := ""
		if cells.Width(row) > x+bw {
			room := width - x - bw
			for cut := x + bw; cut <= x+bw+2; cut++ {
				// A wide character at the edge goes as a whole.
				if right = ansi.TruncateLeft(row, cut, ""); cells.Width(right) <= room-(cut-x-bw) {
					right = cells.Blank(cut-x-bw) + right
					break
				}
			}
			right = cells.Truncate(right, room, "")
		}
		under[y+i] = left + "\x1b[0m" + cells.Pad(cells.Truncate(l, bw, ""), bw) + right
	}
	return strings.Join(under, "\n")
}

// box frames lines of at most inner cells with a title in the upper edge.
func box(t *Theme, title string, body []string, inner int) string {
	g := t.Glyphs
	edge := t.Rule
	var b strings.Builder
	title = cells.Truncate(title, max(0, inner-2), g.Ellipsis)
	b.WriteString(edge.Render(g.TopLeft + g.Rule))
	used := 1
	if title != "" {
		b.WriteString(" " + t.Bold.Render(title) + " ")
		used += cells.Width(title) + 2
	}
	b.WriteString(edge.Render(strings.Repeat(g.Rule, max(0, inner+2-used)) + g.TopRight))
	for _, l := range body {
		b.WriteString("\n" + edge.Render(g.Vertical) + " ")
		b.WriteString(cells.Pad(cells.Truncate(l, inner, ""), inner))
		b.WriteString(" " + edge.Render(g.Vertical))
	}
	b.WriteString("\n" + edge.Render(g.BottomLeft+strings.Repeat(g.Rule, inner+2)+g.BottomRight))
	return b.String()
}

// keep returns the first row to show so that cursor is in sight of n rows, height of which fit: where it was if
// possible, else half a page on.
func keep(top, cursor, n, height int) int {
	if height <= 0 {
		return 0
	}
	if cursor < top {
		top = cursor - height/2
		if cursor == 0 {
			top = 0
		}
	} else if cursor >= top+height {
		top = cursor - height/2
	}
	return max(0, min(top, n-height))
}
