package api

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var jsonCases = []string{
	"", " ", "{}", "[]", "null", "true", "false", "nul", "truee", "0", "-0", "01", "1.", ".1", "1.5e+10", "1e", "1E-3", "-", "+1", "1e5.2",
	`"a"`, `"a`, `"\"`, `"\u00e9"`, `"\u00g9"`, `"\x"`, "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\"", `"` + strings.Repeat("é", 40) + `"`,
	`"1234567\"` + `"`, `"12345678` + "\x01" + `"`, `"\\\\\\\\\\"`, `{"a":1}`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1 "b":2}`, `[1,2,]`, `[1 2]`, `[,]`, `{,}`,
	" \t\r\n[ 1 , { \"a\" : [ ] } ] \n", "{} x", "{}{}", "\ufeff{}", `{"a":{"b":[{"c":"d"}]}}`, "[" + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "]",
	strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001), strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001),
	strings.Repeat("[", 1<<20),
}

func TestValidJSON(t *testing.T) {
	for _, s := range jsonCases {
		if got, want := validJSON([]byte(s)), json.Valid([]byte(s)); got != want {
			t.Errorf("%.60q: %v, want %v", s, got, want)
		}
	}
	// Every character at every place in and behind a step of eight.
	for c := range 256 {
		for place := range 20 {
			b := []byte(`"` + strings.Repeat("x", 20) + `"`)
			b[1+place] = byte(c)
			if got, want := validJSON(b), json.Valid(b); got != want {
				t.Errorf("%q: %v, want %v", b, got, want)
			}
		}
	}
}

// TestValidJSONProperties: what is made of the parts of JSON is judged as encoding/json does.
func TestValidJSONProperties(t *testing.T) {
	part := rapid.SampledFrom([]string{"{", "}", "[", "]", ",", ":", `"a"`, `"`, `\`, "1", "-", "0", ".", "e", "+", "null", "true", "t", " ", "\n", `\u12aF`, "\x01", "é", "\xff"})
	checkMany(t, 20_000, func(t *rapid.T) {
		b := []byte(strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), ""))
		if got, want := validJSON(b), json.Valid(b); got != want {
			t.Fatalf("%q: %v, want %v", b, got, want)
		}
	})
}

func FuzzValidJSON(f *testing.F) {
	for _, s := range jsonCases {
		if len(s) < 1000 { // longer ones slow the fuzzer down
			f.Add([]byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := validJSON(b), json.Valid(b); got != want {
			t.Fatalf("%q: %v, want %v", b, got, want)
		}
	})
}

func BenchmarkValidJSON(b *testing.B) {
	body := []byte(benchEmails())
	for name, f := range map[string]func([]byte) bool{"encoding/json": json.Valid, "api": validJSON} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if !f(body) {
					b.Fatal("not valid")
				}
			}
		})
	}
}
