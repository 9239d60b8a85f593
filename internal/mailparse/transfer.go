package mailparse

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// decodeTransfer undoes a content transfer encoding. What does not follow its encoding is passed on as it
// stands; ok is false then. The result may share memory with b.
func decodeTransfer(b []byte, encoding string) (out []byte, ok bool) {
	switch encoding {
	case "base64":
		return decodeBase64(b)
	case "quoted-printable":
		return decodeQuotedPrintable(b), true
	case "uuencode", "x-uuencode", "x-uue", "uue":
		return decodeUU(b)
	case "", "7bit", "8bit", "binary":
		return b, true
	}
	return b, false
}

func transferEncoding(value string) string {
	value = strings.ToLower(strings.TrimSpace(value))
	if i := strings.IndexAny(value, "; \t("); i >= 0 {
		value = value[:i]
	}
	switch value {
	case "quoted_printable", "quotedprintable", "qp":
		return "quoted-printable"
	case "base-64", "b64":
		return "base64"
	case "8-bit", "8bits", "7-bit", "7bits", "none", "ascii", "us-ascii", "utf-8", "plain", "text", "raw":
		return ""
	}
	return value
}

// decodeBase64 skips bytes outside the alphabet and stops at text that follows the padding, as mailing
// lists append it. Input that is no base64 at all comes back unchanged.
func decodeBase64(b []byte) ([]byte, bool) {
	clean := make([]byte, 0, len(b))
	out := make([]byte, 0, len(b)/4*3+3)
	junk, padded, good := 0, false, true
	flush := func() {
		if len(clean)%4 == 1 {
			clean, good = clean[:len(clean)-1], false
		}
		// Every byte is of the alphabet and the length is right, so that nothing can fail.
		out, _ = base64.RawStdEncoding.AppendDecode(out, clean)
		clean = clean[:0]
	}
	total := 0
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		if padded && !isBase64Line(line) {
			break
		}
		for _, c := range line {
			switch {
			case isBase64Char(c):
				if padded {
					flush()
					padded = false
				}
				clean = append(clean, c)
				total++
			case c == '=':
				padded = true
			case c == '\n' || c == '\r':
			default:
				junk++
			}
		}
	}
	flush()
	if junk > 0 {
		good = false
	}
	if junk > 8 && junk*8 > total {
		return nil, false
	}
	return out, good
}

func isBase64Line(line []byte) bool {
	for _, c := range bytes.TrimSpace(line) {
		if !isBase64Char(c) && c != '=' {
			return false
		}
	}
	return true
}

// cutLine takes one line with its end off b.
func cutLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i+1], b[i+1:]
	}
	return b, nil
}

// decodeQuotedPrintable follows RFC 2045 and leaves wrong escapes as they are.
func decodeQuotedPrintable(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		text := bytes.TrimRight(line, "\r\n")
		end := line[len(text):]
		text = bytes.TrimRight(text, " \t") // added on the way
		if n := len(text); n > 0 && text[n-1] == '=' {
			text, end = text[:n-1], nil
		}
		for i := 0; i < len(text); i++ {
			if text[i] == '=' && i+2 < len(text) && unhex(text[i+1]) >= 0 && unhex(text[i+2]) >= 0 {
				out = append(out, byte(unhex(text[i+1])<<4|unhex(text[i+2])))
				i += 2
				continue
			}
			out = append(out, text[i])
		}
		out = append(out, end...)
	}
	return out
}

// decodeUU reads uuencoded data from its "begin" line to its "end" line.
func decodeUU(b []byte) ([]byte, bool) {
	_, data, ok := cutUU(b)
	if !ok {
		return b, false
	}
	return data, true
}

// cutUU finds the first uuencoded file in b and returns its name and bytes.
func cutUU(b []byte) (name string, data []byte, ok bool) {
	started := false
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		line = bytes.TrimRight(line, "\r\n")
		if !started {
			if f := bytes.SplitN(line, []byte(" "), 3); len(f) == 3 && string(f[0]) == "begin" && isOctal(f[1]) {
				name, started = string(f[2]), true
			}
			continue
		}
		if string(line) == "end" {
			return name, data, true
		}
		data = appendUULine(data, line)
	}
	return name, data, started
}

func isOctal(b []byte) bool {
	if len(b) < 3 || len(b) > 5 {
		return false
	}
	for _, c := range b {
		if c < '0' || c > '7' {
			return false
		}
	}
	return true
}

func appendUULine(out, line []byte) []byte {
	if len(line) == 0 {
		return out
	}
	n := int(line[0]-' ') & 63
	line = line[1:]
	at := func(i int) byte {
		if i < len(line) {
			return (line[i] - ' ') & 63
		}
		return 0
	}
	for i := 0; n > 0; i += 4 {
		three := [3]byte{at(i)<<2 | at(i+1)>>4, at(i+1)<<4 | at(i+2)>>2, at(i+2)<<6 | at(i+3)}
		out = append(out, three[:min(n, 3)]...)
		n -= 3
	}
	return out
}
