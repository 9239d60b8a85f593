package api

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// EncodeBody writes v, an EmailSend for example, as the JSON body that the client
// sends: an object in UTF-8 with nothing escaped that need not be. The same value
// gives the same bytes.
func EncodeBody(v any) ([]byte, error) {
	b, err := marshalPlain(v)
	if err != nil {
		return nil, &ArgumentError{Message: "the body cannot be written as JSON", Err: err}
	}
	if len(b) == 0 || b[0] != '{' {
		return nil, argErr("the body is not a JSON object")
	}
	return b, nil
}

func marshalPlain(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return unescapeSeparators(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// unescapeSeparators undoes the one escape of non-ASCII text that encoding/json
// cannot be told to leave: U+2028 and U+2029.
func unescapeSeparators(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u202`)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			out = append(out, b[i])
			continue
		}
		if rest := b[i:]; len(rest) >= 6 && (string(rest[:6]) == `\u2028` || string(rest[:6]) == `\u2029`) {
			out = utf8.AppendRune(out, 0x2020+rune(rest[5]-'0'))
			i += 5
			continue
		}
		out = append(out, b[i], b[i+1])
		i++
	}
	return out
}

// instantFormat is how the API writes instants: UTC and three decimals.
const instantFormat = "2006-01-02T15:04:05.000Z"

// FormatInstant writes t as the API does: 2026-03-01T09:30:00.000Z.
func FormatInstant(t time.Time) string { return t.UTC().Format(instantFormat) }

// Instant is a time in a request body. Its zero value is left out with `omitzero`.
type Instant struct{ time.Time }

// At makes an Instant.
func At(t time.Time) Instant { return Instant{t} }

// MarshalJSON writes the instant in the API's form.
func (i Instant) MarshalJSON() ([]byte, error) {
	return []byte(`"` + FormatInstant(i.Time) + `"`), nil
}

// UnmarshalJSON reads any instant that the API may send. One that cannot be read
// becomes the zero time.
func (i *Instant) UnmarshalJSON(b []byte) error {
	var s string
	i.Time = time.Time{}
	if json.Unmarshal(b, &s) == nil {
		i.Time, _ = parseInstant(s)
	}
	return nil
}

// pointer gives nil for an instant that is not there.
func (i Instant) pointer() *time.Time {
	if i.IsZero() {
		return nil
	}
	t := i.Time
	return &t
}

var instantLayouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05.999999999Z0700",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04",
	"2006-01-02",
}

// parseInstant reads ISO 8601 in the forms that servers use; without an offset it is UTC.
func parseInstant(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range instantLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// query collects the query of a call, leaving out what is not set.
type query struct {
	pairs []string
}

func (q *query) text(key, value string) {
	if value != "" {
		q.pairs = append(q.pairs, queryEscape(key)+"="+queryEscape(value))
	}
}

func (q *query) list(key string, values []string) { q.text(key, strings.Join(values, ",")) }

func (q *query) flag(key string, value *bool) {
	if value != nil {
		q.text(key, strconv.FormatBool(*value))
	}
}

func (q *query) number(key string, value int) {
	if value != 0 {
		q.text(key, strconv.Itoa(value))
	}
}

func (q *query) instant(key string, t time.Time) {
	if !t.IsZero() {
		q.text(key, FormatInstant(t))
	}
}

func (q *query) encode() string { return strings.Join(q.pairs, "&") }

// buildPath fills the parameters of an operation's path.
func buildPath(template string, args []string) (string, error) {
	segments := strings.Split(template, "/")
	next := 0
	for i, segment := range segments {
		if !strings.HasPrefix(segment, ":") {
			continue
		}
		if next >= len(args) {
			return "", argErr("the path needs a value for %s", segment[1:])
		}
		escaped, err := pathSegment(args[next])
		if err != nil {
			return "", err
		}
		segments[i] = escaped
		next++
	}
	if next != len(args) {
		return "", argErr("the path takes %d values, not %d", next, len(args))
	}
	return strings.Join(segments, "/"), nil
}

// pathSegment escapes one path segment. An empty one, or one of dots alone, would
// name another resource.
func pathSegment(s string) (string, error) {
	switch {
	case s == "":
		return "", argErr("an id is empty")
	case strings.Trim(s, ".") == "":
		return "", argErr("an id cannot be made of dots alone")
	case !utf8.ValidString(s):
		return "", argErr("an id is not valid UTF-8")
	}
	return escapeBytes(s, "-_.!~*'()"), nil
}

func queryEscape(s string) string {
	return strings.ReplaceAll(escapeBytes(strings.ToValidUTF8(s, "\uFFFD"), "-_.* "), " ", "+")
}

const hexDigits = "0123456789ABCDEF"

// escapeBytes percent-encodes every byte but letters, digits and those in keep.
func escapeBytes(s, keep string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}
