package local

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"strings"
)

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
