package api

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Class says how often an operation may be tried.
type Class string

// The retry classes of the operations table.
const (
	ClassRead   Class = "read"   // changes nothing: repeated
	ClassSend   Class = "send"   // repeated, always under one idempotency key
	ClassRepeat Class = "repeat" // a write that may be repeated
	ClassOnce   Class = "once"   // one attempt, whatever happens
)

// Paging says how an operation hands out a long list.
type Paging string

// The paging styles of the operations table.
const (
	PagingNone      Paging = "none"
	PagingCursor    Paging = "cursor"    // asked with cursor, answered with nextCursor
	PagingPageToken Paging = "pageToken" // asked with pageToken, answered with nextPageToken
	PagingList      Paging = "list"      // one plain list
)

// Operation is one call of the OpenEmail API.
type Operation struct {
	Name   string // "threads.get"
	Method string // HTTP method
	Path   string // "/threads/:id": a segment that begins with a colon is a parameter
	Class  Class
	Key    bool // carries an Idempotency-Key
	Paging Paging
	Query  []string // the query keys it knows
	Body   string   // name of the body's shape; empty when it has none
	Answer string   // name of the answer's shape
	Auth   Auth     // which credential it takes
	Upload bool     // an attempt may take UploadTimeout
}

// Auth says which credential an operation takes.
type Auth string

// The credentials of operations.
const (
	AuthCredential Auth = ""      // an API key or an access token
	AuthInbox      Auth = "inbox" // the token of a temporary mailbox, or an API key or access token
	AuthNone       Auth = "none"  // none is sent
)

func (o Operation) knows(key string) bool { return slices.Contains(o.Query, key) }

// Repeats reports whether a failed attempt may be followed by another.
func (o Operation) Repeats() bool { return o.Class != ClassOnce }

//go:embed operations.tsv
var operationsTSV string

type operationTable struct {
	list   []Operation
	byName map[string]Operation
}

var operationsOnce = sync.OnceValue(func() operationTable {
	t, err := parseOperations(operationsTSV)
	if err != nil {
		panic("api: operations.tsv: " + err.Error())
	}
	return t
})

// Operations lists every operation of the API in the order of their names.
// The caller may change the slice.
func Operations() []Operation {
	return append([]Operation(nil), operationsOnce().list...)
}

// OperationByName finds an operation such as "threads.get".
func OperationByName(name string) (Operation, bool) {
	op, ok := operationsOnce().byName[name]
	return op, ok
}

func parseOperations(tsv string) (operationTable, error) {
	t := operationTable{byName: make(map[string]Operation)}
	column := make(map[string]int)
	for n, line := range strings.Split(strings.TrimRight(tsv, "\r\n"), "\n") {
		cells := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
		if n == 0 {
			for i, name := range cells {
				column[name] = i
			}
			for _, name := range []string{"method", "verb", "path", "retry", "idempotency_key", "paging", "query", "body", "answer"} {
				if _, ok := column[name]; !ok {
					return t, fmt.Errorf("no column %q", name)
				}
			}
			continue
		}
		cell := func(name string) string {
			if i := column[name]; i < len(cells) {
				return cells[i]
			}
			return ""
		}
		op := Operation{
			Name:   cell("method"),
			Method: cell("verb"),
			Path:   cell("path"),
			Class:  Class(cell("retry")),
			Key:    cell("idempotency_key") == "yes",
			Paging: Paging(cell("paging")),
			Body:   cell("body"),
			Answer: cell("answer"),
		}
		switch note := cell("note"); {
		case strings.Contains(note, "auth: none"):
			op.Auth = AuthNone
		case strings.Contains(note, "auth: inbox token"):
			op.Auth = AuthInbox
		case strings.Contains(note, "timeout: upload"):
			op.Upload = true
		}
		if q := cell("query"); q != "" {
			op.Query = strings.Split(q, ",")
		}
		switch op.Class {
		case ClassRead, ClassSend, ClassRepeat, ClassOnce:
		default:
			return t, fmt.Errorf("line %d: unknown retry class %q", n+1, op.Class)
		}
		if op.Name == "" || op.Method == "" || !strings.HasPrefix(op.Path, "/") {
			return t, fmt.Errorf("line %d: no operation", n+1)
		}
		if _, ok := t.byName[op.Name]; ok {
			return t, fmt.Errorf("line %d: %s is there twice", n+1, op.Name)
		}
		t.list = append(t.list, op)
		t.byName[op.Name] = op
	}
	return t, nil
}
