package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
)

// draft is one row of the table drafts.
type draft struct {
	id          int64
	to, cc, bcc []string
	subject     string
	html        string
	from        sql.NullString
	threadID    sql.NullInt64
	forwardOf   sql.NullInt64
}

type draftRecipients struct {
	To  []string `json:"to"`
	Cc  []string `json:"cc"`
	Bcc []string `json:"bcc"`
}

func (d *draft) recipients() (string, error) {
	raw, err := json.Marshal(draftRecipients{d.to, d.cc, d.bcc})
	return string(raw), err
}

func loadDraft(ctx context.Context, db queryRower, id int64) (*draft, error) {
	d := &draft{id: id}
	var recipients string
	err := db.QueryRowContext(ctx, "SELECT recipients, subject, html, from_address, thread_id, forward_of FROM drafts WHERE id = ?", id).
		Scan(&recipients, &d.subject, &d.html, &d.from, &d.threadID, &d.forwardOf)
	if err != nil {
		return nil, err
	}
	var r draftRecipients
	if err := json.Unmarshal([]byte(recipients), &r); err != nil {
		return nil, err
	}
	d.to, d.cc, d.bcc = r.To, r.Cc, r.Bcc
	return d, nil
}

func draftID(c *call) (int64, error) {
	id, ok := parseID("drf", c.params[0])
	if !ok {
		return 0, notFound("draft", "")
	}
	return id, nil
}

func (s *Server) listDrafts(c *call) (any, error) {
	p, err := c.pagingBy("pageToken", "nextPageToken")
	if err != nil {
		return nil, err
	}
	var where conditions
	if p.after {
		where.add("(updated_at, id) < (?, ?)", p.cur.At, p.cur.ID)
	}
	words, err := c.words("query", fold)
	if err != nil {
		return nil, err
	}
	where.contain(words, `folded LIKE ? ESCAPE '\'`)
	return s.pageOf(c, p, func(row scanner) (entry, error) {
		var k cursor
		err := row.Scan(&k.At, &k.ID)
		return entry{k, map[string]any{"object": "draft", "id": wireID("drf", k.ID)}}, err
	}, "SELECT updated_at, id FROM drafts WHERE "+where.String()+" ORDER BY updated_at DESC, id DESC", where.args...)
}

func (s *Server) getDraft(c *call) (any, error) {
	id, err := draftID(c)
	if err != nil {
		return nil, err
	}
	rtx, err := s.reader.BeginTx(c.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	d, err := loadDraft(c.ctx, rtx, id)
	if err != nil {
		return nil, found(err, "draft", "")
	}
	attachments := []any{}
	out := map[string]any{
		"object": "draft", "id": c.params[0], "to": d.to, "cc": d.cc, "bcc": d.bcc, "subject": d.subject, "html": d.html,
		"threadId": nil, "forwardOf": nil, "from": nullString(d.from),
	}
	if d.threadID.Valid {
		out["threadId"] = wireID("thr", d.threadID.Int64)
	}
	if d.forwardOf.Valid {
		out["forwardOf"] = wireID("msg", d.forwardOf.Int64)
		rows, err := rtx.QueryContext(c.ctx, "SELECT filename, content_type, size FROM attachments WHERE message_id = ? ORDER BY position", d.forwardOf.Int64)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var name, kind string
			var size int64
			if err := rows.Scan(&name, &kind, &size); err != nil {
				return nil, err
			}
			attachments = append(attachments, map[string]any{"filename": name, "contentType": kind, "size": size})
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	out["attachments"] = attachments
	return out, nil
}

// readDraft lays the given fields over d. A draft may be unfinished, so addresses are kept as typed.
func (s *Server) readDraft(t *tx, f fields, d *draft) error {
	for _, r := range []struct {
		name string
		into *[]string
	}{{"to", &d.to}, {"cc", &d.cc}, {"bcc", &d.bcc}} {
		if v, given := f[r.name]; given {
			if one, ok := v.(string); ok {
				*r.into = []string{one}
				continue
			}
			list, err := f.texts(r.name)
			if err != nil {
				return err
			}
			*r.into = append([]string{}, list...)
		}
	}
	if _, given := f["subject"]; given {
		v, err := f.text("subject")
		if err != nil {
			return err
		}
		d.subject = v
	}
	text, err := f.text("text")
	if err != nil {
		return err
	}
	html, err := f.text("html")
	if err != nil {
		return err
	}
	_, textGiven := f["text"]
	if _, given := f["html"]; given && (html != "" || text == "") {
		d.html = html
	} else if textGiven {
		d.html = paragraphs(text)
	}
	if _, given := f["from"]; given {
		v, err := f.text("from")
		if err != nil {
			return err
		}
		d.from = sql.NullString{String: v, Valid: v != ""}
	}
	if _, given := f["threadId"]; given {
		v, err := f.text("threadId")
		if err != nil {
			return err
		}
		next := sql.NullInt64{}
		if v != "" {
			id, ok := parseID("thr", v)
			if !ok {
				return notFound("thread", "threadId")
			}
			if id, err = t.resolve(id); err != nil {
				return err
			}
			if _, err := t.thread(id); err != nil {
				return found(err, "thread", "threadId")
			}
			next = sql.NullInt64{Int64: id, Valid: true}
		}
		if next != d.threadID {
			d.threadID, d.forwardOf = next, sql.NullInt64{}
		}
	}
	return nil
}

func (d *draft) folded() string {
	return clip(fold(strings.Join(slices.Concat(d.to, d.cc, d.bcc, []string{d.subject, htmlText(clip(d.html, searchBytes))}), " ")), searchBytes)
}

func (s *Server) createDraft(c *call) (any, error) {
	var id int64
	err := s.write(c.ctx, func(t *tx) error {
		d := &draft{to: []string{}, cc: []string{}, bcc: []string{}}
		if err := s.readDraft(t, c.body, d); err != nil {
			return err
		}
		forward, err := c.body.text("forwardOf")
		if err != nil {
			return err
		}
		if forward != "" {
			message, ok := parseID("msg", forward)
			if !ok {
				return notFound("message", "forwardOf")
			}
			var thread int64
			if err := t.row("SELECT thread_id FROM messages WHERE id = ?", []any{message}, &thread); err != nil {
				return found(err, "message", "forwardOf")
			}
			if d.threadID.Valid && d.threadID.Int64 != thread {
				return invalidField("forwardOf", "The message is not in the thread of threadId.")
			}
			d.threadID = sql.NullInt64{Int64: thread, Valid: true}
			d.forwardOf = sql.NullInt64{Int64: message, Valid: true}
		}
		recipients, err := d.recipients()
		if err != nil {
			return err
		}
		id, err = t.insert(`INSERT INTO drafts(recipients, subject, html, from_address, thread_id, forward_of, folded, created_at, updated_at)
			VALUES(?,?,?,?,?,?,?,?,?)`, recipients, d.subject, d.html, d.from, d.threadID, d.forwardOf, d.folded(), t.now, t.now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "draft", "id": wireID("drf", id)}, nil
}

func (s *Server) updateDraft(c *call) (any, error) {
	id, err := draftID(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		d, err := loadDraft(t.ctx, t, id)
		if err != nil {
			return found(err, "draft", "")
		}
		if err := s.readDraft(t, c.body, d); err != nil {
			return err
		}
		recipients, err := d.recipients()
		if err != nil {
			return err
		}
		return t.exec(`UPDATE drafts SET recipients = ?, subject = ?, html = ?, from_address = ?, thread_id = ?, forward_of = ?,
			folded = ?, updated_at = ? WHERE id = ?`,
			recipients, d.subject, d.html, d.from, d.threadID, d.forwardOf, d.folded(), t.now, id)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "draft", "id": c.params[0]}, nil
}

func (s *Server) deleteDraft(c *call) (any, error) {
	id, err := draftID(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		res, err := t.result("DELETE FROM drafts WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			if err == nil {
				err = notFound("draft", "")
			}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "draft", "id": c.params[0], "deleted": true}, nil
}
