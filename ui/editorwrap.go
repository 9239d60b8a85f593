package ui

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// textLine is one line of the text with the places where it is wrapped. The wrap is kept per line and renewed
// only around a change, which keeps a key at 200 kB as cheap as one at 200 bytes.
type textLine struct {
	text string
	brk  []int // offsets at which the second and later rows begin, for width w
	w    int   // 0: not wrapped yet
}

// clusters walks over grapheme clusters, with a short way for ASCII.
type clusters struct {
	s    string
	i    int
	g    displaywidth.Graphemes[string]
	live bool
}

func (c *clusters) next() (cluster string, ok bool) {
	if c.i >= len(c.s) {
		return "", false
	}
	at := c.i
	if c.s[at] < 0x80 && (at+1 == len(c.s) || c.s[at+1] < 0x80) {
		c.i++
		c.live = false
		return c.s[at : at+1], true
	}
	if !c.live {
		c.g, c.live = displaywidth.StringGraphemes(c.s[at:]), true
	}
	if !c.g.Next() {
		c.i = len(c.s)
		return c.s[at:], true
	}
	v := c.g.Value()
	c.i += len(v)
	return v, true
}

// closing reports characters that do not begin a row.
func closing(cluster string) bool {
	r, _ := utf8.DecodeRuneInString(cluster)
	return strings.ContainsRune("、。，．・：；？！」』）］｝〉》】〕…ー々", r)
}

// wrapRow returns the offset at which the row that begins at start ends. Blanks that do not fit hang over the edge.
func wrapRow(s string, start, width int) int {
	it := clusters{s: s, i: start}
	x, last, marks := 0, -1, 0
	if start == 0 {
		marks = quoteLead(s, width) // a row of marks alone would read as an empty line
	}
	for {
		i := it.i
		c, ok := it.next()
		if !ok {
			return len(s)
		}
		blank := c == " " || c == "\t"
		w := 1
		if len(c) > 1 || blank {
			_, w = drawn(c, x)
		}
		if x+w > width && i > start {
			switch {
			case blank:
				end := it.i
				for end < len(s) && (s[end] == ' ' || s[end] == '\t') {
					end++
				}
				// A mark that joins the last blank belongs to the next row.
				if end > it.i && end < len(s) && s[end] >= 0x80 {
					if n := nextCluster(s, end-1); n > end {
						end--
					}
				}
				return end
			case w == 2 && !closing(c):
				return i
			case last > start:
				return last
			}
			return i
		}
		x += w
		switch {
		case it.i <= marks:
		case blank || c == "-" && i > start:
			last = it.i
		case w == 2:
			if last < i && !closing(c) && i > start {
				last = i
			}
		}
		if w == 2 && it.i < len(s) {
			if nc := s[it.i:]; !closing(nc) {
				last = it.i
			}
		}
	}
}

func nextCluster(s string, i int) int {
	it := clusters{s: s, i: i}
	it.next()
	return it.i
}

// quoteMarks returns how many bytes of a line are its quote marks: "> > " of "> > text". They are as many cells.
func quoteMarks(s string) int {
	i := 0
	for i < len(s) && s[i] == '>' {
		i++
		if i < len(s) && s[i] == ' ' {
			i++
		}
	}
	return i
}

// quoteLead is how many cells the second and later rows of a line stand in: as far as its quote marks, or not at all
// where that leaves little room.
func quoteLead(s string, width int) int {
	if n := quoteMarks(s); n <= width/2 {
		return n
	}
	return 0
}

// rowRoom is how many cells of text the row that begins at start has.
func rowRoom(start, width, lead int) int {
	if start > 0 {
		return width - lead
	}
	return width
}

func wrapAll(s string, width int) []int {
	var brk []int
	lead := quoteLead(s, width)
	for start := 0; ; {
		start = wrapRow(s, start, rowRoom(start, width, lead))
		if start >= len(s) {
			return brk
		}
		brk = append(brk, start)
	}
}

// rewrap renews the wrap of s around a change: in the old text the bytes from..to were replaced, and what followed
// moved by delta. Its quote marks are as they were.
func rewrap(s string, old []int, from, to, delta, width int) []int {
	r := max(sort.SearchInts(old, from+1)-2, 0)
	brk := append(make([]int, 0, len(old)+2), old[:r]...)
	start := 0
	if r > 0 {
		start = old[r-1]
	}
	k, lead := r, quoteLead(s, width)
	for {
		start = wrapRow(s, start, rowRoom(start, width, lead))
		if start >= len(s) {
			return brk
		}
		brk = append(brk, start)
		if was := start - delta; was > to {
			for k < len(old) && old[k] < was {
				k++
			}
			if k < len(old) && old[k] == was {
				for _, b := range old[k+1:] {
					brk = append(brk, b+delta)
				}
				return brk
			}
		}
	}
}

// line returns a line with its wrap in place.
func (e *editor) line(row int) *textLine {
	l := &e.lines[row]
	if l.w != e.width {
		if e.single {
			l.brk = nil
		} else {
			l.brk = wrapAll(l.text, e.width)
		}
		l.w = e.width
	}
	return l
}

// lead is how many cells the text of a row stands in; see [quoteLead].
func (e *editor) lead(l *textLine, sub int) int {
	if sub == 0 || e.single {
		return 0
	}
	return quoteLead(l.text, e.width)
}

// sub returns the row within its line that the offset is in.
func (l *textLine) sub(col int) int { return sort.SearchInts(l.brk, col+1) }

// span returns the offsets of a row of the line.
func (l *textLine) span(sub int) (start, end int) {
	if sub > 0 {
		start = l.brk[sub-1]
	}
	if sub < len(l.brk) {
		return start, l.brk[sub]
	}
	return start, len(l.text)
}

// cellAt returns the cell of an offset in its row.
func cellAt(s string, start, col int) int {
	it := clusters{s: s[:col], i: start}
	x := 0
	for {
		c, ok := it.next()
		if !ok {
			return x
		}
		_, w := drawn(c, x)
		x += w
	}
}

// offsetAt returns the offset of the cluster in which the cell is, at most end.
func offsetAt(s string, start, end, cell int) int {
	it := clusters{s: s, i: start}
	x := 0
	for it.i < end {
		i := it.i
		c, _ := it.next()
		_, w := drawn(c, x)
		if x+w > cell {
			return i
		}
		x += w
	}
	return end
}

// rowEnd is the last place of a row that is still drawn in it.
func (e *editor) rowEnd(row, sub int) int {
	l := e.line(row)
	_, end := l.span(sub)
	if sub < len(l.brk) {
		return e.prev(place{row, end}).col
	}
	return end
}
