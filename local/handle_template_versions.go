package local

import (
	"strconv"
)

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
	return &apiError{422, "template_archived", "This template is archived; templates.update with another status brings it back.", ""}
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
