package api

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
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

// decodeAny reads JSON with numbers as they stand; nil when it cannot.
func decodeAny(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// text is the first of the keys that holds a string which is not empty.
func text(m map[string]any, keys ...string) string {
	for _, key := range keys {
		if s, ok := m[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// idText is text, and takes numbers too.
func idText(m map[string]any, keys ...string) string {
	for _, key := range keys {
		switch v := m[key].(type) {
		case string:
			if v != "" {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}

func boolean(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true", "1":
			return true, true
		case "false", "0":
			return false, true
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && (f == 0 || f == 1) {
			return f == 1, true
		}
	}
	return false, false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return f, err == nil && f == f
	}
	return 0, false
}

// instant is the first of the keys that holds a time: ISO 8601, RFC 2822, or Unix
// seconds or milliseconds.
func instant(m map[string]any, keys ...string) time.Time {
	for _, key := range keys {
		if t, ok := timeOf(m[key]); ok {
			return t
		}
	}
	return time.Time{}
}

func timeOf(v any) (time.Time, bool) {
	if s, ok := v.(string); ok {
		if t, ok := parseInstant(s); ok {
			return t, true
		}
		if t, err := mail.ParseDate(s); err == nil {
			return t.UTC(), true
		}
	}
	f, ok := number(v)
	switch {
	case !ok || f <= 0 || f >= 1e15:
		return time.Time{}, false
	case f >= 1e11: // as seconds that would be the year 5138
		return time.UnixMilli(int64(f)).UTC(), true
	}
	return time.UnixMilli(int64(f * 1000)).UTC(), true
}

// words reads a list of strings, or one string with blanks between them.
func words(v any) []string {
	out := []string{}
	switch v := v.(type) {
	case string:
		out = append(out, strings.Fields(v)...)
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				out = append(out, strings.Fields(s)...)
			}
		}
	}
	return out
}

// headersOf reads {name: value}, {name: [value]} or [{name, value}], with names in
// lower case and the first value of each.
func headersOf(v any) map[string]string {
	out := make(map[string]string)
	add := func(name string, value any) {
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
		}
		s, ok := value.(string)
		name = strings.ToLower(name)
		if _, there := out[name]; ok && !there {
			out[name] = s
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			add(name, value)
		}
	case []any:
		for _, item := range v {
			fields := object(item)
			add(text(fields, "name", "key"), fields["value"])
		}
	}
	return out
}

// addresses is the first of the keys that names anybody.
func addresses(m map[string]any, keys ...string) []Address {
	for _, key := range keys {
		if list := addressesOf(m[key]); len(list) > 0 {
			return list
		}
	}
	return []Address{}
}

func addressesOf(v any) []Address {
	switch v := v.(type) {
	case string:
		return parseAddresses(v)
	case map[string]any:
		a := Address{Name: text(v, "name"), Email: text(v, "email", "address")}
		if a.Name == "" && strings.ContainsRune(a.Email, '<') {
			return parseAddresses(a.Email)
		}
		if a.Name == "" && a.Email == "" {
			return nil
		}
		return []Address{a}
	case []any:
		var out []Address
		for _, item := range v {
			if _, nested := item.([]any); !nested {
				out = append(out, addressesOf(item)...)
			}
		}
		return out
	}
	return nil
}

// parseAddresses reads a comma list. What is no address is kept as one, so that a
// person sees that somebody was named.
func parseAddresses(s string) []Address {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	var out []Address
	for _, part := range splitAddresses(s) {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		open := strings.LastIndexByte(part, '<')
		if open < 0 {
			out = append(out, Address{Email: part})
			continue
		}
		email := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(part[open+1:]), ">"))
		name := strings.TrimSpace(part[:open])
		if len(name) >= 2 && name[0] == '"' && name[len(name)-1] == '"' {
			name = unquote(name[1 : len(name)-1])
		}
		if email == "" && name == "" {
			continue
		}
		out = append(out, Address{Name: name, Email: email})
	}
	return out
}

// splitAddresses cuts at commas outside quotes and angle brackets.
func splitAddresses(s string) []string {
	var parts []string
	quoted, angle, start := false, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '<':
			angle = true
		case c == '>':
			angle = false
		case c == ',' && !angle:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

func unquote(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func decodeBase64(s string) ([]byte, bool) {
	s = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\r', '\n', '=':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, s)
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil, false
	}
	return b, true
}
