package local

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

const maxBatch = 100

// batchItem is what became of one message of a batch: the id of its email, or why it was refused.
type batchItem struct {
	ID    int64          `json:"id,omitempty"`
	Error map[string]any `json:"error,omitempty"`
}

// sendBatch accepts several messages. The key, those that can be sent and the answers for the others are one
// transaction; a repeat answers from it.
func (s *Server) sendBatch(c *call) (any, error) {
	key, err := c.idempotencyKey()
	if err != nil {
		return nil, err
	}
	print := c.fingerprint()
	items, replay, err := lookupBatch(c.ctx, s.reader, c.scope, key, print)
	if err != nil {
		return nil, err
	}
	if !replay {
		items, replay, err = s.acceptBatch(c, key, print)
		if err != nil {
			return nil, err
		}
		if !replay && s.schedules.Load() {
			if err := s.runDue(c.ctx); err != nil && c.ctx.Err() == nil {
				s.log.Error("messages were accepted but not delivered yet", "error", err)
			}
		}
	}
	data, sent := []any{}, 0
	for i, it := range items {
		if it.Error != nil {
			data = append(data, map[string]any{"index": i, "status": "error", "error": it.Error})
			continue
		}
		e, err := s.email(c.ctx, it.ID)
		if err != nil {
			return nil, err
		}
		e["replayed"] = replay
		data = append(data, map[string]any{"index": i, "status": "ok", "email": e})
		sent++
	}
	return map[string]any{"data": data, "sent": sent, "failed": len(items) - sent}, nil
}

func lookupBatch(ctx context.Context, db queryRower, scope, key string, print []byte) (items []batchItem, found bool, err error) {
	if key == "" {
		return nil, false, nil
	}
	var have []byte
	var batch sql.NullString
	err = db.QueryRowContext(ctx, "SELECT fingerprint, batch FROM idempotency WHERE scope = ? AND key = ?", scope, key).Scan(&have, &batch)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !bytes.Equal(have, print):
		return nil, false, &apiError{422, "idempotency_key_reuse", "This idempotency key was used for another message.", ""}
	}
	return items, true, json.Unmarshal([]byte(batch.String), &items)
}

func (s *Server) acceptBatch(c *call, key string, print []byte) (items []batchItem, replay bool, err error) {
	list, ok := c.body["emails"].([]any)
	if !ok || len(list) == 0 || len(list) > maxBatch {
		return nil, false, invalidField("emails", "emails must be a list of 1 to %d messages.", maxBatch)
	}
	items = make([]batchItem, len(list))
	checked := make([]*newEmail, len(list))
	for i, e := range list {
		body, ok := e.(map[string]any)
		if !ok {
			return nil, false, invalidField("emails", "Message %d is not an object.", i+1)
		}
		var refused *apiError
		n, err := s.newEmail(c, body)
		switch {
		case err == nil:
			checked[i] = n
		case errors.As(err, &refused) && refused.status < 500:
			items[i].Error = map[string]any{"type": refused.kind(), "code": refused.code, "message": refused.message}
			if refused.param != "" {
				items[i].Error["param"] = refused.param
			}
		default:
			return nil, false, err
		}
	}
	err = s.write(c.ctx, func(t *tx) error {
		var have []batchItem
		if have, replay, err = lookupBatch(t.ctx, t, c.scope, key, print); err != nil || replay {
			items = have
			return err
		}
		for i, n := range checked {
			if n == nil {
				continue
			}
			if items[i].ID, err = s.saveEmail(t, n); err != nil {
				return err
			}
		}
		if key == "" {
			return nil
		}
		batch, err := json.Marshal(items)
		if err != nil {
			return err
		}
		return t.exec("INSERT INTO idempotency(scope, key, fingerprint, email_id, batch, created_at) VALUES(?,?,?,0,?,?)",
			c.scope, key, print, string(batch), t.now)
	})
	return items, replay, err
}

// listEmailEvents gives what happened to an email, newest first.
func (s *Server) listEmailEvents(c *call) (any, error) {
	id, err := s.knownEmail(c)
	if err != nil {
		return nil, err
	}
	return s.listByID(c, "SELECT id, type, data, created_at FROM email_events WHERE email_id = ?", []any{id}, func(row scanner) (int64, any, error) {
		var event, created int64
		var kind, raw string
		err := row.Scan(&event, &kind, &raw, &created)
		return event, map[string]any{
			"object": "event", "id": fmt.Sprintf("evt_%s_%d", c.params[0], event), "type": kind,
			"data": json.RawMessage(raw), "createdAt": instant(created),
		}, err
	})
}

// knownEmail reads the id of an email that exists.
func (s *Server) knownEmail(c *call) (int64, error) {
	id, err := emailID(c)
	if err != nil {
		return 0, err
	}
	err = s.reader.QueryRowContext(c.ctx, "SELECT id FROM emails WHERE id = ?", id).Scan(&id)
	return id, found(err, "email", "")
}

// getTracking says that nothing is tracked: the local server puts neither pixels nor other people's links into mail.
func (s *Server) getTracking(c *call) (any, error) {
	id, err := s.knownEmail(c)
	if err != nil {
		return nil, err
	}
	e, err := s.email(c.ctx, id)
	if err != nil {
		return nil, err
	}
	recipients := []any{}
	for _, r := range e["recipients"].([]any) {
		r := r.(map[string]any)
		recipients = append(recipients, map[string]any{
			"email": r["email"], "kind": r["kind"], "attributed": false, "openCount": 0, "clickCount": 0, "firstOpenAt": nil, "lastOpenAt": nil,
			"firstClickAt": nil, "lastClickAt": nil,
		})
	}
	return map[string]any{
		"object": "tracking", "id": e["id"], "sendId": nil, "threadId": e["threadId"], "messageId": e["messageId"], "subject": e["subject"],
		"from": e["from"], "source": e["source"], "sentAt": e["sentAt"], "opens": false, "clicks": false, "opened": false, "clicked": false,
		"attributable": false, "openCount": 0, "clickCount": 0, "openCountRaw": 0, "clickCountRaw": 0, "firstOpenAt": nil, "lastOpenAt": nil,
		"firstClickAt": nil, "lastClickAt": nil, "recipients": recipients, "links": []any{},
	}, nil
}
