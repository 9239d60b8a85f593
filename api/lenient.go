package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/mail"
	"strconv"
	"strings"
	"time"
)

// What the contract leaves open is read from any JSON: each function here gives the zero value
// for what is missing or of another type.

// decodeAny reads JSON with numbers as they stand; nil when it cannot.
func decodeAny(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// text is the first of the keys that holds a string which is not empty.
func text(m map[string]any, keys ...string) string {
	for _, key := range keys {
		if s, ok := m[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// idText is text, and takes numbers too.
func idText(m map[string]any, keys ...string) string {
	for _, key := range keys {
		switch v := m[key].(type) {
		case string:
			if v != "" {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}

func boolean(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true", "1":
			return true, true
		case "false", "0":
			return false, true
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && (f == 0 || f == 1) {
			return f == 1, true
		}
	}
	return false, false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return f, err == nil && f == f
	}
	return 0, false
}

// instant is the first of the keys that holds a time: ISO 8601, RFC 2822, or Unix
// seconds or milliseconds.
func instant(m map[string]any, keys ...string) time.Time {
	for _, key := range keys {
		if t, ok := timeOf(m[key]); ok {
			return t
		}
	}
	return time.Time{}
}

func timeOf(v any) (time.Time, bool) {
	if s, ok := v.(string); ok {
		if t, ok := parseInstant(s); ok {
			return t, true
		}
		if t, err := mail.ParseDate(s); err == nil {
			return t.UTC(), true
		}
	}
	f, ok := number(v)
	switch {
	case !ok || f <= 0 || f >= 1e15:
		return time.Time{}, false
	case f >= 1e11: // as seconds that would be the year 5138
		return time.UnixMilli(int64(f)).UTC(), true
	}
	return time.UnixMilli(int64(f * 1000)).UTC(), true
}

// words reads a list of strings, or one string with blanks between them.
func words(v any) []string {
	out := []string{}
	switch v := v.(type) {
	case string:
		out = append(out, strings.Fields(v)...)
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				out = append(out, strings.Fields(s)...)
			}
		}
	}
	return out
}

// headersOf reads {name: value}, {name: [value]} or [{name, value}], with names in
// lower case and the first value of each.
func headersOf(v any) map[string]string {
	out := make(map[string]string)
	add := func(name string, value any) {
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
		}
		s, ok := value.(string)
		name = strings.ToLower(name)
		if _, there := out[name]; ok && !there {
			out[name] = s
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			add(name, value)
		}
	case []any:
		for _, item := range v {
			fields := object(item)
			add(text(fields, "name", "key"), fields["value"])
		}
	}
	return out
}

// addresses is the first of the keys that names anybody.
func addresses(m map[string]any, keys ...string) []Address {
	for _, key := range keys {
		if list := addressesOf(m[key]); len(list) > 0 {
			return list
		}
	}
	return []Address{}
}

func addressesOf(v any) []Address {
	switch v := v.(type) {
	case string:
		return parseAddresses(v)
	case map[string]any:
		a := Address{Name: text(v, "name"), Email: text(v, "email", "address")}
		if a.Name == "" && strings.ContainsRune(a.Email, '<') {
			return parseAddresses(a.Email)
		}
		if a.Name == "" && a.Email == "" {
			return nil
		}
		return []Address{a}
	case []any:
		var out []Address
		for _, item := range v {
			if _, nested := item.([]any); !nested {
				out = append(out, addressesOf(item)...)
			}
		}
		return out
	}
	return nil
}

// parseAddresses reads a comma list. What is no address is kept as one, so that a
// person sees that somebody was named.
func parseAddresses(s string) []Address {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var out []Address
	for _, part := range splitAddresses(s) {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		open := strings.LastIndexByte(part, '<')
		if open < 0 {
			out = append(out, Address{Email: part})
			continue
		}
		email := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(part[open+1:]), ">"))
		name := strings.TrimSpace(part[:open])
		if len(name) >= 2 && name[0] == '"' && name[len(name)-1] == '"' {
			name = unquote(name[1 : len(name)-1])
		}
		if email == "" && name == "" {
			continue
		}
		out = append(out, Address{Name: name, Email: email})
	}
	return out
}

// splitAddresses cuts at commas outside quotes and angle brackets.
func splitAddresses(s string) []string {
	var parts []string
	quoted, angle, start := false, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '<':
			angle = true
		case c == '>':
			angle = false
		case c == ',' && !angle:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

func unquote(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func decodeBase64(s string) ([]byte, bool) {
	s = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\r', '\n', '=':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, s)
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, false
	}
	return b, true
}
