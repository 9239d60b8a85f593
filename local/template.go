package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"html"
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
