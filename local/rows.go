package local

import (
	"strings"
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

// name reads a name of at most 200 bytes in one line.
func (f fields) name(field, whose string) (string, error) {
	v, ok := f[field].(string)
	v = strings.TrimSpace(noControls(v))
	if !ok || v == "" || len(v) > 200 {
		return "", invalidField(field, "%s needs a %s of at most 200 bytes.", whose, field)
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

// listByID pages through a query that ends in its conditions, newest id first. The scan gives the id and the answer of a
// row.
func (s *Server) listByID(c *call, query string, args []any, scan func(scanner) (int64, any, error)) (any, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	cur, after, err := c.cursor("cursor")
	if err != nil {
		return nil, err
	}
	if after {
		query, args = query+" AND id < ?", append(args, cur.ID)
	}
	rows, err := s.reader.QueryContext(c.ctx, query+" ORDER BY id DESC LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var data []any
	more, next := false, cursor{}
	for rows.Next() {
		id, v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		if more = len(data) == limit; more {
			break
		}
		next.ID = id
		data = append(data, v)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return page(data, more, "nextCursor", next), nil
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

func list(data []any) map[string]any {
	if data == nil {
		data = []any{}
	}
	return map[string]any{"object": "list", "data": data}
}
