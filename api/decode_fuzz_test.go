package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
)

// FuzzAnswers feeds any bytes to the decoder of any operation: what is understood can be
// written as JSON, what is not is an error of the kind that says so, and nothing panics.
func FuzzAnswers(f *testing.F) {
	s := readShapes(f)
	ops := Operations()
	c, err := New(Options{BaseURL: "https://api.example.com", APIKey: testKey, Transport: new(switching)})
	if err != nil {
		f.Fatal(err)
	}
	methods := clientMethods(c)
	var calls []*driven
	for i, op := range ops {
		d := drive(f, s, methods, op, true)
		calls = append(calls, d)
		if i%9 == 0 && op.Name != "imports.importFiles" {
			_, full := d.sampleOf(f, s, false)
			f.Add(uint16(i), []byte(full))
		}
	}
	for _, text := range []string{`{"data":[{"createdAt":"soon"}]}`, `{"data":{}}`, `null`, `[]`, `{"createdAt":1e400}`, `{"steps":[{"kind":"wait"}]}`, "\xef\xbb\xbf{}", `{"a":"\ud800"}`, ``} {
		f.Add(uint16(7), []byte(text))
	}
	f.Fuzz(func(t *testing.T, i uint16, body []byte) {
		d := calls[int(i)%len(calls)]
		c.core.transport.(*switching).body = body
		result, err := d.call(t.Context())
		var e *Error
		switch {
		case err == nil:
			if _, err := json.Marshal(result); err != nil {
				t.Errorf("%s: %s became what is no JSON: %v", d.op.Name, body, err)
			}
		case d.op.Name == "imports.importFiles" && errors.Is(err, ErrArgument):
		case !errors.As(err, &e) || !errors.Is(err, ErrUnrecognised):
			t.Errorf("%s: %v", d.op.Name, err)
		}
	})
}

// switching answers with the body it holds.
type switching struct{ body []byte }

func (s *switching) RoundTrip(*http.Request) (*http.Response, error) {
	return reply(200, string(s.body)), nil
}

// FuzzDecodeInto: what encoding/json can read by itself is read the same way, and
// reading instants leniently changes nothing else.
func FuzzDecodeInto(f *testing.F) {
	for _, text := range []string{`{"id":"a","createdAt":"2026-03-01T09:30:00.000Z"}`, `{"createdAt":"x","totalUses":3,"createdBy":{"id":"u"}}`, `{"expiresAt":17,"id":5}`, `{}`, `{"id":"a","ID":"b","createdAt":""}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var plain, lenient APIKey
		err := json.Unmarshal(b, &plain)
		again := decodeInto(b, &lenient)
		if err == nil {
			x, _ := json.Marshal(plain)
			y, _ := json.Marshal(lenient)
			if again != nil || !bytes.Equal(x, y) {
				t.Errorf("%s: %v, %s and %s", b, again, x, y)
			}
		}
	})
}

// FuzzUnions: a union comes back with the same variant, or fails.
func FuzzUnions(f *testing.F) {
	for _, text := range []string{`{"kind":"wait","wait":{"mode":"until","weekdays":[1]}}`, `{"kind":"branch","condition":{"kind":"x"}}`, `{"kind":5}`, `[]`, `null`, `{"kind":"exit","kind":"wait"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var step, again AutomationStep
		if json.Unmarshal(b, &step) != nil {
			return
		}
		text, err := json.Marshal(step)
		if err != nil {
			return // an inner union that was missing
		}
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s became %s: %v", b, text, err)
		}
		back, err := json.Marshal(again)
		if err != nil || !sameJSON(t, string(text), string(back)) {
			t.Errorf("%s became %s, then %s (%v)", b, text, back, err)
		}
	})
}
