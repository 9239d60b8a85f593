package api

import (
	"encoding/json"
	"reflect"
)

// Opt is a value in a JSON body that may be left out, null, or set. The zero Opt
// is left out: give the field the tag `omitzero`.
type Opt[T any] struct {
	state optState
	value T
}

type optState uint8

const (
	optUnset optState = iota
	optNull
	optSet
)

// Set returns an Opt that holds v. A nil slice or map is sent as an empty one.
func Set[T any](v T) Opt[T] { return Opt[T]{state: optSet, value: v} }

// Null returns an Opt that is sent as null.
func Null[T any]() Opt[T] { return Opt[T]{state: optNull} }

// Get returns the value and whether one is set.
func (o Opt[T]) Get() (T, bool) { return o.value, o.state == optSet }

// IsNull reports whether o is an explicit null.
func (o Opt[T]) IsNull() bool { return o.state == optNull }

// IsZero reports whether o is left out of the body.
func (o Opt[T]) IsZero() bool { return o.state == optUnset }

// MarshalJSON writes the value, or null when there is none.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if o.state != optSet {
		return []byte("null"), nil
	}
	switch v := reflect.ValueOf(o.value); {
	case v.Kind() == reflect.Slice && v.IsNil():
		return []byte("[]"), nil
	case v.Kind() == reflect.Map && v.IsNil():
		return []byte("{}"), nil
	}
	return marshalPlain(o.value)
}

// UnmarshalJSON reads null as an explicit null and anything else as a set value.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*o = Null[T]()
		return nil
	}
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*o = Set(v)
	return nil
}
