package mailparse

import "bytes"

// Kind is what the beginning of a file looks like.
type Kind int

const (
	KindOther   Kind = iota // no mail
	KindEmpty               // nothing but blanks
	KindMbox                // an mbox file
	KindMessage             // a single message with a header
)

// SniffBytes is how much of a file Sniff wants to see.
const SniffBytes = 64 << 10

// Sniff tells from the first bytes of a file what it holds.
func Sniff(head []byte) Kind {
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) == 0 {
		return KindEmpty
	}
	if line, rest := cutLine(text); bytes.HasPrefix(line, fromPrefix) && !isFieldLine(line) && (len(rest) == 0 || looksLikeHeader(rest, false) || bytes.HasPrefix(rest, []byte(">From "))) {
		return KindMbox
	}
	if h, _ := splitHeader(lineFeeds(head), SniffBytes); len(h.fields) > 0 && bytes.IndexByte(head[:min(len(head), 512)], 0) < 0 {
		return KindMessage
	}
	return KindOther
}
