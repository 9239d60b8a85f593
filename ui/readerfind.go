package ui

import (
	"strings"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
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

// look finds text and goes to the first hit at or below the top. Messages that hold it are opened; quotes only when it is
// nowhere else, since most of what is quoted stands in a message of its own.
func (r *reader) look(text string, f *Frame) tea.Cmd {
	r.find, r.hit = text, 0
	if text == "" {
		r.search()
		return nil
	}
	var cmds []tea.Cmd
	var quoted []string
	want := strings.ToLower(text)
	for i := range r.th.Messages {
		m := &r.th.Messages[i]
		own, inQuote, cmd := r.holds(m, want, f)
		if own {
			r.open[m.ID] = true
		}
		if inQuote {
			quoted = append(quoted, m.ID)
		}
		cmds = append(cmds, cmd)
	}
	cmds = append(cmds, r.lay(f))
	if len(r.hits) == 0 && len(quoted) > 0 {
		for _, id := range quoted {
			r.open[id], r.quotes[id] = true, true
		}
		cmds = append(cmds, r.lay(f))
	}
	switch cmd := tea.Batch(cmds...); {
	case len(r.hits) > 0:
		r.nearest(f)
		return cmd
	case cmd != nil: // it may be in what is being laid out
		return cmd
	}
	f.Flash("“" + short(text) + "” is not in this conversation")
	r.find = ""
	return nil
}

// holds reports whether a message holds text, in lower case: in its own words, or in what it quotes. Of a long one that is
// not laid out yet it says yes when its source does, and gives the command that lays it out.
func (r *reader) holds(m *api.Message, want string, f *Frame) (own, quoted bool, cmd tea.Cmd) {
	if !strings.Contains(strings.ToLower(m.Text), want) && !strings.Contains(strings.ToLower(m.HTML), want) {
		return false, false, nil
	}
	b := r.body(m.ID)
	if cmd = b.prepare(m.ID, m.Text, m.HTML, r.other[m.ID], textWidth(f)); cmd != nil {
		return true, false, cmd
	}
	for _, l := range b.lines {
		if strings.Contains(strings.ToLower(l.Text), want) {
			own, quoted = own || !l.Quoted, quoted || l.Quoted
		}
	}
	return own, quoted, nil
}

// nearest goes to the first hit at or below the top.
func (r *reader) nearest(f *Frame) {
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
