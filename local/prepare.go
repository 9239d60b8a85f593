package local

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/internal/mailparse"
)

// parsed is a message made ready for the transaction that stores it.
type parsed struct {
	msg      *mailparse.Message
	size     int
	hash     [sha256.Size]byte
	encoding int
	data     []byte // the raw message as stored
	body     []byte // for the table bodies, or nil
	snippet  string
	search   searchText
}

const (
	rawPlain   = 0
	rawDeflate = 1

	// A larger message keeps its texts beside it, so that opening it does not decode its attachments.
	bodyAside = 256 << 10
)

func prepare(ctx context.Context, raw []byte) (*parsed, error) {
	return prepareKnown(ctx, raw, identity(raw))
}

func prepareKnown(ctx context.Context, raw []byte, hash [sha256.Size]byte) (*parsed, error) {
	msg, err := mailparse.Parse(ctx, raw, mailparse.Limits{})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the message cannot be read: %w", err)
	}
	p := &parsed{msg: msg, size: len(raw), hash: hash}
	p.encoding, p.data = pack(raw)
	if len(raw) > bodyAside {
		var err error
		if p.body, err = json.Marshal(msg); err != nil {
			return nil, err
		}
		_, p.body = packAlways(p.body)
	}
	text := readable(msg)
	p.snippet = snippet(text)
	p.search = searchTextOf(msg, text)
	return p, nil
}

func (p *parsed) receivedAt(o IngestOptions, now int64) int64 {
	at := o.ReceivedAt
	if at.IsZero() {
		at = p.msg.When(time.UnixMilli(now), o.undated)
	}
	// A date in the future would stay on top of the list for ever.
	return min(at.UnixMilli(), now)
}

// datedAt is the date that an old message bears, when it lies in the future: it is shown, and orders nothing.
func (p *parsed) datedAt(o IngestOptions, now int64) any {
	const lastYear = 9999 // that RFC 3339 can write
	d := p.msg.Date
	if o.Arrival || !o.ReceivedAt.IsZero() || !p.msg.DateKnown || d.UnixMilli() <= now || d.Year() > lastYear {
		return nil
	}
	return d.UnixMilli()
}

func pack(raw []byte) (int, []byte) {
	if len(raw) < 512 {
		return rawPlain, raw
	}
	if enc, data := packAlways(raw); len(data) < len(raw)*9/10 {
		return enc, data
	}
	return rawPlain, raw
}

// A new compressor costs more than packing a short message.
var compressors = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // the level is valid
	return w
}}

func packAlways(raw []byte) (int, []byte) {
	var b bytes.Buffer
	w, _ := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(&b)
	// Writing to a buffer cannot fail.
	_, _ = w.Write(raw)
	_ = w.Close()
	return rawDeflate, b.Bytes()
}

func unpack(encoding int, data []byte) ([]byte, error) {
	if encoding == rawPlain {
		return data, nil
	}
	r := flate.NewReader(bytes.NewReader(data))
	out, err := io.ReadAll(r)
	return out, errors.Join(err, r.Close())
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func addressText(list []mailparse.Address) string {
	var b strings.Builder
	for i, a := range list {
		if i == 2000 {
			break
		}
		b.WriteString(a.Name + " " + a.Email + "\n")
	}
	return b.String()
}

// readable gives the text of a message as a person reads it: the plain text, or the text of its HTML when
// there is no plain text or only a stub of it.
func readable(m *mailparse.Message) string {
	if m.HTML == "" {
		return m.Text
	}
	plain := strings.TrimSpace(m.Text)
	if len(plain) > 400 {
		return m.Text
	}
	fromHTML := htmlText(m.HTML)
	if plain == "" || len(fromHTML) > 3*len(plain) || saysUseHTML(plain) {
		return fromHTML
	}
	return m.Text
}

func saysUseHTML(plain string) bool {
	l := strings.ToLower(plain)
	return len(l) < 400 && strings.Contains(l, "html") && (strings.Contains(l, "view") || strings.Contains(l, "display") || strings.Contains(l, "support"))
}

const snippetRunes = 200

// snippet gives the beginning of a text in one line, without quoted text, control characters and sequences.
func snippet(text string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(clean.Text(clip(text, 64<<10))) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, ">") {
			continue
		}
		if line == "--" {
			break
		}
		for field := range strings.FieldsSeq(line) {
			if n > 0 {
				b.WriteByte(' ')
				n++
			}
			for _, r := range field {
				if n >= snippetRunes {
					return strings.TrimSpace(b.String())
				}
				b.WriteRune(r)
				n++
			}
		}
	}
	return strings.TrimSpace(b.String())
}

func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}
