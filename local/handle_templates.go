package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// templateValue is a slot or a prop: a place in the text that is filled when the template is sent.
type templateValue struct {
	Key      string  `json:"key"`
	Label    string  `json:"label,omitempty"`
	Kind     string  `json:"kind"`
	Required bool    `json:"required"`
	Default  *string `json:"default"`
}

func (v templateValue) slot() map[string]any {
	out := map[string]any{"key": v.Key, "kind": v.Kind, "default": ""}
	if v.Label != "" {
		out["label"] = v.Label
	}
	if v.Default != nil {
		out["default"] = *v.Default
	}
	return out
}

func (v templateValue) prop() map[string]any {
	out := v.slot()
	out["required"] = v.Required
	if v.Default == nil {
		out["default"] = nil
	}
	return out
}

// templateContent is what a version holds.
type templateContent struct {
	subject, html string
	slots, props  []templateValue
}

const (
	maxTemplateBytes = 2 << 20
	maxTemplates     = 1000
)

var (
	valueKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
	// A placeholder is {{key}} or {{{key}}}; only the second takes HTML.
	placeholder = regexp.MustCompile(`\{\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}\}|\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}`)
)

// read takes what a request gives of a content; changed says whether there was anything.
func (t *templateContent) read(f fields) (changed bool, err error) {
	if f.has("document") || f["engine"] == "blocks" {
		return false, &apiError{501, "not_available_locally", "The block editor is part of the hosted service; give html.", "engine"}
	}
	if _, err := f.oneOf("engine", "html", "html"); err != nil {
		return false, err
	}
	if f.has("starter") {
		return false, &apiError{501, "not_available_locally", "Starters are part of the hosted service.", "starter"}
	}
	for name, into := range map[string]*string{"subject": &t.subject, "html": &t.html} {
		if _, given := f[name]; !given {
			continue
		}
		v, err := f.text(name)
		if err != nil {
			return false, err
		}
		if len(v) > maxTemplateBytes {
			return false, invalidField(name, "%s is larger than %d MiB.", name, maxTemplateBytes>>20)
		}
		if name == "subject" {
			v = strings.TrimSpace(noControls(v))
		}
		*into, changed = v, true
	}
	for name, into := range map[string]*[]templateValue{"slots": &t.slots, "props": &t.props} {
		if _, given := f[name]; !given {
			continue
		}
		if *into, err = readValues(name, f[name]); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

func readValues(param string, v any) ([]templateValue, error) {
	raw, ok := v.([]any)
	if v != nil && !ok || len(raw) > 200 {
		return nil, invalidField(param, "%s must be a list of at most 200 objects.", param)
	}
	out := []templateValue{}
	for i, e := range raw {
		m, ok := e.(map[string]any)
		f := fields(m)
		key, err1 := f.text("key")
		label, err2 := f.text("label")
		kind, err3 := f.oneOf("kind", "text", "text", "url", "image")
		required, _, err4 := f.boolean("required")
		value, err5 := f.text("default")
		if !ok || errors.Join(err1, err2, err3, err4, err5) != nil || !valueKey.MatchString(key) {
			return nil, invalidField(param, "Entry %d of %s needs a key of letters, digits and _ . - and may have label, kind, required and default.", i+1, param)
		}
		if slices.ContainsFunc(out, func(o templateValue) bool { return o.Key == key }) {
			return nil, invalidField(param, "The key %s is there twice.", key)
		}
		tv := templateValue{Key: key, Label: label, Kind: kind, Required: required}
		if f.has("default") {
			tv.Default = &value
		}
		out = append(out, tv)
	}
	return out, nil
}

// rendered is a filled template.
type rendered struct {
	subject, html, text string
	unfilled            []string
	missing             []string // required props without a value
}

func (r *rendered) wire() map[string]any {
	warnings := []any{}
	for _, k := range r.unfilled {
		warnings = append(warnings, map[string]any{"code": "unfilled_placeholder", "key": k})
	}
	return map[string]any{"subject": r.subject, "html": r.html, "text": r.text, "warnings": warnings}
}

func plainValue(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// render fills the placeholders. What a text holds never becomes markup.
func (t *templateContent) render(props, slots map[string]any) *rendered {
	values := map[string]string{}
	r := &rendered{}
	for _, group := range []struct {
		known []templateValue
		given map[string]any
	}{{t.slots, slots}, {t.props, props}} {
		for _, k := range group.known {
			if k.Default != nil {
				values[k.Key] = *k.Default
			}
		}
		for k, v := range group.given {
			if text, ok := plainValue(v); ok {
				values[k] = text
			}
		}
		for _, k := range group.known {
			if k.Required && values[k.Key] == "" {
				r.missing = append(r.missing, k.Key)
			}
		}
	}
	fill := func(text string, escape bool) string {
		return placeholder.ReplaceAllStringFunc(text, func(p string) string {
			raw := strings.HasPrefix(p, "{{{")
			key := strings.TrimSpace(strings.Trim(p, "{}"))
			v, ok := values[key]
			if !ok {
				if !slices.Contains(r.unfilled, key) {
					r.unfilled = append(r.unfilled, key)
				}
				return ""
			}
			if escape && !raw {
				return html.EscapeString(v)
			}
			return v
		})
	}
	r.subject = strings.TrimSpace(noControls(fill(t.subject, false)))
	r.html = fill(t.html, true)
	r.text = htmlText(r.html)
	return r
}

func valueMap(f fields, name string) (map[string]any, error) {
	switch v := f[name].(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	}
	return nil, invalidField(name, "%s must be an object.", name)
}

// storedTemplate is a row of templates.
type storedTemplate struct {
	id                 int64
	name, slug, status string
	description        sql.NullString
	published          sql.NullInt64
	latest             int64
	created, updated   int64
}

const templateColumns = "id, name, slug, status, description, published, latest, created_at, updated_at"

func (t *storedTemplate) scan() []any {
	return []any{&t.id, &t.name, &t.slug, &t.status, &t.description, &t.published, &t.latest, &t.created, &t.updated}
}

// wire gives the template with what its content says.
func (t *storedTemplate) wire(v *templateVersion) map[string]any {
	out := map[string]any{
		"object": "template", "id": wireID("tpl", t.id), "name": t.name, "slug": t.slug, "description": nullString(t.description), "status": t.status,
		"publishedVersion": nil, "latestVersion": t.latest, "createdAt": instant(t.created), "updatedAt": instant(t.updated),
	}
	if t.published.Valid {
		out["publishedVersion"] = t.published.Int64
	}
	if v != nil {
		out["subject"], out["engine"] = v.content.subject, "html"
		out["slots"], out["props"] = v.content.wireValues()
	}
	return out
}

func (t *templateContent) wireValues() (slots, props []any) {
	slots, props = []any{}, []any{}
	for _, v := range t.slots {
		slots = append(slots, v.slot())
	}
	for _, v := range t.props {
		props = append(props, v.prop())
	}
	return slots, props
}

type templateVersion struct {
	template  int64
	version   int64
	content   templateContent
	published sql.NullInt64
	created   int64
}

const versionColumns = "template_id, version, subject, html, slots, props, published_at, created_at"

func scanVersion(row scanner) (*templateVersion, error) {
	v := &templateVersion{}
	var slots, props string
	err := row.Scan(&v.template, &v.version, &v.content.subject, &v.content.html, &slots, &props, &v.published, &v.created)
	if err != nil {
		return nil, err
	}
	return v, errors.Join(json.Unmarshal([]byte(slots), &v.content.slots), json.Unmarshal([]byte(props), &v.content.props))
}

func (v *templateVersion) wire() map[string]any {
	slots, props := v.content.wireValues()
	state := "draft"
	if v.published.Valid {
		state = "published"
	}
	return map[string]any{
		"object": "template_version", "id": fmt.Sprintf("tpv_%d_%d", v.template, v.version), "templateId": wireID("tpl", v.template), "version": v.version,
		"state": state, "engine": "html", "subject": v.content.subject, "slots": slots, "props": props, "html": v.content.html,
		"publishedAt": instantOrNull(v.published), "createdAt": instant(v.created),
	}
}

// findTemplate finds a template by its id or its slug.
func findTemplate(ctx context.Context, db queryRower, key, param string) (*storedTemplate, error) {
	t := &storedTemplate{}
	id, ok := parseID("tpl", key)
	query, arg := "SELECT "+templateColumns+" FROM templates WHERE slug = ?", any(key)
	if ok {
		query, arg = "SELECT "+templateColumns+" FROM templates WHERE id = ?", id
	}
	return t, found(db.QueryRowContext(ctx, query, arg).Scan(t.scan()...), "template", param)
}

func findVersion(ctx context.Context, db queryRower, template, version int64, param string) (*templateVersion, error) {
	v, err := scanVersion(db.QueryRowContext(ctx, "SELECT "+versionColumns+" FROM template_versions WHERE template_id = ? AND version = ?", template, version))
	return v, found(err, "version of the template", param)
}

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
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	cur, _, err := c.cursor("cursor")
	if err != nil {
		return nil, err
	}
	where, args := "1", []any{}
	switch v := c.query.Get("status"); v {
	case "":
		where = "status <> 'archived'"
	case "draft", "active", "archived":
		where, args = "status = ?", append(args, v)
	default:
		return nil, invalidField("status", "status must be draft, active or archived.")
	}
	for word := range strings.FieldsSeq(fold(c.query.Get("search"))) {
		where, args = where+` AND folded LIKE ? ESCAPE '\'`, append(args, "%"+escapeLike(word)+"%")
	}
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
	rows, err := rtx.QueryContext(c.ctx, "SELECT "+templateColumns+" FROM templates WHERE "+where+" ORDER BY "+order+" LIMIT ? OFFSET ?", append(args, limit+1, cur.At)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*storedTemplate
	for rows.Next() {
		t := &storedTemplate{}
		if err := rows.Scan(t.scan()...); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	more := len(all) > limit
	var data []any
	for _, t := range all[:min(limit, len(all))] {
		v, err := findVersion(c.ctx, rtx, t.id, t.latest, "")
		if err != nil {
			return nil, err
		}
		data = append(data, t.wire(v))
	}
	return page(data, more, "nextCursor", cursor{At: cur.At + int64(len(data)), ID: 1}), nil
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
			return "", conflict("template_exists", "There is a template with this slug.")
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
		return 0, &apiError{422, "workspace_limit_reached", "There are as many templates as there can be.", ""}
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
	name, err := c.body.name("name", "A template")
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
			if tpl.name, err = c.body.name("name", "A template"); err != nil {
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

func (s *Server) publishTemplate(c *call) (any, error) {
	var version *templateVersion
	var tpl *storedTemplate
	err := s.changeTemplate(c, func(t *tx, have *storedTemplate, latest *templateVersion) error {
		if have.status == "archived" {
			return templateArchived()
		}
		if err := t.publish(have.id, have.latest); err != nil {
			return err
		}
		var err error
		if tpl, err = findTemplate(t.ctx, t.Tx, c.params[0], ""); err != nil {
			return err
		}
		version, err = findVersion(t.ctx, t.Tx, have.id, have.latest, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	out := version.wire()
	out["template"] = tpl.wire(version)
	return out, nil
}

func templateArchived() error {
	return &apiError{422, "template_archived", "This template is archived.", ""}
}

func (s *Server) duplicateTemplate(c *call) (any, error) {
	name := ""
	if c.body.has("name") {
		var err error
		if name, err = c.body.name("name", "A template"); err != nil {
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

func (s *Server) listTemplateVersions(c *call) (any, error) {
	tpl, err := findTemplate(c.ctx, s.reader, c.params[0], "")
	if err != nil {
		return nil, err
	}
	return s.listByID(c, "SELECT "+versionColumns+" FROM (SELECT version AS id, * FROM template_versions) WHERE template_id = ?", []any{tpl.id},
		func(row scanner) (int64, any, error) {
			v, err := scanVersion(row)
			if err != nil {
				return 0, nil, err
			}
			return v.version, v.wire(), nil
		})
}

// version reads the version of the path.
func (s *Server) pathVersion(c *call) (*storedTemplate, *templateVersion, error) {
	tpl, err := findTemplate(c.ctx, s.reader, c.params[0], "")
	if err != nil {
		return nil, nil, err
	}
	n, err := strconv.ParseInt(c.params[1], 10, 64)
	if err != nil {
		return nil, nil, notFound("version of the template", "")
	}
	v, err := findVersion(c.ctx, s.reader, tpl.id, n, "")
	return tpl, v, err
}

func (s *Server) getTemplateVersion(c *call) (any, error) {
	tpl, v, err := s.pathVersion(c)
	if err != nil {
		return nil, err
	}
	out := v.wire()
	out["template"] = tpl.wire(v)
	return out, nil
}

func (s *Server) deleteTemplateVersion(c *call) (any, error) {
	tpl, v, err := s.pathVersion(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		now, err := findTemplate(t.ctx, t.Tx, wireID("tpl", tpl.id), "")
		if err != nil {
			return err
		}
		if v.version == now.latest || now.published.Valid && v.version == now.published.Int64 {
			return conflict("version_in_use", "The latest and the published version of a template cannot be deleted.")
		}
		return t.exec("DELETE FROM template_versions WHERE template_id = ? AND version = ?", tpl.id, v.version)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "template_version", "templateId": wireID("tpl", tpl.id), "version": v.version, "deleted": true}, nil
}

func (s *Server) restoreTemplateVersion(c *call) (any, error) {
	tpl, v, err := s.pathVersion(c)
	if err != nil {
		return nil, err
	}
	err = s.changeTemplate(c, func(t *tx, have *storedTemplate, latest *templateVersion) error {
		return t.setContent(have, latest, &v.content)
	})
	if err != nil {
		return nil, err
	}
	out, err := s.templateDetail(c.ctx, wireID("tpl", tpl.id))
	if err != nil {
		return nil, err
	}
	out["restoredFrom"] = v.version
	return out, nil
}

func (s *Server) previewTemplate(c *call) (any, error) {
	tpl, err := findTemplate(c.ctx, s.reader, c.params[0], "")
	if err != nil {
		return nil, err
	}
	version, given, err := c.body.whole("version")
	if err != nil {
		return nil, err
	}
	if !given {
		version = tpl.latest
	}
	v, err := findVersion(c.ctx, s.reader, tpl.id, version, "version")
	if err != nil {
		return nil, err
	}
	props, err1 := valueMap(c.body, "props")
	slots, err2 := valueMap(c.body, "slots")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	out := v.content.render(props, slots).wire()
	out["object"], out["templateId"], out["version"] = "template_preview", wireID("tpl", tpl.id), v.version
	return out, nil
}

// renderTemplate renders a content that is not stored.
func (s *Server) renderTemplate(c *call) (any, error) {
	var content templateContent
	if _, err := content.read(c.body); err != nil {
		return nil, err
	}
	values, err := valueMap(c.body, "values")
	if err != nil {
		return nil, err
	}
	props, err1 := valueMap(values, "props")
	slots, err2 := valueMap(values, "slots")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	out := content.render(props, slots).wire()
	out["object"] = "template_render"
	return out, nil
}

// usedTemplate is the template that a message was made from.
type usedTemplate struct {
	id, version int64
}

// fillTemplate puts the text of the template that a send names in its body. A given subject wins; given texts do not.
func (s *Server) fillTemplate(ctx context.Context, body fields) (fields, usedTemplate, error) {
	var used usedTemplate
	if !body.has("template") {
		return body, used, nil
	}
	m, ok := body["template"].(map[string]any)
	if !ok {
		return nil, used, invalidField("template", "template must be an object with an id.")
	}
	f := fields(m)
	key, err := f.text("id")
	if err != nil || key == "" {
		return nil, used, invalidField("template", "template must be an object with an id.")
	}
	tpl, err := findTemplate(ctx, s.reader, key, "template")
	if err != nil {
		return nil, used, err
	}
	if tpl.status == "archived" {
		return nil, used, templateArchived()
	}
	version, given, err := f.whole("version")
	if err != nil {
		return nil, used, err
	}
	if !given {
		if !tpl.published.Valid {
			return nil, used, &apiError{422, "template_not_published", "This template has no published version; publish it or name a version.", "template"}
		}
		version = tpl.published.Int64
	}
	v, err := findVersion(ctx, s.reader, tpl.id, version, "version")
	if err != nil {
		return nil, used, err
	}
	props, err1 := valueMap(f, "props")
	slots, err2 := valueMap(f, "slots")
	if err := errors.Join(err1, err2); err != nil {
		return nil, used, err
	}
	r := v.content.render(props, slots)
	if len(r.missing) > 0 {
		return nil, used, invalidField("props", "The template needs %s.", strings.Join(r.missing, ", "))
	}
	out := maps.Clone(body)
	delete(out, "template")
	out["html"], out["text"] = r.html, r.text
	if !out.has("subject") {
		out["subject"] = r.subject
	}
	return out, usedTemplate{tpl.id, v.version}, nil
}

// sendTemplate sends a template; its body is that of a send without texts.
func (s *Server) sendTemplate(c *call) (any, error) {
	body := maps.Clone(c.body)
	use := map[string]any{"id": c.params[0]}
	for _, name := range []string{"version", "props", "slots"} {
		if v, given := body[name]; given {
			use[name] = v
			delete(body, name)
		}
	}
	for _, name := range []string{"html", "text", "template"} {
		if body.has(name) {
			return nil, invalidField(name, "The text of the message is that of the template.")
		}
	}
	body["template"] = use
	answer, id, err := s.sendBody(c, body)
	if err != nil {
		return nil, err
	}
	var tpl, version sql.NullInt64
	if err := s.reader.QueryRowContext(c.ctx, "SELECT template_id, template_version FROM emails WHERE id = ?", id).Scan(&tpl, &version); err != nil {
		return nil, err
	}
	answer["template"] = map[string]any{"id": wireIDOrNull("tpl", tpl), "version": nil}
	if version.Valid {
		answer["template"] = map[string]any{"id": wireIDOrNull("tpl", tpl), "version": version.Int64}
	}
	return answer, nil
}
