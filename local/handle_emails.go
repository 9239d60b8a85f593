package local

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
)

// scanner is a row or rows.
type scanner interface{ Scan(...any) error }

const emailColumns = `id, status, from_address, subject, message_id, thread_id, transport, attempts, last_error,
	scheduled_at, cancellable_until, sent_at, tags, stream, mode, created_at`

func scanEmail(row scanner) (id int64, out map[string]any, err error) {
	var status, from, messageID, tags, stream, mode string
	var subject, transport, lastError sql.NullString
	var thread, scheduled, until, sent sql.NullInt64
	var attempts, created int64
	err = row.Scan(&id, &status, &from, &subject, &messageID, &thread, &transport, &attempts, &lastError,
		&scheduled, &until, &sent, &tags, &stream, &mode, &created)
	if err != nil {
		return 0, nil, err
	}
	out = map[string]any{
		"object": "email", "id": wireID("eml", id), "status": status, "mode": mode, "from": from,
		"subject": nullString(subject), "messageId": messageID, "threadId": nil, "transport": nullString(transport),
		"attempts": attempts, "lastError": nullString(lastError), "scheduledAt": instantOrNull(scheduled),
		"cancellableUntil": instantOrNull(until), "sentAt": instantOrNull(sent), "tags": json.RawMessage(tags),
		"broadcastId": nil, "source": "api", "stream": stream, "createdAt": instant(created),
	}
	if thread.Valid {
		out["threadId"] = wireID("thr", thread.Int64)
	}
	return id, out, nil
}

// email gives an email as it stands now.
func (s *Server) email(ctx context.Context, id int64) (map[string]any, error) {
	rtx, err := s.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	_, out, err := scanEmail(rtx.QueryRowContext(ctx, "SELECT "+emailColumns+" FROM emails WHERE id = ?", id))
	if err != nil {
		return nil, found(err, "email", "")
	}
	return out, addRecipients(ctx, rtx, id, out)
}

func addRecipients(ctx context.Context, rtx *sql.Tx, id int64, out map[string]any) error {
	rows, err := rtx.QueryContext(ctx, `SELECT kind, email, name, status, error, delivered_at FROM email_recipients
		WHERE email_id = ? ORDER BY position`, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	list := []any{}
	for rows.Next() {
		var kind, email, name, status string
		var failure sql.NullString
		var delivered sql.NullInt64
		if err := rows.Scan(&kind, &email, &name, &status, &failure, &delivered); err != nil {
			return err
		}
		r := map[string]any{
			"email": email, "name": nil, "kind": kind, "status": status,
			"error": nullString(failure), "deliveredAt": instantOrNull(delivered),
		}
		if name != "" {
			r["name"] = name
		}
		list = append(list, r)
	}
	out["recipients"] = list
	return rows.Err()
}

func emailID(c *call) (int64, error) {
	id, ok := parseID("eml", c.params[0])
	if !ok {
		return 0, notFound("email", "")
	}
	return id, nil
}

func (s *Server) getEmail(c *call) (any, error) {
	id, err := emailID(c)
	if err != nil {
		return nil, err
	}
	return s.email(c.ctx, id)
}

var emailStatuses = []string{"queued", "scheduled", "sending", "sent", "partial", "bounced", "cancelled", "failed"}

func (s *Server) listEmails(c *call) (any, error) {
	p, err := c.paging()
	if err != nil {
		return nil, err
	}
	var where conditions
	if p.after {
		where.add("id < ?", p.cur.ID)
	}
	if v := c.query.Get("status"); v != "" {
		var marks []string
		var values []any
		for _, st := range unique(strings.Split(v, ",")) {
			if st = strings.TrimSpace(st); !slices.Contains(emailStatuses, st) {
				return nil, invalidField("status", "status is a list of %s.", strings.Join(emailStatuses, ", "))
			}
			marks, values = append(marks, "?"), append(values, st)
		}
		where.add("status IN ("+strings.Join(marks, ", ")+")", values...)
	}
	if v := c.query.Get("from"); v != "" {
		where.add(`(from_address = ? COLLATE NOCASE OR from_address LIKE ? ESCAPE '\')`, v, "%<"+escapeLike(v)+">")
	}
	if c.query.Get("broadcastId") != "" {
		return p.page(nil), nil
	}
	for name, sqlText := range map[string]string{"scheduledFrom": "scheduled_at >= ?", "scheduledTo": "scheduled_at <= ?"} {
		if at, given, err := c.queryInstant(name); err != nil {
			return nil, err
		} else if given {
			where.add(sqlText, at.UnixMilli())
		}
	}
	rtx, err := s.reader.BeginTx(c.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	entries, err := collect(c.ctx, rtx, func(row scanner) (entry, error) {
		id, e, err := scanEmail(row)
		return entry{cursor{ID: id}, e}, err
	}, "SELECT "+emailColumns+" FROM emails WHERE "+where.String()+" ORDER BY id DESC LIMIT ?", append(where.args, p.limit+1)...)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := addRecipients(c.ctx, rtx, e.key.ID, e.value.(map[string]any)); err != nil {
			return nil, err
		}
	}
	return p.page(entries), nil
}

func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// cancelEmail takes a message back while its window is open or its time has not come.
func (s *Server) cancelEmail(c *call) (any, error) {
	id, err := emailID(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		status, until, waits, err := t.emailState(id)
		if err != nil {
			return err
		}
		if status == "cancelled" {
			return nil
		}
		if !changeable(status, until, t.now) && !waits {
			return conflict("email_not_cancellable", "It is too late to take this message back: it is %s.", onItsWay(status))
		}
		return t.takeBack(id)
	})
	if err != nil {
		return nil, err
	}
	return s.email(c.ctx, id)
}

// emailState gives what decides whether an email can still be changed. waits says that it is between two attempts.
func (t *tx) emailState(id int64) (status string, until sql.NullInt64, waits bool, err error) {
	err = t.row("SELECT status, cancellable_until, status = 'queued' AND waits IS NOT NULL FROM emails WHERE id = ?", []any{id}, &status, &until, &waits)
	return status, until, waits, found(err, "email", "")
}

func changeable(status string, until sql.NullInt64, now int64) bool {
	return (status == "queued" || status == "scheduled") && until.Valid && now < until.Int64
}

func onItsWay(status string) string {
	if status == "queued" || status == "scheduled" || status == "sending" {
		return "on its way"
	}
	return status
}

// updateEmail changes the time or the content of a message that has not gone out. emails.reschedule is
// the same request with scheduledAt alone; for a message that failed, went only to some or waits for another attempt
// it is the decision to send it again.
func (s *Server) updateEmail(c *call) (any, error) {
	id, err := emailID(c)
	if err != nil {
		return nil, err
	}
	var request []byte
	var messageID, status string
	var until sql.NullInt64
	var tried bool
	err = s.reader.QueryRowContext(c.ctx, `SELECT request, message_id, status, cancellable_until, status IN ('failed', 'partial') OR again = 1
		OR status = 'queued' AND waits IS NOT NULL FROM emails WHERE id = ?`, id).Scan(&request, &messageID, &status, &until, &tried)
	if err != nil {
		return nil, found(err, "email", "")
	}
	if tried {
		if err := s.sendAgain(c, id); err != nil {
			return nil, err
		}
		return s.email(c.ctx, id)
	}
	now := s.now().UnixMilli()
	tooLate := conflict("email_not_changeable", "This message can no longer be changed: it is %s.", onItsWay(status))
	if !changeable(status, until, now) || request == nil {
		return nil, tooLate
	}
	dec := json.NewDecoder(bytes.NewReader(request))
	dec.UseNumber()
	merged := fields{}
	if err := dec.Decode(&merged); err != nil {
		return nil, err
	}
	for _, name := range []string{"scheduledAt", "subject", "html", "text", "from", "to", "cc", "bcc"} {
		if v, given := c.body[name]; given {
			merged[name] = v
		}
	}
	o, err := s.readSend(merged, now)
	if err != nil {
		return nil, err
	}
	if err := c.who.maySend(o.from.Email); err != nil {
		return nil, err
	}
	built, err := s.build(c.ctx, o, messageID, now)
	if err != nil {
		return nil, err
	}
	if request, err = json.Marshal(map[string]any(merged)); err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		status, until, _, err := t.emailState(id)
		if err != nil {
			return err
		}
		if !changeable(status, until, t.now) {
			return tooLate
		}
		due, scheduled := until.Int64, any(nil)
		status = "queued"
		if o.scheduledAt != 0 {
			due, scheduled, status = o.scheduledAt, o.scheduledAt, "scheduled"
		}
		err = t.exec(`UPDATE emails SET status = ?, from_address = ?, subject = ?, thread_id = ?, scheduled_at = ?, cancellable_until = ?,
			due_at = ?, request = ?, raw = ?, mode = ?, remote = ? WHERE id = ?`,
			status, o.from.String(), nullText(built.subject), nullID(built.thread), scheduled, due, due, request, built.raw, c.mode, s.remote(o), id)
		if err != nil {
			return err
		}
		if err := t.event(id, "email."+status, map[string]any{"scheduledAt": instant(due)}); err != nil {
			return err
		}
		return t.saveRecipients(id, o)
	})
	if err != nil {
		return nil, err
	}
	return s.email(c.ctx, id)
}

// sendAgain is a person's decision to send a message once more to the recipients that do not have it, or not for sure.
// Until its time comes nothing of what is known about them changes.
func (s *Server) sendAgain(c *call, id int64) error {
	for name := range c.body {
		if name != "scheduledAt" {
			return conflict("email_not_changeable", "This message went out already: only the time of another attempt (scheduledAt) can be set.")
		}
	}
	at, given, err := c.body.when("scheduledAt")
	if err != nil {
		return err
	}
	if !given || at <= s.now().UnixMilli() {
		return invalidField("scheduledAt", "scheduledAt must be in the future.")
	}
	return s.write(c.ctx, func(t *tx) error {
		var again bool
		err := t.row(`SELECT (status IN ('failed', 'partial') OR status = 'scheduled' AND again = 1 OR status = 'queued' AND waits IS NOT NULL)
			AND raw IS NOT NULL FROM emails WHERE id = ?`, []any{id}, &again)
		if err != nil {
			return found(err, "email", "")
		}
		if !again {
			return conflict("email_not_changeable", "This message can no longer be changed: it is on its way.")
		}
		err = t.exec(`UPDATE emails SET status = 'scheduled', scheduled_at = ?, due_at = ?, cancellable_until = ?, tries = 0, waits = NULL, last_error = NULL, again = 1
			WHERE id = ?`, at, at, at, id)
		if err != nil {
			return err
		}
		return t.event(id, "email.scheduled", map[string]any{"scheduledAt": instant(at)})
	})
}

// takeBack cancels what has not gone out. Recipients that have the message, or may have it, keep it.
func (t *tx) takeBack(id int64) error {
	n, err := t.tally(id)
	if err != nil {
		return err
	}
	if err := t.exec("UPDATE follow_ups SET status = 'cancelled' WHERE email_id = ? AND status = 'waiting'", id); err != nil {
		return err
	}
	if n.delivered+n.uncertain == 0 {
		if err := t.exec("UPDATE emails SET status = 'cancelled', claim = NULL, waits = NULL, raw = NULL, request = NULL WHERE id = ?", id); err != nil {
			return err
		}
		return t.event(id, "email.cancelled", map[string]any{})
	}
	rest, err := t.targets(id, "pending")
	if err != nil {
		return err
	}
	for _, r := range rest {
		if err := t.failed(id, r, "It was taken back before it went out."); err != nil {
			return err
		}
	}
	n.failed += n.pending
	if err := t.exec("UPDATE emails SET status = ?, claim = NULL, waits = NULL, again = 0, request = NULL WHERE id = ?", n.status(), id); err != nil {
		return err
	}
	return t.event(id, "email.cancelled", map[string]any{"status": n.status()})
}
