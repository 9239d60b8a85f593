package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// templateDetail gives a template with its latest version.
func (s *Server) templateDetail(ctx context.Context, key string) (map[string]any, error) {
	rtx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	t, err := findTemplate(ctx, rtx, key, "")
	if err != nil {
		return nil, err
	}
	v, err := findVersion(ctx, rtx, t.id, t.latest, "")
	if err != nil {
		return nil, err
	}
	out := t.wire(v)
	out["latest"] = v.wire()
	return out, nil
}

func (s *Server) getTemplate(c *call) (any, error) { return s.templateDetail(c.ctx, c.params[0]) }

func (s *Server) listTemplates(c *call) (any, error) {
	p, err := c.paging()
	if err != nil {
		return nil, err
	}
	var where conditions
	switch v := c.query.Get("status"); v {
	case "":
		where.add("status <> 'archived'")
	case "draft", "active", "archived":
		where.add("status = ?", v)
	default:
		return nil, invalidField("status", "status must be draft, active or archived.")
	}
	words, err := c.words("search", fold)
	if err != nil {
		return nil, err
	}
	where.contain(words, `folded LIKE ? ESCAPE '\'`)
	order := "updated_at DESC, id DESC"
	switch c.query.Get("sort") {
	case "name":
		order = "folded, id"
	case "oldest":
		order = "created_at, id"
	case "newest", "created":
		order = "created_at DESC, id DESC"
	}
	rtx, err := s.reader.BeginTx(c.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	all, err := collect(c.ctx, rtx, func(row scanner) (*storedTemplate, error) {
		t := &storedTemplate{}
		return t, row.Scan(t.scan()...)
	}, "SELECT "+templateColumns+" FROM templates WHERE "+where.String()+" ORDER BY "+order+" LIMIT ? OFFSET ?", append(where.args, p.limit+1, p.cur.At)...)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for i, t := range all {
		v, err := findVersion(c.ctx, rtx, t.id, t.latest, "")
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{cursor{At: p.cur.At + int64(i) + 1, ID: 1}, t.wire(v)})
	}
	return p.page(entries), nil
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// freeSlug makes a slug of a name that no other template has; a given one must be free.
func (t *tx) freeSlug(given, name string, but int64) (string, error) {
	slug := strings.Trim(notSlug.ReplaceAllString(fold(name), "-"), "-")
	if given != "" {
		slug = given
		if notSlug.ReplaceAllString(given, "-") != given || len(given) > 100 {
			return "", invalidField("slug", "A slug is lower-case letters and digits joined by single hyphens.")
		}
		if _, isID := parseID("tpl", given); isID {
			return "", invalidField("slug", "A slug must not look like an id.")
		}
	}
	if slug == "" {
		slug = "template"
	}
	slug = clip(slug, 80)
	for n := 1; ; n++ {
		try := slug
		if n > 1 {
			try = fmt.Sprintf("%s-%d", slug, n)
		}
		var other int64
		err := t.row("SELECT id FROM templates WHERE slug = ? AND id <> ?", []any{try, but}, &other)
		if errors.Is(err, sql.ErrNoRows) {
			return try, nil
		}
		if err != nil {
			return "", err
		}
		if given != "" {
			return "", conflict("template_exists", "There is a template with the slug %s; choose another one.", slug)
		}
	}
}

func (t *tx) putVersion(template, version int64, content *templateContent) error {
	if content.slots == nil {
		content.slots = []templateValue{}
	}
	if content.props == nil {
		content.props = []templateValue{}
	}
	slots, err1 := json.Marshal(content.slots)
	props, err2 := json.Marshal(content.props)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return t.exec(`INSERT INTO template_versions(template_id, version, subject, html, slots, props, created_at) VALUES(?,?,?,?,?,?,?)
		ON CONFLICT(template_id, version) DO UPDATE SET subject = excluded.subject, html = excluded.html, slots = excluded.slots, props = excluded.props`,
		template, version, content.subject, content.html, string(slots), string(props), t.now)
}

func (t *tx) addTemplate(name, slug string, description sql.NullString, content *templateContent, publish bool) (int64, error) {
	var n int
	if err := t.row("SELECT count(*) FROM templates", nil, &n); err != nil {
		return 0, err
	}
	if n >= maxTemplates {
		return 0, &apiError{422, "workspace_limit_reached", fmt.Sprintf("There are %d templates, the most that there can be; delete one first.", maxTemplates), ""}
	}
	slug, err := t.freeSlug(slug, name, 0)
	if err != nil {
		return 0, err
	}
	id, err := t.insert("INSERT INTO templates(name, slug, description, status, latest, folded, created_at, updated_at) VALUES(?,?,?,'draft',1,?,?,?)",
		name, slug, description, fold(name+" "+slug+" "+description.String), t.now, t.now)
	if err != nil {
		return 0, err
	}
	if err := t.putVersion(id, 1, content); err != nil || !publish {
		return id, err
	}
	return id, t.publish(id, 1)
}

func (t *tx) publish(template, version int64) error {
	if err := t.exec("UPDATE template_versions SET published_at = coalesce(published_at, ?) WHERE template_id = ? AND version = ?", t.now, template, version); err != nil {
		return err
	}
	return t.exec("UPDATE templates SET published = ?, status = CASE status WHEN 'archived' THEN status ELSE 'active' END, updated_at = ? WHERE id = ?", version, t.now, template)
}

func readDescription(f fields) (sql.NullString, error) {
	v, err := f.text("description")
	return sql.NullString{String: clip(v, 2000), Valid: v != ""}, err
}

func (s *Server) createTemplate(c *call) (any, error) {
	name, err := c.body.name("A template")
	if err != nil {
		return nil, err
	}
	slug, err := c.body.text("slug")
	if err != nil {
		return nil, err
	}
	description, err := readDescription(c.body)
	if err != nil {
		return nil, err
	}
	publish, _, err := c.body.boolean("publish")
	if err != nil {
		return nil, err
	}
	var content templateContent
	if _, err := content.read(c.body); err != nil {
		return nil, err
	}
	var id int64
	err = s.write(c.ctx, func(t *tx) error {
		id, err = t.addTemplate(name, slug, description, &content, publish)
		return err
	})
	if err != nil {
		return nil, err
	}
	out, err := s.templateDetail(c.ctx, wireID("tpl", id))
	delete(out, "latest") // which only reading a template gives
	return out, err
}

// changeTemplate runs fn on the template of the path and its latest version, if expectedVersion agrees.
func (s *Server) changeTemplate(c *call, fn func(*tx, *storedTemplate, *templateVersion) error) error {
	expected, given, err := c.body.whole("expectedVersion")
	if err != nil {
		return err
	}
	return s.write(c.ctx, func(t *tx) error {
		tpl, err := findTemplate(t.ctx, t.Tx, c.params[0], "")
		if err != nil {
			return err
		}
		if given && expected != tpl.latest {
			return conflict("version_conflict", "The template is at version %d, not %d.", tpl.latest, expected)
		}
		v, err := findVersion(t.ctx, t.Tx, tpl.id, tpl.latest, "")
		if err != nil {
			return err
		}
		return fn(t, tpl, v)
	})
}

// setContent gives a template another content: the draft is changed, after a published version a new one begins.
func (t *tx) setContent(tpl *storedTemplate, latest *templateVersion, content *templateContent) error {
	version := tpl.latest
	if latest.published.Valid {
		version++
	}
	if err := t.putVersion(tpl.id, version, content); err != nil {
		return err
	}
	return t.exec("UPDATE templates SET latest = ?, updated_at = ? WHERE id = ?", version, t.now, tpl.id)
}

func (s *Server) updateTemplate(c *call) (any, error) {
	var id int64
	err := s.changeTemplate(c, func(t *tx, tpl *storedTemplate, latest *templateVersion) error {
		id = tpl.id
		var err error
		if c.body.has("name") {
			if tpl.name, err = c.body.name("A template"); err != nil {
				return err
			}
		}
		if c.body.has("slug") {
			slug, err := c.body.text("slug")
			if err != nil {
				return err
			}
			if tpl.slug, err = t.freeSlug(slug, tpl.name, tpl.id); err != nil {
				return err
			}
		}
		if _, given := c.body["description"]; given {
			if tpl.description, err = readDescription(c.body); err != nil {
				return err
			}
		}
		status, err := c.body.oneOf("status", "", "active", "archived")
		if err != nil {
			return err
		}
		switch {
		case status == "archived":
			tpl.status = status
		case status == "active" && !tpl.published.Valid:
			return invalidField("status", "A template without a published version cannot be active; publish it.")
		case status == "active":
			tpl.status = status
		}
		content := latest.content
		changed, err := content.read(c.body)
		if err != nil {
			return err
		}
		if changed {
			if err := t.setContent(tpl, latest, &content); err != nil {
				return err
			}
		}
		return t.exec("UPDATE templates SET name = ?, slug = ?, description = ?, status = ?, folded = ?, updated_at = ? WHERE id = ?",
			tpl.name, tpl.slug, tpl.description, tpl.status, fold(tpl.name+" "+tpl.slug+" "+tpl.description.String), t.now, tpl.id)
	})
	if err != nil {
		return nil, err
	}
	return s.templateDetail(c.ctx, wireID("tpl", id))
}

func (s *Server) deleteTemplate(c *call) (any, error) {
	var id int64
	err := s.changeTemplate(c, func(t *tx, tpl *storedTemplate, _ *templateVersion) error {
		id = tpl.id
		if err := t.exec("DELETE FROM template_versions WHERE template_id = ?", id); err != nil {
			return err
		}
		return t.exec("DELETE FROM templates WHERE id = ?", id)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "template", "id": wireID("tpl", id), "deleted": true}, nil
}

func (s *Server) duplicateTemplate(c *call) (any, error) {
	name := ""
	if c.body.has("name") {
		var err error
		if name, err = c.body.name("A template"); err != nil {
			return nil, err
		}
	}
	var id int64
	err := s.changeTemplate(c, func(t *tx, tpl *storedTemplate, latest *templateVersion) error {
		if name == "" {
			name = clip("Copy of "+tpl.name, 200)
		}
		var err error
		id, err = t.addTemplate(name, "", tpl.description, &latest.content, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.templateDetail(c.ctx, wireID("tpl", id))
}

// replaceContent takes over the content of another template.
func (s *Server) replaceContent(c *call) (any, error) {
	from, err := c.body.text("fromTemplateId")
	if err != nil {
		return nil, err
	}
	if from == "" {
		return nil, invalidField("fromTemplateId", "fromTemplateId is missing; starters are part of the hosted service.")
	}
	var id int64
	err = s.changeTemplate(c, func(t *tx, tpl *storedTemplate, latest *templateVersion) error {
		id = tpl.id
		src, err := findTemplate(t.ctx, t.Tx, from, "fromTemplateId")
		if err != nil {
			return err
		}
		v, err := findVersion(t.ctx, t.Tx, src.id, src.latest, "fromTemplateId")
		if err != nil {
			return err
		}
		return t.setContent(tpl, latest, &v.content)
	})
	if err != nil {
		return nil, err
	}
	return s.templateDetail(c.ctx, wireID("tpl", id))
}
