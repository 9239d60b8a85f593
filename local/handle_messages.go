package local

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

type wireAddress struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

func wireAddresses(list []mailparse.Address) []wireAddress {
	out := make([]wireAddress, 0, len(list))
	for _, a := range list {
		out = append(out, wireAddress{a.Name, a.Email})
	}
	return out
}

type wireAttachment struct {
	AttachmentID string  `json:"attachmentId"`
	Filename     string  `json:"filename"`
	ContentType  string  `json:"contentType"`
	Size         int64   `json:"size"`
	Inline       bool    `json:"inline"`
	ContentID    *string `json:"contentId"`
}

// wireMessage is a message in the canonical form of the contract's section 9.
type wireMessage struct {
	ID               string              `json:"id"`
	ThreadID         string              `json:"threadId"`
	Subject          string              `json:"subject"`
	From             wireAddress         `json:"from"`
	To               []wireAddress       `json:"to"`
	Cc               []wireAddress       `json:"cc"`
	Bcc              []wireAddress       `json:"bcc"`
	ReplyTo          []wireAddress       `json:"replyTo"`
	ReceivedAt       string              `json:"receivedAt"`
	Unread           bool                `json:"unread"`
	Snippet          string              `json:"snippet"`
	Text             string              `json:"text"`
	HTML             string              `json:"html"`
	Attachments      []wireAttachment    `json:"attachments"`
	MessageID        string              `json:"messageId"`
	InReplyTo        string              `json:"inReplyTo"`
	References       []string            `json:"references"`
	Labels           []map[string]string `json:"labels"`
	ListUnsubscribe  *string             `json:"listUnsubscribe"`
	Encryption       any                 `json:"encryption"`
	DeliveredTo      *string             `json:"deliveredTo"`
	VerificationCode *string             `json:"verificationCode"`
	SentWith         *string             `json:"sentWith"`
	ForwardedFrom    *string             `json:"forwardedFrom"`
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// storedMessage is a row of messages with its raw bytes.
type storedMessage struct {
	id          int64
	threadID    int64
	receivedAt  int64
	datedAt     sql.NullInt64
	unread      bool
	outgoing    bool
	snippet     string
	deliveredTo sql.NullString
	encoding    int
	data        []byte
	body        []byte
}

// parse reads the message itself.
func (m *storedMessage) parse(ctx context.Context) (*mailparse.Message, error) {
	if m.body != nil {
		raw, err := unpack(rawDeflate, m.body)
		if err != nil {
			return nil, err
		}
		var msg mailparse.Message
		return &msg, json.Unmarshal(raw, &msg)
	}
	raw, err := unpack(m.encoding, m.data)
	if err != nil {
		return nil, err
	}
	return mailparse.Parse(ctx, raw, mailparse.Limits{})
}

func (s *Server) threadMessages(ctx context.Context, rtx *sql.Tx, th *thread, labels []wireLabel) ([]wireMessage, error) {
	short := make([]map[string]string, 0, len(labels))
	for _, l := range labels {
		short = append(short, map[string]string{"id": l.ID, "name": l.Name})
	}
	rows, err := rtx.QueryContext(ctx, `SELECT m.id, m.received_at, m.dated_at, m.unread, m.outgoing, m.snippet, m.delivered_to,
		CASE WHEN b.message_id IS NULL THEN r.encoding ELSE 0 END, CASE WHEN b.message_id IS NULL THEN r.data END, b.parsed
		FROM messages m JOIN raws r ON r.message_id = m.id LEFT JOIN bodies b ON b.message_id = m.id
		WHERE m.thread_id = ? ORDER BY m.received_at, m.id`, th.id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []wireMessage{}
	for rows.Next() {
		m := storedMessage{threadID: th.id}
		if err := rows.Scan(&m.id, &m.receivedAt, &m.datedAt, &m.unread, &m.outgoing, &m.snippet, &m.deliveredTo, &m.encoding, &m.data, &m.body); err != nil {
			return nil, err
		}
		msg, err := m.parse(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, toWire(&m, msg, short))
	}
	return out, rows.Err()
}

func toWire(m *storedMessage, msg *mailparse.Message, labels []map[string]string) wireMessage {
	w := wireMessage{
		ID:              wireID("msg", m.id),
		ThreadID:        wireID("thr", m.threadID),
		Subject:         msg.Subject,
		To:              wireAddresses(msg.To),
		Cc:              wireAddresses(msg.Cc),
		Bcc:             wireAddresses(msg.Bcc),
		ReplyTo:         wireAddresses(msg.ReplyTo),
		ReceivedAt:      instant(m.receivedAt),
		Unread:          m.unread,
		Snippet:         m.snippet,
		Text:            msg.Text,
		HTML:            msg.HTML,
		Attachments:     []wireAttachment{},
		MessageID:       msg.MessageID,
		InReplyTo:       msg.InReplyTo,
		References:      msg.References,
		Labels:          labels,
		ListUnsubscribe: textOrNull(msg.ListUnsubscribe),
		ForwardedFrom:   textOrNull(msg.ForwardedFrom),
	}
	if m.datedAt.Valid {
		w.ReceivedAt = instant(m.datedAt.Int64)
	}
	if m.deliveredTo.Valid {
		w.DeliveredTo = &m.deliveredTo.String
	}
	if w.References == nil {
		w.References = []string{}
	}
	if len(msg.From) > 0 {
		w.From = wireAddress{msg.From[0].Name, msg.From[0].Email}
	} else if len(msg.Sender) > 0 {
		w.From = wireAddress{msg.Sender[0].Name, msg.Sender[0].Email}
	}
	for _, a := range msg.Attachments {
		w.Attachments = append(w.Attachments, wireAttachment{
			attachmentID(m.id, a.Index), a.Filename, a.ContentType, a.Size, a.Inline, textOrNull(a.ContentID),
		})
	}
	if !m.outgoing && msg.InReplyTo == "" { // nobody answers with a code
		w.VerificationCode = textOrNull(messageCode(msg))
	}
	if msg.Encryption != "" {
		parts := []map[string]any{}
		for _, p := range msg.EncryptionParts {
			parts = append(parts, map[string]any{"index": p.Index, "attachmentId": attachmentID(m.id, p.Index), "role": p.Role})
		}
		w.Encryption = map[string]any{
			"format": msg.Encryption, "detectedAt": instant(m.receivedAt), "rawRetained": true, "parts": parts,
		}
	}
	return w
}

func attachmentID(message int64, index int) string {
	return fmt.Sprintf("att_%d_%d", message, index)
}

func (s *Server) listAttachments(c *call) (any, error) {
	thread, err := s.threadID(c)
	if err != nil {
		return nil, err
	}
	message, ok := parseID("msg", c.params[1])
	if !ok {
		return nil, notFound("message", "")
	}
	var encoding int
	var data []byte
	err = s.reader.QueryRowContext(c.ctx, `SELECT r.encoding, r.data FROM messages m JOIN raws r ON r.message_id = m.id
		WHERE m.id = ? AND m.thread_id = ?`, message, thread).Scan(&encoding, &data)
	if err != nil {
		return nil, found(err, "message", "")
	}
	raw, err := unpack(encoding, data)
	if err != nil {
		return nil, err
	}
	msg, err := mailparse.Parse(c.ctx, raw, mailparse.Limits{})
	if err != nil {
		return nil, err
	}
	list := []any{}
	total := int64(0)
	for _, a := range msg.Attachments {
		var content any
		// The whole answer stays below what a client reads.
		if total += a.Size; total <= 45<<20 {
			_, bytes, err := mailparse.OpenAttachment(raw, a.Index)
			if err != nil && !errors.Is(err, mailparse.ErrNoAttachment) {
				return nil, err
			}
			content = base64.StdEncoding.EncodeToString(bytes)
		} else {
			total -= a.Size
		}
		list = append(list, map[string]any{
			"object": "attachment", "attachmentId": attachmentID(message, a.Index), "filename": a.Filename,
			"contentType": a.ContentType, "size": a.Size, "content": content,
		})
	}
	return map[string]any{"object": "list", "data": list}, nil
}
