package ui

import (
	"unicode"
	"unicode/utf8"
)

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

// vertical moves the cursor by rows as they are seen.
func (e *editor) vertical(n int) {
	l := e.line(e.cur.row)
	sub := l.sub(e.cur.col)
	start, _ := l.span(sub)
	if e.goal < 0 {
		e.goal = e.lead(l, sub) + cellAt(l.text, start, e.cur.col)
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
		e.cur = place{row, offsetAt(l.text, start, e.rowEnd(row, s), goal-e.lead(l, s))}
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
	e.moveTo(place{row, offsetAt(l.text, start, e.rowEnd(row, sub), x-e.lead(l, sub))})
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
