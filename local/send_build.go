package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"html"
	"net/mail"
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

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
