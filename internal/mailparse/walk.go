package mailparse

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/emersion/go-message/textproto"
)

// part is a leaf of the tree of parts.
type part struct {
	ctype       parsedValue
	disposition parsedValue
	encoding    string
	contentID   string
	description string
	parent      string // media type of the multipart around it
	block       *block // where its text belongs
	data        []byte // not decoded; valid during the call only
}

func (p *part) filename() string {
	for _, name := range []string{
		p.disposition.get("filename"), p.ctype.get("name"), p.disposition.get("name"), p.ctype.get("filename"),
	} {
		if strings.TrimSpace(name) != "" {
			return name
		}
	}
	return ""
}

// block is a piece of the body: one text, one HTML, or the two as alternatives.
type block struct{ plain, html string }

// getter reads one field of a header.
type getter func(name string) string

// walker splits a message with go-message and hands its leaves to leaf. go-message stops at parts that it
// cannot read; broken says so.
type walker struct {
	ctx      context.Context
	limits   Limits
	leaf     func(*part) error
	multi    func(ctype parsedValue, get getter, depth int)
	newBlock func() *block
	problem  func(string)
	owner    *collector

	parts   int
	broken  bool
	charset string // hint for raw 8-bit text in headers of parts
	buf     bytes.Buffer
}

// errLimit ends a walk early; what was read is kept.
var errLimit = errors.New("too many parts")

func (w *walker) root(h *rawHeader, body []byte) error {
	return w.entity(h.get, bytes.NewReader(body), body, 0, "", nil)
}

// entity handles a multipart or a leaf. whole holds the bytes of r when they are in memory already.
func (w *walker) entity(get getter, r io.Reader, whole []byte, depth int, parent string, b *block) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.parts++; w.parts > w.limits.MaxParts {
		w.problem("the message has too many parts; the rest was not read")
		return errLimit
	}
	ctype := parseValue(get("Content-Type"), w.charset)
	kind, _, ok := strings.Cut(ctype.value, "/")
	if !ok {
		ctype.value = "text/plain"
		if parent == "multipart/digest" && get("Content-Type") == "" {
			ctype.value = "message/rfc822"
		}
	}
	boundary := strings.TrimRight(ctype.get("boundary"), " \t")
	if kind == "multipart" && ok && boundary != "" {
		if w.multi != nil {
			w.multi(ctype, get, depth)
		}
		if depth >= w.limits.MaxDepth {
			w.problem("the parts are nested too deep; the rest was not read")
			return errLimit
		}
		if ctype.value == "multipart/alternative" && b == nil {
			b = w.newBlock()
		}
		return w.multipart(ctype.value, boundary, r, depth, b)
	}
	if kind == "multipart" {
		w.problem("a multipart has no boundary and is shown as text")
		ctype.value = "text/plain"
	}
	if whole == nil {
		w.buf.Reset()
		// Parts without an end marker finish with an unexpected end of file; their text counts.
		_, _ = w.buf.ReadFrom(r)
		whole = w.buf.Bytes()
	}
	p := &part{
		ctype:       ctype,
		disposition: parseValue(get("Content-Disposition"), w.charset),
		encoding:    transferEncoding(get("Content-Transfer-Encoding")),
		contentID:   strings.Trim(strings.TrimSpace(get("Content-Id")), "<>"),
		description: get("Content-Description"),
		parent:      parent,
		block:       b,
		data:        whole,
	}
	return w.leaf(p)
}

func (w *walker) multipart(ctype, boundary string, r io.Reader, depth int, b *block) error {
	mr := textproto.NewMultipartReader(r, boundary)
	for n := 0; ; n++ {
		p, err := mr.NextPart()
		if err == io.EOF {
			if n == 0 {
				w.broken = true
			}
			return nil
		}
		if err != nil {
			// The kind of the error is lost on the way, but its text tells the end of the input.
			if n == 0 || !strings.HasSuffix(err.Error(), "EOF") {
				w.broken = true
			}
			w.problem("a multipart ends too early")
			return nil
		}
		get := func(name string) string { return p.Header.Get(name) }
		if err := w.entity(get, p, nil, depth+1, ctype, b); err != nil {
			return err
		}
	}
}

// walk runs w over the message and, when go-message could not read all of it, a second time over a
// repaired copy.
func walk(raw []byte, limits Limits, start func() *walker) (rawHeader, []byte, *walker, error) {
	raw = lineFeeds(raw)
	h, body := splitHeader(raw, limits.MaxHeaderBytes)
	w := start()
	if mixedBoundaries(body) {
		w.broken = true
	} else if err := w.root(&h, body); !w.broken || err != nil {
		return h, body, w, err
	}
	fixed := repair(&h, body)
	again := start()
	if err := again.root(&h, fixed); err != nil && !errors.Is(err, errLimit) {
		return h, body, again, err
	}
	if again.parts < w.parts {
		return h, body, w, nil
	}
	return h, body, again, nil
}

// lineFeeds gives a message that has only bare CR as line ends LF instead.
func lineFeeds(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') >= 0 || bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	return bytes.ReplaceAll(raw, []byte("\r"), []byte("\n"))
}

// mixedBoundaries reports whether boundary lines end in both LF and CRLF, which go-message would take for
// text.
func mixedBoundaries(body []byte) bool {
	crlf := bytes.Count(body, []byte("\r\n"))
	if crlf == 0 || crlf == bytes.Count(body, []byte("\n")) {
		return false
	}
	var lf, both bool
	for _, line := range boundaryLines(body, boundaries(body, nil)) {
		if bytes.HasSuffix(line, []byte("\r\n")) {
			both = true
		} else {
			lf = true
		}
	}
	return lf && both
}

const maxBoundaries = 200

// boundaries collects what is declared as a boundary anywhere in the message, in the order of the text.
func boundaries(body []byte, h *rawHeader) map[string]bool {
	out := map[string]bool{}
	if h != nil {
		if b := parseValue(h.get("Content-Type"), "").get("boundary"); b != "" {
			out[b] = true
		}
	}
	lower := bytes.ToLower(body)
	for at := 0; len(out) < maxBoundaries; {
		i := bytes.Index(lower[at:], []byte("boundary"))
		if i < 0 {
			break
		}
		at += i
		line, _ := cutLine(body[at:])
		const longest = 300
		if b := parseValue("x/x;"+string(line[:min(len(line), longest)]), "").get("boundary"); b != "" {
			out[b] = true
		}
		at += len("boundary")
	}
	return out
}

func boundaryLines(body []byte, known map[string]bool) [][]byte {
	var out [][]byte
	for len(body) > 0 {
		var line []byte
		line, body = cutLine(body)
		if isBoundary(line, known) {
			out = append(out, line)
		}
	}
	return out
}

func isBoundary(line []byte, known map[string]bool) bool {
	if !bytes.HasPrefix(line, []byte("--")) {
		return false
	}
	text := string(bytes.TrimRight(line[2:], " \t\r\n"))
	return known[text] || known[strings.TrimSuffix(text, "--")]
}

// repair writes the body anew with CRLF line ends, part headers without the lines that are none, and a
// blank line after each of them.
func repair(h *rawHeader, body []byte) []byte {
	known := boundaries(body, h)
	// What stands before the first boundary is shown by nobody, and its long lines stop go-message.
	for rest := body; len(rest) > 0; {
		line, after := cutLine(rest)
		if isBoundary(line, known) {
			body = rest
			break
		}
		rest = after
	}
	out := make([]byte, 0, len(body)+len(body)/32)
	inHeader := false
	for len(body) > 0 {
		var line []byte
		line, body = cutLine(body)
		text := bytes.TrimRight(line, "\r\n")
		switch {
		case isBoundary(text, known):
			if inHeader {
				out = append(out, "\r\n"...)
			}
			inHeader = !bytes.HasSuffix(bytes.TrimRight(text, " \t"), []byte("--")) || known[string(bytes.TrimRight(text[2:], " \t"))]
		case !inHeader:
		case len(bytes.TrimSpace(text)) == 0:
			inHeader, text = false, nil
		case text[0] == ' ' || text[0] == '\t':
		case isFieldLine(text):
			name, value, _ := bytes.Cut(text, []byte(":"))
			out = append(out, bytes.TrimRight(name, " \t")...)
			out = append(out, ':')
			text = value
		case looksLikeHeader(body, false):
			continue
		default:
			out = append(out, "\r\n"...)
			inHeader = false
		}
		out = append(out, text...)
		if len(text) < len(line) || text == nil {
			out = append(out, "\r\n"...)
		}
	}
	return out
}
