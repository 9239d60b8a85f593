package local

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// The thread of a follow-up that was set with a send is known once the email is sent.
const followUpColumns = `f.id, coalesce(f.thread_id, e.thread_id), f.message_id, f.email_id, coalesce(t.subject, e.subject), f.remind_at, f.status,
	f.answered_at, f.fired_at, f.created_at
	FROM follow_ups f LEFT JOIN emails e ON e.id = f.email_id LEFT JOIN threads t ON t.id = coalesce(f.thread_id, e.thread_id)`

func scanFollowUp(row scanner) (id int64, out map[string]any, err error) {
	var thread, message, email, answered, fired sql.NullInt64
	var subject sql.NullString
	var remind, created int64
	var status string
	if err := row.Scan(&id, &thread, &message, &email, &subject, &remind, &status, &answered, &fired, &created); err != nil {
		return 0, nil, err
	}
	return id, map[string]any{
		"object": "follow_up", "id": wireID("fup", id), "threadId": wireIDOrNull("thr", thread), "messageId": wireIDOrNull("msg", message),
		"emailId": wireIDOrNull("eml", email), "subject": nullString(subject), "remindAt": instant(remind), "status": status,
		"answeredAt": instantOrNull(answered), "firedAt": instantOrNull(fired), "createdAt": instant(created),
	}, nil
}

func wireIDOrNull(prefix string, id sql.NullInt64) any {
	if !id.Valid {
		return nil
	}
	return wireID(prefix, id.Int64)
}

func (s *Server) followUp(ctx context.Context, id int64) (any, error) {
	_, out, err := scanFollowUp(s.reader.QueryRowContext(ctx, "SELECT "+followUpColumns+" WHERE f.id = ?", id))
	return out, found(err, "follow-up", "")
}

// listFollowUps gives those that come next first.
func (s *Server) listFollowUps(c *call) (any, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	var where conditions
	switch status := c.query.Get("status"); status {
	case "":
	case "waiting", "answered", "due", "cancelled":
		where.add("f.status = ?", status)
	default:
		return nil, invalidField("status", "status must be waiting, answered, due or cancelled.")
	}
	if v := c.query.Get("threadId"); v != "" {
		id, err := s.lookupThread(c.ctx, v, "threadId")
		if err != nil {
			return nil, err
		}
		where.add("coalesce(f.thread_id, e.thread_id) = ?", id)
	}
	data, err := s.listAll(c, scanFollowUp, "SELECT "+followUpColumns+" WHERE "+where.String()+" ORDER BY f.remind_at, f.id LIMIT ?", append(where.args, limit)...)
	return list(data), err
}

// setFollowUp sets the reminder of a thread; one that waits already is replaced.
func (s *Server) setFollowUp(c *call) (any, error) {
	wire, err := c.body.text("threadId")
	if err != nil {
		return nil, err
	}
	at, given, err := c.body.when("remindAt")
	if err != nil {
		return nil, err
	}
	if !given {
		return nil, invalidField("remindAt", "remindAt is missing: it says when to remind, as an instant such as 2026-03-01T09:30:00.000Z.")
	}
	thread, err := s.lookupThread(c.ctx, wire, "threadId")
	if err != nil {
		return nil, err
	}
	var id int64
	err = s.write(c.ctx, func(t *tx) error {
		if at <= t.now {
			return invalidField("remindAt", "remindAt has passed.")
		}
		if err := t.exec(`UPDATE follow_ups SET status = 'cancelled' WHERE status = 'waiting' AND (thread_id = ?1 OR
			thread_id IS NULL AND email_id IN (SELECT id FROM emails WHERE thread_id = ?1))`, thread); err != nil {
			return err
		}
		var message sql.NullInt64
		err := t.row("SELECT id FROM messages WHERE thread_id = ? ORDER BY received_at DESC, id DESC LIMIT 1", []any{thread}, &message)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		id, err = t.insert("INSERT INTO follow_ups(thread_id, message_id, remind_at, status, created_at) VALUES(?,?,?,'waiting',?)", thread, message, at, t.now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.followUp(c.ctx, id)
}

func (s *Server) cancelFollowUp(c *call) (any, error) {
	id, err := c.id("fup", "follow-up")
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		return t.exec("UPDATE follow_ups SET status = 'cancelled' WHERE id = ? AND status IN ('waiting', 'due')", id)
	})
	if err != nil {
		return nil, err
	}
	return s.followUp(c.ctx, id)
}

// followUpEmail notes the reminder that a send asks for.
func (t *tx) followUpEmail(email int64, o *outgoing) error {
	if o.followUpAt == 0 {
		return nil
	}
	return t.exec("INSERT INTO follow_ups(email_id, remind_at, status, created_at) VALUES(?,?,'waiting',?)", email, o.followUpAt, t.now)
}

// answered says that mail came into a thread: nobody needs to be reminded of it.
func (t *tx) answered(thread int64) error {
	return t.exec(`UPDATE follow_ups SET status = 'answered', answered_at = ?2 WHERE status = 'waiting' AND (thread_id = ?1 OR
		thread_id IS NULL AND email_id IN (SELECT id FROM emails WHERE thread_id = ?1))`, thread, t.now)
}

// remindDue brings threads whose reminder is due on top of the inbox, as if they had been snoozed.
func (s *Server) remindDue(ctx context.Context) (bool, error) {
	const query = "SELECT id FROM follow_ups WHERE status = 'waiting' AND remind_at <= ? ORDER BY remind_at LIMIT 1000"
	if _, some, err := s.due(ctx, query); err != nil || !some {
		return false, err
	}
	return true, s.write(ctx, func(t *tx) error {
		ids, err := t.ids(query, t.now)
		if err != nil {
			return err
		}
		for _, id := range ids {
			var thread, email sql.NullInt64
			var status sql.NullString
			err := t.row(`SELECT coalesce(f.thread_id, e.thread_id), f.email_id, e.status FROM follow_ups f LEFT JOIN emails e ON e.id = f.email_id WHERE f.id = ?`,
				[]any{id}, &thread, &email, &status)
			if err != nil {
				return err
			}
			if email.Valid && strings.Contains(" cancelled failed ", " "+status.String+" ") {
				if err := t.exec("UPDATE follow_ups SET status = 'cancelled' WHERE id = ?", id); err != nil {
					return err
				}
				continue
			}
			if err := t.exec("UPDATE follow_ups SET status = 'due', fired_at = ?, thread_id = ? WHERE id = ?", t.now, thread, id); err != nil {
				return err
			}
			th, err := t.thread(thread.Int64)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return err
			}
			if th.trashed || th.spam {
				continue
			}
			th.inbox, th.snoozedUntil, th.wokeAt = true, sql.NullInt64{}, t.now
			if err := t.saveThread(th); err != nil {
				return err
			}
		}
		return nil
	})
}
