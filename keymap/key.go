package keymap

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSequence is how many keys one binding may have.
const maxSequence = 4

var named = func() map[string]bool {
	m := map[string]bool{
		"tab": true, "shift+tab": true, "enter": true, "esc": true, "space": true,
		"backspace": true, "delete": true, "insert": true,
	}
	for _, k := range []string{"up", "down", "left", "right", "home", "end"} {
		for _, mod := range []string{"", "ctrl+", "shift+", "ctrl+shift+"} {
			m[mod+k] = true
		}
	}
	for _, k := range []string{"pgup", "pgdown"} {
		m[k], m["ctrl+"+k] = true, true
	}
	for i := 1; i <= 20; i++ {
		m[fmt.Sprintf("f%d", i)] = true
	}
	for c := 'a'; c <= 'z'; c++ {
		m["ctrl+"+string(c)] = true
	}
	for _, c := range `@\]^_` {
		m["ctrl+"+string(c)] = true
	}
	return m
}()

// aliases are other spellings; the first group is what a terminal cannot tell apart.
var aliases = map[string]string{
	"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "esc", "ctrl+space": "ctrl+@", "ctrl+/": "ctrl+_", "ctrl+?": "backspace",
	"return": "enter", "escape": "esc", "pageup": "pgup", "pagedown": "pgdown", "page-up": "pgup", "page-down": "pgdown",
	"del": "delete", "ins": "insert", "spc": "space", "backtab": "shift+tab",
}

// Normalize returns the one spelling of a key, which is that of a Bubble Tea v1 key message,
// except that a blank is written "space". It takes single keys, not sequences.
// Letters with shift are capitals: "shift+a" becomes "A".
func Normalize(key string) (string, error) {
	if key == "" {
		return "", fmt.Errorf("an empty key; write a character or a name such as %q", "enter")
	}
	rest, alt := key, false
	if len(rest) > len("alt+") && strings.EqualFold(rest[:4], "alt+") {
		rest, alt = rest[4:], true
	}
	k, err := normalizePlain(rest)
	if err != nil {
		return "", fmt.Errorf("%q is no key: %w", key, err)
	}
	if alt {
		return "alt+" + k, nil
	}
	return k, nil
}

func normalizePlain(k string) (string, error) {
	if k == " " {
		return "space", nil
	}
	if r, size := utf8.DecodeRuneInString(k); size == len(k) {
		if r == utf8.RuneError || !unicode.IsGraphic(r) || unicode.IsSpace(r) || unicode.IsMark(r) {
			return "", fmt.Errorf("not a character that can be typed")
		}
		return k, nil
	}
	l := strings.ToLower(k)
	if a, ok := aliases[l]; ok {
		l = a
	}
	if named[l] {
		return l, nil
	}
	if c, ok := strings.CutPrefix(l, "shift+"); ok && utf8.RuneCountInString(c) == 1 {
		r, _ := utf8.DecodeRuneInString(c)
		if up := unicode.ToUpper(r); up != r {
			return string(up), nil
		}
		return "", fmt.Errorf("write the character that shift makes of it")
	}
	switch l {
	case "ctrl+enter", "shift+enter", "ctrl+shift+enter":
		return "", fmt.Errorf("a terminal sends it as enter; %q works", "alt+enter")
	case "ctrl+tab":
		return "", fmt.Errorf("a terminal sends it as tab")
	case "ctrl+backspace", "shift+backspace", "shift+space", "shift+esc", "ctrl+esc":
		return "", fmt.Errorf("a terminal sends it without the modifier")
	}
	return "", fmt.Errorf("write one character, one of %s, or ctrl+ with a letter; alt+ may stand before each",
		"enter esc tab shift+tab space backspace delete insert up down left right home end pgup pgdown f1 … f20")
}

// parseSequence reads a binding: keys with blanks between them.
func parseSequence(s string) ([]string, error) {
	if s == " " {
		return []string{"space"}, nil
	}
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return nil, fmt.Errorf("an empty key; to unbind an action give it an empty list, []")
	}
	if len(fields) > maxSequence {
		return nil, fmt.Errorf("%q has %d keys; a sequence has %d at most", s, len(fields), maxSequence)
	}
	for i, f := range fields {
		k, err := Normalize(f)
		if err != nil {
			return nil, err
		}
		fields[i] = k
	}
	return fields, nil
}

// fromTerminal maps the name of a key message to our spelling without an error: what is not
// known matches nothing.
func fromTerminal(key string) string {
	switch key {
	case " ":
		return "space"
	case "alt+ ":
		return "alt+space"
	}
	return key
}

// plain returns the character a key types into a text field, if it types one.
func plain(key string) (string, bool) {
	if key == "space" {
		return " ", true
	}
	return key, utf8.RuneCountInString(key) == 1
}
