package bodytext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/internal/clean"
)

const (
	maxLinks    = 2000 // links of one message that get a number
	maxLinkText = 200  // bytes
)

func linkMark(n int) string { return "[" + strconv.Itoa(n) + "]" }

// numbered adds " [n]" behind each link of a text.
func numbered(text string, spans []Span) (string, []Span) {
	linked := false
	for _, s := range spans {
		linked = linked || s.Link > 0
	}
	if !linked {
		return text, spans
	}
	var b strings.Builder
	out := make([]Span, 0, len(spans)+4)
	pos := 0
	for i, s := range spans {
		last := s.Link > 0 && (i+1 == len(spans) || spans[i+1].Link != s.Link || strings.Trim(text[s.End:spans[i+1].Start], "\n") != "")
		if last {
			// The number stands before the blanks at the end of a link.
			if end := s.Start + len(strings.TrimRight(text[s.Start:s.End], " ")); end > s.Start {
				s.End = end
			}
		}
		b.WriteString(text[pos:s.Start])
		shift := b.Len() - s.Start
		b.WriteString(text[s.Start:s.End])
		pos = s.End
		out = append(out, Span{s.Start + shift, s.End + shift, s.Style, s.Link})
		if last {
			b.WriteByte(' ')
			at := b.Len()
			b.WriteString(linkMark(s.Link))
			out = append(out, Span{at, b.Len(), Mark, s.Link})
		}
	}
	b.WriteString(text[pos:])
	return b.String(), out
}

// registry gives the links of a message their numbers, in the order of the text.
type registry struct {
	links []Link
	byURL map[string]int
}

// number returns the number for a link, 0 when it gets none.
func (r *registry) number(text, href string) int {
	target, scheme, open := clean.Link(href)
	if target == "" || scheme == "" {
		return 0
	}
	text = clean.LineMax(strings.TrimSpace(text), maxLinkText)
	n, known := r.byURL[target]
	if !known {
		if len(r.links) == maxLinks {
			return 0
		}
		n = len(r.links) + 1
		r.links = append(r.links, Link{N: n, Text: text, URL: target, Scheme: scheme, Openable: open})
		if r.byURL == nil {
			r.byURL = make(map[string]int)
		}
		r.byURL[target] = n
	}
	if l := &r.links[n-1]; !l.Misleading && misleading(text, target, scheme) {
		l.Misleading, l.Text = true, text
	}
	return n
}

// misleading reports whether the text of a link names a host other than the one of its target.
func misleading(text, target, scheme string) bool {
	named := hostIn(text)
	if named == "" {
		return false
	}
	opened := ""
	switch scheme {
	case "http", "https":
		_, opened, _ = strings.Cut(target, "://")
		if i := strings.IndexAny(opened, "/?#"); i >= 0 {
			opened = opened[:i]
		}
		if i := strings.LastIndexByte(opened, ':'); i >= 0 && !strings.HasSuffix(opened, "]") {
			opened = opened[:i]
		}
	case "mailto":
		opened, _, _ = strings.Cut(target, "?")
		opened = strings.ToLower(opened[strings.LastIndexByte(opened, '@')+1:])
	default:
		return true
	}
	named, opened = strings.TrimPrefix(named, "www."), strings.TrimPrefix(opened, "www.")
	return named != opened && !strings.HasSuffix(opened, "."+named)
}

// hostIn returns the host that a text is or begins with, in the form of clean.Link; empty when it is no address.
func hostIn(text string) string {
	s := strings.ToLower(strings.Trim(text, " .,;:!?()[]<>\"'“”„«»…"))
	web := false
	for _, p := range []string{"https://", "http://", "mailto:"} {
		if rest, ok := strings.CutPrefix(s, p); ok {
			s, web = rest, true
		}
	}
	web = web || strings.HasPrefix(s, "www.")
	if strings.ContainsAny(s, " ") {
		return ""
	}
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s, web = s[:i], web || i > 0
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s, web = s[i+1:], true
	}
	dot := strings.LastIndexByte(s, '.')
	if dot <= 0 || dot == len(s)-1 {
		return ""
	}
	if zone := s[dot+1:]; !web && (len(zone) < 2 || strings.ContainsFunc(zone, func(r rune) bool { return !unicode.IsLetter(r) })) {
		return ""
	}
	target, _, open := clean.Link("https://" + s)
	if !open {
		return ""
	}
	host := strings.TrimPrefix(target, "https://")
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	return host
}

// found is an address in running text.
type found struct{ start, end int }

// addresses finds the web and mail addresses that a person would see in a text: up to a blank or bracket, without the
// punctuation of the sentence around.
func addresses(text string) []found {
	var out []found
	for pos := 0; pos < len(text); {
		i := strings.IndexAny(text[pos:], ":wW")
		if i < 0 {
			break
		}
		i += pos
		start := -1
		switch {
		case text[i] == ':':
			for _, p := range []string{"https", "http", "mailto"} {
				if s := i - len(p); s >= pos && strings.EqualFold(text[s:i], p) && boundary(text[:s]) {
					start = s
					break
				}
			}
			if start >= 0 && text[start]|0x20 == 'h' && !strings.HasPrefix(text[i:], "://") {
				start = -1
			}
		case len(text) > i+4 && strings.EqualFold(text[i:i+4], "www.") && boundary(text[:i]):
			start = i
		}
		if start < 0 {
			pos = i + 1
			continue
		}
		end := i + addressEnd(text[i:])
		end = start + trimmed(text[start:end])
		if end-i > 4 {
			out = append(out, found{start, end})
		}
		pos = max(end, i+1)
	}
	return out
}

// boundary reports whether an address may begin after s.
func boundary(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return s == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r) || r >= 0x2e80
}

func addressEnd(s string) int {
	for i, r := range s {
		if r <= ' ' || r == '<' || r == '>' || r == '"' || r == '`' || r == '|' || r >= 0x2000 && r < 0x2c00 || r >= 0x3000 && r < 0x3400 || r >= 0xff00 ||
			r == '«' || r == '»' {
			return i
		}
	}
	return len(s)
}

// trimmed returns the length of an address without the punctuation and unpaired brackets at its end.
func trimmed(s string) int {
	const opening, closing = "([{", ")]}"
	var open [3]int // brackets that are opened and not closed; negative when more are closed
	for i := 0; i < len(s); i++ {
		if k := strings.IndexByte(opening, s[i]); k >= 0 {
			open[k]++
		} else if k := strings.IndexByte(closing, s[i]); k >= 0 {
			open[k]--
		}
	}
	for s != "" {
		last := s[len(s)-1]
		if k := strings.IndexByte(closing, last); k >= 0 {
			if open[k] >= 0 {
				break
			}
			open[k]++
		} else if strings.IndexByte(".,;:!?'*_~", last) < 0 {
			break
		}
		s = s[:len(s)-1]
	}
	return len(s)
}

// finish finds addresses in the text of all blocks, numbers the links and marks what is quoted. Spans hold 1 + the index
// into hrefs as their link before, and the number afterwards.
func (d *Doc) finish(hrefs []string) {
	var r registry
	for i := range d.blocks {
		b := &d.blocks[i]
		b.spans = r.link(b.text, b.spans, hrefs)
		for _, row := range b.rows {
			for j := range row {
				row[j].spans = r.link(row[j].text, row[j].spans, hrefs)
			}
		}
	}
	d.Links = r.links
	d.markQuoted()
}

func (r *registry) link(text string, spans []Span, hrefs []string) []Span {
	auto := addresses(text)
	out := spans[:0]
	if len(auto) > 0 {
		out = make([]Span, 0, len(spans)+2*len(auto))
	}
	emit := func(s Span) {
		if s.Start < s.End {
			out = append(out, s)
		}
	}
	pos := 0
	plain := func(end int) { // links the addresses before end that no span covers
		for len(auto) > 0 && auto[0].start < end {
			a := auto[0]
			auto = auto[1:]
			if a.start < pos || a.end > end {
				continue
			}
			if n := r.number(text[a.start:a.end], text[a.start:a.end]); n > 0 {
				emit(Span{a.start, a.end, 0, n})
			}
		}
	}
	for i := 0; i < len(spans); {
		s := spans[i]
		if s.Link == 0 {
			// Within a styled part addresses keep the style.
			plain(s.Start)
			pos = s.Start
			for len(auto) > 0 && auto[0].start < s.End {
				a := auto[0]
				auto = auto[1:]
				if a.start < pos || a.end > s.End {
					continue
				}
				if n := r.number(text[a.start:a.end], text[a.start:a.end]); n > 0 {
					emit(Span{pos, a.start, s.Style, 0})
					emit(Span{a.start, a.end, s.Style, n})
					pos = a.end
				}
			}
			emit(Span{pos, s.End, s.Style, 0})
			pos = s.End
			i++
			continue
		}
		// One link may be of several spans.
		j := i + 1
		for j < len(spans) && spans[j].Link == s.Link {
			j++
		}
		plain(s.Start)
		n := r.number(text[s.Start:spans[j-1].End], hrefs[s.Link-1])
		for ; i < j; i++ {
			part := spans[i]
			part.Link = n
			if n > 0 || part.Style != 0 {
				emit(part)
			}
		}
		pos = spans[j-1].End
		for len(auto) > 0 && auto[0].start < pos {
			auto = auto[1:]
		}
	}
	plain(len(text))
	return out
}
