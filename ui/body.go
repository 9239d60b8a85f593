package ui

import (
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/internal/bodytext"
	"codeberg.org/teapost/teapost/internal/cells"
)

// longBody is how many bytes of a body are laid out at once; a longer one is laid out by a command.
const longBody = 24 << 10

// body is the text of one message, laid out for one width.
type body struct {
	text, html string // what it was made from
	other      bool   // the part that is not shown by itself is wanted
	doc        *bodytext.Doc
	bare       bool // nothing is left of it when what it quotes is folded
	lines      []bodytext.Line
	folds      []bodytext.Fold
	diff       []byte // what the lines of a patch are; nil: there is none
	width      int
	busy       int // the width that a command lays it out for; 0: none does
}

// bodyMsg is the answer of the command that lays out a body.
type bodyMsg struct {
	message    string
	text, html string
	other      bool
	width      int
	doc        *bodytext.Doc
	lines      []bodytext.Line
}

func (b *body) same(text, html string, other bool) bool {
	return b.text == text && b.html == html && b.other == other
}

// ready reports whether the lines are those for this text and width.
func (b *body) ready(text, html string, other bool, width int) bool {
	return b.doc != nil && b.same(text, html, other) && b.width == width
}

// bothParts reports whether a message has a text and an HTML.
func bothParts(text, html string) bool {
	return strings.TrimSpace(text) != "" && strings.TrimSpace(html) != ""
}

// read makes the text of a message of the better of its parts, or of the other one.
func read(text, html string, other bool) *bodytext.Doc {
	d := bodytext.Best(text, html)
	switch {
	case !other || !bothParts(text, html):
		return d
	case d.HTML:
		return bodytext.FromText(text)
	}
	return bodytext.FromHTML(html)
}

// prepare lays the body out, or gives the command that does. other: of the part that is not shown by itself.
func (b *body) prepare(message, text, html string, other bool, width int) tea.Cmd {
	if b.ready(text, html, other, width) {
		return nil
	}
	if !b.same(text, html, other) {
		*b = body{text: text, html: html, other: other}
	}
	doc := b.doc
	if len(text)+len(html) <= longBody {
		if doc == nil {
			doc = read(text, html, other)
		}
		b.set(doc, doc.Lines(width), width)
		return nil
	}
	if b.busy == width {
		return nil
	}
	b.busy = width
	return func() tea.Msg {
		if doc == nil {
			doc = read(text, html, other)
		}
		return bodyMsg{message, text, html, other, width, doc, doc.Lines(width)}
	}
}

func (b *body) set(doc *bodytext.Doc, lines []bodytext.Line, width int) {
	b.doc, b.lines, b.width, b.busy = doc, lines, width, 0
	b.folds, b.diff = bodytext.Folds(lines), diffMarks(lines)
	b.bare = bare(lines)
}

// bare reports whether all that lines say belongs to an earlier mail, save a signature and what stands above the mail.
func bare(lines []bodytext.Line) bool {
	for _, l := range lines {
		own := !l.Quoted && l.Kind != bodytext.Signature && l.Kind != bodytext.Rule && l.Kind != bodytext.Attribution
		if own && strings.ContainsFunc(l.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsSymbol(r) }) {
			return false
		}
	}
	return true
}

// take accepts the answer of a command, unless the text has changed since.
func (b *body) take(m bodyMsg) {
	if b.same(m.text, m.html, m.other) {
		b.set(m.doc, m.lines, m.width)
	}
}

// draw gives the rows of the body; quoted runs are folded to one row each unless quotes are shown. tab is the key that
// opens them. indent blanks stand before each.
func (b *body) draw(t *Theme, quotes bool, tab string, indent int) []readerRow {
	var out []readerRow
	fold := 0
	for i := 0; i < len(b.lines); i++ {
		for fold < len(b.folds) && b.folds[fold].End <= i {
			fold++
		}
		if !quotes && fold < len(b.folds) && b.folds[fold].Start == i && b.folds[fold].End-i > 2 {
			n := 0
			for _, l := range b.lines[i:b.folds[fold].End] {
				if l.Text != "" {
					n++
				}
			}
			text := t.Glyphs.Quote + " " + plural(n, "quoted line", "quoted lines")
			if tab != "" {
				text += t.Dot() + tab + " opens"
			}
			out = append(out, readerRow{text: cells.Blank(indent) + t.Quote.Render(text), plain: text})
			i = b.folds[fold].End - 1
			continue
		}
		base := lineStyle(t, b.lines[i])
		if b.diff != nil {
			if s, ok := diffStyle(t, b.diff[i]); ok {
				base = s
			}
		}
		out = append(out, bodyRow(t, b.lines[i], base, b.width, indent))
	}
	return out
}

// lineStyle is what a line of a body is drawn with.
func lineStyle(t *Theme, l bodytext.Line) Style {
	switch {
	case l.Kind == bodytext.Heading:
		return t.Bold
	case l.Kind == bodytext.Rule:
		return t.Rule
	case l.Kind == bodytext.Signature, l.Kind == bodytext.Attribution:
		return t.Muted
	case l.Quoted:
		return t.Quote
	}
	return Style{}
}

// bodyRow draws one line of a body.
func bodyRow(t *Theme, l bodytext.Line, base Style, width, indent int) readerRow {
	var b strings.Builder
	b.WriteString(cells.Blank(indent))
	if bars := bodytext.Bars(l.Quote, width); bars > 0 {
		b.WriteString(t.Faint.Render(strings.Repeat(t.Glyphs.Quote+" ", bars)))
	}
	text := l.Text
	if l.Kind == bodytext.Rule && t.ASCII {
		text = strings.Repeat("-", cells.Width(text))
	}
	pos := 0
	for _, s := range l.Spans {
		if s.Start < pos || s.End > len(text) {
			continue
		}
		b.WriteString(base.Render(text[pos:s.Start]))
		b.WriteString(base.With(spanStyle(t, s)).Render(text[s.Start:s.End]))
		pos = s.End
	}
	b.WriteString(base.Render(text[pos:]))
	return readerRow{text: b.String(), plain: l.Text}
}

func spanStyle(t *Theme, s bodytext.Span) Style {
	var st Style
	if s.Style&bodytext.Bold != 0 {
		st = st.With(t.Bold)
	}
	if s.Style&bodytext.Italic != 0 {
		st = st.With(Style{"3"})
	}
	if s.Style&bodytext.Strike != 0 {
		st = st.With(Style{"9"})
	}
	if s.Style&bodytext.Code != 0 {
		st = st.With(t.Muted)
	}
	switch {
	case s.Style&bodytext.Mark != 0:
		st = st.With(t.Accent)
	case s.Link != 0:
		st = st.With(t.Link)
	case s.Style&bodytext.Underline != 0:
		st = st.With(Style{"4"})
	}
	return st
}
