package bodytext

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
)

const (
	maxDepth  = 250 // open elements; what is nested deeper is read as flat text
	maxIndent = 16  // cells of list indentation
	maxAlt    = 200 // bytes of the text of an image
)

// FromHTML reads an HTML body. Text that the message hides is left out, unless that leaves next to nothing. Malformed
// markup is read as far as it goes; depth and time are bounded.
func FromHTML(src string) *Doc {
	p := parse(src, false)
	if p.hidden >= 20 && p.shown < 20 && p.hidden > 5*p.shown {
		p = parse(src, true)
		p.doc.HiddenNote = "This message hides nearly all of its text. All of it is shown."
	}
	p.doc.finish(p.hrefs)
	return p.doc
}

// style is what an element passes on to what is inside.
type style struct {
	attr    Style
	link    int // 1 + index into hrefs
	quote   int
	indent  int // cells
	lists   int
	hidden  bool
	tiny    bool // font size of zero
	unseen  bool // visibility
	pre     bool
	heading bool
	fg, bg  colour
}

type elem struct {
	tag    atom.Atom
	block  bool
	before style // of the parent
	table  *tableBuilder
	next   int // number of the next list item
	bullet bool
}

type parser struct {
	doc     *Doc
	z       *html.Tokenizer
	showAll bool
	stack   []elem
	over    int // open elements beyond maxDepth
	st      style
	out     *[]*block
	blocks  []*block
	gap     bool
	marker  string // of a list item, before its first text
	hrefs   []string
	shown   int // letters
	hidden  int

	text  []byte
	spans []Span
	// linkEmpty: the open link has no text yet; linkImage: it holds an image without text.
	linkEmpty, linkImage bool
}

func parse(src string, showAll bool) *parser {
	p := &parser{doc: &Doc{HTML: true}, z: html.NewTokenizer(strings.NewReader(src)), showAll: showAll}
	p.out = &p.blocks
	p.st.fg, p.st.bg = unknown, unknown
	skip, depth := atom.Atom(0), 0 // inside an element that is left out with all its content
	for {
		token := p.z.Next()
		switch token {
		case html.ErrorToken:
			for len(p.stack) > 0 {
				p.pop()
			}
			p.flush()
			p.doc.blocks = make([]block, len(p.blocks))
			for i, b := range p.blocks {
				p.doc.blocks[i] = *b
			}
			return p
		case html.TextToken:
			switch skip {
			case 0:
				p.addText(string(p.z.Text()))
			case atom.Script, atom.Style, atom.Title:
			default:
				p.hidden += letters(clean.Line(string(p.z.Text())))
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := p.z.TagName()
			tag := lookup(name)
			if tag == atom.Noscript {
				p.z.NextIsNotRawText()
			}
			if skip != 0 {
				if tag == skip {
					depth++
				}
				continue
			}
			if p.dropped(tag) {
				if token == html.StartTagToken || tag != atom.Svg && tag != atom.Math {
					skip, depth = tag, 1
				}
				continue
			}
			p.start(tag, p.attributes(more))
		case html.EndTagToken:
			name, _ := p.z.TagName()
			tag := lookup(name)
			if skip != 0 {
				if tag == skip {
					if depth--; depth == 0 {
						skip = 0
					}
				}
				continue
			}
			p.end(tag)
		}
	}
}

// lookup returns the atom of a tag, or one of our own for a tag that HTML does not know.
func lookup(name []byte) atom.Atom {
	if a := atom.Lookup(name); a != 0 {
		return a
	}
	h := uint32(2166136261) // FNV-1a
	for _, b := range name {
		h = (h ^ uint32(b)) * 16777619
	}
	return atom.Atom(h | 1<<31)
}

// dropped reports whether an element says nothing that belongs to the text, nor does anything inside it.
func (p *parser) dropped(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Title, atom.Svg, atom.Math, atom.Iframe, atom.Noframes, atom.Noembed:
		return true
	case atom.Template, atom.Audio, atom.Video, atom.Object, atom.Select, atom.Datalist, atom.Textarea, atom.Canvas, atom.Applet:
		return !p.showAll
	}
	return false
}

func void(tag atom.Atom) bool {
	switch tag {
	case atom.Br, atom.Hr, atom.Img, atom.Input, atom.Meta, atom.Link, atom.Base, atom.Col, atom.Area, atom.Wbr, atom.Source, atom.Track, atom.Param, atom.Image, atom.Embed:
		return true
	}
	return false
}

func blockLevel(tag atom.Atom) bool {
	switch tag {
	case atom.P, atom.Div, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Li, atom.Dl, atom.Dt, atom.Dd,
		atom.Blockquote, atom.Pre, atom.Xmp, atom.Listing, atom.Plaintext, atom.Table, atom.Tr, atom.Td, atom.Th, atom.Tbody, atom.Thead,
		atom.Tfoot, atom.Caption, atom.Center, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav, atom.Aside,
		atom.Address, atom.Figure, atom.Figcaption, atom.Form, atom.Fieldset, atom.Legend, atom.Details, atom.Summary, atom.Menu, atom.Dir,
		atom.Body, atom.Html, atom.Head, atom.Hr, atom.Option:
		return true
	}
	return false
}

// apart reports whether a block stands between blank lines.
func apart(tag atom.Atom) bool {
	switch tag {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dl, atom.Blockquote, atom.Pre, atom.Xmp, atom.Listing,
		atom.Table, atom.Figure, atom.Fieldset:
		return true
	}
	return false
}

type attributes struct {
	style, href, src, alt, start, value, typ, width, height, color, bgcolor, id string

	hidden, hasAlt, background bool
}

func (p *parser) attributes(more bool) attributes {
	var a attributes
	for more {
		var key, val []byte
		key, val, more = p.z.TagAttr()
		switch string(key) {
		case "style":
			a.style = string(val)
		case "href":
			a.href = string(val)
		case "src":
			a.src = string(val)
		case "alt":
			a.alt, a.hasAlt = string(val), true
		case "start":
			a.start = string(val)
		case "value":
			a.value = string(val)
		case "type":
			a.typ = string(val)
		case "width":
			a.width = string(val)
		case "height":
			a.height = string(val)
		case "color":
			a.color = string(val)
		case "bgcolor":
			a.bgcolor = string(val)
		case "background":
			a.background = true
		case "id":
			a.id = string(val)
		case "hidden":
			a.hidden = true
		}
	}
	return a
}

func (p *parser) start(tag atom.Atom, a attributes) {
	switch tag {
	case atom.Br:
		p.lineBreak()
		return
	case atom.Hr:
		p.flush()
		if !p.invisible() {
			p.gap = true
			p.emit(block{kind: Rule})
			p.gap = true
		}
		return
	case atom.Img, atom.Image:
		p.image(a)
		return
	case atom.Input:
		if t := strings.ToLower(a.typ); (t == "submit" || t == "button") && a.value != "" {
			p.addText(" [" + clean.LineMax(a.value, maxAlt) + "] ")
		}
		return
	}
	if void(tag) {
		return
	}
	block := blockLevel(tag)
	if block {
		p.implied(tag)
		p.flush()
		p.gap = p.gap || apart(tag) && !(tag == atom.Table && p.table() != nil) || (tag == atom.Ul || tag == atom.Ol) && p.st.lists == 0
	}
	if tag == atom.A {
		p.end(atom.A) // links do not nest
	}
	if len(p.stack) >= maxDepth {
		p.over++
		return
	}
	e := elem{tag: tag, block: block, before: p.st}
	p.inherit(tag, a)
	switch tag {
	case atom.Ol, atom.Ul, atom.Menu, atom.Dir:
		e.bullet = tag != atom.Ol
		e.next = 1
		if n, err := strconv.Atoi(strings.TrimSpace(a.start)); err == nil && n > -1e6 && n < 1e6 {
			e.next = n
		}
		p.st.lists++
	case atom.Li:
		p.item(a)
	case atom.Dd:
		p.st.indent = min(p.st.indent+4, maxIndent)
	case atom.Q:
		p.addText("“")
	case atom.Table:
		e.table = &tableBuilder{out: p.out}
	case atom.Tr:
		if t := p.table(); t != nil {
			t.row()
		}
	case atom.Td, atom.Th:
		if t := p.table(); t != nil {
			p.out = t.cell()
		}
	}
	p.stack = append(p.stack, e)
}

// inherit changes the style for the content of an element.
func (p *parser) inherit(tag atom.Atom, a attributes) {
	st := &p.st
	switch tag {
	case atom.B, atom.Strong, atom.Th:
		st.attr |= Bold
	case atom.I, atom.Em, atom.Cite, atom.Var, atom.Dfn:
		st.attr |= Italic
	case atom.U, atom.Ins:
		st.attr |= Underline
	case atom.S, atom.Strike, atom.Del:
		st.attr |= Strike
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		st.attr |= Code
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		st.heading = true
	case atom.Pre, atom.Xmp, atom.Listing, atom.Plaintext:
		st.pre = true
	case atom.Blockquote:
		if !indentation(a.style) {
			st.quote++
			st.indent, st.lists = 0, 0
		}
	case atom.A:
		if a.href != "" {
			p.hrefs = append(p.hrefs, a.href)
			st.link = len(p.hrefs)
			p.linkEmpty, p.linkImage = true, false
		}
	case atom.Table:
		st.attr &^= Bold // as in old pages, where bold text around a table would be everything
	case atom.Font:
		if c, ok := parseColour(a.color); ok {
			st.fg = c
		}
	}
	if a.bgcolor != "" {
		if c, ok := parseColour(a.bgcolor); ok {
			st.bg = c
		}
	}
	if a.background {
		st.bg = unknown
	}
	st.hidden = st.hidden || a.hidden
	if a.style != "" {
		st.css(a.style)
	}
}

// item begins a list item: its marker waits for its first text.
func (p *parser) item(a attributes) {
	for i := len(p.stack) - 1; i >= 0; i-- {
		e := &p.stack[i]
		switch e.tag {
		case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
			marker := "• "
			if !e.bullet {
				if n, err := strconv.Atoi(strings.TrimSpace(a.value)); err == nil && n > -1e6 && n < 1e6 {
					e.next = n
				}
				marker = strconv.Itoa(e.next) + ". "
				e.next++
			}
			p.mark(marker)
			return
		case atom.Td, atom.Th, atom.Table:
			i = 0
		}
	}
	p.mark("• ")
}

func (p *parser) mark(marker string) {
	if p.invisible() {
		return
	}
	p.marker = cells.Blank(p.st.indent) + marker
	p.st.indent = min(p.st.indent+cells.Width(marker), maxIndent)
}

// implied closes what an element ends without an end tag.
func (p *parser) implied(tag atom.Atom) {
	var closes, until []atom.Atom
	switch tag {
	case atom.Li:
		closes, until = []atom.Atom{atom.Li}, []atom.Atom{atom.Ul, atom.Ol, atom.Menu, atom.Dir, atom.Td, atom.Th, atom.Table, atom.Blockquote}
	case atom.Dt, atom.Dd:
		closes, until = []atom.Atom{atom.Dt, atom.Dd}, []atom.Atom{atom.Dl, atom.Td, atom.Th, atom.Table}
	case atom.Td, atom.Th:
		closes, until = []atom.Atom{atom.Td, atom.Th}, []atom.Atom{atom.Table, atom.Tr}
	case atom.Tr, atom.Tbody, atom.Thead, atom.Tfoot:
		closes, until = []atom.Atom{atom.Tr}, []atom.Atom{atom.Table}
	default:
		closes, until = []atom.Atom{atom.P}, []atom.Atom{atom.Td, atom.Th, atom.Table, atom.Div, atom.Li, atom.Blockquote}
	}
	for i := len(p.stack) - 1; i >= 0; i-- {
		t := p.stack[i].tag
		for _, c := range closes {
			if t == c {
				p.flush()
				p.popTo(i)
				return
			}
		}
		for _, u := range until {
			if t == u {
				return
			}
		}
	}
}

func (p *parser) end(tag atom.Atom) {
	switch tag {
	case atom.Br:
		p.lineBreak()
		return
	case atom.Q:
		p.addText("”")
	case atom.Body, atom.Html:
		return // what follows is still text
	}
	block := blockLevel(tag)
	if block {
		p.flush()
		p.gap = p.gap || apart(tag) || (tag == atom.Ul || tag == atom.Ol) && p.st.lists <= 1
	}
	if void(tag) {
		return
	}
	if p.over > 0 && tag != atom.A {
		p.over--
		return
	}
	crossed := false // a block lies between
	for i := len(p.stack) - 1; i >= 0; i-- {
		e := &p.stack[i]
		if e.tag == tag {
			if block || !crossed {
				p.popTo(i)
			} else {
				p.cancel(i)
			}
			return
		}
		switch {
		case e.tag == atom.Table && !tableTag(tag), (e.tag == atom.Td || e.tag == atom.Th) && block && !tableTag(tag):
			return
		case e.tag == atom.Table && tag != atom.Table:
			return
		}
		crossed = crossed || e.block
	}
}

func tableTag(tag atom.Atom) bool {
	switch tag {
	case atom.Table, atom.Tr, atom.Td, atom.Th, atom.Tbody, atom.Thead, atom.Tfoot, atom.Caption:
		return true
	}
	return false
}

// cancel takes back the style of an inline element that ends before the blocks inside it.
func (p *parser) cancel(i int) {
	e := &p.stack[i]
	if e.tag == atom.A {
		p.closeLink()
	}
	attr := e.before.attr
	inside := &p.st
	for j := len(p.stack) - 1; ; j-- {
		inside.attr &= attr | inside.attr&^styleOf(e.tag)
		if e.tag == atom.A {
			inside.link = e.before.link
		}
		if j == i {
			break
		}
		inside = &p.stack[j].before
	}
	e.tag = atom.Span
}

func styleOf(tag atom.Atom) Style {
	var p parser
	p.inherit(tag, attributes{})
	return p.st.attr
}

func (p *parser) popTo(i int) {
	for len(p.stack) > i {
		p.pop()
	}
}

func (p *parser) pop() {
	e := p.stack[len(p.stack)-1]
	if e.block {
		p.flush()
	}
	if e.tag == atom.A {
		p.closeLink()
	}
	if e.table != nil {
		p.out = e.table.out
		p.closeTable(e.table)
	}
	p.stack = p.stack[:len(p.stack)-1]
	if e.tag == atom.Li {
		p.marker = ""
	}
	if e.tag == atom.Td || e.tag == atom.Th {
		if t := p.table(); t != nil {
			p.out = t.out
		}
	}
	p.st = e.before
}

// table returns the innermost open table.
func (p *parser) table() *tableBuilder {
	for i := len(p.stack) - 1; i >= 0; i-- {
		if p.stack[i].table != nil {
			return p.stack[i].table
		}
	}
	return nil
}

// closeLink gives a link a text if it has an image only.
func (p *parser) closeLink() {
	if p.st.link > 0 && p.linkEmpty && p.linkImage {
		p.addText("[image]")
	}
	p.linkEmpty, p.linkImage = false, false
}

func (p *parser) image(a attributes) {
	if pixel(a.width) || pixel(a.height) {
		return
	}
	var st style
	st.css(a.style)
	if st.hidden || st.unseen {
		return
	}
	alt := strings.Join(strings.Fields(clean.LineMax(a.alt, maxAlt)), " ")
	src := strings.ToLower(a.src[:min(len(a.src), 8)])
	switch {
	case alt != "":
		p.addText("[" + alt + "]")
	case p.st.link > 0:
		p.linkImage = true
	case !a.hasAlt && (strings.HasPrefix(src, "cid:") || strings.HasPrefix(src, "data:")):
		p.addText("[image]")
	}
}

// pixel reports whether a width or height is one of an image that is not meant to be seen.
func pixel(s string) bool {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(s), "px"))
	return err == nil && n <= 2
}

func (p *parser) invisible() bool {
	if p.showAll {
		return false
	}
	return p.st.hidden || p.st.tiny || p.st.unseen || p.st.fg.same(p.st.bg)
}
