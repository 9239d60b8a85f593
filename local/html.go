package local

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlText gives the words of an HTML body for snippets and the search index, with line ends between
// blocks. It draws nothing and follows nothing.
func htmlText(src string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(src))
	z.SetMaxBuf(1 << 20)
	skip := atom.Atom(0)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.TextToken:
			if skip == 0 {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			switch a := atom.Lookup(name); a {
			case atom.Script, atom.Style, atom.Title, atom.Template, atom.Noscript:
				if skip == 0 {
					skip = a
				}
			default:
				breakLine(&b, a)
			}
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			breakLine(&b, atom.Lookup(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); a == skip {
				skip = 0
			} else {
				breakLine(&b, a)
			}
		}
	}
}

func breakLine(b *strings.Builder, a atom.Atom) {
	switch a {
	case atom.P, atom.Div, atom.Br, atom.Tr, atom.Li, atom.Ul, atom.Ol, atom.Table, atom.Blockquote, atom.Pre, atom.Hr,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Section, atom.Article, atom.Header, atom.Footer:
		b.WriteByte('\n')
	case atom.Td, atom.Th:
		b.WriteByte(' ')
	}
}
