package ui

import "strings"

// place is a position in the text: a line, and a byte offset in it that is the boundary of a grapheme cluster.
type place struct{ row, col int }

func (p place) before(q place) bool { return p.row < q.row || p.row == q.row && p.col < q.col }

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
		switch {
		case l.w != e.width || e.single:
		case quoteMarks(l.text) != quoteMarks(first.text):
			l.w = 0
		default:
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

// insert puts text at the cursor that was typed; it is cleaned.
func (e *editor) insert(s string) { e.replace(e.cur, e.cur, cleanInput(s), true) }

// paste puts text at the cursor as one step of its own.
func (e *editor) paste(s string) { e.replace(e.cur, e.cur, cleanInput(s), false) }

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
