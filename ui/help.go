package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/keymap"
)

// help lists the keys of the screen that it was called from, made from the keymap.
type help struct {
	pager
	ctx keymap.Context
}

func newHelp(ctx keymap.Context) Screen { return &help{ctx: ctx} }

func (h *help) rows(f *Frame) []string {
	t := f.Theme
	keyWidth := min(24, max(10, f.Width*3/10))
	var out []string
	sections := f.Keys.Help(h.ctx)
	for i, sec := range sections {
		if i == len(sections)-1 && (h.ctx == keymap.InThreads || h.ctx == keymap.InReader) {
			out = append(out, marks(t, keyWidth)...)
		}
		if i > 0 {
			out = append(out, "")
		}
		out = append(out, " "+t.AccentBold.Render(sec.Title))
		for _, it := range sec.Items {
			keys := strings.Join(it.Keys, ", ")
			style := t.Bold
			if keys == "" {
				keys, style = "no key", t.Muted
			}
			for j, l := range cells.Wrap(it.Long, max(10, f.Width-keyWidth-4)) {
				if j > 0 {
					keys = ""
				}
				out = append(out, "  "+style.Render(fit(t, keys, keyWidth))+" "+t.Text.Render(l))
			}
		}
	}
	out = append(out, "", t.Muted.Render("  Every key can be changed; see `teapost keys` and the configuration file."))
	if v := f.Options.Version; v != "" {
		out = append(out, t.Muted.Render("  teapost "+v))
	}
	return out
}

// marks says what the marks beside a thread mean.
func marks(t *Theme, width int) []string {
	g := t.Glyphs
	out := []string{"", " " + t.AccentBold.Render("Marks")}
	for _, m := range []struct{ glyph, means string }{
		{g.Unread, "Something in it is unread"},
		{g.Answered, "You have answered"},
		{g.Star, "Starred"},
		{g.Attachment, "Has files"},
		{g.Invite, "Has an invitation"},
		{g.Muted, "Muted: answers to it stay out of the inbox"},
		{g.Pending, "A change to it is not on the server yet"},
		{g.Selected, "Selected"},
	} {
		out = append(out, "  "+t.Bold.Render(cells.Pad(m.glyph, width))+" "+t.Text.Render(m.means))
	}
	return out
}

func (h *help) Update(msg tea.Msg, f *Frame) (Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.MouseMsg:
		h.wheel(msg, len(h.rows(f)), f.Height)
	case tea.WindowSizeMsg:
		h.clamp(len(h.rows(f)), f.Height)
	}
	return h, nil
}

func (h *help) Act(a keymap.Action, f *Frame) (Screen, tea.Cmd, bool) {
	if a == keymap.Help {
		f.Pop()
		return h, nil, true
	}
	return h, nil, h.act(a, len(h.rows(f)), f.Height)
}

func (h *help) View(f *Frame) string {
	return joinLines(h.rows(f), h.top, f.Width, f.Height)
}

func (h *help) Context() keymap.Context { return keymap.InHelp }
func (h *help) Capturing() bool         { return false }

func (h *help) Title(f *Frame) string { return "Keys" + f.Theme.Dot() + string(h.ctx) }

func (h *help) Hints(*Frame) []keymap.Action {
	return []keymap.Action{keymap.Down, keymap.Up, keymap.PageDown, keymap.Bottom, keymap.Back}
}
