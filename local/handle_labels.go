package local

import (
	"database/sql"
	"strings"
)

const labelColumns = `l.id, l.name, l.background, l.foreground, l.ai_instructions, l.ai_enabled, l.created_at, l.updated_at,
	coalesce((SELECT count FROM place_counts WHERE place = l.id + 1000), 0)`

func scanLabel(row scanner) (id int64, out map[string]any, err error) {
	var name string
	var background, foreground, instructions sql.NullString
	var enabled bool
	var created, updated, count int64
	if err := row.Scan(&id, &name, &background, &foreground, &instructions, &enabled, &created, &updated, &count); err != nil {
		return 0, nil, err
	}
	out = map[string]any{
		"object": "label", "id": wireID("lbl", id), "name": name, "type": "user", "color": nil, "threadCount": count,
		"aiInstructions": nullString(instructions), "aiEnabled": enabled, "createdAt": instant(created), "updatedAt": instant(updated),
	}
	if background.Valid {
		out["color"] = map[string]any{"backgroundColor": background.String, "textColor": foreground.String}
	}
	return id, out, nil
}

// systemLabel gives one of the labels that stand for folders.
func systemLabel(id string, count int64) map[string]any {
	return map[string]any{
		"object": "label", "id": id, "name": systemName(id), "type": "system", "color": nil, "threadCount": count,
		"aiInstructions": nil, "aiEnabled": false, "createdAt": nil, "updatedAt": nil,
	}
}

func (s *Server) systemCount(c *call, id string) (int64, error) {
	var n int64
	if id == labelDraft {
		err := s.reader.QueryRowContext(c.ctx, "SELECT count(*) FROM drafts").Scan(&n)
		return n, err
	}
	place, _ := systemPlace(id)
	err := s.reader.QueryRowContext(c.ctx, "SELECT coalesce((SELECT count FROM place_counts WHERE place = ?), 0)", place).Scan(&n)
	return n, err
}

// listLabels gives the system labels first, then the user's by name.
func (s *Server) listLabels(c *call) (any, error) {
	p, err := c.paging()
	if err != nil {
		return nil, err
	}
	var entries []entry
	// The cursor of a system label holds its place in the list in At, that of a user label its folded name.
	if !p.after || p.cur.At > 0 {
		for i, id := range systemLabels {
			if int64(i) < p.cur.At {
				continue
			}
			n, err := s.systemCount(c, id)
			if err != nil {
				return nil, err
			}
			entries = append(entries, entry{cursor{At: int64(i + 1), ID: 1}, systemLabel(id, n)})
		}
	}
	where, args := "1", []any{}
	if p.after && p.cur.At == 0 {
		where, args = "(l.folded, l.id) > (?, ?)", []any{p.cur.Text, p.cur.ID}
	}
	labels, err := collect(c.ctx, s.reader, func(row scanner) (entry, error) {
		var folded string
		id, l, err := scanLabel(scanFunc(func(into ...any) error { return row.Scan(append([]any{&folded}, into...)...) }))
		return entry{cursor{Text: folded, ID: id}, l}, err
	}, "SELECT l.folded, "+labelColumns+" FROM labels l WHERE "+where+" ORDER BY l.folded, l.id LIMIT ?", append(args, p.limit+1)...)
	if err != nil {
		return nil, err
	}
	return p.page(append(entries, labels...)), nil
}

type scanFunc func(...any) error

func (f scanFunc) Scan(into ...any) error { return f(into...) }

func (s *Server) getLabel(c *call) (any, error) {
	wire := c.params[0]
	if isSystemLabel(wire) {
		n, err := s.systemCount(c, wire)
		return systemLabel(wire, n), err
	}
	id, ok := parseID("lbl", wire)
	if !ok {
		return nil, notFound("label", "")
	}
	return s.label(c, id)
}

func (s *Server) label(c *call, id int64) (any, error) {
	_, out, err := scanLabel(s.reader.QueryRowContext(c.ctx, "SELECT "+labelColumns+" FROM labels l WHERE l.id = ?", id))
	if err != nil {
		return nil, found(err, "label", "")
	}
	return out, nil
}

// labelFields are the columns that a request sets.
type labelFields struct {
	name                   string
	background, foreground sql.NullString
	instructions           sql.NullString
	enabled                bool
}

func readLabel(f fields, l *labelFields) error {
	if v, given := f["name"]; given || l.name == "" {
		name, ok := v.(string)
		name = strings.TrimSpace(noControls(name))
		if !ok || name == "" || len(name) > 200 {
			return invalidField("name", "A label needs a name of at most 200 bytes.")
		}
		if isSystemLabel(strings.ToUpper(name)) {
			return invalidField("name", "%s is the name of a system label.", name)
		}
		l.name = name
	}
	if v, given := f["color"]; given {
		switch v := v.(type) {
		case nil:
			l.background, l.foreground = sql.NullString{}, sql.NullString{}
		case map[string]any:
			bg, err1 := fields(v).text("backgroundColor")
			fg, err2 := fields(v).text("textColor")
			if err1 != nil || err2 != nil || bg == "" || len(bg) > 100 || len(fg) > 100 {
				return invalidField("color", "color needs backgroundColor, a string.")
			}
			if fg == "" {
				fg = "#000000"
			}
			l.background, l.foreground = sql.NullString{String: bg, Valid: true}, sql.NullString{String: fg, Valid: true}
		default:
			return invalidField("color", "color is an object or null.")
		}
	}
	if _, given := f["aiInstructions"]; given {
		v, err := f.text("aiInstructions")
		if err != nil {
			return err
		}
		l.instructions = sql.NullString{String: v, Valid: f["aiInstructions"] != nil}
	}
	if v, given, err := f.boolean("aiEnabled"); err != nil {
		return err
	} else if given {
		l.enabled = v
	}
	return nil
}

func (t *tx) nameIsFree(name string, but int64) error {
	var n int
	if err := t.row("SELECT count(*) FROM labels WHERE folded = ? AND id <> ?", []any{fold(name), but}, &n); err != nil {
		return err
	}
	if n > 0 {
		return conflict("label_exists", "There is a label with the name %s; choose another one.", printable(name))
	}
	return nil
}

func (s *Server) createLabel(c *call) (any, error) {
	var l labelFields
	if err := readLabel(c.body, &l); err != nil {
		return nil, err
	}
	var id int64
	err := s.write(c.ctx, func(t *tx) error {
		if err := t.nameIsFree(l.name, 0); err != nil {
			return err
		}
		var err error
		id, err = t.insert(`INSERT INTO labels(name, folded, background, foreground, ai_instructions, ai_enabled, created_at, updated_at)
			VALUES(?,?,?,?,?,?,?,?)`, l.name, fold(l.name), l.background, l.foreground, l.instructions, l.enabled, t.now, t.now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.label(c, id)
}

// userLabel reads the id of the path; a system label cannot be changed.
func userLabel(c *call) (int64, error) {
	if isSystemLabel(c.params[0]) {
		return 0, &apiError{403, "system_label", "A system label cannot be changed or deleted; make a label of your own.", ""}
	}
	id, ok := parseID("lbl", c.params[0])
	if !ok {
		return 0, notFound("label", "")
	}
	return id, nil
}

func (s *Server) updateLabel(c *call) (any, error) {
	id, err := userLabel(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		var l labelFields
		err := t.row("SELECT name, background, foreground, ai_instructions, ai_enabled FROM labels WHERE id = ?", []any{id},
			&l.name, &l.background, &l.foreground, &l.instructions, &l.enabled)
		if err != nil {
			return found(err, "label", "")
		}
		if err := readLabel(c.body, &l); err != nil {
			return err
		}
		if err := t.nameIsFree(l.name, id); err != nil {
			return err
		}
		return t.exec(`UPDATE labels SET name = ?, folded = ?, background = ?, foreground = ?, ai_instructions = ?, ai_enabled = ?,
			updated_at = ? WHERE id = ?`, l.name, fold(l.name), l.background, l.foreground, l.instructions, l.enabled, t.now, id)
	})
	if err != nil {
		return nil, err
	}
	return s.label(c, id)
}

func (s *Server) deleteLabel(c *call) (any, error) {
	id, err := userLabel(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		res, err := t.result("DELETE FROM labels WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return notFound("label", "")
		}
		for _, q := range []string{
			"DELETE FROM thread_labels WHERE label_id = ?1",
			"DELETE FROM places WHERE place = ?1 + 1000",
			"DELETE FROM place_counts WHERE place = ?1 + 1000",
		} {
			if err := t.exec(q, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "label", "id": c.params[0], "deleted": true}, nil
}

// labelColors are colours that go well with both a light and a dark background.
var labelColors = [][3]string{
	{"Red", "#d93025", "#ffffff"},
	{"Orange", "#e8710a", "#ffffff"},
	{"Yellow", "#f9ab00", "#000000"},
	{"Green", "#188038", "#ffffff"},
	{"Teal", "#129eaf", "#ffffff"},
	{"Blue", "#1a73e8", "#ffffff"},
	{"Purple", "#9334e6", "#ffffff"},
	{"Pink", "#e52592", "#ffffff"},
	{"Brown", "#795548", "#ffffff"},
	{"Gray", "#5f6368", "#ffffff"},
}

func (s *Server) listLabelColors(*call) (any, error) {
	var data []any
	for _, c := range labelColors {
		data = append(data, map[string]any{
			"object": "label_color", "kind": "solid", "name": c[0], "value": c[1], "solid": c[1], "from": nil, "to": nil, "textColor": c[2],
		})
	}
	return list(data), nil
}
