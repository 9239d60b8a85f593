package mailparse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Flags is what a mailbox says about a message beside the message itself.
type Flags struct {
	Known    bool // the mailbox had flags; without them all below are false and mean nothing
	Seen     bool
	Answered bool
	Flagged  bool
	Draft    bool
	Deleted  bool
	// Labels are names of folders or labels, as Gmail's export and some programs give them, decoded.
	Labels []string
}

// Info says where a message of an mbox file came from.
type Info struct {
	Offset       int64 // of the message's From line in the file
	Size         int64 // bytes in the file, the From line included
	EnvelopeFrom string
	EnvelopeDate time.Time // zero when the From line has no date
	Flags        Flags
}

// TooLargeError reports a message above the size limit.
type TooLargeError struct {
	Offset, Size, Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the message has %d bytes; the limit is %d", e.Size, e.Limit)
}

// ErrNotMbox is returned by Mbox.Next for a file that does not begin with a From line.
var ErrNotMbox = errors.New("the file is no mbox: it does not begin with a From line")

// DefaultMaxMessageBytes is the size limit of Mbox and of the Maildir and file readers built on it.
const DefaultMaxMessageBytes = 64 << 20

// Mbox reads the messages of an mbox file one after the other in constant memory. It is not safe for use
// by several goroutines.
type Mbox struct {
	// MaxMessageBytes limits one message; 0 means DefaultMaxMessageBytes.
	MaxMessageBytes int64

	br      *bufio.Reader
	offset  int64  // of the next unread byte
	from    []byte // the From line of the next message
	fromAt  int64
	started bool
	buf     []byte
}

const mboxBuffer = 64 << 10

// NewMbox returns a reader of the mbox file in r. It reads ahead.
func NewMbox(r io.Reader) *Mbox { return &Mbox{br: bufio.NewReaderSize(r, mboxBuffer)} }

// Offset is the number of bytes of the file that were used, for a progress bar.
func (m *Mbox) Offset() int64 { return m.offset }

// Next returns the next message without its From line and with one ">" taken off quoted From lines. The
// bytes are valid until the next call. At the end it returns io.EOF. A *TooLargeError skips one message
// and leaves the reader usable; its Info is filled but for the flags. Other errors are final.
func (m *Mbox) Next() ([]byte, Info, error) {
	if !m.started {
		if err := m.start(); err != nil {
			return nil, Info{}, err
		}
		m.started = true
	}
	if m.from == nil {
		return nil, Info{}, io.EOF
	}
	info := Info{Offset: m.fromAt}
	info.EnvelopeFrom, info.EnvelopeDate, _ = parseFromLine(m.from)
	m.from = nil
	limit := m.MaxMessageBytes
	if limit <= 0 {
		limit = DefaultMaxMessageBytes
	}
	m.buf = m.buf[:0]
	var size int64
	lineStart, blankBefore := true, false
	for {
		at := m.offset
		piece, err := m.br.ReadSlice('\n')
		m.offset += int64(len(piece))
		if len(piece) > 0 {
			if lineStart && bytes.HasPrefix(piece, fromPrefix) {
				piece = bytes.Clone(piece) // looking ahead moves the reader's buffer
				if m.isSeparator(piece, blankBefore || size == 0) {
					m.from, m.fromAt = piece, at
					break
				}
			}
			if lineStart {
				if quoted := bytes.TrimLeft(piece, ">"); len(quoted) < len(piece) && bytes.HasPrefix(quoted, fromPrefix) {
					piece = piece[1:]
				}
				blankBefore = len(bytes.TrimRight(piece, "\r\n")) == 0
			}
			size += int64(len(piece))
			if size <= limit {
				m.buf = append(m.buf, piece...)
			}
			lineStart = piece[len(piece)-1] == '\n'
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, info, err
		}
	}
	end := m.offset
	if m.from != nil {
		end = m.fromAt
	}
	info.Size = end - info.Offset
	if size > limit {
		return nil, info, &TooLargeError{Offset: info.Offset, Size: info.Size, Limit: limit}
	}
	raw := m.buf
	// The blank line before the next From line belongs to the file format.
	for _, blank := range []string{"\r\n\r\n", "\n\n"} {
		if bytes.HasSuffix(raw, []byte(blank)) {
			raw = raw[:len(raw)-len(blank)/2]
			break
		}
	}
	info.Flags = headerFlags(raw)
	return raw, info, nil
}

var fromPrefix = []byte("From ")

// start finds the first From line.
func (m *Mbox) start() error {
	if bom, err := m.br.Peek(3); err == nil && string(bom) == "\xEF\xBB\xBF" {
		n, _ := m.br.Discard(3)
		m.offset += int64(n)
	}
	for {
		at := m.offset
		line, err := m.br.ReadSlice('\n')
		m.offset += int64(len(line))
		if bytes.HasPrefix(line, fromPrefix) {
			m.from, m.fromAt = bytes.Clone(line), at
			return nil
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return ErrNotMbox
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// isSeparator reports whether line, which begins with "From ", begins a new message. Bodies hold unquoted lines that begin with
// "From " too, so it wants a date, or an address after a blank line, and a header behind it.
func (m *Mbox) isSeparator(line []byte, blankBefore bool) bool {
	if line[len(line)-1] != '\n' {
		return false
	}
	const look = 1024
	next, _ := m.br.Peek(look)
	header := len(next) == 0 || bytes.HasPrefix(next, []byte("\n")) || bytes.HasPrefix(next, []byte("\r\n"))
	header = header || looksLikeHeader(next, false) || bytes.HasPrefix(next, []byte(">From "))
	if !header {
		return false
	}
	address, _, dated := parseFromLine(line)
	if dated {
		return true
	}
	rest := bytes.TrimSpace(line[len(fromPrefix):])
	return blankBefore && !bytes.ContainsAny(rest, " \t") && (strings.Contains(address, "@") || address == "-" || looksLikeHeader(next, true))
}

// parseFromLine reads "From address date". The date is usually in asctime form, with a zone perhaps.
func parseFromLine(line []byte) (address string, date time.Time, dated bool) {
	s := strings.TrimSpace(string(line[min(len(line), len(fromPrefix)):min(len(line), 1000)]))
	address, rest, ok := strings.Cut(s, " ")
	if !ok {
		return s, time.Time{}, false
	}
	if !strings.Contains(rest, ":") {
		return address, time.Time{}, false
	}
	date, dated = ParseDate(rest)
	return address, date, dated
}

// headerFlags reads the lines of the header in which mail programs keep their flags.
func headerFlags(raw []byte) Flags {
	var f Flags
	var name, value string
	use := func() {
		switch name {
		case "status":
			f.Known = true
			f.Seen = f.Seen || strings.Contains(value, "R")
		case "x-status":
			f.Known = true
			f.Answered = strings.Contains(value, "A")
			f.Flagged = strings.Contains(value, "F")
			f.Deleted = strings.Contains(value, "D")
			f.Draft = strings.Contains(value, "T")
		case "x-mozilla-status":
			if n, err := strconv.ParseUint(strings.TrimSpace(value), 16, 32); err == nil {
				f.Known = true
				f.Seen = f.Seen || n&0x1 != 0
				f.Answered = f.Answered || n&0x2 != 0
				f.Flagged = f.Flagged || n&0x4 != 0
				f.Deleted = f.Deleted || n&0x8 != 0
			}
		case "x-gmail-labels":
			f.Known, f.Seen = true, true
			for _, l := range strings.Split(DecodeHeader(value), ",") {
				l = strings.Trim(strings.TrimSpace(l), `"`)
				switch strings.ToLower(l) {
				case "":
				case "unread":
					f.Seen = false
				case "opened":
				case "starred":
					f.Flagged = true
				case "draft", "drafts":
					f.Draft = true
					f.Labels = append(f.Labels, l)
				default:
					f.Labels = append(f.Labels, l)
				}
			}
		case "x-keywords", "x-label":
			f.Labels = append(f.Labels, strings.FieldsFunc(DecodeHeader(value), func(r rune) bool {
				return r == ',' || r == ' ' && name == "x-keywords"
			})...)
			for i := range f.Labels {
				f.Labels[i] = strings.TrimSpace(f.Labels[i])
			}
		}
		name, value = "", ""
	}
	const look = 1 << 20
	for rest := raw[:min(len(raw), look)]; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if name != "" {
				value += " " + string(bytes.TrimSpace(line))
			}
			continue
		}
		use()
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && len(k) < 20 {
			switch k := strings.ToLower(string(bytes.TrimSpace(k))); k {
			case "status", "x-status", "x-mozilla-status", "x-gmail-labels", "x-keywords", "x-label":
				name, value = k, string(bytes.TrimSpace(v))
			}
		}
	}
	use()
	return f
}
