package local

import (
	"database/sql"
	"strings"
)

func scanSuppression(row scanner) (id int64, out map[string]any, err error) {
	var email, reason string
	var detail sql.NullString
	var created int64
	err = row.Scan(&id, &email, &reason, &detail, &created)
	return id, map[string]any{
		"object": "suppression", "id": wireID("sup", id), "email": email, "reason": reason, "detail": nullString(detail), "removable": true,
		"createdAt": instant(created),
	}, err
}

const suppressionColumns = "SELECT id, email, reason, detail, created_at FROM suppressions WHERE "

// listSuppressions gives the addresses to which nothing is sent.
func (s *Server) listSuppressions(c *call) (any, error) {
	query, args := suppressionColumns+"1", []any{}
	if v := strings.TrimSpace(c.query.Get("q")); v != "" {
		query, args = query+` AND email LIKE ? ESCAPE '\'`, append(args, "%"+escapeLike(strings.ToLower(v))+"%")
	}
	switch v := c.query.Get("reason"); v {
	case "":
	case "bounce", "complaint", "manual":
		query, args = query+" AND reason = ?", append(args, v)
	default:
		return nil, invalidField("reason", "reason must be bounce, complaint or manual.")
	}
	return s.listByID(c, query, args, func(row scanner) (int64, any, error) { return wrap(scanSuppression(row)) })
}

func (s *Server) addSuppression(c *call) (any, error) {
	email, err := c.body.text("email")
	if err != nil {
		return nil, err
	}
	if email = strings.ToLower(strings.TrimSpace(email)); !validAddress(email) {
		return nil, invalidField("email", "email must be an email address.")
	}
	if s.own[email] {
		return nil, invalidField("email", "%s is an address of this mailbox.", email)
	}
	err = s.write(c.ctx, func(t *tx) error {
		return t.exec("INSERT OR IGNORE INTO suppressions(email, reason, created_at) VALUES(?,'manual',?)", email, t.now)
	})
	if err != nil {
		return nil, err
	}
	_, out, err := scanSuppression(s.reader.QueryRowContext(c.ctx, suppressionColumns+"email = ?", email))
	return out, err
}

func (s *Server) suppression(c *call) (map[string]any, error) {
	id, err := c.id("sup", "suppression")
	if err != nil {
		return nil, err
	}
	_, out, err := scanSuppression(s.reader.QueryRowContext(c.ctx, suppressionColumns+"id = ?", id))
	return out, found(err, "suppression", "")
}

func (s *Server) getSuppression(c *call) (any, error) {
	out, err := s.suppression(c)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *Server) removeSuppression(c *call) (any, error) {
	have, err := s.suppression(c)
	if err != nil {
		return nil, err
	}
	out, err := s.deleteRow(c, "sup", "suppression", "suppression", "DELETE FROM suppressions WHERE id = ?")
	if err != nil {
		return nil, err
	}
	answer, _ := out.(map[string]any)
	answer["email"] = have["email"]
	return answer, nil
}

// suppress marks the recipients that get nothing. When that is all of them, the message has failed.
func (t *tx) suppress(email int64) error {
	res, err := t.result(`UPDATE email_recipients SET status = 'suppressed', error = 'This address is on the list of those that get nothing.'
		WHERE email_id = ? AND status = 'pending' AND lower(email) IN (SELECT email FROM suppressions)`, email)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	var left int
	if err := t.row("SELECT count(*) FROM email_recipients WHERE email_id = ? AND status = 'pending'", []any{email}, &left); err != nil || left > 0 {
		return err
	}
	const why = "Every recipient is on the list of those that get nothing."
	if err := t.exec("UPDATE emails SET status = 'failed', last_error = ?, raw = NULL, request = NULL WHERE id = ?", why, email); err != nil {
		return err
	}
	return t.event(email, "email.failed", map[string]any{"error": why})
}
