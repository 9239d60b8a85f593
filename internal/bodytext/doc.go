// Package bodytext turns the body of a message, plain text or HTML, into lines for a terminal.
//
// A Doc is made once by FromText, FromHTML or Best and drawn by Lines for any width. All text in it has gone through
// package clean. Nothing is ever fetched. A Doc does not change after it is made and may be used by several goroutines.
package bodytext

import (
	"strings"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
)

// Kind says what a line is a part of.
type Kind uint8

// The kinds of lines. Blank lines are Para.
const (
	Para Kind = iota
	Heading
	Pre         // blanks and line ends are as sent
	Table       // columns are aligned by blanks
	Rule        // a horizontal line; Text draws one
	Signature   // everything after "-- "
	Attribution // "On Monday Ada wrote:" before a quote, or the header of a quoted mail
)

// Style is a set of text attributes.
type Style uint8

// The attributes.
const (
	Bold Style = 1 << iota
	Italic
	Underline
	Strike
	Code
	Mark // the number after a link, such as "[3]"
)

// Span gives a part of a text attributes or makes it a link. Spans of a line are in order and do not overlap.
type Span struct {
	Start, End int // bytes
	Style      Style
	Link       int // number of the link, 0 for none
}

// Line is one drawn line.
type Line struct {
	Text  string // clean
	Quote int    // depth of quotation, without limit; draw Bars of it
	Kind  Kind
	// Quoted: the line belongs to an earlier mail (see Folds). True for all lines with a Quote, for the attribution
	// before them, and for what follows an "Original Message" separator.
	Quoted bool
	// Cont: the line goes on where the one before was wrapped.
	Cont  bool
	Spans []Span
}

// Link is an address in the text.
type Link struct {
	N        int    // as shown after its text; Links[N-1]
	Text     string // what the message calls it, one line
	URL      string // what will be opened, as clean.Link gives it
	Scheme   string // "https", "mailto", …
	Openable bool   // false: never opened, only shown
	// Misleading: the text names another host than the one that will be opened.
	Misleading bool
}

// Doc is the body of a message. The zero value is an empty one.
type Doc struct {
	Links []Link
	// HiddenNote is not empty when the message hid nearly all of its text, so that all of it is shown; it says so.
	HiddenNote string
	// HTML: it was made from HTML.
	HTML bool

	blocks []block
}

// block is one paragraph before it is wrapped; an empty text is a blank line.
type block struct {
	kind   Kind
	quote  int
	quoted bool
	gap    bool   // a blank line comes before
	first  string // before the first line: the marker of a list item
	rest   string // before the others
	text   string // may hold line ends
	spans  []Span
	rows   [][]cell // of a Table
	goesOn bool     // of a plain text: the next line goes on where the sender's program wrapped this one
}

type cell struct {
	text  string
	spans []Span
}

// Each level of quotation is drawn by a bar of BarCells cells, at most maxBars of them.
const (
	BarCells = 2
	maxBars  = 5
)

// Bars returns how many levels of quotation are drawn before a line in a window of width cells, so that text is left.
func Bars(quote, width int) int { return max(0, min(quote, maxBars, width/8)) }

// Empty reports whether there is nothing to see.
func (d *Doc) Empty() bool {
	for i := range d.blocks {
		if d.blocks[i].visible() {
			return false
		}
	}
	return true
}

func (b *block) visible() bool { return b.text != "" || len(b.rows) > 0 || b.kind == Rule }

// Lines wraps the text for a window of width cells. The text of each line, together with the bars for its quotation
// (Bars(Quote, width) times BarCells), is not wider than that, as long as width is at least 2.
func (d *Doc) Lines(width int) []Line {
	width = max(width, 2)
	out := make([]Line, 0, len(d.blocks)+8)
	blanks := 0
	blank := func(b *block) {
		if blanks < 2 && len(out) > 0 {
			out = append(out, Line{Quote: b.quote, Quoted: b.quoted})
		}
		blanks++
	}
	for i := 0; i < len(d.blocks); i++ {
		b := &d.blocks[i]
		if !b.visible() {
			blank(b)
			continue
		}
		if b.gap && blanks == 0 && len(out) > 0 {
			before := &out[len(out)-1]
			out = append(out, Line{Quote: min(before.Quote, b.quote), Quoted: before.Quoted && b.quoted})
		}
		blanks = 0
		from := len(out)
		room := max(2, width-BarCells*Bars(b.quote, width))
		switch {
		case b.kind == Rule:
			out = append(out, Line{Text: strings.Repeat("─", room)})
		case len(b.rows) > 0:
			out = tableLines(out, b.rows, room)
		default:
			text, spans, n := d.refill(i, room)
			out = flow(out, text, spans, room, b.first, b.rest)
			i += n - 1
		}
		for j := from; j < len(out); j++ {
			out[j].Quote, out[j].Kind, out[j].Quoted = b.quote, b.kind, b.quoted
		}
	}
	for len(out) > 0 && out[len(out)-1].Text == "" {
		out = out[:len(out)-1]
	}
	return out
}

// flow wraps a text that may hold line ends.
func flow(out []Line, text string, spans []Span, width int, first, rest string) []Line {
	first, rest = narrow(first, width), narrow(rest, width)
	offset, prefix := 0, first
	for {
		piece, after, more := strings.Cut(text[offset:], "\n")
		for i, r := range cells.WrapRanges(piece, max(1, width-cells.Width(prefix)), max(1, width-cells.Width(rest))) {
			line := Line{Cont: i > 0}
			start, end := offset+r.Start, offset+r.End
			for len(spans) > 0 && spans[0].End <= start {
				spans = spans[1:]
			}
			for _, s := range spans {
				if s.Start >= end {
					break
				}
				s.Start = max(s.Start, start) - start + len(prefix)
				s.End = min(s.End, end) - start + len(prefix)
				line.Spans = append(line.Spans, s)
			}
			if start < end {
				line.Text = prefix + text[start:end]
			}
			out = append(out, line)
			prefix = rest
		}
		if !more {
			return out
		}
		offset = len(text) - len(after)
	}
}

// narrow drops leading blanks of an indentation that takes more than half of the line.
func narrow(prefix string, width int) string {
	for len(prefix) > 0 && prefix[0] == ' ' && cells.Width(prefix) > width/2 {
		prefix = prefix[1:]
	}
	if cells.Width(prefix) > width-2 {
		return ""
	}
	return prefix
}

// Plain returns the text without wrapping, one paragraph a line, quoted lines after ">" signs: what a reply quotes and a
// search looks through. It ends without a line end.
func (d *Doc) Plain() string {
	var b strings.Builder
	blanks, quote := 0, 0
	for i := range d.blocks {
		bl := &d.blocks[i]
		if !bl.visible() {
			if blanks < 2 && b.Len() > 0 {
				b.WriteString(strings.TrimRight(marks(bl.quote), " ") + "\n")
			}
			blanks++
			continue
		}
		if bl.gap && blanks == 0 && b.Len() > 0 {
			b.WriteString(strings.TrimRight(marks(min(quote, bl.quote)), " ") + "\n")
		}
		blanks, quote = 0, bl.quote
		m := marks(bl.quote)
		switch {
		case bl.kind == Rule:
			b.WriteString(m + "---\n")
		case len(bl.rows) > 0:
			for _, row := range bl.rows {
				line := ""
				for j, c := range row {
					if j > 0 {
						line += "  "
					}
					line += strings.ReplaceAll(c.text, "\n", " ")
				}
				b.WriteString(m + strings.TrimRight(line, " ") + "\n")
			}
		default:
			prefix := bl.first
			for line := range strings.SplitSeq(bl.text, "\n") {
				b.WriteString(strings.TrimRight(m+prefix+line, " ") + "\n")
				prefix = bl.rest
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func marks(quote int) string {
	if quote == 0 {
		return ""
	}
	return strings.Repeat(">", quote) + " "
}

// Snippet returns the beginning of the text on one line, at most max bytes: without what is quoted, the signature and
// markers, or, when that leaves nothing, of all text.
func (d *Doc) Snippet(max int) string {
	if s := d.snippet(max, false); s != "" {
		return s
	}
	return d.snippet(max, true)
}

func (d *Doc) snippet(max int, all bool) string {
	var b strings.Builder
	add := func(s string) {
		for _, w := range strings.Fields(s) {
			if b.Len() > max {
				return
			}
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w)
		}
	}
	for i := range d.blocks {
		bl := &d.blocks[i]
		if !all && (bl.quoted || bl.kind == Signature) {
			continue
		}
		for _, row := range bl.rows {
			for _, c := range row {
				add(c.text)
			}
		}
		add(bl.text)
		if b.Len() > max {
			break
		}
	}
	return clean.LineMax(b.String(), max)
}

// LinkLines returns the list of links, one line each, for a window of width cells: "[1] example.org/page". The address is
// cut on the right, never its host; links that are not opened say so.
func (d *Doc) LinkLines(width int) []Line {
	out := make([]Line, 0, len(d.Links))
	for _, l := range d.Links {
		text := linkMark(l.N) + " " + l.URL
		switch {
		case !l.Openable:
			text = linkMark(l.N) + " (not opened) " + l.URL
		case l.Misleading:
			text = linkMark(l.N) + " (not " + cells.Truncate(l.Text, 30, "…") + ") " + l.URL
		}
		text = cells.Truncate(text, width, "…")
		out = append(out, Line{Text: text, Spans: []Span{{Start: 0, End: len(text), Link: l.N}}})
	}
	return out
}

// Fold is a run of lines that quote an earlier mail, lines[Start:End].
type Fold struct{ Start, End int }

// Folds groups the quoted lines of what Lines returned, each with its attribution and the blank lines inside.
func Folds(lines []Line) []Fold {
	var out []Fold
	for i := 0; i < len(lines); i++ {
		if !lines[i].Quoted || lines[i].Text == "" {
			continue
		}
		end := i + 1
		for j := end; j < len(lines) && (lines[j].Quoted || lines[j].Text == ""); j++ {
			if lines[j].Text != "" {
				end = j + 1
			}
		}
		out = append(out, Fold{i, end})
		i = end
	}
	return out
}
