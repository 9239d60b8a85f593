package local

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

// received does what follows from a message that came in: it is counted among the subscriptions, its invitation is noted,
// rules act on it, and for mail that comes just now reminders end and absences are answered.
func (s *Server) received(t *tx, p *parsed, in Ingested, o IngestOptions, at int64, delivered string) error {
	if !o.incoming {
		return nil
	}
	thread, _ := parseID("thr", in.ThreadID)
	if err := s.noteSubscription(t, p.msg, in.message, at, delivered); err != nil {
		return err
	}
	if !o.outgoing { // an own event is there already
		if err := s.noteEvent(t, p.msg, in.message, at); err != nil {
			return err
		}
	}
	if o.exact != nil {
		return nil // all that was to be done about it was done where it comes from
	}
	if o.Arrival && !o.outgoing && !p.msg.AutoSubmitted {
		if err := t.answered(thread); err != nil {
			return err
		}
	}
	if o.Folder != "spam" && o.Folder != "trash" && o.Folder != "bin" {
		if err := s.applyRules(t, p, in, o, at, delivered); err != nil {
			return err
		}
	}
	if !o.Arrival {
		return nil
	}
	return s.answerAbsence(t, p.msg, thread, delivered)
}

// answerable gives whom an automatic answer to a message goes to (RFC 3834): nobody when a program or a list sent it.
func (s *Server) answerable(m *mailparse.Message) (mailparse.Address, bool) {
	if m.AutoSubmitted || m.ListID != "" || m.ListUnsubscribe != "" || len(m.From) != 1 {
		return mailparse.Address{}, false
	}
	to := m.From[0]
	if len(m.ReplyTo) == 1 {
		to = m.ReplyTo[0]
	}
	local, _, _ := strings.Cut(strings.ToLower(to.Email), "@")
	plain := strings.NewReplacer("-", "", "_", "", ".", "").Replace(local)
	switch {
	case !validAddress(to.Email), s.own[strings.ToLower(to.Email)], s.own[strings.ToLower(m.From[0].Email)]:
		return to, false
	case plain == "mailerdaemon", plain == "postmaster", strings.Contains(plain, "noreply"), strings.Contains(plain, "donotreply"),
		strings.HasPrefix(plain, "bounce"), strings.HasPrefix(plain, "owner"):
		return to, false
	}
	return to, true
}

// asSender is an own address with the person's name.
func (s *Server) asSender(address string) mailparse.Address {
	if address == "" || !s.own[strings.ToLower(address)] {
		address = s.addresses[0]
	}
	return mailparse.Address{Name: s.name, Email: address}
}

// answerTo begins an automatic answer to a message.
func answerTo(m *mailparse.Message, from, to mailparse.Address) mailparse.Outgoing {
	subject := noControls(oneLine(m.Subject))
	if !strings.HasPrefix(strings.ToLower(subject), "re:") {
		subject = "Re: " + subject
	}
	out := mailparse.Outgoing{
		From: from, To: []mailparse.Address{to}, Subject: clip(subject, 900), InReplyTo: m.MessageID,
		Headers: []mailparse.Field{{Name: "Auto-Submitted", Value: "auto-replied"}},
	}
	if m.MessageID != "" {
		out.References = append(slices.Clone(m.References), m.MessageID)
		if n := len(out.References); n > 40 {
			out.References = append([]string{out.References[0]}, out.References[n-39:]...)
		}
	}
	return out
}

// enqueue accepts a message that the mailbox writes itself. It takes the way of every other one.
func (s *Server) enqueue(t *tx, m mailparse.Outgoing, thread int64) error {
	_, host, _ := strings.Cut(m.From.Email, "@")
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	m.MessageID = "<" + hex.EncodeToString(random[:]) + "@" + host + ">"
	m.Date = time.UnixMilli(t.now).In(s.now().Location())
	raw, err := mailparse.Build(m)
	if err != nil {
		return err
	}
	n := &newEmail{
		outgoing: &outgoing{from: m.From, to: m.To, subject: m.Subject, stream: "transactional", tags: map[string]string{}},
		built:    &builtEmail{raw: raw, messageID: m.MessageID, thread: thread, subject: m.Subject},
		mode:     modeTest,
	}
	if s.relay != nil {
		n.mode = modeLive
	}
	_, err = s.saveEmail(t, n)
	return err
}

const forwardedField = "X-Teapost-Forwarded"

// answerRule does the actions of a rule that send something.
func (s *Server) answerRule(t *tx, a ruleAction, th *thread, p *parsed) (why string, err error) {
	m := p.msg
	switch a.Type {
	case "reject":
		// The sender's server was told long ago that the message is taken.
		return "", t.setLabel(th, labelTrash, true)
	case "reply":
		to, ok := s.answerable(m)
		if !ok {
			return "automatic mail and lists are not answered", nil
		}
		out := answerTo(m, s.asSender(th.deliveredTo.String), to)
		out.Text = a.Value
		err := s.enqueue(t, out, th.id)
		return "", err
	}
	to := strings.ToLower(a.Value)
	if s.own[to] || len(m.Header(forwardedField)) > 0 {
		return "the message would go in a circle", nil
	}
	raw, err := unpack(p.encoding, p.data)
	if err != nil {
		return "", err
	}
	out := mailparse.Outgoing{
		From: s.asSender(th.deliveredTo.String), To: []mailparse.Address{{Email: a.Value}}, Subject: "Fwd: " + clip(noControls(oneLine(m.Subject)), 900),
		Headers: []mailparse.Field{{Name: "Auto-Submitted", Value: "auto-generated"}, {Name: forwardedField, Value: "1"}},
	}
	quoteForward(&out, m)
	for _, f := range m.Attachments {
		_, data, err := mailparse.OpenAttachment(raw, f.Index)
		if err != nil {
			return "an attachment cannot be read", nil // it is the message's fault, not the mailbox's
		}
		out.Attachments = append(out.Attachments, mailparse.File{Filename: f.Filename, ContentType: f.ContentType, ContentID: f.ContentID, Inline: f.Inline, Data: data})
	}
	if err := s.enqueue(t, out, 0); err != nil {
		return "the message cannot be written anew", nil // as above
	}
	return "", nil
}
