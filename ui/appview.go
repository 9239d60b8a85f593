package ui

import (
	"cmp"
	"strings"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
)

// View draws the whole screen.
func (a *app) View() string {
	l := a.at
	if l.width == 0 || l.height == 0 {
		return ""
	}
	if l.tiny {
		return block(strings.Join(cells.Wrap("The window is too small for mail.", max(1, l.width)), "\n"), l.width, l.height)
	}
	rows := make([]string, 0, 5)
	rows = append(rows, a.topLine())
	rows = append(rows, a.body())
	if l.ruled {
		rows = append(rows, a.rule())
	}
	rows = append(rows, news(a.newsInput(), l.width))
	if l.hinted {
		rows = append(rows, a.hintLine())
	}
	view := strings.Join(rows, "\n")
	if l.hinted && len(a.pending) > 0 {
		return a.withPending(view)
	}
	return view
}

// rule is the line above the news; the lines between the panes end in it.
func (a *app) rule() string {
	l, g := a.at, a.theme.Glyphs
	widths := []int{l.width}
	switch {
	case a.docked() != "":
		widths = []int{l.folders, l.beside()}
	case l.wide && len(a.screens) == 0:
		widths = []int{l.folders, l.threads, l.reader}
	}
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat(g.Rule, w)
	}
	return a.theme.Rule.Render(strings.Join(parts, g.Foot))
}

// withPending lays what may follow the pending keys over the lowest lines of the screen: all of it, if need be on three.
func (a *app) withPending(view string) string {
	t := a.theme
	lead := " " + t.Bold.Render(strings.Join(a.pending, " ")) + t.Muted.Render(" then  ")
	lines := wrapHintLines(t, lead, a.o.Keys.Next(a.top().Context(), a.pending), a.at.width, 3)
	rows := strings.Split(view, "\n")
	at := len(rows) - len(lines)
	copy(rows[at:], lines)
	if a.at.ruled && len(lines) > 2 {
		rows[at-1] = a.rule()
	}
	return strings.Join(rows, "\n")
}

func (a *app) body() string {
	l := a.at
	var body string
	switch {
	case a.docked() != "":
		s := a.screen()
		columns := []string{a.folders.View(a.frame(a.folders)), s.View(a.frame(s))}
		body = beside(a.theme, l.bodyHeight, columns, []int{l.folders, l.beside()}, -1)
	case len(a.screens) > 0:
		s := a.screen()
		body = block(s.View(a.frame(s)), l.width, l.bodyHeight)
	case l.wide:
		widths := []int{l.folders, l.threads, l.reader}
		columns := make([]string, 3)
		for i, s := range a.panes() {
			columns[i] = s.View(a.frame(s))
		}
		focus := -1
		if len(a.dialogs) == 0 {
			focus = a.focus
		}
		body = beside(a.theme, l.bodyHeight, columns, widths, focus)
	default:
		s := a.screen()
		body = block(s.View(a.frame(s)), l.width, l.bodyHeight)
	}
	for _, d := range a.dialogs {
		f := a.frame(d)
		body = overlay(body, d.View(f), l.width, l.bodyHeight)
	}
	return body
}

// topLine is the title on the left, the account and the clock on the right.
func (a *app) topLine() string {
	l := a.at
	s := a.screen()
	if l.wide && len(a.screens) == 0 {
		s = a.threads
	}
	title := " " + s.Title(a.frame(s))
	right := a.now.In(a.o.zone()).Format("15:04") + " "
	if acc := clean.Line(a.o.Account); acc != "" && l.width >= 50 {
		right = cells.Truncate(acc, l.width/3, a.theme.Glyphs.Ellipsis) + "   " + right
	}
	room := l.width - cells.Width(right) - 2
	title = cells.Truncate(title, room, a.theme.Glyphs.Ellipsis)
	return a.theme.Bold.Render(title) + cells.Blank(l.width-cells.Width(title)-cells.Width(right)) + a.theme.Muted.Render(right)
}

// escStops are the screens on which esc stops what they wait for. On the others it only goes back.
var escStops = map[keymap.Context]bool{
	keymap.InFolders: true, keymap.InThreads: true, keymap.InReader: true, keymap.InDrafts: true, keymap.InOutbox: true,
}

// newsInput is what the line of news is made from now.
func (a *app) newsInput() newsInput {
	ctx := a.top().Context()
	in := newsInput{
		Status: a.status, Now: a.now, Zone: a.o.zone(), Theme: a.theme, Esc: len(a.dialogs) == 0 && escStops[ctx],
		Key: func(x keymap.Action) string { return firstKey(a.o.Keys, ctx, x) },
	}
	if a.quitting {
		in.Flash = "Saving what you wrote, then quitting" + a.theme.Dot() + "esc stays"
	} else if a.now.Before(a.flash.until) {
		in.Flash, in.FlashFailure, in.FlashAt = a.flash.text, a.flash.failure, a.flash.until.Add(-flashFor)
		in.FlashYields = a.flash.yields
	}
	if a.now.Before(a.hello.until) {
		in.Hello = a.hello.text
	}
	return in
}

// hintLine is the bottom line: the keys of the screen.
func (a *app) hintLine() string {
	t, s := a.theme, a.top()
	f := a.frame(s)
	hints := a.o.Keys.Hints(s.Context(), s.Hints(f)...)
	if w, ok := s.(worded); ok {
		for i := range hints {
			hints[i].Text = cmp.Or(w.Word(hints[i].Action, f), hints[i].Text)
		}
	}
	end := ""
	if k := firstKey(a.o.Keys, s.Context(), keymap.Help); k != "" {
		end = hint(t, k, "keys")
	} else if k := firstKey(a.o.Keys, s.Context(), keymap.Palette); k != "" && s.Context() == keymap.InCompose {
		end = hint(t, k, "more") // where ? is a letter the list of commands shows the keys
	}
	return fitHints(t, hints, end, a.at.width)
}

// fitHints writes as many hints as there is room for, whole ones only, with end at the right edge.
func fitHints(t *Theme, hints []keymap.Hint, end string, width int) string {
	var b strings.Builder
	b.WriteByte(' ')
	used := 1
	limit := width - 1
	if end != "" {
		limit -= cells.Width(end) + 2
	}
	for i, h := range hints {
		if h.Key == "1" {
			h.Key = t.Keep("1…9", "1-9")
		}
		w := cells.Width(h.Key) + 1 + cells.Width(h.Text)
		gap := 0
		if i > 0 {
			gap = 2
		}
		if used+gap+w > limit {
			break
		}
		b.WriteString(cells.Blank(gap) + hint(t, h.Key, h.Text))
		used += gap + w
	}
	if end != "" && used+cells.Width(end)+1 <= width {
		b.WriteString(cells.Blank(width-used-cells.Width(end)-1) + end)
	}
	return cells.Truncate(b.String(), width, "")
}

// wrapHintLines writes hints on as many lines as they need, at most that many, after a lead.
func wrapHintLines(t *Theme, lead string, hints []keymap.Hint, width, most int) []string {
	indent := cells.Width(lead)
	lines, used := []string{lead}, indent
	for _, h := range hints {
		w := cells.Width(h.Key) + 1 + cells.Width(h.Text)
		if used > indent && used+2+w > width-1 {
			if len(lines) == most {
				break
			}
			lines, used = append(lines, cells.Blank(indent)), indent
		}
		if used > indent {
			lines[len(lines)-1] += cells.Blank(2)
			used += 2
		}
		lines[len(lines)-1] += hint(t, h.Key, h.Text)
		used += w
	}
	for i := range lines {
		lines[i] = cells.Truncate(lines[i], width, "")
	}
	return lines
}

// firstKey is the preferred key of an action, or empty.
func firstKey(m *keymap.Map, ctx keymap.Context, a keymap.Action) string {
	if k := m.Keys(ctx, a); len(k) > 0 {
		return k[0]
	}
	return ""
}
