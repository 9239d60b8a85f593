package ui

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
)

func listingOf(n int) listing[int] {
	var l listing[int]
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	l.settle(ids)
	return l
}

func TestListingHoldsToIDs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cursor int
		ids    []int
		want   int // the cursor afterwards
		at     int
	}{
		{"new rows above", 3, []int{8, 9, 0, 1, 2, 3, 4}, 3, 5},
		{"its row goes, the next one has it", 3, []int{0, 1, 2, 4}, 4, 3},
		{"its row and the next go", 2, []int{0, 1, 4}, 4, 2},
		{"the last row goes", 4, []int{0, 1, 2, 3}, 3, 3},
		{"rows above and its own go", 2, []int{3, 4}, 3, 0},
		{"everything else", 2, []int{7, 8}, 8, 1},
		{"rows change places", 1, []int{4, 3, 2, 1, 0}, 1, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := listingOf(5)
			l.moveTo(tt.cursor, 3)
			l.settle(tt.ids)
			l.scroll(3)
			if l.cursor != tt.want || l.at != tt.at {
				t.Errorf("the cursor is on %d in row %d, want %d in row %d", l.cursor, l.at, tt.want, tt.at)
			}
			if l.at < l.top || l.at >= l.top+3 {
				t.Errorf("row %d is out of sight of rows from %d", l.at, l.top)
			}
		})
	}
}

func TestListingThatEmptiesAndFillsAgain(t *testing.T) {
	l := listingOf(5)
	l.moveTo(3, 10)
	l.settle(nil)
	for _, a := range []keymap.Action{keymap.Down, keymap.Bottom, keymap.Select, keymap.SelectRange, keymap.SelectAll} {
		l.act(a, 10)
	}
	if l.at != 0 || len(l.meant()) != 0 {
		t.Errorf("an empty list means %v, cursor at %d", l.meant(), l.at)
	}
	l.settle([]int{1, 2, 3})
	if l.cursor != 3 || l.at != 2 {
		t.Errorf("the row that comes back has the cursor no more: %d in row %d", l.cursor, l.at)
	}
}

func TestListingSelects(t *testing.T) {
	l := listingOf(9)
	l.act(keymap.Select, 20)
	l.moveTo(3, 20)
	l.act(keymap.SelectRange, 20)
	if got := l.meant(); len(got) != 4 {
		t.Errorf("a range from 0 to 3 is %v", got)
	}
	l.settle([]int{9, 2, 1, 0})
	if got := l.meant(); len(got) != 3 || got[0] != 2 {
		t.Errorf("what is selected, in the order of the rows: %v", got)
	}
	l.moveTo(1, 20)
	l.act(keymap.Select, 20)
	if l.selected[2] || l.cursor != 1 {
		t.Errorf("a second time takes it out and goes on: %v, cursor on %d", l.selected, l.cursor)
	}
	l.act(keymap.SelectNone, 20)
	if got := l.meant(); len(got) != 1 || got[0] != 1 {
		t.Errorf("without a selection the cursor's row is meant: %v", got)
	}
}

func TestListingMouse(t *testing.T) {
	l := listingOf(50)
	wheel := func(b tea.MouseButton) { l.mouse(tea.MouseMsg{Button: b}, 10) }
	wheel(tea.MouseButtonWheelDown)
	if l.top != scrollRow || l.at != scrollRow {
		t.Errorf("a turn of the wheel: rows from %d, cursor in %d", l.top, l.at)
	}
	for range 40 {
		wheel(tea.MouseButtonWheelDown)
	}
	if l.top != 40 || l.at != 40 {
		t.Errorf("at the end: rows from %d, cursor in %d", l.top, l.at)
	}
	if hit, again := l.mouse(tea.MouseMsg{Button: tea.MouseButtonLeft, Y: 9}, 10); !hit || again || l.at != 49 {
		t.Errorf("a click: hit %v, again %v, cursor in %d", hit, again, l.at)
	}
	if _, again := l.mouse(tea.MouseMsg{Button: tea.MouseButtonLeft, Y: 9}, 10); !again {
		t.Error("a click on the row with the cursor is told")
	}
	if hit, _ := l.mouse(tea.MouseMsg{Button: tea.MouseButtonLeft, Y: 10}, 10); hit {
		t.Error("a click below the list hit a row")
	}
}
