package mailparse

import (
	"bytes"
	"strings"
)

// rawHeader is a header split into lines, before anything is decoded.
type rawHeader struct {
	fields   []Field
	problems []string
}

func (h *rawHeader) get(name string) string {
	for _, f := range h.fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// wellKnown holds fields of which a message has at least one. Text that only looks like a header, such as
// "Note: call me", is no header without one of them.
var wellKnown = map[string]bool{
	"from": true, "to": true, "cc": true, "bcc": true, "subject": true, "date": true, "message-id": true, "mime-version": true,
	"received": true, "return-path": true, "delivered-to": true, "sender": true, "reply-to": true, "in-reply-to": true, "references": true,
	"content-type": true, "content-transfer-encoding": true, "content-disposition": true, "envelope-to": true, "resent-from": true, "status": true, "apparently-to": true,
}

func isWellKnown(name string) bool {
	name = strings.ToLower(name)
	return wellKnown[name] || strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "list-")
}

// splitHeader parts a message into header fields and body. It tolerates a byte order mark, a leading From
// line or blank lines, blanks before the colon, and lines that are no header lines. A message without a
// header is all body.
func splitHeader(raw []byte, limit int) (rawHeader, []byte) {
	var h rawHeader
	if rest, ok := bytes.CutPrefix(raw, []byte("\xEF\xBB\xBF")); ok {
		raw = rest
		h.problems = append(h.problems, "the message begins with a byte order mark")
	}
	whole := raw
	raw = skipLead(raw)
	body, cut := raw, true
	var pieces [][]byte // the lines of the field being read
	known := false
	finish := func() {
		if len(pieces) == 0 {
			return
		}
		f := unfold(pieces)
		known = known || isWellKnown(f.Name)
		h.fields = append(h.fields, f)
		pieces = pieces[:0]
	}
	for used := 0; ; {
		if len(raw) == 0 {
			body, cut = nil, false
			break
		}
		line, rest := cutLine(raw)
		used += len(line)
		if used > limit {
			h.problems = append(h.problems, "the header is too long and was cut")
			if len(pieces) > 0 && limit > used-len(line) {
				pieces = append(pieces, line[:limit-(used-len(line))])
			}
			break
		}
		text := bytes.TrimRight(line, "\r\n")
		switch {
		case len(text) == 0:
			body, cut = rest, false
		case text[0] == ' ' || text[0] == '\t':
			if len(bytes.TrimSpace(text)) == 0 && !looksLikeHeader(rest, false) {
				body, cut = rest, false
				break
			}
			if len(pieces) > 0 {
				pieces = append(pieces, text)
			}
			raw = rest
			continue
		case isFieldLine(text):
			finish()
			pieces = append(pieces, text)
			raw = rest
			continue
		case looksLikeHeader(rest, len(h.fields) == 0 && len(pieces) == 0):
			h.problems = append(h.problems, "a line of the header is no header line")
			finish()
			raw = rest
			continue
		default:
			// Not a header line and none follow: the blank line before the body is missing.
			body, cut = raw, false
		}
		break
	}
	finish()
	if cut {
		body = afterBlankLine(raw)
	}
	if !known {
		h.fields, h.problems = nil, append(h.problems, "the message has no header")
		return h, whole
	}
	return h, body
}

// skipLead passes over blank lines and From lines before a header.
func skipLead(raw []byte) []byte {
	for len(raw) > 0 {
		line, rest := cutLine(raw)
		text := bytes.TrimRight(line, " \t\r\n")
		blank := len(text) == 0 && len(rest) > 0
		from := bytes.HasPrefix(text, fromPrefix) || bytes.HasPrefix(text, []byte(">From "))
		if !blank && (!from || isFieldLine(text)) {
			break
		}
		raw = rest
	}
	return raw
}

// unfold makes a field of its lines.
func unfold(lines [][]byte) Field {
	name, value, _ := bytes.Cut(lines[0], []byte(":"))
	var b bytes.Buffer
	for _, p := range append([][]byte{value}, lines[1:]...) {
		if p = bytes.TrimSpace(p); len(p) > 0 {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.Write(p)
		}
	}
	return Field{Name: string(bytes.TrimRight(name, " \t")), Value: b.String()}
}

// afterBlankLine is what follows the first blank line, whichever its line ending; nil when there is none.
func afterBlankLine(raw []byte) []byte {
	var body []byte
	for _, sep := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.Index(raw, []byte(sep)); i >= 0 && (body == nil || len(raw)-i-len(sep) > len(body)) {
			body = raw[i+len(sep):]
		}
	}
	return body
}

// isFieldLine reports whether the line begins with a name and a colon.
func isFieldLine(line []byte) bool {
	i := bytes.IndexByte(line, ':')
	if i < 1 {
		return false
	}
	name := bytes.TrimRight(line[:i], " \t")
	for _, c := range name {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return len(name) > 0
}

// looksLikeHeader reports whether the next line goes on with the header.
func looksLikeHeader(rest []byte, strict bool) bool {
	line, _ := cutLine(rest)
	line = bytes.TrimRight(line, "\r\n")
	if !isFieldLine(line) {
		return false
	}
	name, _, _ := bytes.Cut(line, []byte(":"))
	return !strict || isWellKnown(string(bytes.TrimSpace(name)))
}

// messageID returns the first id of a value in angle brackets, or "".
func messageID(s string) string {
	ids := messageIDs(s)
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}

const (
	maxIDBytes = 998 // a line of a header
	maxIDs     = 1000
)

// messageIDs returns the ids of a value, each once and in angle brackets. Without brackets, words that
// hold an "@" count.
func messageIDs(s string) []string {
	s = rawToUTF8(s, "")
	var out []string
	seen := map[string]bool{}
	add := func(id string) {
		id = strings.Join(strings.Fields(strings.Trim(id, "<>")), "")
		if id == "" || len(id) > maxIDBytes {
			return
		}
		if id = "<" + id + ">"; !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	if strings.Contains(s, "<") {
		for s != "" {
			i := strings.IndexByte(s, '<')
			if i < 0 {
				break
			}
			s = s[i+1:]
			end := strings.IndexAny(s, "<>")
			if end < 0 {
				end = len(s)
			}
			add(s[:end])
			s = s[end:]
		}
	} else {
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t,;\"", r) }) {
			if strings.Contains(w, "@") {
				add(w)
			}
		}
	}
	if len(out) > maxIDs {
		out = append(out[:1:1], out[len(out)-maxIDs+1:]...) // the root and the nearest ones
	}
	return out
}
