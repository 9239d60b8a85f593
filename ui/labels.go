package ui

import (
	"sort"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/sahilm/fuzzy"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// maxMixed is of how many threads the labels are compared one by one.
const maxMixed = 500

// mark says on which of the threads a label is.
type mark int

const (
	onNone mark = iota
	onSome
	onAll
)

// labelLine is one label of the picker: how it was, and how the person wants it.
type labelLine struct {
	label    state.Label
	name     string // clean
	was, now mark
}

// labelPicker is a dialog that puts labels on threads and takes them off.
type labelPicker struct {
	ids   []state.ThreadID
	all   []labelLine
	shown []int // of all, in the order of the screen
	sel   int
	top   int
	in    input
	fresh string // what is typed, when no label has that name: the last line makes it
	view  state.View
	known map[string]bool // of the labels that the server listed, by id
}

// newLabels asks which labels the threads of a view are to have. current are those that all of them have.
func newLabels(ids []state.ThreadID, current []state.Label, v state.View, f *Frame) Screen {
	p := &labelPicker{ids: append([]state.ThreadID(nil), ids...), view: v, known: map[string]bool{}}
	count := map[string]int{}
	if len(ids) > 1 && len(ids) <= maxMixed {
		for _, id := range ids {
			for _, l := range f.Mail.Thread(id).Row.Labels {
				count[l.ID]++
			}
		}
	}
	have := map[string]bool{}
	for _, l := range current {
		have[l.ID] = true
	}
	known := map[string]bool{}
	add := func(l state.Label) {
		if known[l.ID] {
			return
		}
		known[l.ID] = true
		line := labelLine{label: l, name: labelName(l)}
		switch {
		case have[l.ID]:
			line.was = onAll
		case count[l.ID] == len(ids) && len(ids) > 1:
			line.was = onAll
		case count[l.ID] > 0:
			line.was = onSome
		}
		line.now = line.was
		p.all = append(p.all, line)
	}
	for _, l := range f.Mail.Labels() {
		p.known[l.ID] = true
		add(l)
	}
	for _, l := range current {
		add(l)
	}
	sort.SliceStable(p.all, func(i, j int) bool {
		a, b := p.all[i].was != onNone, p.all[j].was != onNone
		if a != b {
			return a
		}
		return strings.ToLower(p.all[i].name) < strings.ToLower(p.all[j].name)
	})
	p.filter()
	return p
}

// filter shows the labels that fit what is typed, the best first.
func (p *labelPicker) filter() {
	p.shown, p.sel, p.top, p.fresh = p.shown[:0], 0, 0, ""
	pattern := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(p.in.String()), "#"))
	if pattern == "" {
		for i := range p.all {
			p.shown = append(p.shown, i)
		}
		return
	}
	names := make([]string, len(p.all))
	p.fresh = pattern
	for i := range p.all {
		names[i] = p.all[i].name
		if strings.EqualFold(names[i], pattern) {
			p.fresh = ""
		}
	}
	for _, m := range fuzzy.Find(pattern, names) {
		p.shown = append(p.shown, m.Index)
	}
}

func (p *labelPicker) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case mailMsg:
		p.refresh(f)
	case tea.KeyMsg:
		if changed, _ := p.in.Key(msg); changed {
			p.filter()
		}
	case tea.MouseMsg:
		switch msg.Button {
		case tea.MouseButtonWheelDown:
			p.move(1)
		case tea.MouseButtonWheelUp:
			p.move(-1)
		}
	}
	return p, nil
}

func (p *labelPicker) move(n int) {
	if lines := p.lines(); lines > 0 {
		p.sel = (p.sel + n + lines) % lines
	}
}

// lines are those that can be chosen: the labels shown and the one that makes a new one.
func (p *labelPicker) lines() int {
	if p.fresh != "" {
		return len(p.shown) + 1
	}
	return len(p.shown)
}

// making reports that the line that makes a new label is chosen.
func (p *labelPicker) making() bool { return p.fresh != "" && p.sel == len(p.shown) }

// toggle goes from some to all to none; what no thread had goes between all and none.
func (p *labelPicker) toggle() {
	if p.sel >= len(p.shown) {
		return
	}
	l := &p.all[p.shown[p.sel]]
	switch {
	case l.now == onAll:
		l.now = onNone
	case l.now == onNone && l.was == onSome:
		l.now = onSome
	default:
		l.now = onAll
	}
}

// changed are the labels to put on and to take off.
func (p *labelPicker) changed() (add, remove []state.Label) {
	for _, l := range p.all {
		switch {
		case l.now == l.was:
		case l.now == onAll:
			add = append(add, l.label)
		case l.now == onNone:
			remove = append(remove, l.label)
		}
	}
	return add, remove
}

func (p *labelPicker) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	switch a {
	case keymap.Down:
		p.move(1)
	case keymap.Up:
		p.move(-1)
	case keymap.ToggleLabel:
		if p.making() { // a blank in the new name
			p.in.Key(tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}})
			p.filter()
			break
		}
		p.toggle()
	case keymap.Accept:
		add, remove := p.changed()
		making := p.making()
		if !making && len(add)+len(remove) == 0 && p.in.String() != "" {
			// A name was typed and nothing toggled: that label is meant.
			p.toggle()
			add, remove = p.changed()
		}
		f.Pop()
		if len(add)+len(remove) > 0 {
			f.Mail.Do(p.ids, state.Change{Kind: state.ChangeLabels, Add: add, Remove: remove})
		}
		if making {
			f.Mail.NewLabel(p.fresh, p.ids)
		}
	case keymap.RenameLabel, keymap.ColorLabel, keymap.DeleteLabel:
		p.edit(a, f)
	case keymap.Back:
		f.Pop()
	default:
		return p, nil, false
	}
	return p, nil, true
}

func (p *labelPicker) View(f *Frame) string {
	t := f.Theme
	inner := min(44, f.Width-4)
	height := max(min(len(p.all)+1, f.Height-2-5), 1)
	top := keep(p.top, p.sel, p.lines(), height)
	var body []string
	body = append(body, t.Accent.Render(">")+" "+p.in.View(t, max(inner-2, 1), true))
	for i := top; i < min(top+height, len(p.shown)); i++ {
		l := p.all[p.shown[i]]
		box := map[mark]string{onNone: "[ ]", onSome: "[-]", onAll: "[x]"}[l.now]
		note := ""
		if l.now == onSome {
			note = "on some"
		}
		if l.now != l.was {
			note = map[mark]string{onNone: "comes off", onAll: "goes on"}[l.now]
		}
		bar := "  "
		name := column(t, "#"+l.name, max(inner-2-4-len(note)-1, 1))
		if i == p.sel {
			bar = t.Accent.Render(t.Glyphs.Bar) + " "
			name = t.Bold.Render(name)
		} else {
			name = t.Label(l.label.Color).Render(name)
		}
		body = append(body, bar+box+" "+name+" "+t.Muted.Render(note))
	}
	if p.fresh != "" && top+height > len(p.shown) {
		bar, line := "  ", cells.Truncate("+   make #"+clean.Line(p.fresh), inner-2, t.Glyphs.Ellipsis)
		if p.making() {
			bar, line = t.Accent.Render(t.Glyphs.Bar)+" ", t.Bold.Render(line)
		}
		body = append(body, bar+line)
	}
	if len(p.all) == 0 && p.fresh == "" {
		body = append(body, t.Muted.Render(cells.Truncate("No labels yet: type a name to make one.", inner, "")))
	}
	body = append(body, hint(t, "space", "on/off")+t.Dot()+hint(t, "enter", "done")+t.Dot()+hint(t, "esc", "back"))
	if p.chosen() != nil && f.Height >= 10 {
		var own []string
		for _, h := range f.Keys.Hints(keymap.InLabels, keymap.RenameLabel, keymap.ColorLabel, keymap.DeleteLabel) {
			own = append(own, hint(t, h.Key, h.Text))
		}
		body = append(body, cells.Truncate(strings.Join(own, t.Dot()), inner, ""))
	}
	title := "Labels"
	if len(p.ids) > 1 {
		title += " of " + plural(len(p.ids), "thread", "threads")
	}
	return box(t, title, body, inner)
}

func (p *labelPicker) Context() keymap.Context { return keymap.InLabels }
func (p *labelPicker) Capturing() bool         { return true }
func (p *labelPicker) Title(*Frame) string     { return "" }
func (p *labelPicker) Hints(*Frame) []keymap.Action {
	return []keymap.Action{keymap.ToggleLabel, keymap.Accept, keymap.Back}
}
