package ui

import (
	"slices"
	"strings"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/keymap"
)

// search finds the rows that hold what is looked for.
func (r *reader) search() {
	r.hits = r.hits[:0]
	if r.find == "" {
		return
	}
	want := strings.ToLower(r.find)
	for i, row := range r.rows {
		if row.plain != "" && strings.Contains(strings.ToLower(row.plain), want) {
			r.hits = append(r.hits, i)
		}
	}
	r.hit = max(0, min(r.hit, len(r.hits)-1))
}

// findMsg looks for a text inside the conversation.
type findMsg struct{ text string }

// look finds text and goes to the first hit at or below the top.
func (r *reader) look(text string, f *Frame) {
	r.find, r.hit = text, 0
	r.search()
	if text == "" {
		return
	}
	if len(r.hits) == 0 {
		said := "“" + short(text) + "” is not here"
		if slices.ContainsFunc(r.th.Messages, func(m api.Message) bool { return !r.open[m.ID] }) {
			said = "“" + short(text) + "” is not in the open messages"
			if k := firstKey(f.Keys, keymap.InReader, keymap.ExpandAll); k != "" {
				said += f.Theme.Dot() + k + " opens all"
			}
		}
		f.Flash(said)
		r.find = ""
		return
	}
	for i, h := range r.hits {
		if h >= r.top {
			r.toHit(i, f)
			return
		}
	}
	r.toHit(0, f)
}

func (r *reader) toHit(i int, f *Frame) {
	n := len(r.hits)
	if n == 0 {
		return
	}
	r.hit = (i + n) % n
	row := r.hits[r.hit]
	if row < r.top || row >= r.top+f.Height-1 {
		r.top = row - f.Height/3
		r.clamp(len(r.rows), f.Height)
	}
	for j, h := range r.heads {
		if h <= row {
			r.cur = j
		}
	}
}

// highlight draws a row in plain text with the hits marked.
func (r *reader) highlight(i int, f *Frame) string {
	t := f.Theme
	text := r.rows[i].plain
	low, want := strings.ToLower(text), strings.ToLower(r.find)
	if len(low) != len(text) {
		return r.rows[i].text
	}
	base := Style{}
	if r.hit < len(r.hits) && r.hits[r.hit] == i {
		base = t.Bold
	}
	var b strings.Builder
	b.WriteString(cells.Blank(indent(f)))
	for {
		j := strings.Index(low, want)
		if j < 0 || want == "" || !utf8.ValidString(text[:j]) {
			break
		}
		b.WriteString(base.Render(text[:j]) + t.Match.Render(text[j:j+len(want)]))
		text, low = text[j+len(want):], low[j+len(want):]
	}
	b.WriteString(base.Render(text))
	return cells.Truncate(b.String(), f.Width, "")
}
