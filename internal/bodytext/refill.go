package bodytext

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/internal/cells"
)

// Senders wrap their lines at about 72 columns. In a narrower window each of them leaves a stump of a word or two on a
// line of its own. So where a line does not fit, it is filled up with the lines that go on from it. Which ones do is
// decided once, from the shape of the paragraph, and rather too seldom than too often: tables, code, lists, addresses and
// verses stay as sent.

// The columns at which people and programs wrap.
const (
	minWrap = 60
	maxWrap = 100
)

var (
	newItem    = regexp.MustCompile(`^(\d+|\pL)[.)]\s|^[\pL-]+:(\s|$)|^\S+://`)
	patchBegin = regexp.MustCompile(`^(diff --git |Index: |--- \S+/|@@ -)`)
)

// markWrapped finds the lines of a plain text that go on in the next one.
func (d *Doc) markWrapped() {
	for i := 0; i < len(d.blocks); {
		b := &d.blocks[i]
		if patchBegin.MatchString(b.text) {
			return
		}
		// A paragraph: a line of prose and those after it that look like its continuation.
		end, widest := i+1, cells.Width(b.text)
		if b.prose() {
			for end < len(d.blocks) && d.blocks[end].continues(b) {
				widest = max(widest, cells.Width(d.blocks[end].text))
				end++
			}
		}
		if widest >= minWrap && widest <= maxWrap {
			markFull(d.blocks[i:end], widest)
		}
		i = end
	}
}

// markFull finds the lines of a paragraph that were not ended on purpose: the next word had no room there.
func markFull(lines []block, widest int) {
	full := 0
	for i := range lines[:len(lines)-1] {
		b, next := &lines[i], lines[i+1].text
		word, _, _ := strings.Cut(next, " ")
		first, _ := utf8.DecodeRuneInString(next)
		b.goesOn = cells.Width(b.text)+1+cells.Width(word) > widest && (len(lines) > 2 || unicode.IsLower(first))
		if b.goesOn {
			full++
		}
	}
	// In running text most lines are full.
	if 2*full <= len(lines)-1 {
		for i := range lines {
			lines[i].goesOn = false
		}
	}
}

// prose reports whether a line is running text.
func (b *block) prose() bool {
	if b.kind != Para || b.text == "" || b.text[0] == ' ' || b.text[0] == '\t' || !strings.Contains(b.text, " ") {
		return false
	}
	switch b.text[len(b.text)-1] {
	case '{', '}', ';', '\\', '|':
		return false
	}
	// Blanks in a row align columns, unless they follow a sentence.
	for at, rest := 0, b.text; ; {
		i := strings.Index(rest, "  ")
		if i < 0 {
			return true
		}
		at += i
		if at == 0 || !strings.ContainsRune(".!?:", rune(b.text[at-1])) || strings.HasPrefix(b.text[at:], "   ") {
			return false
		}
		at += 2
		rest = b.text[at:]
	}
}

// continues reports whether the line may go on from a paragraph that begins with the line first.
func (b *block) continues(first *block) bool {
	if b.quote != first.quote || b.quoted != first.quoted || !b.prose() && (b.kind != Para || b.text == "" || strings.ContainsAny(b.text, " \t")) {
		return false
	}
	r, size := utf8.DecodeRuneInString(b.text)
	if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("\"'“‘„«(¿¡", r) || cells.Width(b.text[:size]) > 1 {
		return false
	}
	return !newItem.MatchString(b.text)
}

// refill joins the lines that go on from block i, when that one is wider than width, and gives the number of blocks used.
func (d *Doc) refill(i, width int) (text string, spans []Span, n int) {
	b := &d.blocks[i]
	text, spans = numbered(b.text, b.spans)
	n = 1
	if !b.goesOn || cells.Width(text) <= width {
		return text, spans, n
	}
	var all strings.Builder
	all.WriteString(text)
	spans = append([]Span(nil), spans...)
	for d.blocks[i+n-1].goesOn {
		all.WriteByte(' ')
		at := all.Len()
		more, moreSpans := numbered(d.blocks[i+n].text, d.blocks[i+n].spans)
		all.WriteString(more)
		for _, s := range moreSpans {
			spans = append(spans, Span{s.Start + at, s.End + at, s.Style, s.Link})
		}
		n++
	}
	return all.String(), spans, n
}
