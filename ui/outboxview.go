package ui

import (
	"strings"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/when"
	"codeberg.org/teapost/teapost/keymap"
	"codeberg.org/teapost/teapost/state"
)

func (o *outbox) View(f *Frame) string {
	t, w := f.Theme, f.Width
	list := f.Mail.Outbox()
	if len(list) == 0 {
		return "\n" + cells.Truncate("  Nothing waits to be sent.", w, t.Glyphs.Ellipsis)
	}
	cur := o.cursor(list)
	h := o.listHeight(f, list)
	top := keep(o.top, cur, len(list), h)
	o.top = top
	var rows []string
	stateW := min(30, max(w*2/5, 10))
	toW := 0
	if w >= 56 {
		toW = min(22, w/5)
	}
	subjW := max(w-4-stateW-1-1, 1)
	if toW > 0 {
		subjW = max(subjW-toW-1, 1)
	}
	for i := top; i < min(top+h, len(list)); i++ {
		e := list[i]
		on := Style{}
		bar := " "
		if i == cur {
			bar, on = t.Accent.With(t.Cursor).Render(t.Glyphs.Bar), t.Cursor
		}
		var b strings.Builder
		b.WriteString(bar + entryGlyph(t, e) + " ")
		if toW > 0 {
			b.WriteString(on.Render(column(t, firstOf(e.To), toW)) + " ")
		}
		b.WriteString(on.Render(column(t, subjectOf(e.Subject), subjW)) + " ")
		words := t.Muted
		if e.Ask != state.AskNothing || e.State == state.EntryFailed || e.State == state.EntryUnknown {
			words = t.Warn
		}
		b.WriteString(words.With(on).Render(cells.PadLeft(cells.Truncate(entryWords(e, f.Now), stateW, t.Glyphs.Ellipsis), stateW)))
		rows = append(rows, b.String())
	}
	if h < f.Height {
		for len(rows) < h {
			rows = append(rows, "")
		}
		rows = append(rows, " "+t.Rule.Render(strings.Repeat(t.Glyphs.Rule, max(w-2, 0))))
		for _, l := range o.detail(list[cur], f) {
			rows = append(rows, " "+l)
		}
	}
	if len(rows) > f.Height {
		rows = rows[:f.Height]
	}
	return strings.Join(rows, "\n")
}

// listHeight is how many rows the list has: the detail takes what it needs, at most half where there is little room.
func (o *outbox) listHeight(f *Frame, list []state.Entry) int {
	if len(list) == 0 || f.Height < 6 {
		return f.Height
	}
	n := 1 + len(o.detail(list[min(o.index, len(list)-1)], f))
	return max(f.Height-n, min(len(list), 3))
}

// detail is the part below the list that speaks of the chosen entry.
func (o *outbox) detail(e state.Entry, f *Frame) []string {
	t, w := f.Theme, max(f.Width-2, 1)
	var out []string
	out = append(out, t.Bold.Render(column(t, subjectOf(e.Subject), w)))
	var to []string
	for _, a := range e.To {
		_, full := clean.Address(a.Name, a.Email)
		to = append(to, full)
	}
	out = append(out, t.Field.Render("To ")+column(t, strings.Join(to, ", "), max(w-3, 1)))
	out = append(out, cells.Wrap(entryStory(e, f.Now), w)...)
	var facts []string
	if e.Attempts > 0 {
		facts = append(facts, plural(e.Attempts, "try", "tries"))
	}
	if e.Status != 0 {
		facts = append(facts, "answer "+itoa(e.Status))
	}
	if e.Request != "" {
		facts = append(facts, clean.LineMax(e.Request, 60))
	}
	if !e.CreatedAt.IsZero() {
		facts = append(facts, "written "+when.Format(e.CreatedAt, f.Now))
	}
	if len(facts) > 0 {
		out = append(out, t.Muted.Render(cells.Truncate(strings.Join(facts, t.Dot()), w, t.Glyphs.Ellipsis)))
	}
	if c := o.choices(e, f); c != "" {
		out = append(out, wrapHints(c, t.Dot(), w)...)
	}
	return out
}

// choices are the keys that make sense for an entry.
func (o *outbox) choices(e state.Entry, f *Frame) string {
	var out []string
	add := func(a keymap.Action, words string) {
		if k := firstKey(f.Keys, keymap.InOutbox, a); k != "" {
			out = append(out, hint(f.Theme, k, words))
		}
	}
	if e.CanTakeBack && !takingBack(e) {
		add(keymap.Undo, "takes it back")
	}
	if e.CanSend {
		switch e.Ask {
		case state.AskTryAgain, state.AskSendAgain:
			add(keymap.SendNow, "sends it again")
		default:
			add(keymap.SendNow, "sends it now")
		}
	}
	switch {
	case e.Ask == state.AskOverdue && e.CanEdit:
		add(keymap.Edit, "opens it for another time")
	case e.Ask == state.AskEditAsNew:
		add(keymap.EditAsNew, "edits it as a new message")
	case e.CanEdit:
		add(keymap.Edit, "edits it")
	case e.Ask == state.AskSendAgain:
	case e.State == state.EntryUnknown || e.State == state.EntryWaiting:
		add(keymap.Edit, "edits it, once it is known")
		add(keymap.EditAsNew, "edits it as a new message")
	}
	if holdable(e) {
		add(keymap.Hold, "holds it")
	}
	if e.CanDrop {
		if offTheList(e) {
			add(keymap.Drop, "takes it off this list")
		} else {
			add(keymap.Drop, "drops it")
		}
	}
	return strings.Join(out, f.Theme.Dot())
}

// wrapHints breaks a line of hints between hints.
func wrapHints(s, dot string, width int) []string {
	var out []string
	line := ""
	for _, h := range strings.Split(s, dot) {
		switch {
		case line == "":
			line = h
		case cells.Width(line)+cells.Width(dot)+cells.Width(h) <= width:
			line += dot + h
		default:
			out = append(out, line)
			line = h
		}
	}
	return append(out, line)
}

// firstOf names the first of some people, and how many more there are.
func firstOf(to []state.Address) string {
	if len(to) == 0 {
		return "(nobody)"
	}
	s, _ := clean.Address(to[0].Name, to[0].Email)
	if len(to) > 1 {
		s += " +" + itoa(len(to)-1)
	}
	return s
}
