package main

import (
	"fmt"
	"slices"
	"strings"
)

// operation is a row of operations.tsv.
type operation struct {
	name   string // "threads.get"
	verb   string
	path   string // "/threads/:id"
	class  string // read, send, repeat, once
	key    bool
	paging string // none, cursor, pageToken, list
	query  []string
	note   string
	body   string
	answer string
}

// space is the part of the name before the dot, method the part behind it.
func (o operation) space() string  { return o.name[:strings.IndexByte(o.name, '.')] }
func (o operation) method() string { return o.name[strings.IndexByte(o.name, '.')+1:] }

// params lists the names in the path, in order.
func (o operation) params() []string {
	var out []string
	for _, segment := range strings.Split(o.path, "/") {
		if strings.HasPrefix(segment, ":") {
			out = append(out, segment[1:])
		}
	}
	return out
}

// field is a row of shapes.tsv.
type field struct {
	name     string
	required bool
	typ      string
}

// shape is a named type of the contract. One with a single field "(is)" is another
// name for a type.
type shape struct {
	name   string
	fields []field
}

// alias returns what the shape is another name for, or "".
func (s *shape) alias() string {
	if s.fields[0].name == "(is)" {
		return s.fields[0].typ
	}
	return ""
}

func readTable(tsv string, columns ...string) ([][]string, error) {
	lines := strings.Split(strings.TrimRight(tsv, "\r\n"), "\n")
	head := strings.Split(strings.TrimSuffix(lines[0], "\r"), "\t")
	at := make([]int, len(columns))
	for i, name := range columns {
		if at[i] = slices.Index(head, name); at[i] < 0 {
			return nil, fmt.Errorf("no column %q", name)
		}
	}
	var rows [][]string
	for n, line := range lines[1:] {
		cells := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		row := make([]string, len(columns))
		for i := range columns {
			if at[i] < len(cells) {
				row[i] = cells[at[i]]
			}
		}
		if row[0] == "" {
			return nil, fmt.Errorf("line %d has no name", n+2)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func readOperations(tsv string) ([]operation, error) {
	rows, err := readTable(tsv, "method", "verb", "path", "retry", "idempotency_key", "paging", "query", "note", "body", "answer")
	if err != nil {
		return nil, fmt.Errorf("operations: %w", err)
	}
	var list []operation
	for _, r := range rows {
		o := operation{name: r[0], verb: r[1], path: r[2], class: r[3], key: r[4] == "yes", paging: r[5], note: r[7], body: r[8], answer: r[9]}
		if r[6] != "" {
			o.query = strings.Split(r[6], ",")
		}
		if !strings.Contains(o.name, ".") {
			return nil, fmt.Errorf("operations: %q has no namespace", o.name)
		}
		list = append(list, o)
	}
	return list, nil
}

func readShapes(tsv string) ([]*shape, error) {
	rows, err := readTable(tsv, "name", "field", "required", "type")
	if err != nil {
		return nil, fmt.Errorf("shapes: %w", err)
	}
	var list []*shape
	byName := make(map[string]*shape)
	for _, r := range rows {
		s := byName[r[0]]
		if s == nil {
			s = &shape{name: r[0]}
			byName[r[0]] = s
			list = append(list, s)
		}
		s.fields = append(s.fields, field{name: r[1], required: r[2] != "no", typ: r[3]})
	}
	return list, nil
}

// alternatives splits a type at its outer bars.
func alternatives(typ string) []string {
	var out []string
	depth, quoted, start := 0, false, 0
	for i := range len(typ) {
		switch c := typ[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{', c == '<':
			depth++
		case c == ']', c == '}', c == '>':
			depth--
		case c == '|' && depth == 0:
			out = append(out, typ[start:i])
			start = i + 1
		}
	}
	return append(out, typ[start:])
}

// nullable takes null out of a type and says whether it was there.
func nullable(typ string) (string, bool) {
	all := alternatives(typ)
	rest := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "null" })
	if len(rest) == 0 {
		return "null", true
	}
	return strings.Join(rest, "|"), len(rest) != len(all)
}

// quoted returns the known values when the type is nothing but quoted words.
func quoted(typ string) []string {
	var out []string
	for _, a := range alternatives(typ) {
		if len(a) < 2 || a[0] != '"' {
			return nil
		}
		out = append(out, strings.Trim(a, `"`))
	}
	return out
}

// names lists the shapes a type mentions.
func names(typ string) []string {
	var out []string
	inQuotes := false
	word := ""
	for _, c := range typ + " " {
		switch {
		case c == '"':
			inQuotes = !inQuotes
		case inQuotes:
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9' && word != "":
			word += string(c)
			continue
		}
		if word != "" && word[0] >= 'A' && word[0] <= 'Z' {
			out = append(out, word)
		}
		word = ""
	}
	return out
}
