package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

// chosen is the label under the cursor of the picker; nil: the line that makes one, or there is none.
func (p *labelPicker) chosen() *labelLine {
	if p.sel >= len(p.shown) {
		return nil
	}
	return &p.all[p.shown[p.sel]]
}

// edit does an action to the label under the cursor itself.
func (p *labelPicker) edit(a keymap.Action, f *Frame) {
	line := p.chosen()
	if line == nil {
		f.Flash("Choose a label first")
		return
	}
	l, name := line.label, "#"+short(line.name)
	switch a {
	case keymap.RenameLabel:
		f.Dialog(&search{
			in: newInput(line.name), at: -1, title: "Another name for " + name, sign: "#", verb: "renames",
			done: func(text string, f *Frame) tea.Cmd {
				l.Name = strings.TrimPrefix(text, "#")
				f.Mail.EditLabel(l)
				return nil
			},
		})
	case keymap.ColorLabel:
		f.Dialog(&labelColors{label: l, name: name, list: f.Mail.LabelColors()})
	case keymap.DeleteLabel:
		m, viewed := f.Mail, p.view.Label == l.ID
		f.Dialog(newConfirm("Delete the label "+name+"? It comes off every thread, and this cannot be undone. No mail is deleted.", "delete it", func() tea.Msg {
			m.DeleteLabel(l.ID)
			if viewed {
				return openViewMsg{state.View{Folder: "inbox"}}
			}
			return nil
		}))
	}
}

// refresh takes over what became of the labels meanwhile; what the person has toggled stays.
func (p *labelPicker) refresh(f *Frame) {
	now := map[string]state.Label{}
	for _, l := range f.Mail.Labels() {
		now[l.ID] = l
	}
	on := ""
	if line := p.chosen(); line != nil {
		on = line.label.ID
	}
	var kept []labelLine
	changed := false
	for _, line := range p.all {
		l, ok := now[line.label.ID]
		switch {
		case !ok && p.known[line.label.ID]:
			changed = true
			continue
		case ok && l != line.label:
			line.label, line.name, changed = l, labelName(l), true
		}
		kept = append(kept, line)
	}
	if !changed {
		return
	}
	p.all = kept
	p.filter()
	for i, n := range p.shown {
		if p.all[n].label.ID == on {
			p.sel = i
		}
	}
}

func labelName(l state.Label) string {
	if name := strings.TrimSpace(clean.LineMax(l.Name, 200)); name != "" {
		return name
	}
	return clean.LineMax(l.ID, 40)
}

// labelColors is a dialog that gives a label a colour.
type labelColors struct {
	label state.Label
	name  string
	list  []state.LabelColor // the newest that are known; asking for them begins a call, so View does not
	at    int                // 0: none; then those of the server
	moved bool
}

func (c *labelColors) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	if _, news := msg.(mailMsg); news {
		c.list = f.Mail.LabelColors()
	}
	if k, ok := msg.(tea.KeyMsg); ok && !k.Paste {
		switch k.String() {
		case "j":
			c.move(1)
		case "k":
			c.move(-1)
		case "q":
			f.Pop()
		}
	}
	return c, nil
}

// place is the line of the cursor: at first the colour that the label has.
func (c *labelColors) place() int {
	if !c.moved {
		for i, o := range c.list {
			if strings.EqualFold(o.Value, c.label.Color) {
				return i + 1
			}
		}
		if c.label.Color != "" && len(c.list) > 0 { // another program's colour: enter alone must not take it away
			return 1
		}
	}
	return min(c.at, len(c.list))
}

func (c *labelColors) move(n int) {
	c.at = (c.place() + n + len(c.list) + 1) % (len(c.list) + 1)
	c.moved = true
}

func (c *labelColors) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	switch a {
	case keymap.Down:
		c.move(1)
	case keymap.Up:
		c.move(-1)
	case keymap.Accept:
		f.Pop()
		l := c.label
		l.Color = ""
		if at := c.place(); at > 0 {
			l.Color = c.list[at-1].Value
		} else if len(c.list) == 0 {
			break // they are not here: nothing was chosen
		}
		f.Mail.EditLabel(l)
	case keymap.Back:
		f.Pop()
	default:
		return c, nil, false
	}
	return c, nil, true
}

func (c *labelColors) View(f *Frame) string {
	t := f.Theme
	inner := min(34, f.Width-4)
	list, at := c.list, c.place()
	height := max(min(len(list)+1, f.Height-3), 1)
	top := keep(0, at, len(list)+1, height)
	var body []string
	for i := top; i < min(top+height, len(list)+1); i++ {
		bar, swatch, name := "  ", " ", "no colour"
		if i > 0 {
			swatch, name = t.Label(list[i-1].Value).Render(t.Glyphs.Unread), strings.ToLower(clean.LineMax(list[i-1].Name, 40))
		}
		name = column(t, name, max(inner-5, 1))
		if i == at {
			bar, name = t.Accent.Render(t.Glyphs.Bar)+" ", t.Bold.Render(name)
		}
		body = append(body, bar+swatch+"  "+name)
	}
	if len(list) == 0 {
		body = append(body, t.Muted.Render(cells.Truncate("Loading the colours"+t.Keep("…", "..."), inner, "")))
	}
	body = append(body, hint(t, "enter", "takes it")+t.Dot()+hint(t, "esc", "back"))
	return box(t, "Colour of "+cells.Truncate(c.name, max(inner-12, 4), t.Glyphs.Ellipsis), body, inner)
}

func (c *labelColors) Context() keymap.Context      { return keymap.InSearch }
func (c *labelColors) Capturing() bool              { return true }
func (c *labelColors) Title(*Frame) string          { return "" }
func (c *labelColors) Hints(*Frame) []keymap.Action { return nil }
