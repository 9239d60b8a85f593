package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html"
	"net/mail"
	"slices"
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

// outgoing is a checked send request.
type outgoing struct {
	from, replyTo       mailparse.Address
	to, cc, bcc         []mailparse.Address
	subject, text, html string
	headers             []mailparse.Field
	files               []mailparse.File
	fileIDs             []string // of files: those that are kept here, or ""
	threadID            string
	draftID             string
	tags                map[string]string
	stream              string
	scheduledAt         int64 // 0: at once
	window              int64 // seconds in which it can be cancelled
	followUpAt          int64 // 0: no reminder
}

const (
	maxWindowSeconds = 24 * 60 * 60
	maxRecipients    = 1000
	maxTags          = 50
)

// readSend checks a send request against all that can be known without the mailbox.
func (s *Server) readSend(f fields, now int64) (*outgoing, error) {
	o := &outgoing{stream: "transactional", tags: map[string]string{}}
	var err error
	if !f.has("from") {
		return nil, invalidField("from", "from is missing.")
	}
	if o.from, err = readRecipient("from", f["from"]); err != nil {
		return nil, err
	}
	if !s.unrestricted && !s.own[strings.ToLower(o.from.Email)] {
		return nil, invalidField("from", "%s is not an address of this mailbox.", o.from.Email)
	}
	if o.from.Name == "" && s.own[strings.ToLower(o.from.Email)] {
		o.from.Name = s.name
	}
	if f.has("replyTo") {
		v := f["replyTo"]
		if list, ok := v.([]any); ok && len(list) == 1 {
			v = list[0]
		}
		if o.replyTo, err = readRecipient("replyTo", v); err != nil {
			return nil, err
		}
	}
	for _, r := range []struct {
		name string
		into *[]mailparse.Address
	}{{"to", &o.to}, {"cc", &o.cc}, {"bcc", &o.bcc}} {
		if *r.into, err = readRecipients(r.name, f[r.name]); err != nil {
			return nil, err
		}
	}
	if len(o.to) == 0 {
		return nil, invalidField("to", "The message has no recipient.")
	}
	if n := len(o.to) + len(o.cc) + len(o.bcc); n > maxRecipients {
		return nil, invalidField("to", "The message has %d recipients; %d are allowed.", n, maxRecipients)
	}
	for _, t := range []struct {
		name string
		into *string
	}{{"subject", &o.subject}, {"text", &o.text}, {"html", &o.html}, {"threadId", &o.threadID}, {"draftId", &o.draftID}} {
		if *t.into, err = f.text(t.name); err != nil {
			return nil, err
		}
	}
	o.subject = strings.TrimSpace(noControls(o.subject))
	if o.headers, err = readHeaders(f["headers"]); err != nil {
		return nil, err
	}
	if o.files, o.fileIDs, err = readFiles(f["attachments"]); err != nil {
		return nil, err
	}
	if o.tags, err = readTags(f["tags"]); err != nil {
		return nil, err
	}
	stream, err := f.text("stream")
	if err != nil {
		return nil, err
	}
	switch stream {
	case "":
	case "transactional", "broadcast":
		o.stream = stream
	default:
		return nil, invalidField("stream", "stream must be transactional or broadcast.")
	}
	if f.has("translate") {
		return nil, invalidField("translate", "The local server does not translate.")
	}
	at, given, err := f.when("followUpAt")
	if err != nil {
		return nil, err
	}
	if given {
		if at <= now {
			return nil, invalidField("followUpAt", "followUpAt has passed.")
		}
		o.followUpAt = at
	}
	window, _, err := f.whole("cancellableForSeconds")
	if err != nil {
		return nil, err
	}
	if window < 0 || window > maxWindowSeconds {
		return nil, invalidField("cancellableForSeconds", "cancellableForSeconds must be between 0 and %d.", maxWindowSeconds)
	}
	o.window = window
	at, given, err = f.when("scheduledAt")
	if err != nil {
		return nil, err
	}
	if given {
		if at <= now {
			return nil, invalidField("scheduledAt", "scheduledAt has passed.")
		}
		o.scheduledAt = at
	}
	return o, nil
}

func noControls(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// readRecipient reads `a@b.c`, `Name <a@b.c>` or {email, name}.
func readRecipient(param string, v any) (mailparse.Address, error) {
	var a mailparse.Address
	switch v := v.(type) {
	case string:
		a.Email = strings.TrimSpace(v)
		if open := strings.LastIndexByte(a.Email, '<'); open >= 0 && strings.HasSuffix(a.Email, ">") {
			name := strings.TrimSpace(a.Email[:open])
			a.Email = strings.TrimSpace(a.Email[open+1 : len(a.Email)-1])
			if len(name) >= 2 && name[0] == '"' && name[len(name)-1] == '"' {
				name = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(name[1 : len(name)-1])
			}
			a.Name = name
		}
	case map[string]any:
		f := fields(v)
		var err error
		if a.Email, err = f.text("email"); err != nil {
			return a, invalidField(param, "The email of a recipient must be a string.")
		}
		if a.Name, err = f.text("name"); err != nil {
			return a, invalidField(param, "The name of a recipient must be a string.")
		}
		a.Email = strings.TrimSpace(a.Email)
	default:
		return a, invalidField(param, "A recipient is a string or an object with email and name.")
	}
	a.Name = strings.TrimSpace(noControls(a.Name))
	if !validAddress(a.Email) {
		return a, invalidField(param, "%q is not an email address.", clip(a.Email, 200))
	}
	return a, nil
}

func readRecipients(param string, v any) ([]mailparse.Address, error) {
	if v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []mailparse.Address
	for _, e := range list {
		a, err := readRecipient(param, e)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// ownHeaders are the header fields that the server writes itself.
var ownHeaders = []string{
	"from", "sender", "reply-to", "to", "cc", "bcc", "subject", "date", "message-id", "in-reply-to", "references",
	"mime-version", "return-path", "received", "delivered-to",
}

func readHeaders(v any) ([]mailparse.Field, error) {
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, invalidField("headers", "headers must be an object of strings.")
	}
	var out []mailparse.Field
	for name, v := range m {
		value, ok := v.(string)
		if !ok {
			return nil, invalidField("headers", "The header %s must be a string.", printable(name))
		}
		lower := strings.ToLower(name)
		if slices.Contains(ownHeaders, lower) || strings.HasPrefix(lower, "content-") {
			return nil, invalidField("headers", "The header %s is written by the server.", printable(name))
		}
		bad := name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' })
		if bad || strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }) {
			return nil, invalidField("headers", "The header %s has a name or a value that mail cannot carry.", printable(name))
		}
		out = append(out, mailparse.Field{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b mailparse.Field) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// readFiles reads attachments. Of those that are named by the id of a file here, only the id is known yet.
func readFiles(v any) (out []mailparse.File, ids []string, err error) {
	if v == nil {
		return nil, nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, nil, invalidField("attachments", "attachments must be a list.")
	}
	for i, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return nil, nil, invalidField("attachments", "Attachment %d is not an object.", i+1)
		}
		f := fields(m)
		if f.has("fileId") {
			id, err := f.text("fileId")
			if err != nil || id == "" {
				return nil, nil, invalidField("attachments", "The fileId of attachment %d must be a string.", i+1)
			}
			out, ids = append(out, mailparse.File{}), append(ids, id)
			continue
		}
		name, err1 := f.text("filename")
		content, err2 := f.text("content")
		kind, err3 := f.text("contentType")
		if errors.Join(err1, err2, err3) != nil || name == "" {
			return nil, nil, invalidField("attachments", "Attachment %d needs the strings filename and content.", i+1)
		}
		data, err := decodeBase64(content)
		if err != nil {
			return nil, nil, invalidField("attachments", "The content of attachment %d is not base64.", i+1)
		}
		if strings.ContainsFunc(kind, func(r rune) bool { return r < 0x20 || r >= 0x7f }) {
			return nil, nil, invalidField("attachments", "The contentType of attachment %d is not a media type.", i+1)
		}
		out, ids = append(out, mailparse.File{Filename: name, ContentType: kind, Data: data}), append(ids, "")
	}
	return out, ids, nil
}

func decodeBase64(s string) ([]byte, error) {
	s = strings.NewReplacer("\r", "", "\n", "", "-", "+", "_", "/").Replace(s)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

func readTags(v any) (map[string]string, error) {
	out := map[string]string{}
	if v == nil {
		return out, nil
	}
	m, ok := v.(map[string]any)
	if !ok || len(m) > maxTags {
		return nil, invalidField("tags", "tags must be an object of at most %d strings.", maxTags)
	}
	for k, e := range m {
		value, ok := e.(string)
		if !ok {
			return nil, invalidField("tags", "The tag %s must be a string.", printable(k))
		}
		out[k] = value
	}
	return out, nil
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

// builtEmail is a message ready to be stored.
type builtEmail struct {
	raw       []byte
	messageID string
	thread    int64 // 0: the headers decide
	draft     int64
	subject   string
}

// build makes the message itself. An empty messageID makes a new one.
func (s *Server) build(ctx context.Context, o *outgoing, messageID string, now int64) (*builtEmail, error) {
	b := &builtEmail{messageID: messageID}
	if err := s.attachFiles(ctx, o); err != nil {
		return nil, err
	}
	if b.messageID == "" {
		_, host, _ := strings.Cut(o.from.Email, "@")
		var random [16]byte
		_, _ = rand.Read(random[:]) // never fails
		b.messageID = "<" + hex.EncodeToString(random[:]) + "@" + host + ">"
	}
	m := mailparse.Outgoing{
		From: o.from, To: o.to, Cc: o.cc, Subject: o.subject, Date: time.UnixMilli(now).In(s.now().Location()),
		MessageID: b.messageID, Text: o.text, HTML: o.html, Attachments: o.files, Headers: o.headers,
	}
	if o.scheduledAt != 0 {
		m.Date = time.UnixMilli(o.scheduledAt).In(s.now().Location())
	}
	if o.replyTo.Email != "" {
		m.ReplyTo = []mailparse.Address{o.replyTo}
	}
	if o.draftID != "" {
		if err := s.applyDraft(ctx, o, b, &m); err != nil {
			return nil, err
		}
	}
	if o.threadID != "" {
		if err := s.applyThread(ctx, o.threadID, b, &m); err != nil {
			return nil, err
		}
	}
	if m.HTML != "" && m.Text == "" {
		m.Text = htmlText(m.HTML)
	}
	raw, err := mailparse.Build(m)
	if err != nil {
		return nil, invalidField("headers", "The message cannot be written: %s.", err)
	}
	if len(o.bcc) > 0 {
		// The sender's copy names the blind copies; what others get does not.
		raw = append([]byte("Bcc: "+headerAddresses(o.bcc)+"\r\n"), raw...)
	}
	b.raw, b.subject = raw, m.Subject
	return b, nil
}

func headerAddresses(list []mailparse.Address) string {
	var parts []string
	for _, a := range list {
		parts = append(parts, (&mail.Address{Name: a.Name, Address: a.Email}).String())
	}
	return strings.Join(parts, ",\r\n ")
}

// withoutBcc takes the line off again that build put in front.
func withoutBcc(raw []byte) []byte {
	if !bytes.HasPrefix(raw, []byte("Bcc: ")) {
		return raw
	}
	rest := raw
	for {
		_, after, ok := bytes.Cut(rest, []byte("\r\n"))
		if !ok {
			return raw
		}
		rest = after
		if len(rest) == 0 || rest[0] != ' ' {
			return rest
		}
	}
}

// applyThread makes the message an answer to the newest message of a thread.
func (s *Server) applyThread(ctx context.Context, wire string, b *builtEmail, m *mailparse.Outgoing) error {
	id, err := s.lookupThread(ctx, wire, "threadId")
	if err != nil {
		return err
	}
	b.thread = id
	var last storedMessage
	var subject string
	err = s.reader.QueryRowContext(ctx, `SELECT m.id, m.subject, r.encoding, r.data FROM messages m JOIN raws r ON r.message_id = m.id
		WHERE m.thread_id = ? ORDER BY m.received_at DESC, m.id DESC LIMIT 1`, id).Scan(&last.id, &subject, &last.encoding, &last.data)
	if err != nil {
		return found(err, "thread", "threadId")
	}
	parsed, err := last.parse(ctx)
	if err != nil {
		return err
	}
	if parsed.MessageID != "" {
		m.InReplyTo = parsed.MessageID
		m.References = append(slices.Clone(parsed.References), parsed.MessageID)
		if n := len(m.References); n > 40 {
			m.References = append([]string{m.References[0]}, m.References[n-39:]...)
		}
	}
	if m.Subject == "" {
		m.Subject = "Re: " + noControls(oneLine(subject))
		if strings.HasPrefix(strings.ToLower(subject), "re:") {
			m.Subject = noControls(oneLine(subject))
		}
	}
	return nil
}

// applyDraft ties the message to its draft. A draft that forwards a message quotes it and carries its files.
func (s *Server) applyDraft(ctx context.Context, o *outgoing, b *builtEmail, m *mailparse.Outgoing) error {
	id, ok := parseID("drf", o.draftID)
	if !ok {
		return notFound("draft", "draftId")
	}
	d, err := loadDraft(ctx, s.reader, id)
	if err != nil {
		return found(err, "draft", "draftId")
	}
	b.draft = id
	if o.threadID == "" && d.threadID.Valid && !d.forwardOf.Valid {
		o.threadID = wireID("thr", d.threadID.Int64)
	}
	if !d.forwardOf.Valid {
		return nil
	}
	var src storedMessage
	err = s.reader.QueryRowContext(ctx, "SELECT message_id, encoding, data FROM raws WHERE message_id = ?", d.forwardOf.Int64).
		Scan(&src.id, &src.encoding, &src.data)
	if err != nil {
		return found(err, "message to forward", "draftId")
	}
	raw, err := unpack(src.encoding, src.data)
	if err != nil {
		return err
	}
	msg, err := mailparse.Parse(ctx, raw, mailparse.Limits{})
	if err != nil {
		return err
	}
	for _, a := range msg.Attachments {
		_, data, err := mailparse.OpenAttachment(raw, a.Index)
		if err != nil {
			return err
		}
		m.Attachments = append(m.Attachments, mailparse.File{
			Filename: a.Filename, ContentType: a.ContentType, ContentID: a.ContentID, Inline: a.Inline, Data: data,
		})
	}
	if m.Subject == "" {
		m.Subject = "Fwd: " + noControls(oneLine(msg.Subject))
	}
	quoteForward(m, msg)
	return nil
}

func quoteForward(m *mailparse.Outgoing, src *mailparse.Message) {
	var names []string
	for _, a := range src.From {
		names = append(names, a.String())
	}
	var to []string
	for _, a := range src.To {
		to = append(to, a.String())
	}
	head := []string{"---------- Forwarded message ----------", "From: " + noControls(strings.Join(names, ", "))}
	if src.DateKnown {
		head = append(head, "Date: "+src.Date.Format("Mon, 2 Jan 2006 15:04 -0700"))
	}
	head = append(head, "Subject: "+noControls(oneLine(src.Subject)), "To: "+noControls(clip(strings.Join(to, ", "), 2000)))
	text := m.Text
	if text == "" && m.HTML != "" {
		text = htmlText(m.HTML)
	}
	m.Text = strings.TrimRight(text, "\n") + "\n\n" + strings.Join(head, "\n") + "\n\n" + readable(src)
	if m.HTML == "" {
		return
	}
	for i, line := range head {
		head[i] = html.EscapeString(line)
	}
	quoted := src.HTML
	if quoted == "" {
		quoted = paragraphs(src.Text)
	}
	m.HTML += "<br><br><div>" + strings.Join(head, "<br>") + "</div><br><blockquote>" + quoted + "</blockquote>"
}

// paragraphs gives plain text as HTML.
func paragraphs(text string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n\n") {
		if part = strings.Trim(part, "\n"); part != "" {
			b.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(part), "\n", "<br>") + "</p>")
		}
	}
	return b.String()
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
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	cur, after, err := c.cursor("cursor")
	if err != nil {
		return nil, err
	}
	where, args := []string{"1"}, []any{}
	add := func(sqlText string, a ...any) { where, args = append(where, sqlText), append(args, a...) }
	if after {
		add("id < ?", cur.ID)
	}
	if v := c.query.Get("status"); v != "" {
		var marks []string
		for st := range strings.SplitSeq(v, ",") {
			if st = strings.TrimSpace(st); !slices.Contains(emailStatuses, st) {
				return nil, invalidField("status", "status is a list of %s.", strings.Join(emailStatuses, ", "))
			}
			marks, args = append(marks, "?"), append(args, st)
		}
		where = append(where, "status IN ("+strings.Join(marks, ", ")+")")
	}
	if v := c.query.Get("from"); v != "" {
		add(`(from_address = ? COLLATE NOCASE OR from_address LIKE ? ESCAPE '\')`, v, "%<"+escapeLike(v)+">")
	}
	if c.query.Get("broadcastId") != "" {
		return page(nil, false, "nextCursor", cursor{}), nil
	}
	for name, sqlText := range map[string]string{"scheduledFrom": "scheduled_at >= ?", "scheduledTo": "scheduled_at <= ?"} {
		if v := c.query.Get(name); v != "" {
			at, ok := parseInstant(v)
			if !ok {
				return nil, invalidField(name, "%s must be an instant.", name)
			}
			add(sqlText, at.UnixMilli())
		}
	}
	rtx, err := s.reader.BeginTx(c.ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rtx.Rollback() }()
	rows, err := rtx.QueryContext(c.ctx, "SELECT "+emailColumns+" FROM emails WHERE "+strings.Join(where, " AND ")+
		" ORDER BY id DESC LIMIT ?", append(args, limit+1)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	var data []any
	for rows.Next() {
		id, e, err := scanEmail(rows)
		if err != nil {
			return nil, err
		}
		ids, data = append(ids, id), append(data, e)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	more := len(ids) > limit
	n := min(len(ids), limit)
	for i := range n {
		if err := addRecipients(c.ctx, rtx, ids[i], data[i].(map[string]any)); err != nil {
			return nil, err
		}
	}
	next := cursor{}
	if more {
		next.ID = ids[n-1]
	}
	return page(data[:n], more, "nextCursor", next), nil
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
