package api

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Address is a person in a message. In a send an empty Name is left out.
type Address struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email"`
}

// String writes the address as in a header, "Name <a@b.c>", without encoding it.
func (a Address) String() string {
	switch {
	case a.Name == "":
		return a.Email
	case a.Email == "":
		return a.Name
	}
	return a.Name + " <" + a.Email + ">"
}

// UnmarshalJSON reads an object, or a string such as "Name <a@b.c>". Anything else
// gives the zero Address.
func (a *Address) UnmarshalJSON(b []byte) error {
	*a = Address{}
	if list := addressesOf(decodeAny(b)); len(list) > 0 {
		*a = list[0]
	}
	return nil
}

// Message is one mail of a thread. The API leaves its shape open, so it is read
// leniently: what is missing or has a wrong type is zero, and nothing in it fails.
type Message struct {
	ID               string          `json:"id"`
	ThreadID         string          `json:"threadId"`
	Subject          string          `json:"subject"`
	From             Address         `json:"from"`
	To               []Address       `json:"to"`
	Cc               []Address       `json:"cc"`
	Bcc              []Address       `json:"bcc"`
	ReplyTo          []Address       `json:"replyTo"`
	ReceivedAt       time.Time       `json:"receivedAt"` // zero: not known
	Unread           bool            `json:"unread"`
	Snippet          string          `json:"snippet"`
	Text             string          `json:"text"`
	HTML             string          `json:"html"`
	Attachments      []Attachment    `json:"attachments"`
	MessageID        string          `json:"messageId"` // with its angle brackets
	InReplyTo        string          `json:"inReplyTo"`
	References       []string        `json:"references"`
	Labels           []ThreadLabel   `json:"labels"`
	ListUnsubscribe  string          `json:"listUnsubscribe"`
	Encryption       *Encryption     `json:"encryption"` // nil: none
	DeliveredTo      string          `json:"deliveredTo"`
	VerificationCode string          `json:"verificationCode"`
	SentWith         string          `json:"sentWith"`
	ForwardedFrom    json.RawMessage `json:"forwardedFrom"` // as it came; nil: none
}

// Encryption says how a message is sealed or signed.
type Encryption struct {
	Format      string           `json:"format"` // pgp-mime, pgp-signed, pgp-inline, smime-encrypted, smime-signed, …
	DetectedAt  time.Time        `json:"detectedAt"`
	RawRetained bool             `json:"rawRetained"`
	Parts       []EncryptionPart `json:"parts"`
}

// Sealed reports whether the text cannot be read without a key.
func (e *Encryption) Sealed() bool {
	if e == nil {
		return false
	}
	switch e.Format {
	case "pgp-mime", "pgp-inline", "smime-encrypted":
		return true
	}
	return false
}

// EncryptionPart is an attachment that belongs to the sealing.
type EncryptionPart struct {
	Index        int    `json:"index"`
	AttachmentID string `json:"attachmentId"`
	Role         string `json:"role"` // version, ciphertext, signature
}

// Attachment is a file of a message.
type Attachment struct {
	AttachmentID string `json:"attachmentId"`
	Filename     string `json:"filename"` // as the sender wrote it: perhaps empty, or a path
	ContentType  string `json:"contentType"`
	Size         int64  `json:"size"` // bytes
	Inline       bool   `json:"inline"`
	ContentID    string `json:"contentId"`
	Content      []byte `json:"content"` // nil: not in this answer; [ThreadsService.ListAttachments] has it
}

// UnmarshalJSON reads every form the API may send.
func (a *Attachment) UnmarshalJSON(b []byte) error {
	*a = attachmentOf(object(decodeAny(b)))
	return nil
}

// UnmarshalJSON reads every form the API may send.
func (m *Message) UnmarshalJSON(b []byte) error {
	*m = messageOf(object(decodeAny(b)))
	return nil
}

// UnmarshalJSON reads a thread. Its messages are put in order, oldest first.
func (t *Thread) UnmarshalJSON(b []byte) error {
	var w struct {
		ID           string            `json:"id"`
		Messages     []json.RawMessage `json:"messages"`
		Labels       json.RawMessage   `json:"labels"`
		MessageCount *int              `json:"messageCount"`
		HasUnread    *bool             `json:"hasUnread"`
		TotalReplies int               `json:"totalReplies"`
		DeliveredTo  *string           `json:"deliveredTo"`
		SnoozedUntil Instant           `json:"snoozedUntil"`
		Muted        *bool             `json:"muted"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*t = Thread{
		ID:           w.ID,
		Messages:     []Message{},
		Labels:       labelsOf(decodeAny(w.Labels)),
		TotalReplies: w.TotalReplies,
		SnoozedUntil: w.SnoozedUntil.pointer(),
		Muted:        w.Muted,
	}
	if w.DeliveredTo != nil {
		t.DeliveredTo = *w.DeliveredTo
	}
	for _, raw := range w.Messages {
		fields := object(decodeAny(raw))
		if fields == nil {
			continue
		}
		m := messageOf(fields)
		if m.ThreadID == "" {
			m.ThreadID = t.ID
		}
		t.Messages = append(t.Messages, m)
		t.HasUnread = t.HasUnread || m.Unread
	}
	sortMessages(t.Messages)
	t.MessageCount = len(t.Messages)
	if w.MessageCount != nil {
		t.MessageCount = *w.MessageCount
	}
	if w.HasUnread != nil {
		t.HasUnread = *w.HasUnread
	}
	return nil
}

// sortMessages orders by time. A message without one stays behind its predecessor.
func sortMessages(messages []Message) {
	type dated struct {
		at time.Time
		m  Message
	}
	list := make([]dated, len(messages))
	var last time.Time
	for i, m := range messages {
		if !m.ReceivedAt.IsZero() {
			last = m.ReceivedAt
		}
		list[i] = dated{last, m}
	}
	slices.SortStableFunc(list, func(a, b dated) int { return a.at.Compare(b.at) })
	for i := range list {
		messages[i] = list[i].m
	}
}

func messageOf(m map[string]any) Message {
	headers := headersOf(m["headers"])
	msg := Message{
		ID:               idText(m, "id", "messageId"),
		ThreadID:         idText(m, "threadId"),
		Subject:          text(m, "subject", "title"),
		To:               addresses(m, "to", "recipients"),
		Cc:               addresses(m, "cc"),
		Bcc:              addresses(m, "bcc"),
		ReplyTo:          addresses(m, "replyTo"),
		ReceivedAt:       instant(m, "receivedAt", "receivedOn", "date", "sentAt", "createdAt"),
		Unread:           unread(m),
		Attachments:      []Attachment{},
		MessageID:        cmp.Or(text(m, "messageId"), headers["message-id"], text(m, "internetMessageId")),
		InReplyTo:        cmp.Or(text(m, "inReplyTo"), headers["in-reply-to"]),
		References:       words(m["references"]),
		Labels:           []ThreadLabel{},
		ListUnsubscribe:  cmp.Or(text(m, "listUnsubscribe"), headers["list-unsubscribe"]),
		DeliveredTo:      text(m, "deliveredTo"),
		VerificationCode: text(m, "verificationCode"),
		SentWith:         text(m, "sentWith"),
		Encryption:       encryptionOf(object(m["encryption"])),
	}
	if from := addresses(m, "from", "sender"); len(from) > 0 {
		msg.From = from[0]
	}
	if len(msg.References) == 0 {
		msg.References = words(headers["references"])
	}
	msg.Text, msg.HTML = bodies(m)
	if msg.Snippet = text(m, "snippet", "preview"); msg.Snippet == "" {
		msg.Snippet = snippetOf(msg.Text)
	}
	if list, ok := m["attachments"].([]any); ok {
		for _, item := range list {
			if fields := object(item); fields != nil {
				msg.Attachments = append(msg.Attachments, attachmentOf(fields))
			}
		}
	}
	for _, key := range []string{"labels", "tags", "labelIds"} {
		if labels := labelsOf(m[key]); len(labels) > 0 {
			msg.Labels = labels
			break
		}
	}
	if v := m["forwardedFrom"]; v != nil {
		if raw, err := marshalPlain(v); err == nil {
			msg.ForwardedFrom = raw
		}
	}
	return msg
}

func attachmentOf(m map[string]any) Attachment {
	a := Attachment{
		AttachmentID: idText(m, "attachmentId", "id"),
		Filename:     text(m, "filename", "name"),
		ContentType:  text(m, "contentType", "mimeType", "type"),
		ContentID:    text(m, "contentId", "cid"),
	}
	if inline, ok := boolean(m["inline"]); ok {
		a.Inline = inline
	} else {
		a.Inline = strings.EqualFold(text(m, "disposition"), "inline")
	}
	for _, key := range []string{"content", "body"} {
		if s, ok := m[key].(string); ok {
			if content, ok := decodeBase64(s); ok {
				a.Content = content
				break
			}
		}
	}
	sized := false
	for _, key := range []string{"size", "sizeBytes"} {
		if n, ok := number(m[key]); ok && n >= 0 {
			a.Size, sized = int64(min(n, 1<<62)), true
			break
		}
	}
	if !sized {
		a.Size = int64(len(a.Content))
	}
	return a
}

func encryptionOf(m map[string]any) *Encryption {
	if m == nil || text(m, "format") == "" {
		return nil
	}
	e := &Encryption{Format: text(m, "format"), DetectedAt: instant(m, "detectedAt")}
	e.RawRetained, _ = boolean(m["rawRetained"])
	if parts, ok := m["parts"].([]any); ok {
		for _, item := range parts {
			if p := object(item); p != nil {
				index, _ := number(p["index"])
				e.Parts = append(e.Parts, EncryptionPart{Index: int(max(-1, min(index, 1<<30))), AttachmentID: idText(p, "attachmentId"), Role: text(p, "role")})
			}
		}
	}
	return e
}

func labelsOf(v any) []ThreadLabel {
	labels := []ThreadLabel{}
	list, _ := v.([]any)
	for _, item := range list {
		switch item := item.(type) {
		case string:
			if item != "" {
				labels = append(labels, ThreadLabel{ID: item, Name: item})
			}
		case map[string]any:
			l := ThreadLabel{ID: idText(item, "id"), Name: text(item, "name"), Color: text(item, "color")}
			if l.Color == "" {
				l.Color = text(object(item["color"]), "backgroundColor")
			}
			l.ID, l.Name = cmp.Or(l.ID, l.Name), cmp.Or(l.Name, l.ID)
			if l.ID != "" {
				labels = append(labels, l)
			}
		}
	}
	return labels
}

// bodies finds the plain text and the HTML.
func bodies(m map[string]any) (plain, html string) {
	plain = text(m, "text", "textBody", "plain", "bodyText")
	html = text(m, "html", "processedHtml", "decodedBody", "htmlBody", "bodyHtml")
	switch body := m["body"].(type) {
	case string:
		if looksLikeHTML(body) {
			html = cmp.Or(html, body)
		} else {
			plain = cmp.Or(plain, body)
		}
	case map[string]any:
		plain = cmp.Or(plain, text(body, "text"))
		html = cmp.Or(html, text(body, "html"))
	}
	return plain, html
}

var markup = regexp.MustCompile(`(?i)<(!doctype|!--|/?[a-z][a-z0-9]*)(\s[^<>]*)?/?>`)

func looksLikeHTML(s string) bool { return markup.MatchString(s) }

// snippetOf makes one line of the first 200 characters.
func snippetOf(s string) string {
	s = firstCharacters(s, 2000)
	return firstCharacters(strings.Join(strings.FieldsFunc(s, unicode.IsSpace), " "), 200)
}

func unread(m map[string]any) bool {
	for _, key := range []string{"unread", "isUnread"} {
		if b, ok := boolean(m[key]); ok {
			return b
		}
	}
	for _, key := range []string{"read", "isRead", "seen"} {
		if b, ok := boolean(m[key]); ok {
			return !b
		}
	}
	return false
}
