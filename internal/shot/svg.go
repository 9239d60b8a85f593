package main

import (
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The grid, in pixels.
const (
	cellWidth  = 8.43 // of a monospace font of 14 px
	cellHeight = 18.0
	fontSize   = 14
	baseline   = 13.5 // of a line of text, from the top of its cells
	margin     = 12.0
)

// ground is a terminal's own colours.
type ground struct{ fg, bg, edge string }

var (
	dark   = ground{fg: "#d8dee6", bg: "#14181d", edge: "#2b323b"}
	bright = ground{fg: "#24292f", bg: "#ffffff", edge: "#d0d7de"}
)

// draw writes the picture. Each run of plain characters is placed by its cells, and each wide one stands alone in the
// middle of its two, so that columns keep their edges whatever font the viewer has.
func draw(w io.Writer, lines [][]cluster, cols int, title string, t ground) {
	for _, l := range lines {
		if n := len(l); n > 0 {
			cols = max(cols, l[n-1].at+l[n-1].width)
		}
	}
	width, height := float64(cols)*cellWidth+2*margin, float64(len(lines))*cellHeight+2*margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img">`+"\n", px(width), px(height), px(width), px(height))
	fmt.Fprintf(w, "<title>%s</title>\n", html.EscapeString(printable(title)))
	fmt.Fprintf(w, `<rect x="0.5" y="0.5" width="%s" height="%s" rx="8" fill="%s" stroke="%s"/>`+"\n", px(width-1), px(height-1), t.bg, t.edge)
	fmt.Fprintf(w, `<g font-family="ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace" font-size="%d" fill="%s" xml:space="preserve">`+"\n", fontSize, t.fg)
	for row, l := range lines {
		top := margin + float64(row)*cellHeight
		for i := 0; i < len(l); {
			n := 1
			for i+n < len(l) && sameRun(l[i:], n) {
				n++
			}
			drawRun(w, l[i:i+n], top, t)
			i += n
		}
	}
	fmt.Fprint(w, "</g>\n</svg>\n")
}

// sameRun reports whether l[n] is drawn together with the clusters before it.
func sameRun(l []cluster, n int) bool {
	a, b := l[n-1], l[n]
	if a.style != b.style {
		return false
	}
	if a.text == "─" && b.text == "─" {
		return true
	}
	if kind(a) == alone || kind(b) == alone {
		return false
	}
	if kind(l[0]) == joined && b.text == " " { // one blank between words, not the gap between columns
		return n+1 < len(l) && kind(l[n+1]) == joined && l[n+1].style == b.style
	}
	return kind(l[0]) == kind(b)
}

// The ways in which a cluster is drawn.
const (
	plain  = iota // one cell like its neighbours: a run of them is one text
	joined        // of a script whose letters join or run from the right: words are one text, left to the viewer's font
	alone         // wide, or drawn by us: placed by itself
)

func kind(c cluster) int {
	r, _ := utf8.DecodeRuneInString(c.text)
	switch {
	case c.width == 2 || shape(r):
		return alone
	case unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Thai):
		return joined
	case r < 0x250 || unicode.In(r, unicode.Cyrillic, unicode.Greek):
		return plain
	}
	return alone // signs that a monospace font may lack
}

// shape reports whether r is drawn as lines, so that it meets its neighbours.
func shape(r rune) bool { return r == '│' || r == '─' || r == '▌' || r == '█' || r == '┊' }

func drawRun(w io.Writer, run []cluster, top float64, t ground) {
	first, last := run[0], run[len(run)-1]
	x := margin + float64(first.at)*cellWidth
	cells := last.at + last.width - first.at
	fg, bg := first.style.fg, first.style.bg
	if first.style.reverse {
		if fg == "" {
			fg = t.fg
		}
		if bg == "" {
			bg = t.bg
		}
		fg, bg = bg, fg
	}
	if bg != "" {
		fmt.Fprintf(w, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", px(x), px(top), px(float64(cells)*cellWidth), px(cellHeight), bg)
	}
	var b strings.Builder
	for _, c := range run {
		b.WriteString(c.text)
	}
	text := b.String()
	if strings.TrimSpace(text) == "" {
		return
	}
	if r, _ := utf8.DecodeRuneInString(text); shape(r) {
		if fg == "" {
			fg = t.fg
		}
		drawShape(w, r, x, top, cells, fg)
		return
	}
	attrs := attributes(first.style, fg)
	y := px(top + baseline)
	if kind(first) == alone {
		fmt.Fprintf(w, `<text x="%s" y="%s" text-anchor="middle"%s>%s</text>`+"\n", px(x+float64(cells)*cellWidth/2), y, attrs, html.EscapeString(text))
		return
	}
	// Blanks at the ends only move the text, except under a line.
	if !first.style.underline && !first.style.struck {
		trimmed := strings.TrimLeft(text, " ")
		x += float64(len(text)-len(trimmed)) * cellWidth
		cells -= len(text) - len(trimmed)
		text = strings.TrimRight(trimmed, " ")
		cells -= len(trimmed) - len(text)
	}
	fmt.Fprintf(w, `<text x="%s" y="%s" textLength="%s"%s>%s</text>`+"\n", px(x), y, px(float64(cells)*cellWidth), attrs, html.EscapeString(text))
}

func attributes(s style, fg string) string {
	var b strings.Builder
	if fg != "" {
		b.WriteString(` fill="` + fg + `"`)
	}
	if s.bold {
		b.WriteString(` font-weight="bold"`)
	}
	if s.italic {
		b.WriteString(` font-style="italic"`)
	}
	if s.faint {
		b.WriteString(` opacity="0.6"`)
	}
	switch {
	case s.underline && s.struck:
		b.WriteString(` text-decoration="underline line-through"`)
	case s.underline:
		b.WriteString(` text-decoration="underline"`)
	case s.struck:
		b.WriteString(` text-decoration="line-through"`)
	}
	return b.String()
}

func drawShape(w io.Writer, r rune, x, top float64, cells int, fg string) {
	box := func(x, y, width, height float64) {
		fmt.Fprintf(w, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n", px(x), px(y), px(width), px(height), fg)
	}
	switch r {
	case '│':
		box(x+cellWidth/2-0.5, top, 1, cellHeight)
	case '─':
		box(x, top+cellHeight/2-0.5, float64(cells)*cellWidth, 1)
	case '▌':
		box(x, top, cellWidth/2, cellHeight)
	case '█':
		box(x, top, cellWidth, cellHeight)
	case '┊':
		for i := range 3 {
			box(x+cellWidth/2-0.5, top+1+6*float64(i), 1, 4)
		}
	}
}

// px writes a length with no more digits than a viewer needs.
func px(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}
