package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/keymap"
)

// pager is the place in a text or list that is longer than its window.
type pager struct {
	top int
}

// act moves by an action of moving; n lines, height of which are shown.
func (p *pager) act(a keymap.Action, n, height int) bool {
	switch a {
	case keymap.Down:
		p.top++
	case keymap.Up:
		p.top--
	case keymap.Top:
		p.top = 0
	case keymap.Bottom:
		p.top = n
	case keymap.HalfPageDown:
		p.top += max(1, height/2)
	case keymap.HalfPageUp:
		p.top -= max(1, height/2)
	case keymap.PageDown:
		p.top += max(1, height-1)
	case keymap.PageUp:
		p.top -= max(1, height-1)
	default:
		return false
	}
	p.clamp(n, height)
	return true
}

func (p *pager) clamp(n, height int) { p.top = max(0, min(p.top, n-height)) }

// wheel moves by a turn of the wheel.
func (p *pager) wheel(m tea.MouseMsg, n, height int) bool {
	switch m.Button {
	case tea.MouseButtonWheelUp:
		p.top -= scrollRow
	case tea.MouseButtonWheelDown:
		p.top += scrollRow
	default:
		return false
	}
	p.clamp(n, height)
	return true
}

// listMove is where an action of moving takes the cursor of a list; ok is false for other actions.
func listMove(a keymap.Action, at, n, height int) (to int, ok bool) {
	switch a {
	case keymap.Down:
		at++
	case keymap.Up:
		at--
	case keymap.Top:
		at = 0
	case keymap.Bottom:
		at = n - 1
	case keymap.HalfPageDown:
		at += max(1, height/2)
	case keymap.HalfPageUp:
		at -= max(1, height/2)
	case keymap.PageDown:
		at += max(1, height-1)
	case keymap.PageUp:
		at -= max(1, height-1)
	default:
		return at, false
	}
	return max(0, min(at, n-1)), true
}

// picker is a dialog with a few lines, one of which is chosen.
type picker struct {
	title string
	items []string
	at    int
	done  func(i int, f *Frame) tea.Cmd
}

func newPicker(title string, items []string, done func(i int, f *Frame) tea.Cmd) Screen {
	return &picker{title: title, items: items, done: done}
}

func (p *picker) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	k, ok := msg.(tea.KeyMsg)
	if !ok || k.Paste || len(k.Runes) != 1 {
		return p, nil
	}
	switch r := k.Runes[0]; {
	case r >= '1' && r <= '9' && int(r-'1') < len(p.items):
		f.Pop()
		return p, p.done(int(r-'1'), f)
	case r == 'j':
		p.at = min(p.at+1, len(p.items)-1)
	case r == 'k':
		p.at = max(p.at-1, 0)
	case r == 'q':
		f.Pop()
	}
	return p, nil
}

func (p *picker) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	switch a {
	case keymap.Accept:
		f.Pop()
		return p, p.done(p.at, f), true
	case keymap.Back:
		f.Pop()
		return p, nil, true
	}
	if to, ok := listMove(a, p.at, len(p.items), f.Height-6); ok {
		p.at = to
		return p, nil, true
	}
	return p, nil, false
}

func (p *picker) View(f *Frame) string {
	t := f.Theme
	inner := min(64, f.Width-4)
	height := max(1, min(len(p.items), f.Height-4))
	top := keep(0, p.at, len(p.items), height)
	var body []string
	for i := top; i < min(len(p.items), top+height); i++ {
		bar, on := " ", Style{}
		if i == p.at {
			bar, on = t.Accent.Render(t.Glyphs.Bar), t.Cursor
		}
		number := "  "
		if i < 9 {
			number = string(rune('1'+i)) + " "
		}
		body = append(body, bar+t.Muted.With(on).Render(number)+on.Render(fit(t, p.items[i], inner-3)))
	}
	body = append(body, "", hint(t, "enter", "chooses")+"   "+hint(t, "esc", "closes"))
	return box(t, p.title, body, inner)
}

func (p *picker) Context() keymap.Context      { return keymap.InSearch }
func (p *picker) Capturing() bool              { return true }
func (p *picker) Title(*Frame) string          { return "" }
func (p *picker) Hints(*Frame) []keymap.Action { return nil }

// joinLines draws lines from top on.
func joinLines(list []string, top, width, height int) string {
	if top > len(list) {
		top = len(list)
	}
	end := min(len(list), top+height)
	return block(strings.Join(list[top:end], "\n"), width, height)
}
