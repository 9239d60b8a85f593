package mailparse

import (
	"bytes"
	"html"
	"strings"
)

// normalLines turns CRLF and bare CR into LF.
func normalLines(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// unflow joins format=flowed text (RFC 3676) into one line a paragraph. Quoted lines keep their depth as
// leading ">" and one blank. A stuffed line that begins with ">" keeps its blank, so that it is no quote.
func unflow(s string, delSp bool) string {
	var out strings.Builder
	out.Grow(len(s))
	open, depth := false, 0 // a paragraph is open, at this depth
	for len(s) > 0 {
		line := s
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			line, s = s[:i], s[i+1:]
		} else {
			s = ""
		}
		d := 0
		for d < len(line) && line[d] == '>' {
			d++
		}
		line = line[d:]
		if strings.HasPrefix(line, " ") {
			if d > 0 || !strings.HasPrefix(line, " >") {
				line = line[1:]
			}
		}
		signature := line == "-- "
		if open && (d != depth || signature) {
			out.WriteByte('\n')
			open = false
		}
		if !open && d > 0 {
			out.WriteString(strings.Repeat(">", d))
			if line != "" {
				out.WriteByte(' ')
			}
		}
		depth = d
		flowed := strings.HasSuffix(line, " ") && !signature
		if flowed && delSp {
			line = line[:len(line)-1]
		}
		out.WriteString(line)
		open = flowed
		if !flowed {
			out.WriteByte('\n')
		}
	}
	if open {
		out.WriteByte('\n')
	}
	return out.String()
}

// htmlCharset looks for a charset in the first bytes of an HTML document without one in its header.
func htmlCharset(b []byte) string {
	const look = 4096
	head := bytes.ToLower(b[:min(len(b), look)])
	for {
		i := bytes.Index(head, []byte("<meta"))
		if i < 0 {
			return ""
		}
		head = head[i+len("<meta"):]
		end := bytes.IndexByte(head, '>')
		if end < 0 {
			end = len(head)
		}
		tag := head[:end]
		if i := bytes.Index(tag, []byte("charset")); i >= 0 {
			value := bytes.TrimLeft(tag[i+len("charset"):], " \t\r\n=\"'")
			if j := bytes.IndexAny(value, " \t\r\n\"';/>"); j >= 0 {
				value = value[:j]
			}
			if c := normalCharset(string(value)); c != "" && c != "utf-16" && knownCharset(c) {
				return c
			}
		}
	}
}

func textAsHTML(s string) string {
	return `<pre style="white-space:pre-wrap">` + html.EscapeString(s) + "</pre>\n"
}
