package ui

import (
	"strconv"
	"strings"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/keymap"
)

func (r *reader) View(f *Frame) string {
	t := f.Theme
	key := func(a keymap.Action) string { return firstKey(f.Keys, keymap.InReader, a) }
	middle := func(s string) string {
		s = cutWords(s, f.Width-2, t)
		return block(strings.Repeat("\n", max(0, f.Height/3))+cells.Blank((f.Width-cells.Width(s))/2)+t.Muted.Render(s), f.Width, f.Height)
	}
	switch {
	case r.id == "" && f.barren:
		return block("", f.Width, f.Height)
	case r.id == "":
		say := "No conversation is open"
		if k := firstKey(f.Keys, keymap.InThreads, keymap.Open); k != "" {
			say = k + " opens a conversation here"
		}
		return middle(say)
	case !r.th.Known && r.th.Problem != "":
		say := clean.Line(r.th.Problem)
		if k := key(keymap.Refresh); k != "" {
			say += t.Dot() + k + " tries again"
		}
		return middle(say)
	case !r.th.Known:
		return middle("Loading the conversation" + t.Keep("…", "..."))
	}
	height := f.Height
	line := r.promptLine(f)
	if line != "" {
		height--
	}
	out := make([]string, 0, f.Height)
	hits := map[int]bool{}
	for _, h := range r.hits {
		hits[h] = true
	}
	for i := r.top; i < min(len(r.rows), r.top+height); i++ {
		row := r.rows[i].text
		if hits[i] {
			row = r.highlight(i, f)
		}
		if r.cur < len(r.heads) && r.heads[r.cur] == i && f.Focused && len(r.th.Messages) > 1 && strings.HasPrefix(row, " ") {
			row = t.Accent.Render(t.Glyphs.Bar) + row[1:]
		}
		out = append(out, row)
	}
	for len(out) < height {
		out = append(out, "")
	}
	if below := len(r.rows) - r.top - height; below > 0 && line == "" && height > 3 {
		// A quiet sign at the edge that there is more to read.
		last := out[len(out)-1]
		if cells.Width(last) < f.Width-2 && !strings.Contains(last, "\x1b7") {
			out[len(out)-1] = cells.Pad(last, f.Width-2) + t.Faint.Render(t.Glyphs.More)
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return block(strings.Join(out, "\n"), f.Width, f.Height)
}

// promptLine is the line below the text while a link's number is typed or a search inside is open.
func (r *reader) promptLine(f *Frame) string {
	t := f.Theme
	key := func(a keymap.Action) string { return firstKey(f.Keys, keymap.InReader, a) }
	switch {
	case r.number != "":
		k := key(keymap.ToggleMessage)
		l, ok := r.link()
		say := "[" + r.number + "] no such link in this message"
		style := t.Muted
		if ok {
			say, style = "["+r.number+"] "+l.URL, t.Accent
			end := t.Dot() + k + " opens" + t.Dot() + key(keymap.Copy) + " copies"
			if !l.Openable {
				end, style = t.Dot()+"never opened", t.Warn
			} else if l.Misleading {
				end, style = t.Dot()+"not where its text says"+t.Dot()+k+" opens", t.Warn
			}
			say = cells.Truncate(say, max(10, f.Width-2-cells.Width(end)), t.Glyphs.Ellipsis) + end
		}
		return " " + style.Render(cells.Truncate(say, f.Width-2, t.Glyphs.Ellipsis))
	case r.find != "":
		say := "“" + short(r.find) + "”  " + strconv.Itoa(min(r.hit+1, len(r.hits))) + " of " + strconv.Itoa(len(r.hits)) +
			t.Dot() + key(keymap.NextMessage) + " " + key(keymap.PrevMessage) + " next, previous" + t.Dot() + key(keymap.Back) + " ends"
		return " " + t.Accent.Render(cutWords(say, f.Width-2, t))
	}
	return ""
}

func (r *reader) Context() keymap.Context { return keymap.InReader }
func (r *reader) Capturing() bool         { return false }

func (r *reader) Title(f *Frame) string {
	if r.id == "" {
		return "Conversation"
	}
	s := cells.Stable(subjectOf(r.th.Row.Subject))
	if !r.th.Known && r.th.Row.Subject == "" {
		return "Conversation"
	}
	if n := len(r.th.Messages); n > 1 {
		return cells.Truncate(s, max(10, f.Width-40), f.Theme.Glyphs.Ellipsis) + "  " + plural(n, "message", "messages")
	}
	return s
}

func (r *reader) Hints(f *Frame) []keymap.Action {
	out := []keymap.Action{keymap.Reply, keymap.ReplyAll, keymap.Archive, keymap.Snooze, keymap.Trash}
	rest := []keymap.Action{keymap.Forward, keymap.Label, keymap.ToggleHeaders, keymap.FindInside}
	if len(r.th.Messages) > 1 {
		out = append([]keymap.Action{keymap.NextMessage, keymap.PrevMessage}, out...)
	}
	if m := r.message(); m != nil {
		if len(m.Attachments) > 0 {
			out = append(out, keymap.SaveAttachment)
		}
		if b := r.bodies[m.ID]; b != nil && b.doc != nil && len(b.doc.Links) > 0 {
			out = append(out, keymap.OpenLink)
		}
		if bothParts(m.Text, m.HTML) {
			rest = append([]keymap.Action{keymap.SwitchPart}, rest...)
		}
		if m.HTML != "" {
			rest = append(rest, keymap.ViewHTML)
		}
	}
	return append([]keymap.Action{keymap.Back}, append(out, rest...)...)
}
