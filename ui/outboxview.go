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
	if len(o.list) == 0 {
		return emptyList("Nothing waits to be sent.", f)
	}
	h := o.listHeight(f)
	var rows []string
	for i := o.top; i < min(o.top+h, len(o.list)); i++ {
		rows = append(rows, entryLine(o.list[i], i == o.at, f))
	}
	var detail []string
	if h < f.Height {
		detail = o.detail(o.list[o.at], f)
	}
	return withDetail(rows, detail, f)
}

// listHeight is how many rows the list has: the detail takes what it needs, at most half where there is little room.
func (o *outbox) listHeight(f *Frame) int {
	if len(o.list) == 0 || f.Height < 6 {
		return f.Height
	}
	n := 1 + len(o.detail(o.list[o.at], f))
	return max(f.Height-n, min(len(o.list), 3))
}

// entryLine draws one row.
func entryLine(e state.Entry, cursor bool, f *Frame) string {
	t, w := f.Theme, f.Width
	words := min(30, max(w*2/5, 10))
	to := 0
	if w >= 56 {
		to = min(22, w/5)
	}
	subject := w - 3 - 1 - words - 1
	if to > 0 {
		subject -= to + 1
	}
	bar, on := rowStart(t, cursor, true)
	glyph, tone := entryGlyph(t, e)
	line := bar + tone.With(on).Render(glyph) + on.Render(" ")
	if to > 0 {
		line += on.Render(column(t, firstOf(e.To), to) + " ")
	}
	style := t.Muted
	if e.Ask != state.AskNothing || e.State == state.EntryFailed || e.State == state.EntryUnknown {
		style = t.Warn
	}
	said := cells.Truncate(entryWords(e, f.Now), words, t.Glyphs.Ellipsis)
	return line + on.Render(column(t, subjectOf(e.Subject), max(subject, 1))+" ") +
		style.With(on).Render(cells.PadLeft(said, words)+" ")
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
