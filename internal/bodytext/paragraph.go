package bodytext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
)

func letters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

func (p *parser) lineBreak() {
	if p.invisible() {
		return
	}
	p.trim()
	p.text = append(p.text, '\n')
}

// trim drops blanks at the end of the text, except in preformatted text.
func (p *parser) trim() {
	if p.st.pre {
		return
	}
	for len(p.text) > 0 && p.text[len(p.text)-1] == ' ' {
		p.text = p.text[:len(p.text)-1]
	}
	for len(p.spans) > 0 && p.spans[len(p.spans)-1].End > len(p.text) {
		s := &p.spans[len(p.spans)-1]
		if s.End = len(p.text); s.End > s.Start {
			break
		}
		p.spans = p.spans[:len(p.spans)-1]
	}
}

// addText adds text with the style that is in force.
func (p *parser) addText(s string) {
	if p.invisible() {
		p.hidden += letters(clean.Line(s))
		return
	}
	if p.st.pre {
		s = clean.Text(s)
		if len(p.text) == 0 && len(p.spans) == 0 {
			s = strings.TrimPrefix(s, "\n")
		}
	} else {
		s = collapse(clean.Line(s), len(p.text) == 0 || p.text[len(p.text)-1] == ' ' || p.text[len(p.text)-1] == '\n')
	}
	if s == "" {
		return
	}
	p.shown += letters(s)
	if strings.TrimSpace(s) != "" {
		p.linkEmpty = false
	}
	from := len(p.text)
	p.text = append(p.text, s...)
	if p.st.attr == 0 && p.st.link == 0 {
		return
	}
	if k := len(p.spans); k > 0 && p.spans[k-1].End == from && p.spans[k-1].Style == p.st.attr && p.spans[k-1].Link == p.st.link {
		p.spans[k-1].End = len(p.text)
		return
	}
	p.spans = append(p.spans, Span{from, len(p.text), p.st.attr, p.st.link})
}

// collapse makes one blank of each run of blanks, none at the start if open is set. A mark on a blank is no blank.
func collapse(s string, open bool) string {
	run := false
	for i := 0; i < len(s) && !run; i++ {
		run = s[i] == ' ' && (i == 0 && open || i > 0 && s[i-1] == ' ')
	}
	if !run {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' && (open || i > 0 && s[i-1] == ' ') {
			continue
		}
		open = false
		out = append(out, s[i])
	}
	// A mark that stood on a dropped blank must not join what is before.
	return clean.Line(string(out))
}

// flush ends the paragraph that is being read.
func (p *parser) flush() {
	if len(p.text) == 0 {
		return
	}
	text, spans := string(p.text), p.spans
	p.text, p.spans = p.text[:0], nil
	if !p.st.pre {
		text, spans = tidy(text, spans)
	} else {
		text = strings.TrimRight(text, " \n")
	}
	if text == "" {
		p.gap = true // an empty paragraph is a blank line
		return
	}
	for len(spans) > 0 && spans[len(spans)-1].Start >= len(text) {
		spans = spans[:len(spans)-1]
	}
	if n := len(spans); n > 0 {
		spans[n-1].End = min(spans[n-1].End, len(text))
	}
	b := block{text: text, spans: spans}
	switch {
	case p.st.heading:
		b.kind = Heading
	case p.st.pre:
		b.kind = Pre
	}
	b.rest = cells.Blank(p.st.indent)
	b.first = b.rest
	if p.marker != "" {
		b.first, p.marker = p.marker, ""
	}
	p.emit(b)
}

func (p *parser) emit(b block) {
	b.quote, b.gap = p.st.quote, p.gap
	p.gap = false
	*p.out = append(*p.out, &b)
}

// tidy drops blank lines and blanks at both ends, and all but one of several blank lines inside.
func tidy(text string, spans []Span) (string, []Span) {
	lead := 0
	for lead < len(text) && (text[lead] == '\n' || text[lead] == ' ') {
		lead++
	}
	if r, _ := utf8.DecodeRuneInString(text[lead:]); unicode.IsMark(r) && lead > 0 {
		lead-- // a mark keeps its blank
	}
	end := len(strings.TrimRight(text, " \n"))
	if end <= lead {
		return "", nil
	}
	if lead == 0 && end == len(text) && !strings.Contains(text, "\n\n\n") {
		return text, spans
	}
	out := make([]byte, 0, end-lead)
	kept := make([]Span, 0, len(spans))
	k, breaks := 0, 0
	for i := lead; i < end; i++ {
		for k < len(spans) && spans[k].End <= i {
			k++
		}
		if text[i] == '\n' {
			if breaks++; breaks > 2 {
				continue
			}
		} else {
			breaks = 0
		}
		if k < len(spans) && spans[k].Start <= i {
			at := len(out)
			if n := len(kept); n > 0 && kept[n-1].End == at && kept[n-1].Style == spans[k].Style && kept[n-1].Link == spans[k].Link {
				kept[n-1].End = at + 1
			} else {
				kept = append(kept, Span{at, at + 1, spans[k].Style, spans[k].Link})
			}
		}
		out = append(out, text[i])
	}
	return string(out), kept
}
