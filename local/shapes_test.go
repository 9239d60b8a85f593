package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shapeBook is the contract's tables of operations and shapes, by which every answer that a test sees is checked.
type shapeBook struct {
	answers map[string]string // operation, its answer
	fields  map[string]map[string]shapeField
	alias   map[string]string
	checked map[string]int
	mu      sync.Mutex
}

type shapeField struct {
	required bool
	kind     string
}

var contractShapes = sync.OnceValues(func() (*shapeBook, error) {
	b := &shapeBook{answers: map[string]string{}, fields: map[string]map[string]shapeField{}, alias: map[string]string{}, checked: map[string]int{}}
	ops, err1 := os.ReadFile(filepath.Join("..", "api", "operations.tsv"))
	shapes, err2 := os.ReadFile(filepath.Join("..", "api", "testdata", "shapes.tsv"))
	for line := range strings.Lines(string(ops)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		b.answers[cells[0]] = cells[len(cells)-1]
	}
	for line := range strings.Lines(string(shapes)) {
		cells := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(cells) != 4 {
			continue
		}
		if cells[1] == "(is)" {
			b.alias[cells[0]] = cells[3]
			continue
		}
		if b.fields[cells[0]] == nil {
			b.fields[cells[0]] = map[string]shapeField{}
		}
		b.fields[cells[0]][cells[1]] = shapeField{cells[2] == "yes", cells[3]}
	}
	return b, errors.Join(err1, err2)
})

// beyond lists what the local server says in addition; the contract's notes allow it.
var beyond = map[string][]string{"ThreadResource": {"muted", "snoozedUntil"}, "BatchItemResource.email": {"replayed"}}

func alternatives(kind string) []string {
	var out []string
	depth, start, quoted := 0, 0, false
	for i, r := range kind {
		switch {
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth--
		case r == '|' && depth == 0:
			out = append(out, kind[start:i])
			start = i + 1
		}
	}
	return append(out, kind[start:])
}

// check tells how a value differs from a type of the tables.
func (b *shapeBook) check(kind string, v any, at string) error {
	var why []string
	for _, k := range alternatives(strings.TrimSpace(kind)) {
		err := b.one(strings.TrimSpace(k), v, at)
		if err == nil {
			return nil
		}
		why = append(why, err.Error())
	}
	return errors.New(strings.Join(slices.Compact(why), "; or "))
}

func (b *shapeBook) one(kind string, v any, at string) error {
	bad := func() error { return fmt.Errorf("%s is %#.60v, not %s", at, v, kind) }
	if to, ok := b.alias[kind]; ok {
		return b.check(to, v, at)
	}
	ok := false
	switch {
	case kind == "any":
		ok = true
	case kind == "null":
		ok = v == nil
	case kind == "string":
		_, ok = v.(string)
	case kind == "instant":
		text, _ := v.(string)
		_, ok = parseInstant(text)
	case kind == "bool":
		_, ok = v.(bool)
	case kind == "true", kind == "false":
		ok = v == (kind == "true")
	case kind == "int":
		n, is := v.(float64)
		ok = is && n == math.Trunc(n)
	case kind == "float", kind == "number":
		_, ok = v.(float64)
	case strings.HasPrefix(kind, `"`):
		ok = v == strings.Trim(kind, `"`)
	case strings.HasPrefix(kind, "["):
		list, is := v.([]any)
		for i, e := range list {
			if err := b.check(kind[1:len(kind)-1], e, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		ok = is
	case strings.HasPrefix(kind, "{string:"):
		m, is := v.(map[string]any)
		for k, e := range m {
			if err := b.check(kind[len("{string:"):len(kind)-1], e, at+"."+k); err != nil {
				return err
			}
		}
		ok = is
	default:
		fields, known := b.fields[kind]
		if !known {
			return fmt.Errorf("%s: the tables have no shape %q", at, kind)
		}
		m, is := v.(map[string]any)
		if !is {
			return bad()
		}
		return b.object(kind, fields, m, at)
	}
	if !ok {
		return bad()
	}
	return nil
}

func (b *shapeBook) object(kind string, fields map[string]shapeField, m map[string]any, at string) error {
	list := "items" // as clients hand it out
	if kind == "AddressBookPage" {
		list = "addresses"
	}
	handedOut := strings.HasPrefix(fields[list].kind, "[")
	for name, f := range fields {
		if handedOut && name == list {
			name = "data"
		}
		v, there := m[name]
		switch {
		case !there && f.required:
			return fmt.Errorf("%s lacks %s", at, name)
		case !there:
		default:
			if err := b.check(f.kind, v, at+"."+name); err != nil {
				return err
			}
		}
	}
	for name := range m {
		_, known := fields[name]
		if !known && !slices.Contains(beyond[kind], name) && !(handedOut && (name == "data" || name == "object")) {
			return fmt.Errorf("%s has %s, which %s does not know", at, name, kind)
		}
	}
	return nil
}

// verify checks the answer of a request that succeeded against the tables.
func (b *shapeBook) verify(t *testing.T, method, path string, raw []byte) {
	t.Helper()
	path, _, _ = strings.Cut(path, "?")
	h := &handler{routes: routes()}
	req, err := http.NewRequestWithContext(context.Background(), method, "http://local.invalid"+path, http.NoBody)
	if err != nil {
		return
	}
	rt, _, err := h.route(req)
	if err != nil {
		return
	}
	answer := b.answers[rt.name]
	if answer == "" || answer == "bytes" || rt.name == "calendar.getEventIcs" {
		return
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Errorf("%s: %v", rt.name, err)
		return
	}
	b.mu.Lock()
	b.checked[rt.name]++
	b.mu.Unlock()
	if kind, ok := strings.CutPrefix(answer, "page of "); ok {
		m, _ := v.(map[string]any)
		more, isBool := m["hasMore"].(bool)
		next, hasNext := m["nextCursor"]
		if page, token := m["nextPageToken"]; token {
			next, hasNext = page, true
		}
		if m["object"] != "list" || !isBool || !hasNext || more != (next != nil) {
			t.Errorf("%s: the envelope of a page is %.200s", rt.name, raw)
		}
		err = b.check("["+kind+"]", m["data"], rt.name)
	} else if kind, ok := strings.CutPrefix(answer, "list of "); ok {
		m, _ := v.(map[string]any)
		if m["object"] != "list" {
			t.Errorf("%s: the envelope of a list is %.200s", rt.name, raw)
		}
		err = b.check("["+kind+"]", m["data"], rt.name)
	} else {
		err = b.check(answer, v, rt.name)
	}
	if err != nil {
		t.Errorf("not the contract's shape: %v", err)
	}
}
