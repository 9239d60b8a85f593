package ui

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"codeberg.org/teapost/teapost/internal/cells"
)

const (
	tabStop      = 8
	maxUndoBytes = 8 << 20
	maxUndoSteps = 4000
)

// place is a position in the text: a line, and a byte offset in it that is the boundary of a grapheme cluster.
type place struct{ row, col int }

func (p place) before(q place) bool { return p.row < q.row || p.row == q.row && p.col < q.col }

// textLine is one line of the text with the places where it is wrapped. The wrap is kept per line and renewed
// only around a change, which keeps a key at 200 kB as cheap as one at 200 bytes.
type textLine struct {
	text string
	brk  []int // offsets at which the second and later rows begin, for width w
	w    int   // 0: not wrapped yet
}

// step is one entry of the undo list: at the place, del was replaced by ins.
type step struct {
	at            place
	del, ins      string
	before, after place
	typed         bool // may grow by further typing
}

// editor is a text of many lines with a cursor, wrapped by cells, with undo. The zero value is not ready; see
// [newEditor]. It works in memory only.
type editor struct {
	lines  []textLine
	cur    place
	goal   int // the cell that up and down keep to; -1: that of the cursor
	width  int // cells a row may take
	height int // rows that are shown
	top    place
	single bool // one line: line ends become blanks
	rev    uint64

	undo, redo []step
	undoBytes  int
}

func newEditor(text string) *editor {
	e := &editor{goal: -1, width: 72, height: 10}
	e.lines = splitLines(cleanInput(text))
	return e
}

func splitLines(text string) []textLine {
	parts := strings.Split(text, "\n")
	out := make([]textLine, len(parts))
	for i, p := range parts {
		out[i].text = p
	}
	return out
}

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

// closing reports characters that do not begin a row.
func closing(cluster string) bool {
	r, _ := utf8.DecodeRuneInString(cluster)
	return strings.ContainsRune("、。，．・：；？！」』）］｝〉》】〕…ー々", r)
}

// wrapRow returns the offset at which the row that begins at start ends. Blanks that do not fit hang over the edge.
func wrapRow(s string, start, width int) int {
	it := clusters{s: s, i: start}
	x, last := 0, -1
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

func wrapAll(s string, width int) []int {
	var brk []int
	for start := 0; ; {
		start = wrapRow(s, start, width)
		if start >= len(s) {
			return brk
		}
		brk = append(brk, start)
	}
}

// rewrap renews the wrap of s around a change: in the old text the bytes from..to were replaced, and what followed
// moved by delta.
func rewrap(s string, old []int, from, to, delta, width int) []int {
	r := max(sort.SearchInts(old, from+1)-2, 0)
	brk := append(make([]int, 0, len(old)+2), old[:r]...)
	start := 0
	if r > 0 {
		start = old[r-1]
	}
	k := r
	for {
		start = wrapRow(s, start, width)
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

func (e *editor) text() string {
	if len(e.lines) == 1 {
		return e.lines[0].text
	}
	n := len(e.lines) - 1
	for i := range e.lines {
		n += len(e.lines[i].text)
	}
	var b strings.Builder
	b.Grow(n)
	for i := range e.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.lines[i].text)
	}
	return b.String()
}

func (e *editor) empty() bool { return len(e.lines) == 1 && e.lines[0].text == "" }

// setText replaces everything, as one step that can be undone.
func (e *editor) setText(text string) {
	last := len(e.lines) - 1
	e.replace(place{}, place{last, len(e.lines[last].text)}, cleanInput(text), false)
	e.moveTo(place{})
}

// slice returns the text between two places.
func (e *editor) slice(from, to place) string {
	if from.row == to.row {
		return e.lines[from.row].text[from.col:to.col]
	}
	var b strings.Builder
	b.WriteString(e.lines[from.row].text[from.col:])
	for i := from.row + 1; i < to.row; i++ {
		b.WriteByte('\n')
		b.WriteString(e.lines[i].text)
	}
	b.WriteByte('\n')
	b.WriteString(e.lines[to.row].text[:to.col])
	return b.String()
}

// splice is the only thing that changes the text. It returns the place after what was put in.
func (e *editor) splice(from, to place, ins string) place {
	e.rev++
	first, last := e.lines[from.row], e.lines[to.row]
	nl := strings.Count(ins, "\n")
	if from.row == to.row && nl == 0 {
		l := &e.lines[from.row]
		l.text = first.text[:from.col] + ins + first.text[to.col:]
		if l.w == e.width && !e.single {
			l.brk = rewrap(l.text, first.brk, from.col, to.col, len(ins)-(to.col-from.col), e.width)
		}
		return place{from.row, from.col + len(ins)}
	}
	fresh := splitLines(ins)
	end := place{from.row + nl, len(fresh[nl].text)}
	if nl == 0 {
		end.col += from.col
	}
	fresh[nl].text += last.text[to.col:]
	fresh[0].text = first.text[:from.col] + fresh[0].text
	gone := to.row - from.row + 1
	if gone == len(fresh) {
		copy(e.lines[from.row:], fresh)
		return end
	}
	old := e.lines
	n := len(old) - gone + len(fresh)
	if n <= cap(old) {
		e.lines = old[:n]
		copy(e.lines[from.row+len(fresh):], old[to.row+1:])
		copy(e.lines[from.row:], fresh)
		clear(old[min(n, len(old)):])
		return end
	}
	e.lines = make([]textLine, n, n+n/4+16)
	copy(e.lines, old[:from.row])
	copy(e.lines[from.row:], fresh)
	copy(e.lines[from.row+len(fresh):], old[to.row+1:])
	return end
}

// replace changes the text between two places and moves the cursor behind it. typed: it may join the last step.
func (e *editor) replace(from, to place, ins string, typed bool) {
	if e.single && strings.ContainsAny(ins, "\n\t") {
		ins = flatLine(ins)
	}
	if from == to && ins == "" {
		return
	}
	s := step{at: from, del: e.slice(from, to), ins: ins, before: e.cur, typed: typed}
	e.cur = e.snap(e.splice(from, to, ins))
	s.after = e.cur
	e.goal = -1
	e.redo = nil
	if n := len(e.undo); typed && n > 0 && e.undo[n-1].join(s) {
		e.undoBytes += len(s.ins) + len(s.del)
	} else {
		e.undo = append(e.undo, s)
		e.undoBytes += len(s.ins) + len(s.del)
		for len(e.undo) > 1 && (e.undoBytes > maxUndoBytes || len(e.undo) > maxUndoSteps) {
			e.undoBytes -= len(e.undo[0].ins) + len(e.undo[0].del)
			e.undo = e.undo[1:]
		}
	}
	e.follow()
}

// join makes further typing or erasing part of the step, up to the end of a word.
func (s *step) join(t step) bool {
	if !s.typed || s.after != t.before || len(s.ins)+len(s.del) > 200 {
		return false
	}
	switch {
	case t.del == "" && s.del == "" && t.at == after(s.at, s.ins) && !strings.Contains(t.ins, "\n") && !strings.Contains(s.ins, "\n"):
		if endsBlank(s.ins) && !endsBlank(t.ins) {
			return false
		}
		s.ins += t.ins
	case t.ins == "" && s.ins == "" && !strings.Contains(t.del+s.del, "\n") && t.at.row == s.at.row && t.at.col+len(t.del) == s.at.col:
		s.del, s.at = t.del+s.del, t.at
	default:
		return false
	}
	s.after = t.after
	return true
}

func endsBlank(s string) bool { return strings.HasSuffix(s, " ") || strings.HasSuffix(s, "\t") }

// flatLine makes line ends and tabs blanks, and drops those at the end.
func flatLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(s)
}

// after returns the place behind s when it stands at p.
func after(p place, s string) place {
	n := strings.Count(s, "\n")
	if n == 0 {
		return place{p.row, p.col + len(s)}
	}
	return place{p.row + n, len(s) - strings.LastIndexByte(s, '\n') - 1}
}

func (e *editor) undoStep() bool {
	n := len(e.undo)
	if n == 0 {
		return false
	}
	s := e.undo[n-1]
	e.undo = e.undo[:n-1]
	e.undoBytes -= len(s.ins) + len(s.del)
	s.typed = false
	e.splice(s.at, after(s.at, s.ins), s.del)
	e.redo = append(e.redo, s)
	e.moveTo(s.before)
	return true
}

func (e *editor) redoStep() bool {
	n := len(e.redo)
	if n == 0 {
		return false
	}
	s := e.redo[n-1]
	e.redo = e.redo[:n-1]
	e.splice(s.at, after(s.at, s.del), s.ins)
	e.undo = append(e.undo, s)
	e.undoBytes += len(s.ins) + len(s.del)
	e.moveTo(s.after)
	return true
}

// insert puts text at the cursor that was typed; it is cleaned.
func (e *editor) insert(s string) { e.replace(e.cur, e.cur, cleanInput(s), true) }

// paste puts text at the cursor as one step of its own.
func (e *editor) paste(s string) { e.replace(e.cur, e.cur, cleanInput(s), false) }

// snap moves a place to the end of the cluster that it is in, if it is inside one.
func (e *editor) snap(p place) place {
	l := e.line(p.row)
	if p.col <= 0 || p.col >= len(l.text) {
		p.col = min(max(p.col, 0), len(l.text))
		return p
	}
	if l.text[p.col] < 0x80 && l.text[p.col-1] < 0x80 {
		return p
	}
	start, _ := l.span(l.sub(p.col))
	it := clusters{s: l.text, i: e.anchor(l, start, p.col)}
	for it.i < p.col {
		it.next()
	}
	return place{p.row, it.i}
}

// anchor returns a sure boundary at or before col and not before start: a single line can be long without rows.
func (e *editor) anchor(l *textLine, start, col int) int {
	for i := col; i > start+1; i-- {
		if l.text[i-1] < 0x80 && (i == len(l.text) || l.text[i] < 0x80) {
			return i - 1
		}
	}
	return start
}

func (e *editor) prev(p place) place {
	if p.col == 0 {
		if p.row == 0 {
			return p
		}
		return place{p.row - 1, len(e.lines[p.row-1].text)}
	}
	l := e.line(p.row)
	start, _ := l.span(l.sub(p.col - 1))
	it := clusters{s: l.text, i: e.anchor(l, start, p.col-1)}
	last := it.i
	for it.i < p.col {
		last = it.i
		it.next()
	}
	return place{p.row, last}
}

func (e *editor) next(p place) place {
	l := &e.lines[p.row]
	if p.col >= len(l.text) {
		if p.row == len(e.lines)-1 {
			return p
		}
		return place{p.row + 1, 0}
	}
	return place{p.row, nextCluster(l.text, p.col)}
}

func (e *editor) moveTo(p place) {
	p.row = min(max(p.row, 0), len(e.lines)-1)
	e.cur = e.snap(p)
	e.goal = -1
	e.seal()
	e.follow()
}

// seal ends the step that typing goes into.
func (e *editor) seal() {
	if n := len(e.undo); n > 0 {
		e.undo[n-1].typed = false
	}
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

// vertical moves the cursor by rows as they are seen.
func (e *editor) vertical(n int) {
	l := e.line(e.cur.row)
	sub := l.sub(e.cur.col)
	start, _ := l.span(sub)
	if e.goal < 0 {
		e.goal = cellAt(l.text, start, e.cur.col)
	}
	row, s, moved := e.shift(e.cur.row, sub, n)
	goal := e.goal
	switch {
	case !moved && n < 0:
		e.cur = place{}
	case !moved && n > 0:
		e.cur = place{len(e.lines) - 1, len(e.lines[len(e.lines)-1].text)}
	default:
		l = e.line(row)
		start, _ = l.span(s)
		e.cur = place{row, offsetAt(l.text, start, e.rowEnd(row, s), goal)}
	}
	e.goal = goal
	e.seal()
	e.follow()
}

// shift moves n visual rows from a row; moved false: it stands at the edge already.
func (e *editor) shift(row, sub, n int) (int, int, bool) {
	r0, s0 := row, sub
	for ; n > 0; n-- {
		if sub < len(e.line(row).brk) {
			sub++
		} else if row+1 < len(e.lines) {
			row, sub = row+1, 0
		} else {
			break
		}
	}
	for ; n < 0; n++ {
		if sub > 0 {
			sub--
		} else if row > 0 {
			row--
			sub = len(e.line(row).brk)
		} else {
			break
		}
	}
	return row, sub, row != r0 || sub != s0
}

// resize sets the size; one cell of the width is kept for the cursor behind the last character.
func (e *editor) resize(width, height int) {
	width, height = max(width-1, 1), max(height, 1)
	if e.width == width && e.height == height {
		return
	}
	e.width, e.height = width, height
	if e.top.row < len(e.lines) {
		e.top.col = min(e.top.col, len(e.line(e.top.row).brk))
	}
	e.follow()
}

// follow scrolls so that the cursor is seen.
func (e *editor) follow() {
	if e.single {
		return
	}
	sub := e.line(e.cur.row).sub(e.cur.col)
	e.top.row = min(e.top.row, len(e.lines)-1)
	e.top.col = min(e.top.col, len(e.line(e.top.row).brk))
	if e.cur.row < e.top.row || e.cur.row == e.top.row && sub < e.top.col {
		e.top = place{e.cur.row, sub}
		return
	}
	// From the cursor up by a screen: when the top is not met on the way, it is too far off.
	row, s, left := e.cur.row, sub, e.height-1
	for left > 0 && (row != e.top.row || s != e.top.col) {
		r2, s2, moved := e.shift(row, s, -1)
		if !moved {
			break
		}
		row, s = r2, s2
		left--
	}
	e.top = place{row, s}
}

// scroll moves what is shown without the cursor leaving it.
func (e *editor) scroll(n int) {
	row, sub, moved := e.shift(e.top.row, e.top.col, n)
	if !moved {
		return
	}
	e.top = place{row, sub}
	csub := e.line(e.cur.row).sub(e.cur.col)
	if e.cur.row < row || e.cur.row == row && csub < sub {
		start, _ := e.line(row).span(sub)
		e.moveTo(place{row, start})
		return
	}
	lr, ls, _ := e.shift(row, sub, e.height-1)
	if e.cur.row > lr || e.cur.row == lr && csub > ls {
		start, _ := e.line(lr).span(ls)
		e.moveTo(place{lr, start})
	}
}

// click moves the cursor to a cell of what is shown.
func (e *editor) click(x, y int) {
	row, sub, _ := e.shift(e.top.row, e.top.col, y)
	l := e.line(row)
	start, _ := l.span(sub)
	e.moveTo(place{row, offsetAt(l.text, start, e.rowEnd(row, sub), x)})
}

func isWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || r == '\'' || r == '’' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func (e *editor) wordLeft() place {
	p, in := e.cur, false
	for {
		q := e.prev(p)
		if q == p {
			return p
		}
		w := q.row == p.row && isWord(e.lines[q.row].text[q.col:])
		if in && !w {
			return p
		}
		in = in || w
		p = q
	}
}

func (e *editor) wordRight() place {
	p, in := e.cur, false
	for {
		l := e.lines[p.row].text
		w := p.col < len(l) && isWord(l[p.col:])
		if in && !w {
			return p
		}
		in = in || w
		q := e.next(p)
		if q == p {
			return p
		}
		p = q
	}
}

func (e *editor) erase(from, to place, typed bool) {
	if to.before(from) {
		from, to = to, from
	}
	e.replace(from, to, "", typed)
}

// key does what an editing key does; false: it is none. Its names are those of Bubble Tea.
func (e *editor) key(k string) bool {
	row := e.cur.row
	length := len(e.lines[row].text)
	switch k {
	case "left", "ctrl+b":
		e.moveTo(e.prev(e.cur))
	case "right", "ctrl+f":
		e.moveTo(e.next(e.cur))
	case "up", "ctrl+p":
		if e.single {
			return false
		}
		e.vertical(-1)
	case "down", "ctrl+n":
		if e.single {
			return false
		}
		e.vertical(1)
	case "pgup", "ctrl+up":
		if e.single {
			return false
		}
		e.vertical(-max(e.height-1, 1))
	case "pgdown", "ctrl+down":
		if e.single {
			return false
		}
		e.vertical(max(e.height-1, 1))
	case "home":
		l := e.line(row)
		start, _ := l.span(l.sub(e.cur.col))
		if e.cur.col == start {
			start = 0
		}
		e.moveTo(place{row, start})
	case "end", "ctrl+e":
		end := e.rowEnd(row, e.line(row).sub(e.cur.col))
		if e.cur.col == end || k == "ctrl+e" {
			end = length
		}
		e.moveTo(place{row, end})
	case "ctrl+home", "alt+<":
		e.moveTo(place{})
	case "ctrl+end", "alt+>":
		last := len(e.lines) - 1
		e.moveTo(place{last, len(e.lines[last].text)})
	case "ctrl+left", "alt+left", "alt+b":
		e.moveTo(e.wordLeft())
	case "ctrl+right", "alt+right", "alt+f":
		e.moveTo(e.wordRight())
	case "backspace", "ctrl+h":
		e.erase(e.prev(e.cur), e.cur, true)
	case "delete":
		e.erase(e.cur, e.next(e.cur), false)
	case "ctrl+w", "alt+backspace":
		e.erase(e.wordLeft(), e.cur, false)
	case "alt+d", "alt+delete":
		e.erase(e.cur, e.wordRight(), false)
	case "ctrl+k":
		if e.cur.col == length {
			e.erase(e.cur, e.next(e.cur), false)
		} else {
			e.erase(e.cur, place{row, length}, false)
		}
	case "ctrl+u":
		e.erase(place{row, 0}, e.cur, false)
	case "enter", "ctrl+j":
		if e.single {
			return false
		}
		e.replace(e.cur, e.cur, "\n", true)
	default:
		return false
	}
	return true
}

// rows draws what is shown. mark draws the cluster under the cursor, "" at the end of a row; nil: no cursor.
// style draws a whole row by its line's text; nil: as it is.
func (e *editor) rows(mark func(string) string, style func(line, row string) string) []string {
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
		a, m, z := e.drawRow(l.text, start, end, col)
		if style != nil {
			a, z = style(l.text, a), style(l.text, z)
		}
		if col >= 0 {
			a += mark(m) + z
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

// drawRow returns a row in three parts: before the cursor, the cluster under it, and the rest.
func (e *editor) drawRow(s string, start, end, col int) (a, m, z string) {
	var b strings.Builder
	it := clusters{s: s[:end], i: start}
	x, seen := 0, col < 0
	limit := e.width
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
