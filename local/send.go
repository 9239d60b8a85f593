package local

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// Sent describes a message that was kept as sent. It did not leave the machine.
type Sent struct {
	EmailID    string
	From       mailparse.Address
	To         []string // every recipient, blind copies too
	Subject    string
	MessageID  string // with angle brackets
	References []string
	SentAt     time.Time
	Raw        []byte
}

// Incoming is mail that comes into the mailbox at a later time.
type Incoming struct {
	From string // whose answer it is; that recipient counts as delivered
	At   time.Time
	Raw  []byte
}

func validKey(key string) bool {
	if key == "" || len(key) > 255 {
		return false
	}
	for _, c := range []byte(key) {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_', c == '.', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

// sendEmail accepts a message. Key, message and answer are one transaction; the delivery is a job of its
// own that is claimed later. A racing call with the same key waits at the database's write lock, so only
// for an owner that lives.
func (s *Server) sendEmail(c *call) (any, error) {
	answer, _, err := s.sendBody(c, c.body)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// sendBody accepts the message of a body that was made from the request's.
func (s *Server) sendBody(c *call, body fields) (answer map[string]any, id int64, err error) {
	key, err := c.idempotencyKey()
	if err != nil {
		return nil, 0, err
	}
	print := c.fingerprint()
	// The key is looked at before the request is checked: a repeat of a scheduled send may come after its time.
	id, replay, err := s.lookupKey(c.ctx, s.reader, c.scope, key, print)
	if err != nil {
		return nil, 0, err
	}
	if !replay {
		id, replay, err = s.acceptEmail(c, body, key, print)
		if err != nil {
			return nil, 0, err
		}
		if !replay && s.schedules.Load() {
			// Nothing is waited for, so the answer can tell the end at once.
			if err := s.runDue(c.ctx); err != nil && c.ctx.Err() == nil {
				s.log.Error("a message was accepted but not delivered yet", "error", err)
			}
		}
	}
	answer, err = s.email(c.ctx, id)
	if err != nil {
		return nil, 0, err
	}
	answer["replayed"] = replay
	return answer, id, nil
}

// idempotencyKey gives the key of a request, or nothing.
func (c *call) idempotencyKey() (string, error) {
	given := c.Header.Values("Idempotency-Key")
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 || !validKey(given[0]) {
		return "", badRequest("invalid_idempotency_key", "", "An idempotency key is 1 to 255 letters, digits, or the signs _ . : -")
	}
	return given[0], nil
}

type queryRower interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s *Server) lookupKey(ctx context.Context, db queryRower, scope, key string, print []byte) (id int64, found bool, err error) {
	if key == "" {
		return 0, false, nil
	}
	var have []byte
	err = db.QueryRowContext(ctx, "SELECT email_id, fingerprint FROM idempotency WHERE scope = ? AND key = ?", scope, key).Scan(&id, &have)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	case !bytes.Equal(have, print):
		return 0, false, &apiError{422, "idempotency_key_reuse", "This idempotency key was used for another message.", ""}
	}
	return id, true, nil
}

func (s *Server) acceptEmail(c *call, body fields, key string, print []byte) (id int64, replay bool, err error) {
	n, err := s.newEmail(c, body)
	if err != nil {
		return 0, false, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		if id, replay, err = s.lookupKey(t.ctx, t, c.scope, key, print); err != nil || replay {
			return err
		}
		if id, err = s.saveEmail(t, n); err != nil {
			return err
		}
		if key == "" {
			return nil
		}
		return t.exec("INSERT INTO idempotency(scope, key, fingerprint, email_id, created_at) VALUES(?,?,?,?,?)",
			c.scope, key, print, id, t.now)
	})
	return id, replay, err
}

// newEmail is a checked and built send request.
type newEmail struct {
	*outgoing
	built    *builtEmail
	mode     string
	request  []byte // kept while the message can still be changed
	template usedTemplate
}

func (s *Server) newEmail(c *call, body fields) (*newEmail, error) {
	now := s.now().UnixMilli()
	body, template, err := s.fillTemplate(c.ctx, body)
	if err != nil {
		return nil, err
	}
	o, err := s.readSend(body, now)
	if err != nil {
		return nil, err
	}
	if err := c.who.maySend(o.from.Email); err != nil {
		return nil, err
	}
	n := &newEmail{outgoing: o, mode: c.mode, template: template}
	if n.built, err = s.build(c.ctx, o, "", now); err != nil {
		return nil, err
	}
	if o.scheduledAt != 0 || o.window != 0 {
		if n.request, err = json.Marshal(map[string]any(body)); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// remote tells whether the message goes to addresses that are not the mailbox's own.
func (s *Server) remote(o *outgoing) bool {
	for _, list := range [][]mailparse.Address{o.to, o.cc, o.bcc} {
		for _, a := range list {
			if !s.here(a.Email) {
				return true
			}
		}
	}
	return false
}

func (s *Server) saveEmail(t *tx, n *newEmail) (int64, error) {
	o, b := n.outgoing, n.built
	status, due, until := "queued", t.now, any(nil)
	var scheduled any
	switch {
	case o.scheduledAt != 0:
		status, due, scheduled, until = "scheduled", o.scheduledAt, o.scheduledAt, o.scheduledAt
	case o.window != 0:
		due = t.now + o.window*1000
		until = due
	}
	tags, err := json.Marshal(o.tags)
	if err != nil {
		return 0, err
	}
	id, err := t.insert(`INSERT INTO emails(status, from_address, subject, message_id, thread_id, scheduled_at, cancellable_until,
		due_at, tags, stream, draft_id, request, raw, mode, remote, template_id, template_version, created_at) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		status, o.from.String(), nullText(b.subject), b.messageID, nullID(b.thread), scheduled, until,
		due, string(tags), o.stream, nullID(b.draft), n.request, b.raw, n.mode, s.remote(o),
		nullID(n.template.id), nullID(n.template.version), t.now)
	if err != nil {
		return 0, err
	}
	data := map[string]any{}
	if o.scheduledAt != 0 {
		data["scheduledAt"] = instant(o.scheduledAt)
	}
	if err := t.event(id, "email."+status, data); err != nil {
		return 0, err
	}
	if err := t.followUpEmail(id, o); err != nil {
		return 0, err
	}
	return id, t.saveRecipients(id, o)
}

func nullID(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func (t *tx) saveRecipients(id int64, o *outgoing) error {
	if err := t.exec("DELETE FROM email_recipients WHERE email_id = ?", id); err != nil {
		return err
	}
	n := 0
	seen := map[string]bool{}
	for _, l := range []struct {
		kind string
		list []mailparse.Address
	}{{"to", o.to}, {"cc", o.cc}, {"bcc", o.bcc}} {
		for _, a := range l.list {
			if lower := strings.ToLower(a.Email); seen[lower] {
				continue
			} else {
				seen[lower] = true
			}
			err := t.exec("INSERT INTO email_recipients(email_id, position, kind, email, name, status) VALUES(?,?,?,?,?,'pending')",
				id, n, l.kind, a.Email, a.Name)
			if err != nil {
				return err
			}
			n++
		}
	}
	return t.suppress(id)
}
