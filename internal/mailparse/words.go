package mailparse

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// DecodeHeader decodes the encoded words of a header value (RFC 2047). Words that cannot be decoded stay
// as they are; neighbouring words of one charset are joined as bytes first, so that a character cut in
// two comes out whole. Raw bytes that are no UTF-8 are read as windows-1252. The result is valid UTF-8
// and may hold control characters and line ends.
func DecodeHeader(s string) string { return decodeWords(rawToUTF8(s, "")) }

// rawToUTF8 makes a raw header value valid UTF-8; charset is a hint for bytes that are not.
func rawToUTF8(s, charset string) string {
	if utf8.ValidString(s) {
		return s
	}
	if normalCharset(charset) == "utf-8" {
		charset = ""
	}
	return decodeText([]byte(s), charset)
}

func decodeWords(s string) string {
	if !strings.Contains(s, "=?") {
		return s
	}
	var (
		out     strings.Builder
		pending []byte // decoded bytes of the words just before, all in the same charset
		charset string
		gap     string // blanks after the pending words
		inWord  bool
	)
	flush := func() {
		if inWord {
			out.WriteString(decodeText(pending, charset))
			out.WriteString(gap)
		}
		pending, gap, inWord = pending[:0], "", false
	}
	for s != "" {
		i := strings.Index(s, "=?")
		if i < 0 {
			break
		}
		if lead := s[:i]; lead != "" {
			if inWord && strings.Trim(lead, " \t\r\n") == "" {
				gap = lead
			} else {
				flush()
				out.WriteString(lead)
			}
		}
		w, n := scanWord(s[i:])
		if n == 0 {
			flush()
			out.WriteString("=?")
			s = s[i+2:]
			continue
		}
		text, ok := w.bytes()
		if !ok {
			flush()
			out.WriteString(s[i : i+n])
			s = s[i+n:]
			continue
		}
		if inWord && w.charset != charset {
			gap = ""
			flush()
		}
		pending, charset, gap, inWord = append(pending, text...), w.charset, "", true
		s = s[i+n:]
	}
	flush()
	out.WriteString(s)
	return out.String()
}

type encodedWord struct {
	charset  string // normalised
	known    bool
	encoding string
	text     string
}

// scanWord reads the encoded word at the start of s and returns its length, or 0 when there is none.
func scanWord(s string) (encodedWord, int) {
	const maxLabel = 80
	rest := s[2:]
	i := strings.IndexByte(rest[:min(len(rest), maxLabel)], '?')
	if i < 0 || strings.ContainsAny(rest[:i], " \t\r\n\"<>,") {
		return encodedWord{}, 0
	}
	label := rest[:i]
	rest = rest[i+1:]
	i = strings.IndexByte(rest[:min(len(rest), 8)], '?')
	if i < 0 {
		return encodedWord{}, 0
	}
	w := encodedWord{
		charset:  normalCharset(label),
		known:    knownCharset(label),
		encoding: strings.ToUpper(strings.TrimSpace(rest[:i])),
	}
	rest = rest[i+1:]
	i = strings.Index(rest[:min(len(rest), maxWord)], "?=")
	if i < 0 {
		return encodedWord{}, 0
	}
	w.text = rest[:i]
	return w, len(s) - len(rest) + i + 2
}

// maxWord bounds the text of one encoded word, so that a header full of unfinished words costs no
// quadratic time. The standard allows 75 bytes; some programs write a whole subject as one word.
const maxWord = 16 << 10

func (w encodedWord) bytes() ([]byte, bool) {
	if !w.known {
		return nil, false
	}
	switch w.encoding {
	case "Q":
		return decodeQWord(w.text), true
	case "B":
		return decodeBWord(w.text)
	}
	return nil, false
}

func decodeQWord(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '_':
			out = append(out, ' ')
		case c == '=' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			out = append(out, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
			i += 2
		default:
			out = append(out, c)
		}
	}
	return out
}

func decodeBWord(s string) ([]byte, bool) {
	clean := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isBase64Char(c):
			clean = append(clean, c)
		case c == '-':
			clean = append(clean, '+')
		case c == '_':
			clean = append(clean, '/')
		case c == '=' || c == ' ' || c == '\t':
		default:
			return nil, false
		}
	}
	if len(clean)%4 == 1 {
		clean = clean[:len(clean)-1]
	}
	out := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, err := base64.RawStdEncoding.Decode(out, clean)
	return out[:n], err == nil
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
