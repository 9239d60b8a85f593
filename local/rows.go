package local

import (
	"context"
	"strings"
	"time"
)

// What the handlers of simple tables share.

// id reads the id of the path.
func (c *call) id(prefix, what string) (int64, error) {
	id, ok := parseID(prefix, c.params[0])
	if !ok {
		return 0, notFound(what, "")
	}
	return id, nil
}

func wrap(id int64, out map[string]any, err error) (int64, any, error) { return id, out, err }

// name reads the name of something, at most 200 bytes in one line.
func (f fields) name(whose string) (string, error) {
	v, ok := f["name"].(string)
	v = strings.TrimSpace(noControls(v))
	if !ok || v == "" || len(v) > 200 {
		return "", invalidField("name", "%s needs a name of at most 200 bytes.", whose)
	}
	return v, nil
}

// oneOf reads a word of a list; a missing one is otherwise.
func (f fields) oneOf(field, otherwise string, words ...string) (string, error) {
	v, err := f.text(field)
	if err != nil {
		return "", err
	}
	if v == "" {
		return otherwise, nil
	}
	for _, w := range words {
		if v == w {
			return v, nil
		}
	}
	return "", invalidField(field, "%s must be one of %s.", field, strings.Join(words, ", "))
}

// textsUpTo reads a list of strings that may not be longer.
func (f fields) textsUpTo(name string, most int) ([]string, error) {
	list, err := f.texts(name)
	if err == nil && len(list) > most {
		err = invalidField(name, "%s may have %d entries at most.", name, most)
	}
	return list, err
}

// maxQueryWords is the most words of a search by name or subject.
const maxQueryWords = 30

// words gives the words that a list is searched for, folded as what it is compared with.
func (c *call) words(name string, fold func(string) string) ([]string, error) {
	words := strings.Fields(fold(c.query.Get(name)))
	if len(words) > maxQueryWords {
		return nil, invalidField(name, "%s may have %d words at most.", name, maxQueryWords)
	}
	return words, nil
}

// queryInstant reads an instant of the query.
func (c *call) queryInstant(name string) (t time.Time, given bool, err error) {
	v := c.query.Get(name)
	if v == "" {
		return time.Time{}, false, nil
	}
	t, ok := parseInstant(v)
	if !ok {
		return time.Time{}, false, invalidField(name, "%s must be an instant such as 2026-03-01T09:30:00.000Z.", name)
	}
	return t, true, nil
}

// queryBool reads true or false of the query.
func (c *call) queryBool(name string) (value, given bool, err error) {
	switch c.query.Get(name) {
	case "":
		return false, false, nil
	case "true", "false":
		return c.query.Get(name) == "true", true, nil
	}
	return false, false, invalidField(name, "%s must be true or false.", name)
}

// collect gives all rows of a query.
func collect[T any](ctx context.Context, db queryer, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// paging is the page of a list that a request asks for.
type paging struct {
	limit int
	after bool // the page begins behind cur
	cur   cursor
	next  string // name of the cursor in the answer
}

func (c *call) paging() (paging, error) { return c.pagingBy("cursor", "nextCursor") }

func (c *call) pagingBy(asked, next string) (p paging, err error) {
	p.next = next
	if p.limit, err = c.limit(); err != nil {
		return p, err
	}
	p.cur, p.after, err = c.cursor(asked)
	return p, err
}

// entry is one of a list, and its place there.
type entry struct {
	key   cursor
	value any
}

// page gives the first entries up to the limit; one more says that there are more.
func (p paging) page(entries []entry) map[string]any {
	more := len(entries) > p.limit
	var data []any
	next := cursor{}
	for _, e := range entries[:min(len(entries), p.limit)] {
		data, next = append(data, e.value), e.key
	}
	return page(data, more, p.next, next)
}

// of gives the page of a list that is there as a whole: the cursor is a place in it.
func (p paging) of(all []any) map[string]any {
	begin := min(max(int(p.cur.At), 0), len(all))
	end := min(begin+p.limit, len(all))
	return page(all[begin:end], end < len(all), p.next, cursor{At: int64(end), ID: 1})
}

// conditions are those that the rows of a query meet, and their values. The zero value has none.
type conditions struct {
	parts []string
	args  []any
}

func (w *conditions) add(part string, args ...any) {
	w.parts, w.args = append(w.parts, part), append(w.args, args...)
}

// contain asks for every word to stand somewhere in the text of the part, whose marks all stand for the word.
func (w *conditions) contain(words []string, part string) {
	for _, word := range words {
		w.parts = append(w.parts, part)
		for range strings.Count(part, "?") {
			w.args = append(w.args, "%"+escapeLike(word)+"%")
		}
	}
}

// String is what follows WHERE.
func (w *conditions) String() string {
	if len(w.parts) == 0 {
		return "1"
	}
	return strings.Join(w.parts, " AND ")
}

// pageOf gives the page of a query that orders its rows and does not limit them.
func (s *Server) pageOf(c *call, p paging, scan func(scanner) (entry, error), query string, args ...any) (map[string]any, error) {
	entries, err := collect(c.ctx, s.reader, scan, query+" LIMIT ?", append(args, p.limit+1)...)
	if err != nil {
		return nil, err
	}
	return p.page(entries), nil
}

// listByID pages through a query that ends in its conditions, newest id first. The scan gives the id and the answer of a
// row.
func (s *Server) listByID(c *call, query string, args []any, scan func(scanner) (int64, any, error)) (any, error) {
	p, err := c.paging()
	if err != nil {
		return nil, err
	}
	if p.after {
		query, args = query+" AND id < ?", append(args, p.cur.ID)
	}
	return s.pageOf(c, p, func(row scanner) (entry, error) {
		id, v, err := scan(row)
		return entry{cursor{ID: id}, v}, err
	}, query+" ORDER BY id DESC", args...)
}

// listAll gives all rows of a query, without pages.
func (s *Server) listAll(c *call, scan func(scanner) (int64, map[string]any, error), query string, args ...any) ([]any, error) {
	return collect(c.ctx, s.reader, func(row scanner) (any, error) {
		_, v, err := scan(row)
		return v, err
	}, query, args...)
}

// mustChange runs a statement that must change some row.
func (t *tx) mustChange(what, query string, args ...any) error {
	res, err := t.result(query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = notFound(what, "")
	}
	return err
}

// deleteRow deletes the row that the path names.
func (s *Server) deleteRow(c *call, prefix, object, what, query string) (any, error) {
	id, err := c.id(prefix, what)
	if err != nil {
		return nil, err
	}
	if err := s.write(c.ctx, func(t *tx) error { return t.mustChange(what, query, id) }); err != nil {
		return nil, err
	}
	return map[string]any{"object": object, "id": c.params[0], "deleted": true}, nil
}

func list[T any](data []T) map[string]any {
	if data == nil {
		data = []T{}
	}
	return map[string]any{"object": "list", "data": data}
}
