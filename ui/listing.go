package ui

import (
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
)

// listing is a person's place in a list whose rows have ids: the cursor, the first row on the screen and what is
// selected. All of it holds to ids, so that news never moves it. Its zero value stands on the first row.
type listing[ID comparable] struct {
	ids      []ID
	index    map[ID]int // in ids
	cursor   ID
	at       int // the row of the cursor, and where it was once that row is gone
	top      int
	topID    ID
	selected map[ID]bool
	anchor   ID // the row from which a range is selected
}

// settle takes new rows. When the row under the cursor is gone, the next one that was below it has the cursor, else the
// next above.
func (l *listing[ID]) settle(ids []ID) {
	old := l.ids
	l.ids, l.index = ids, make(map[ID]int, len(ids))
	for i, id := range ids {
		l.index[id] = i
	}
	if len(ids) == 0 {
		l.at, l.top = 0, 0
		return
	}
	if i, ok := l.index[l.topID]; ok && l.top > 0 {
		l.top = i
	}
	if i, ok := l.index[l.cursor]; ok {
		l.at = i
	} else {
		l.at = max(0, min(l.near(old), len(ids)-1))
		l.cursor = ids[l.at]
	}
	maps.DeleteFunc(l.selected, func(id ID, _ bool) bool { return !l.has(id) })
}

// near is where the cursor goes when its row, which was in old, is gone.
func (l *listing[ID]) near(old []ID) int {
	for i := l.at + 1; i < len(old); i++ {
		if at, ok := l.index[old[i]]; ok {
			return at
		}
	}
	for i := min(l.at, len(old)) - 1; i >= 0; i-- {
		if at, ok := l.index[old[i]]; ok {
			return at
		}
	}
	return l.at
}

func (l *listing[ID]) has(id ID) bool {
	_, ok := l.index[id]
	return ok
}

// scroll brings the cursor into sight of height rows.
func (l *listing[ID]) scroll(height int) {
	l.top = keep(l.top, l.at, len(l.ids), height)
	if len(l.ids) > 0 {
		l.topID = l.ids[l.top]
	}
}

// moveTo puts the cursor on a row, or on the nearest that there is.
func (l *listing[ID]) moveTo(to, height int) {
	if len(l.ids) == 0 {
		return
	}
	l.at = max(0, min(to, len(l.ids)-1))
	l.cursor = l.ids[l.at]
	l.scroll(height)
}

// act does an action of moving or selecting; false: it is none.
func (l *listing[ID]) act(a keymap.Action, height int) bool {
	if to, ok := listMove(a, l.at, len(l.ids), height); ok {
		l.moveTo(to, height)
		return true
	}
	switch a {
	case keymap.Select:
		if len(l.ids) > 0 {
			l.toggle(l.cursor)
			l.anchor = l.cursor
			l.moveTo(l.at+1, height)
		}
	case keymap.SelectRange:
		from, ok := l.index[l.anchor]
		if !ok {
			from = l.at
		}
		for i := min(from, l.at); i <= max(from, l.at) && i < len(l.ids); i++ {
			l.choose(l.ids[i])
		}
		l.anchor = l.cursor
	case keymap.SelectAll:
		for _, id := range l.ids {
			l.choose(id)
		}
	case keymap.SelectNone:
		l.clear()
	default:
		return false
	}
	return true
}

func (l *listing[ID]) choose(id ID) {
	if l.selected == nil {
		l.selected = map[ID]bool{}
	}
	l.selected[id] = true
}

func (l *listing[ID]) toggle(id ID) {
	if l.selected[id] {
		delete(l.selected, id)
		return
	}
	l.choose(id)
}

// clear selects nothing.
func (l *listing[ID]) clear() {
	clear(l.selected)
	var none ID
	l.anchor = none
}

// meant are the rows that an action is for: the selected ones in their order, else the one with the cursor.
func (l *listing[ID]) meant() []ID {
	if len(l.selected) == 0 {
		if l.at < len(l.ids) {
			return []ID{l.cursor}
		}
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.ids), func(id ID) bool { return !l.selected[id] })
}

// mouse scrolls by the wheel and moves to a row that is clicked; hit is told for a click on a row, again when the
// cursor was there already.
func (l *listing[ID]) mouse(m tea.MouseMsg, height int) (hit, again bool) {
	switch m.Button {
	case tea.MouseButtonWheelUp, tea.MouseButtonWheelDown:
		by := scrollRow
		if m.Button == tea.MouseButtonWheelUp {
			by = -by
		}
		l.top = max(0, min(l.top+by, len(l.ids)-height))
		l.moveTo(max(l.top, min(l.at, l.top+height-1)), height)
	case tea.MouseButtonLeft:
		if i := l.top + m.Y; m.Y < height && i < len(l.ids) {
			again = i == l.at
			l.moveTo(i, height)
			return true, again
		}
	}
	return false, false
}

// rowStart is the bar in front of a row, and what lies under its text.
func rowStart(t *Theme, cursor, focused bool) (bar string, on Style) {
	switch {
	case cursor && focused:
		return t.Accent.With(t.Cursor).Render(t.Glyphs.Bar), t.Cursor
	case cursor:
		return t.Muted.With(t.CursorDim).Render(t.Glyphs.BarDim), t.CursorDim
	}
	return " ", Style{}
}

// withDetail draws rows in the upper part of the frame and, below a rule, what is to say about the chosen one.
func withDetail(rows, detail []string, f *Frame) string {
	if len(detail) > 0 {
		for len(rows) < f.Height-len(detail)-1 {
			rows = append(rows, "")
		}
		rows = append(rows, " "+f.Theme.Rule.Render(strings.Repeat(f.Theme.Glyphs.Rule, max(f.Width-2, 0))))
		for _, l := range detail {
			rows = append(rows, " "+l)
		}
	}
	return block(strings.Join(rows, "\n"), f.Width, f.Height)
}

// emptyList is what stands where no row does.
func emptyList(line string, f *Frame) string {
	return block("\n  "+f.Theme.Muted.Render(cutWords(line, f.Width-3, f.Theme)), f.Width, f.Height)
}
