package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"time"
)

//go:generate go run ../internal/apigen

// fetch makes a typed call and returns a fresh T.
func fetch[T any](ctx context.Context, c *core, op string, args []string, q query, body any, options []CallOption) (*T, error) {
	out := new(T)
	if _, err := c.invoke(ctx, op, args, q, body, out, options); err != nil {
		return nil, err
	}
	return out, nil
}

// fetchList makes a typed call whose answer is a plain list.
func fetchList[T any](ctx context.Context, c *core, op string, args []string, q query, body any, options []CallOption) ([]T, error) {
	page, err := fetch[Page[T]](ctx, c, op, args, q, body, options)
	if err != nil {
		return nil, err
	}
	return page.Items, nil
}

// decodeInto reads the JSON of an answer, with instants in UTC. Where it holds an instant in
// a form that time.Time does not know, instants are read leniently.
func decodeInto(b []byte, out any) error {
	target := reflect.ValueOf(out).Elem()
	first := json.Unmarshal(b, out)
	if first == nil {
		intoUTC(target)
		return nil
	}
	v, changed := lenientTimes(decodeAny(b), target.Type())
	if !changed {
		return first
	}
	again, err := marshalPlain(v)
	if err != nil {
		return first
	}
	target.SetZero()
	if json.Unmarshal(again, out) != nil {
		return first
	}
	intoUTC(target)
	return nil
}

// intoUTC gives every instant in v, which came with whatever offset the server likes, the
// zone UTC.
func intoUTC(v reflect.Value) {
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = at.UTC()
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			intoUTC(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			intoUTC(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				intoUTC(v.Field(i))
			}
		}
	}
}

var timeType = reflect.TypeFor[time.Time]()

// lenientTimes rewrites, in JSON that is read into a t, what stands where an instant
// belongs. What cannot be read as one becomes null.
func lenientTimes(v any, t reflect.Type) (any, bool) {
	if v == nil {
		return nil, false
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	changed := false
	switch {
	case t == timeType:
		if s, ok := v.(string); ok {
			if _, err := time.Parse(time.RFC3339, s); err == nil {
				return v, false
			}
		}
		if at, ok := timeOf(v); ok {
			return at.Format(time.RFC3339Nano), true
		}
		return nil, true
	case t.Kind() == reflect.Slice:
		list, _ := v.([]any)
		for i := range list {
			item, c := lenientTimes(list[i], t.Elem())
			list[i], changed = item, changed || c
		}
	case t.Kind() == reflect.Map:
		m, _ := v.(map[string]any)
		for k := range m {
			item, c := lenientTimes(m[k], t.Elem())
			m[k], changed = item, changed || c
		}
	case t.Kind() == reflect.Struct:
		m, _ := v.(map[string]any)
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && name == "":
				_, c := lenientTimes(v, f.Type)
				changed = changed || c
			case m[name] != nil:
				item, c := lenientTimes(m[name], f.Type)
				m[name], changed = item, changed || c
			}
		}
	}
	return v, changed
}

// pageAt makes a page whose next one is asked for with a number.
func pageAt[T any](items []T, next int, more bool) *Page[T] {
	return &Page[T]{Items: items, HasMore: more, Next: strconv.Itoa(next)}
}

func notNil[T any](s *[]T) {
	if *s == nil {
		*s = []T{}
	}
}

func notNilMap[T any](m *map[string]T) {
	if *m == nil {
		*m = map[string]T{}
	}
}

// Open is a value whose shape the contract leaves open: JSON as it came. Nil is null.
type Open json.RawMessage

// OpenOf writes v as JSON.
func OpenOf(v any) (Open, error) {
	b, err := marshalPlain(v)
	return b, err
}

// Decode reads the value into v.
func (o Open) Decode(v any) error {
	if len(o) == 0 {
		return json.Unmarshal([]byte("null"), v)
	}
	return json.Unmarshal(o, v)
}

// Text returns the value if it is a string.
func (o Open) Text() (string, bool) {
	var s *string
	if o.Decode(&s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// Flag returns the value if it is true or false.
func (o Open) Flag() (value, ok bool) {
	switch string(o) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// Number returns the value if it is a number.
func (o Open) Number() (float64, bool) {
	var f *float64
	if o.Decode(&f) != nil || f == nil {
		return 0, false
	}
	return *f, true
}

// IsNull reports whether the value is null or missing.
func (o Open) IsNull() bool { return len(o) == 0 || string(o) == "null" }

// String returns the JSON.
func (o Open) String() string {
	if len(o) == 0 {
		return "null"
	}
	return string(o)
}

// MarshalJSON writes the value as it is.
func (o Open) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalJSON keeps the value as it comes.
func (o *Open) UnmarshalJSON(b []byte) error {
	*o = nil
	if string(b) != "null" {
		*o = bytes.Clone(b)
	}
	return nil
}

// Milliseconds is a length of time as the API counts it.
type Milliseconds float64

// Duration converts to Go's unit.
func (m Milliseconds) Duration() time.Duration { return toDuration(float64(m), time.Millisecond) }

// Seconds is a length of time as the API counts it.
type Seconds float64

// Duration converts to Go's unit.
func (s Seconds) Duration() time.Duration { return toDuration(float64(s), time.Second) }

// Minutes is a length of time as the API counts it.
type Minutes float64

// Duration converts to Go's unit.
func (m Minutes) Duration() time.Duration { return toDuration(float64(m), time.Minute) }

func toDuration(n float64, unit time.Duration) time.Duration {
	return time.Duration(min(max(n*float64(unit), -float64(century)), float64(century)))
}

// variant is one case of a union: its name on the wire, and a pointer to the field
// that holds it.
type variant struct {
	name string
	at   any // **T
}

var errNoVariant = errors.New("exactly one variant of a union must be set")

// marshalUnion writes the variant that is set, with its name under key.
func marshalUnion(key string, other Open, variants []variant) ([]byte, error) {
	var out []byte
	if other != nil {
		out = other
	}
	for _, v := range variants {
		field := reflect.ValueOf(v.at).Elem()
		if field.IsNil() {
			continue
		}
		if out != nil {
			return nil, errNoVariant
		}
		b, err := marshalPlain(field.Interface())
		if err != nil {
			return nil, err
		}
		out = append([]byte(`{"`+key+`":`), strconv.Quote(v.name)...)
		if len(b) > len("{}") {
			out = append(out, ',')
		}
		out = append(out, b[1:]...)
	}
	if out == nil {
		return nil, errNoVariant
	}
	return out, nil
}

// unmarshalUnion reads the variant that is named under key, and keeps one it does not know.
func unmarshalUnion(key string, b []byte, other *Open, variants []variant) error {
	name := text(object(decodeAny(b)), key)
	for _, v := range variants {
		if v.name == name {
			return json.Unmarshal(b, v.at)
		}
	}
	return other.UnmarshalJSON(b)
}
