package bodytext

import (
	"strings"

	"codeberg.org/teapost/teapost/internal/clean"
)

const maxQuote = 1000 // ">" signs that are counted

// FromText reads a plain text body. Lines of format=flowed are expected to be joined already; a line that begins with a
// blank and ">" is text that was stuffed, no quote.
func FromText(src string) *Doc {
	d := &Doc{}
	text := clean.Text(src)
	signature := false
	d.blocks = make([]block, 0, strings.Count(text, "\n")+1)
	for line := range strings.SplitSeq(text, "\n") {
		quote, rest := quoteDepth(line)
		if quote == 0 && (line == "-- " || line == "--") {
			signature = true
		}
		b := block{quote: quote, text: strings.TrimRight(rest, " ")}
		if quote == 0 && strings.HasPrefix(rest, " >") {
			b.text = b.text[1:]
		}
		if signature && quote == 0 {
			b.kind = Signature
		}
		d.blocks = append(d.blocks, b)
	}
	d.finish(nil)
	d.markWrapped()
	return d
}

// quoteDepth counts the ">" signs before a line, with at most one blank between two of them, and returns the rest without
// the blank that follows them.
func quoteDepth(line string) (int, string) {
	n, rest := 0, line
	for n < maxQuote {
		if strings.HasPrefix(rest, ">") {
			rest = rest[1:]
		} else if n > 0 && strings.HasPrefix(rest, " >") {
			rest = rest[2:]
		} else {
			break
		}
		n++
	}
	if n > 0 {
		rest = strings.TrimPrefix(rest, " ")
	}
	return n, rest
}

// Quote returns a text as the quotation in a reply: each line after ">", without the signature and blank lines at the end.
// Lines are not wrapped.
func Quote(plain string) string {
	lines := strings.Split(plain, "\n")
	for i, l := range lines {
		if l == "-- " || l == "--" && i > 0 {
			lines = lines[:i]
			break
		}
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteByte('>')
		if l != "" && l[0] != '>' {
			b.WriteByte(' ')
		}
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}
