package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// call is one request on its way through a route.
type call struct {
	*http.Request
	ctx    context.Context
	params []string
	query  url.Values
	who    *caller
	scope  string // whose idempotency keys these are
	mode   string // live or test, of the key and the mailbox
	body   fields
}

// fields is a decoded JSON body.
type fields map[string]any

// readBytes reads the body as it is.
func readBytes(r *http.Request) ([]byte, error) {
	tooLarge := &apiError{http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("The body is larger than %d MiB.", MaxBodyBytes>>20), ""}
	if r.ContentLength > MaxBodyBytes {
		return nil, tooLarge
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, MaxBodyBytes+1))
	if err != nil {
		return nil, badRequest("invalid_body", "", "The body could not be read to its end.")
	}
	if len(raw) > MaxBodyBytes {
		return nil, tooLarge
	}
	return raw, nil
}

func readBody(r *http.Request, needed bool) (fields, error) {
	raw, err := readBytes(r)
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(raw)) == 0 {
		if needed {
			return nil, badRequest("invalid_json", "", "The body is missing.")
		}
		return fields{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var f fields
	if err := dec.Decode(&f); err != nil || f == nil {
		return nil, badRequest("invalid_json", "", "The body is not a JSON object.")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, badRequest("invalid_json", "", "There is something behind the JSON object.")
	}
	return f, nil
}

// fingerprint identifies what a request asks for: verb, path and the parsed body, however it was spelled.
func (c *call) fingerprint() []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n", c.Method, c.URL.EscapedPath())
	canonical, _ := json.Marshal(canon(map[string]any(c.body))) // made from JSON, so it can be written as such
	h.Write(canonical)
	return h.Sum(nil)
}

// canon makes equal numbers equal. Go writes the keys of maps in order.
func canon(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = canon(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = canon(e)
		}
		return out
	case json.Number:
		if f, err := v.Float64(); err == nil && math.Abs(f) < 1<<53 {
			return f
		}
		return v.String()
	}
	return v
}

// has reports whether a field is there and not null.
func (f fields) has(name string) bool { return f[name] != nil }

// text reads a string; a missing or null field is "".
func (f fields) text(name string) (string, error) {
	switch v := f[name].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", invalidField(name, "%s must be a string.", name)
}

func (f fields) boolean(name string) (value, given bool, err error) {
	switch v := f[name].(type) {
	case nil:
		return false, false, nil
	case bool:
		return v, true, nil
	}
	return false, false, invalidField(name, "%s must be true or false.", name)
}

func (f fields) whole(name string) (value int64, given bool, err error) {
	switch v := f[name].(type) {
	case nil:
		return 0, false, nil
	case json.Number:
		if x, err := v.Float64(); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x), true, nil
		}
	}
	return 0, false, invalidField(name, "%s must be a whole number.", name)
}

func (f fields) texts(name string) ([]string, error) {
	switch v := f[name].(type) {
	case nil:
		return nil, nil
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, invalidField(name, "%s must be a list of strings.", name)
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, invalidField(name, "%s must be a list of strings.", name)
}

// when reads an instant in any ISO-8601 offset, in milliseconds.
func (f fields) when(name string) (ms int64, given bool, err error) {
	s, err := f.text(name)
	if err != nil || s == "" {
		return 0, false, err
	}
	t, ok := parseInstant(s)
	if !ok {
		return 0, false, invalidField(name, "%s must be an instant such as 2026-03-01T09:30:00.000Z.", name)
	}
	return t.UnixMilli(), true, nil
}

func parseInstant(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999Z0700", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 && t.Year() < 10000 {
			return t, true
		}
	}
	return time.Time{}, false
}

const (
	defaultLimit = 25
	mostLimit    = 100
)

// limit reads the size of a page: 25 when it is not given, 100 at most.
func (c *call) limit() (int, error) {
	v := c.query.Get("limit")
	if v == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(v)
	var numErr *strconv.NumError
	if errors.As(err, &numErr) && errors.Is(numErr.Err, strconv.ErrRange) && !strings.HasPrefix(v, "-") {
		n, err = mostLimit, nil
	}
	if err != nil || n < 1 {
		return 0, badRequest("invalid_limit", "limit", "limit must be a whole number of at least 1.")
	}
	return min(n, mostLimit), nil
}

// cursor is where a page ended: the sort key and id of its last entry. Entries before it may come and go.
type cursor struct {
	Text string `json:"t,omitempty"`
	At   int64  `json:"a,omitempty"`
	ID   int64  `json:"i"`
	// Window counts the windows of hits of a search that were left behind; see findMatching.
	Window int `json:"w,omitempty"`
}

func (c cursor) String() string {
	raw, _ := json.Marshal(c) // numbers and a string
	return base64.RawURLEncoding.EncodeToString(raw)
}

// cursor reads the named query value; ok is false when it is not given.
func (c *call) cursor(name string) (cur cursor, ok bool, err error) {
	v := c.query.Get(name)
	if v == "" {
		return cursor{}, false, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(v)
	if err == nil {
		err = json.Unmarshal(raw, &cur)
	}
	if err != nil || cur.ID <= 0 {
		return cursor{}, false, badRequest("invalid_cursor", name, "%s is not one that this server gave out.", name)
	}
	return cur, true, nil
}

// page gives the envelope of a list. next is used when more is true.
func page(data []any, more bool, nextName string, next cursor) map[string]any {
	if data == nil {
		data = []any{}
	}
	out := map[string]any{"object": "list", "data": data, "hasMore": more, nextName: nil}
	if more {
		out[nextName] = next.String()
	}
	return out
}
