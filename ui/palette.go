package ui

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// palette finds an action, a folder or a label by its name.
type palette struct {
	in    input
	all   []command
	found []int // in all
	at    int
}

// command is one line of the palette.
type command struct {
	name  string // the word or two that the bottom line has for it, or empty
	long  string // what it does
	other string // further words that it is found by
	key   string
	run   func(f *Frame) tea.Cmd
}

// newPalette lists what can be done on the screen with that context.
func newPalette(ctx keymap.Context, f *Frame) Screen {
	p := &palette{}
	// A folder is listed once, with the key that goes there.
	keyFor := map[state.Role]string{}
	for a, role := range goTo {
		keyFor[role] = firstKey(f.Keys, ctx, a)
	}
	there := map[state.Role]bool{}
	for _, fo := range f.folders {
		there[fo.Role] = true
	}
	for _, info := range f.Keys.Available(ctx) {
		a := info.Action
		if role, goes := goTo[a]; skipInPalette(a) || goes && there[role] {
			continue
		}
		p.all = append(p.all, command{
			name: info.Short, long: info.Long, other: strings.ReplaceAll(string(a), "-", " ") + " " + synonyms[a],
			key: firstKey(f.Keys, ctx, a), run: func(f *Frame) tea.Cmd {
				f.Ask(actMsg{a})
				return nil
			},
		})
	}
	for _, fo := range f.folders {
		name := "Go to " + clean.Line(fo.Name)
		if fo.Role == state.RoleLabel {
			name = "Go to the label #" + clean.Line(fo.Name)
		}
		p.all = append(p.all, command{long: name, key: keyFor[fo.Role], run: func(f *Frame) tea.Cmd {
			f.Ask(openFolderMsg{fo})
			return nil
		}})
	}
	if practice := f.Options.Practice; practice != nil {
		long, said := "Practise a bad network: calls fail, wait and try again", "The network is bad now; the palette makes it good again"
		if f.practising {
			long, said = "Practise no longer: make the network good again", "The network is good again"
		}
		on := !f.practising
		p.all = append(p.all, command{name: "practise", long: long, run: func(f *Frame) tea.Cmd {
			f.Flash(said)
			f.Ask(practiseMsg{on})
			return practiseCmd(practice, on, f.Mail)
		}})
	}
	p.look()
	return p
}

// practiseMsg says that the network is bad from now on, or good again.
type practiseMsg struct{ on bool }

// practiseCmd changes the network and shows at once what that does.
func practiseCmd(practice func(bool), on bool, m Mail) tea.Cmd {
	return func() tea.Msg {
		practice(on)
		m.Refresh()
		return nil
	}
}

// skipInPalette leaves out what only makes sense as a key.
func skipInPalette(a keymap.Action) bool {
	switch a {
	case keymap.Down, keymap.Up, keymap.HalfPageDown, keymap.HalfPageUp, keymap.PageDown, keymap.PageUp, keymap.Accept,
		keymap.Top, keymap.Bottom, keymap.Back, keymap.NextPane, keymap.PrevPane, keymap.Palette, keymap.NextField, keymap.PrevField, keymap.FocusLeft, keymap.FocusRight, keymap.Complete:
		return true
	}
	return false
}

// look finds what matches the text, the best first; without text everything does.
func (p *palette) look() {
	p.found, p.at = p.found[:0], 0
	text := strings.Join(strings.Fields(strings.ToLower(p.in.String())), " ")
	rank := make([]int, len(p.all))
	for i, c := range p.all {
		if rank[i] = c.match(text); rank[i] >= 0 {
			p.found = append(p.found, i)
		}
	}
	slices.SortStableFunc(p.found, func(a, b int) int { return rank[a] - rank[b] })
}

func (p *palette) Update(msg tea.Msg, _ *Frame) (Screen, tea.Cmd) {
	if k, ok := msg.(tea.KeyMsg); ok {
		if changed, _ := p.in.Key(k); changed {
			p.look()
		}
	}
	return p, nil
}

func (p *palette) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	switch a {
	case keymap.Accept:
		f.Pop()
		if p.at < len(p.found) {
			return p, p.all[p.found[p.at]].run(f), true
		}
	case keymap.Back, keymap.Palette:
		f.Pop()
	case keymap.Down, keymap.Up:
		if n := len(p.found); n > 0 {
			by := 1
			if a == keymap.Up {
				by = n - 1
			}
			p.at = (p.at + by) % n
		}
	case keymap.Complete:
		if p.at < len(p.found) {
			c := p.all[p.found[p.at]]
			p.in.Set(cmp.Or(c.name, c.long))
			p.look()
		}
	default:
		return p, nil, false
	}
	return p, nil, true
}

func (p *palette) View(f *Frame) string {
	t := f.Theme
	inner := min(66, f.Width-4)
	height := max(1, min(14, f.Height-5))
	body := []string{t.Accent.Render("> ") + p.in.View(t, inner-2, true)}
	top := keep(0, p.at, len(p.found), height)
	for i := top; i < top+height; i++ {
		if i >= len(p.found) {
			if i == 0 {
				body = append(body, t.Muted.Render("  Nothing has that name"))
			} else {
				body = append(body, "")
			}
			continue
		}
		body = append(body, p.all[p.found[i]].line(i == p.at, inner, t))
	}
	body = append(body, hint(t, "enter", "does it")+"   "+hint(t, "esc", "closes"))
	return box(t, "Commands", body, inner)
}

// line draws a command in width cells.
func (c command) line(cursor bool, width int, t *Theme) string {
	bar, on := rowStart(t, cursor, true)
	out := bar + on.Render(" ")
	room := width - 4 - cells.Width(c.key)
	long := t.Text
	if c.name != "" {
		const name = 14
		out += on.Render(fit(t, c.name, name) + " ")
		room -= name + 1
		long = t.Muted
	}
	return out + long.With(on).Render(fit(t, cells.Stable(c.long), room)+" ") + t.Key.With(on).Render(c.key) + on.Render(" ")
}

func (p *palette) Context() keymap.Context      { return keymap.InPalette }
func (p *palette) Capturing() bool              { return true }
func (p *palette) Title(*Frame) string          { return "" }
func (p *palette) Hints(*Frame) []keymap.Action { return nil }
