package local

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// Temporary mailboxes get mail from this mailbox only: their domain is one that mail never leaves the machine for.
const (
	tempDomain     = "temp.localhost"
	tempMessages   = 100
	tempExtensions = 3
	tempMinutes    = 60
	maxTempMinutes = 7 * 24 * 60
)

// isTemp reports whether an address is one of a temporary mailbox.
func isTemp(email string) bool {
	return strings.HasSuffix(strings.ToLower(email), "@"+tempDomain)
}

// here reports whether mail to an address stays on this machine.
func (s *Server) here(email string) bool {
	return s.own[strings.ToLower(email)] || isTemp(email)
}

func (s *Server) listTempDomains(*call) (any, error) {
	return list([]any{map[string]any{"object": "temp_domain", "domain": tempDomain}}), nil
}

const tempColumns = `i.id, i.address, i.created_at, i.expires_at, i.extensions, count(m.id), max(m.received_at)
	FROM temp_inboxes i LEFT JOIN temp_messages m ON m.inbox_id = i.id`

func scanInbox(row scanner) (map[string]any, error) {
	var address string
	var id, created, expires, extensions, count int64
	var last sql.NullInt64
	err := row.Scan(&id, &address, &created, &expires, &extensions, &count, &last)
	return map[string]any{
		"object": "temp_inbox", "id": wireID("tmp", id), "address": address, "domain": tempDomain, "createdAt": instant(created),
		"expiresAt": instant(expires), "extensionsLeft": max(0, tempExtensions-extensions), "messageCount": count, "messageLimit": tempMessages,
		"lastMessageAt": instantOrNull(last),
	}, err
}

// tempInbox reads the mailbox of the path; one that is over is gone.
func (s *Server) tempInbox(c *call) (int64, map[string]any, error) {
	id, err := c.id("tmp", "temporary mailbox")
	if err != nil {
		return 0, nil, err
	}
	out, err := scanInbox(s.reader.QueryRowContext(c.ctx, "SELECT "+tempColumns+" WHERE i.id = ? AND i.expires_at > ? GROUP BY i.id", id, s.now().UnixMilli()))
	return id, out, found(err, "temporary mailbox", "")
}

// opensInbox tells whether a token, given by its hash, is that of a temporary mailbox.
func (s *Server) opensInbox(ctx context.Context, wire string, hash []byte) (bool, error) {
	id, ok := parseID("tmp", wire)
	if !ok {
		return false, nil
	}
	var have []byte
	err := s.reader.QueryRowContext(ctx, "SELECT token_hash FROM temp_inboxes WHERE id = ? AND expires_at > ?", id, s.now().UnixMilli()).Scan(&have)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil && subtle.ConstantTimeCompare(have, hash) == 1, err
}

func inboxToken() (token string, hash []byte) {
	token = "tmi_" + rand.Text()
	sum := sha256.Sum256([]byte(token))
	return token, sum[:]
}

var tempLocalPart = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$`)

func (s *Server) createTempInbox(c *call) (any, error) {
	domain, err := c.body.oneOf("domain", tempDomain, tempDomain)
	if err != nil {
		return nil, err
	}
	local, err := c.body.text("localPart")
	if err != nil {
		return nil, err
	}
	if local == "" {
		local = strings.ToLower(rand.Text()[:12])
	}
	if local = strings.ToLower(local); !tempLocalPart.MatchString(local) || !validAddress(local+"@"+domain) {
		return nil, invalidField("localPart", "localPart must be letters and digits, with . _ - between them.")
	}
	minutes, given, err := c.body.whole("ttlMinutes")
	if err != nil || given && (minutes < 1 || minutes > maxTempMinutes) {
		return nil, invalidField("ttlMinutes", "ttlMinutes must be between 1 and %d.", maxTempMinutes)
	}
	if !given {
		minutes = tempMinutes
	}
	token, hash := inboxToken()
	var id int64
	err = s.write(c.ctx, func(t *tx) error {
		for _, q := range []string{
			"DELETE FROM temp_messages WHERE inbox_id IN (SELECT id FROM temp_inboxes WHERE expires_at <= ?)",
			"DELETE FROM temp_inboxes WHERE expires_at <= ?",
		} {
			if err := t.exec(q, t.now); err != nil {
				return err
			}
		}
		var other int64
		switch err := t.row("SELECT id FROM temp_inboxes WHERE address = ?", []any{local + "@" + domain}, &other); {
		case err == nil:
			return conflict("address_taken", "There is a temporary mailbox with this address.")
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		id, err = t.insert("INSERT INTO temp_inboxes(address, token_hash, created_at, expires_at) VALUES(?,?,?,?)", local+"@"+domain, hash, t.now, t.now+minutes*60_000)
		return err
	})
	if err != nil {
		return nil, err
	}
	out, err := scanInbox(s.reader.QueryRowContext(c.ctx, "SELECT "+tempColumns+" WHERE i.id = ? GROUP BY i.id", id))
	out["token"] = token
	return out, err
}

func (s *Server) getTempInbox(c *call) (any, error) {
	_, out, err := s.tempInbox(c)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// extendTempInbox gives a mailbox an hour more and another token; the old one opens nothing any more.
func (s *Server) extendTempInbox(c *call) (any, error) {
	id, _, err := s.tempInbox(c)
	if err != nil {
		return nil, err
	}
	token, hash := inboxToken()
	err = s.write(c.ctx, func(t *tx) error {
		res, err := t.result("UPDATE temp_inboxes SET expires_at = expires_at + ?, extensions = extensions + 1, token_hash = ? WHERE id = ? AND extensions < ?",
			tempMinutes*60_000, hash, id, tempExtensions)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return conflict("no_extensions_left", "This mailbox was extended as often as it can be.")
	})
	if err != nil {
		return nil, err
	}
	_, out, err := s.tempInbox(c)
	if err != nil {
		return nil, err
	}
	out["token"] = token
	return out, nil
}

func (s *Server) deleteTempInbox(c *call) (any, error) {
	id, _, err := s.tempInbox(c)
	if err != nil {
		return nil, err
	}
	err = s.write(c.ctx, func(t *tx) error {
		if err := t.exec("DELETE FROM temp_messages WHERE inbox_id = ?", id); err != nil {
			return err
		}
		return t.exec("DELETE FROM temp_inboxes WHERE id = ?", id)
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{"object": "temp_inbox", "id": c.params[0], "destroyed": true}, nil
}

// deliverTemp puts a message into a temporary mailbox; false says that there is none, or that it is full.
func (t *tx) deliverTemp(address string, raw []byte, snippet string) (bool, error) {
	var id, count int64
	err := t.row("SELECT i.id, (SELECT count(*) FROM temp_messages WHERE inbox_id = i.id) FROM temp_inboxes i WHERE i.address = ? AND i.expires_at > ?",
		[]any{strings.ToLower(address), t.now}, &id, &count)
	if errors.Is(err, sql.ErrNoRows) || err == nil && count >= tempMessages {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, t.exec("INSERT INTO temp_messages(inbox_id, raw, snippet, received_at) VALUES(?,?,?,?)", id, raw, snippet, t.now)
}

type tempMessage struct {
	id, received  int64
	raw           []byte
	snippet       string
	seen          bool
	inboxID       int64
	inboxAddress  string
	parsedMessage *mailparse.Message
}

const tempMessageColumns = `SELECT m.id AS id, m.raw, m.snippet, m.seen, m.received_at, i.id, i.address FROM temp_messages m JOIN temp_inboxes i ON i.id = m.inbox_id WHERE `

func scanTempMessage(ctx context.Context, row scanner) (*tempMessage, error) {
	m := &tempMessage{}
	err := row.Scan(&m.id, &m.raw, &m.snippet, &m.seen, &m.received, &m.inboxID, &m.inboxAddress)
	if err != nil {
		return nil, err
	}
	m.parsedMessage, err = mailparse.Parse(ctx, m.raw, mailparse.Limits{})
	return m, err
}

func (m *tempMessage) wire() map[string]any {
	p := m.parsedMessage
	from := map[string]any{"name": nil, "email": ""}
	if len(p.From) > 0 {
		from = map[string]any{"name": nullText(p.From[0].Name), "email": p.From[0].Email}
	}
	return map[string]any{
		"object": "temp_message", "id": wireID("tmsg", m.id), "from": from, "to": m.inboxAddress, "subject": p.Subject, "snippet": m.snippet, "spam": false,
		"seen": m.seen, "attachmentCount": len(p.Attachments), "sizeBytes": len(m.raw), "receivedAt": instant(m.received),
	}
}

func (s *Server) listTempMessages(c *call) (any, error) {
	id, inbox, err := s.tempInbox(c)
	if err != nil {
		return nil, err
	}
	out, err := s.listByID(c, "SELECT * FROM ("+tempMessageColumns+"i.id = ?) WHERE 1", []any{id}, func(row scanner) (int64, any, error) {
		m, err := scanTempMessage(c.ctx, row)
		if err != nil {
			return 0, nil, err
		}
		return m.id, m.wire(), nil
	})
	if err != nil {
		return nil, err
	}
	answer, _ := out.(map[string]any)
	answer["expiresAt"] = inbox["expiresAt"]
	return answer, nil
}

// tempMessage reads the message of the path.
func (s *Server) tempMessage(c *call) (*tempMessage, error) {
	inbox, _, err := s.tempInbox(c)
	if err != nil {
		return nil, err
	}
	id, ok := parseID("tmsg", c.params[1])
	if !ok {
		return nil, notFound("message", "")
	}
	m, err := scanTempMessage(c.ctx, s.reader.QueryRowContext(c.ctx, tempMessageColumns+"m.id = ? AND i.id = ?", id, inbox))
	return m, found(err, "message", "")
}

func (s *Server) getTempMessage(c *call) (any, error) {
	m, err := s.tempMessage(c)
	if err != nil {
		return nil, err
	}
	if !m.seen {
		err := s.write(c.ctx, func(t *tx) error { return t.exec("UPDATE temp_messages SET seen = 1 WHERE id = ?", m.id) })
		if err != nil {
			return nil, err
		}
		m.seen = true
	}
	out := m.wire()
	w := toWire(&storedMessage{receivedAt: m.received, snippet: m.snippet}, m.parsedMessage, []map[string]string{})
	w.ID, w.ThreadID = wireID("tmsg", m.id), ""
	for i := range w.Attachments {
		w.Attachments[i].AttachmentID = attachmentID(m.id, m.parsedMessage.Attachments[i].Index)
	}
	out["message"], out["truncated"] = w, false
	return out, nil
}

func (s *Server) deleteTempMessage(c *call) (any, error) {
	m, err := s.tempMessage(c)
	if err != nil {
		return nil, err
	}
	if err := s.write(c.ctx, func(t *tx) error { return t.exec("DELETE FROM temp_messages WHERE id = ?", m.id) }); err != nil {
		return nil, err
	}
	return map[string]any{"object": "temp_message", "id": c.params[1], "deleted": true}, nil
}

func (s *Server) listTempAttachments(c *call) (any, error) {
	m, err := s.tempMessage(c)
	if err != nil {
		return nil, err
	}
	var data []any
	for _, a := range m.parsedMessage.Attachments {
		_, content, err := mailparse.OpenAttachment(m.raw, a.Index)
		if err != nil && !errors.Is(err, mailparse.ErrNoAttachment) {
			return nil, err
		}
		data = append(data, map[string]any{
			"object": "attachment", "attachmentId": attachmentID(m.id, a.Index), "filename": a.Filename, "mimeType": a.ContentType, "size": a.Size,
			"body": base64.StdEncoding.EncodeToString(content), "headers": []any{},
		})
	}
	return list(data), nil
}
