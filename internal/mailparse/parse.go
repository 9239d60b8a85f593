package mailparse

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// Parse reads a message. It returns a message for all input but empty one: what cannot be understood is
// reported in Message.Problems, and the raw text becomes the body. The error is ErrEmpty or the
// context's; with the latter the message holds what was read so far. Parse does not keep raw.
func Parse(ctx context.Context, raw []byte, limits Limits) (*Message, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, ErrEmpty
	}
	limits = limits.withDefaults()
	h, body, w, err := walk(raw, limits, func() *walker {
		c := &collector{limits: limits, msg: &Message{}}
		return c.walker(ctx)
	})
	c := w.owner
	c.attachInvite()
	m := c.finish()
	if m.Text == "" && m.HTML == "" && len(m.Attachments) == 0 && m.Calendar == nil && len(c.problems) > 0 {
		m.Text = normalLines(decodeText(body[:min(len(body), limits.MaxTextBytes)], ""))
	}
	m.Problems = append(h.problems, c.problems...)
	m.readHeader(&h, c.charset)
	if c.inner != nil {
		m.addProtected(c.inner)
	}
	if errors.Is(err, errLimit) {
		err = nil
	}
	return m, err
}

// OpenAttachment returns the attachment with that index and its decoded bytes; text is not converted to
// another charset. It returns ErrNoAttachment for an unknown index.
func OpenAttachment(raw []byte, index int) (Attachment, []byte, error) {
	limits := Limits{}.withDefaults()
	_, _, w, err := walk(raw, limits, func() *walker {
		c := &collector{limits: limits, msg: &Message{}, want: index, open: true}
		return c.walker(context.Background())
	})
	c := w.owner
	c.attachInvite()
	if c.found {
		return c.msg.Attachments[index], c.data, nil
	}
	if err != nil && !errors.Is(err, errLimit) {
		return Attachment{}, nil, err
	}
	return Attachment{}, nil, ErrNoAttachment
}

// collector turns the leaves of a message into its texts and attachments.
type collector struct {
	limits   Limits
	msg      *Message
	blocks   []*block
	problems []string
	charset  string // of the first text part
	icsName  bool   // Calendar comes from a file, which a text/calendar part replaces
	invite   *part  // the first calendar part that is no file

	inner getter // protected header fields of the signed part

	open  bool // look for the attachment want only
	want  int
	found bool
	data  []byte
}

func (c *collector) walker(ctx context.Context) *walker {
	return &walker{
		ctx: ctx, limits: c.limits, leaf: c.leaf, multi: c.multipart, newBlock: c.newBlock, problem: c.problem, owner: c,
	}
}

func (c *collector) newBlock() *block {
	b := &block{}
	c.blocks = append(c.blocks, b)
	return b
}

const maxProblems = 20

func (c *collector) problem(s string) {
	if len(c.problems) >= maxProblems {
		return
	}
	for _, p := range c.problems {
		if p == s {
			return
		}
	}
	c.problems = append(c.problems, s)
}

// multipart notes what a multipart says about encryption and protected header fields.
func (c *collector) multipart(ctype parsedValue, get getter, depth int) {
	protocol := strings.ToLower(ctype.get("protocol"))
	if c.msg.Encryption == "" && depth <= 1 {
		switch ctype.value {
		case "multipart/encrypted":
			c.msg.Encryption = "pgp-mime"
		case "multipart/signed":
			if strings.Contains(protocol, "pkcs7") {
				c.msg.Encryption = "smime-signed"
			} else {
				c.msg.Encryption = "pgp-signed"
			}
		}
	}
	if ctype.get("protected-headers") != "" && c.inner == nil {
		fields := map[string]string{}
		for _, name := range []string{"From", "To", "Cc", "Subject"} {
			fields[name] = get(name)
		}
		c.inner = func(name string) string { return fields[name] }
	}
}

func (c *collector) leaf(p *part) error {
	kind, _, _ := strings.Cut(p.ctype.value, "/")
	name := p.filename()
	attached := p.disposition.value == "attachment"
	isText := p.ctype.value == "text/plain" || p.ctype.value == "text/html" || kind == "text" && !attached && name == "" &&
		p.ctype.value != "text/calendar" && p.ctype.value != "text/rfc822-headers" && p.ctype.value != "text/x-amp-html" && p.ctype.value != "text/vcard"
	if p.ctype.value == "text/x-amp-html" && !attached {
		return nil
	}
	switch {
	case isText && !attached && (name == "" || !c.hasBody(p)):
		if uuName := c.text(p); uuName != "" {
			p.ctype.value = "application/octet-stream"
			return c.attach(p, uuName)
		}
		if name == "" {
			return nil
		}
		return c.attach(p, name)
	case p.ctype.value == "text/calendar" && !attached:
		c.calendar(p, false)
		if name == "" || p.parent == "multipart/alternative" {
			if c.invite == nil && len(p.data) <= c.limits.MaxTextBytes {
				spare := *p
				spare.data = bytes.Clone(p.data)
				c.invite = &spare
			}
			return nil
		}
	case p.ctype.value == "text/calendar", p.ctype.value == "application/ics", strings.HasSuffix(strings.ToLower(name), ".ics"):
		c.calendar(p, true)
	}
	return c.attach(p, name)
}

// hasBody reports whether a named text part is a file because the body is there already.
func (c *collector) hasBody(p *part) bool {
	if p.block != nil {
		return p.ctype.value == "text/html" && p.block.html != "" || p.ctype.value != "text/html" && p.block.plain != ""
	}
	for _, b := range c.blocks {
		if b.plain != "" || b.html != "" {
			return true
		}
	}
	return false
}

// text adds a part to the body. It returns the name of a file when the part was uuencoded.
func (c *collector) text(p *part) (uuName string) {
	data, ok := decodeTransfer(p.data, p.encoding)
	switch {
	case !ok && data == nil:
		data = p.data
		c.problem("a part does not follow its transfer encoding and is shown as it stands")
	case !ok && p.encoding != "base64":
		c.problem("the transfer encoding of a part is unknown; it is shown as it stands")
	case !ok:
		c.problem("a part has bytes that its transfer encoding does not allow")
	}
	if strings.Contains(p.encoding, "uu") && ok {
		// The file is an attachment; the text around it is the body.
		start := bytes.Index(p.data, []byte("begin "))
		if n, _, found := cutUU(p.data); found && start >= 0 {
			uuName, data = n, p.data[:start]
		}
	} else if p.ctype.value == "text/plain" {
		data = c.attachUU(p, data)
	}
	if len(data) > c.limits.MaxTextBytes {
		data = data[:c.limits.MaxTextBytes]
		for n := 0; n < utf8.UTFMax && len(data) > 0 && !utf8.RuneStart(data[len(data)-1]); n++ {
			data = data[:len(data)-1]
		}
		c.problem("the text is too long and was cut")
	}
	charset := p.ctype.get("charset")
	if c.charset == "" {
		c.charset = charset
	}
	isHTML := p.ctype.value == "text/html"
	if isHTML && (normalCharset(charset) == "" || !knownCharset(charset)) {
		if meta := htmlCharset(data); meta != "" && !(isASCII(data) || utf8.Valid(data)) {
			charset = meta
		}
	}
	s := normalLines(decodeText(data, charset))
	if isHTML {
		s = strings.TrimPrefix(s, "\uFEFF")
	} else if strings.EqualFold(p.ctype.get("format"), "flowed") {
		s = unflow(s, strings.EqualFold(p.ctype.get("delsp"), "yes"))
	}
	b := p.block
	if b == nil {
		b = c.newBlock()
	}
	if isHTML {
		b.html += s
	} else {
		b.plain = joinText(b.plain, s)
		c.inlinePGP(s)
	}
	return uuName
}

func (c *collector) inlinePGP(s string) {
	if c.msg.Encryption != "" {
		return
	}
	switch {
	case strings.Contains(s, "-----BEGIN PGP MESSAGE-----"):
		c.msg.Encryption = "pgp-inline"
	case strings.Contains(s, "-----BEGIN PGP SIGNED MESSAGE-----"):
		c.msg.Encryption = "pgp-signed"
	}
}

func joinText(a, b string) string {
	if a == "" || strings.TrimSpace(b) == "" {
		return a + b
	}
	return strings.TrimRight(a, "\n") + "\n\n" + b
}

func (c *collector) calendar(p *part, file bool) {
	if c.msg.Calendar != nil && (file || !c.icsName) {
		return
	}
	data, _ := decodeTransfer(p.data, p.encoding)
	if len(data) == 0 || len(data) > c.limits.MaxTextBytes {
		return
	}
	c.msg.Calendar = []byte(decodeText(data, p.ctype.get("charset")))
	c.msg.CalendarMethod = strings.ToUpper(p.ctype.get("method"))
	if c.msg.CalendarMethod == "" {
		c.msg.CalendarMethod = calendarMethod(c.msg.Calendar)
	}
	c.icsName = file
}

// attachInvite makes an attachment of an invitation that came without one as a file, so that it can be seen and saved.
func (c *collector) attachInvite() {
	if c.invite == nil {
		return
	}
	for _, a := range c.msg.Attachments {
		if a.ContentType == "text/calendar" || a.ContentType == "application/ics" || strings.HasSuffix(strings.ToLower(a.Filename), ".ics") {
			return
		}
	}
	name := c.invite.filename()
	if name == "" {
		name = "invite.ics"
	}
	_ = c.attach(c.invite, name) // it cannot fail
}

func calendarMethod(ics []byte) string {
	for len(ics) > 0 {
		var line []byte
		line, ics = cutLine(ics)
		if v, ok := strings.CutPrefix(strings.ToUpper(strings.TrimSpace(string(line[:min(len(line), 80)]))), "METHOD:"); ok {
			return v
		}
	}
	return ""
}

func (c *collector) attach(p *part, name string) error {
	a := Attachment{
		Index:       len(c.msg.Attachments),
		Filename:    name,
		ContentType: p.ctype.value,
		ContentID:   p.contentID,
		Inline:      p.disposition.value == "inline" || p.contentID != "" && p.parent == "multipart/related" && p.disposition.value != "attachment",
	}
	data, ok := decodeTransfer(p.data, p.encoding)
	if data == nil && !ok {
		data = p.data
	}
	if !ok {
		c.problem("an attachment does not follow its transfer encoding")
	}
	if a.Filename == "" && a.ContentType == "message/rfc822" {
		h, _ := splitHeader(data, c.limits.MaxHeaderBytes)
		if subject := strings.TrimSpace(DecodeHeader(h.get("Subject"))); subject != "" {
			a.Filename = subject + ".eml"
		}
	}
	a.Size = int64(len(data))
	c.encryptedPart(p, a)
	c.msg.Attachments = append(c.msg.Attachments, a)
	if c.open && a.Index == c.want {
		// The walk goes on: only at its end it is known whether the message must be repaired and read again.
		c.found, c.data = true, bytes.Clone(data)
	}
	return nil
}

func (c *collector) encryptedPart(p *part, a Attachment) {
	role := ""
	switch a.ContentType {
	case "application/pgp-encrypted":
		role = "version"
	case "application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature":
		role = "signature"
	case "application/octet-stream":
		if p.parent == "multipart/encrypted" {
			role = "ciphertext"
		}
	case "application/pkcs7-mime", "application/x-pkcs7-mime":
		role = "ciphertext"
		if c.msg.Encryption == "" {
			c.msg.Encryption = "smime-encrypted"
			if strings.Contains(strings.ToLower(p.ctype.get("smime-type")), "signed") {
				c.msg.Encryption = "smime-signed"
			}
		}
	}
	if role != "" {
		c.msg.EncryptionParts = append(c.msg.EncryptionParts, EncryptedPart{Index: a.Index, Role: role})
	}
}

// finish joins the blocks. When one of them has only text and another HTML, the HTML gets the text too,
// so that it holds all of the message.
func (c *collector) finish() *Message {
	var text string
	var html strings.Builder
	anyHTML := false
	for _, b := range c.blocks {
		anyHTML = anyHTML || strings.TrimSpace(b.html) != ""
	}
	for _, b := range c.blocks {
		text = joinText(text, b.plain)
		switch {
		case !anyHTML:
		case strings.TrimSpace(b.html) != "":
			html.WriteString(b.html)
		case strings.TrimSpace(b.plain) != "":
			html.WriteString(textAsHTML(b.plain))
		}
	}
	c.msg.Text, c.msg.HTML = text, html.String()
	return c.msg
}

func (m *Message) readHeader(h *rawHeader, charset string) {
	m.Fields = h.fields
	for i, f := range m.Fields {
		m.Fields[i].Value = rawToUTF8(f.Value, charset)
	}
	all := func(name string) string {
		var values []string
		for _, f := range h.fields {
			if strings.EqualFold(f.Name, name) && f.Value != "" {
				values = append(values, f.Value)
			}
		}
		return strings.Join(values, ", ")
	}
	m.From = ParseAddressList(h.get("From"))
	m.Sender = ParseAddressList(h.get("Sender"))
	m.ReplyTo = ParseAddressList(all("Reply-To"))
	m.To, m.Cc, m.Bcc = ParseAddressList(all("To")), ParseAddressList(all("Cc")), ParseAddressList(all("Bcc"))
	m.Subject = strings.TrimSpace(DecodeHeader(h.get("Subject")))
	m.MessageID = messageID(h.get("Message-ID"))
	m.InReplyTo = messageID(h.get("In-Reply-To"))
	m.References = messageIDs(all("References"))
	m.ListUnsubscribe = h.get("List-Unsubscribe")
	m.ListUnsubscribePost = h.get("List-Unsubscribe-Post")
	m.ListID = listID(h.get("List-Id"))
	m.readDates(h)
	m.AutoSubmitted = isAutomatic(h)
	for _, name := range []string{"Resent-From", "X-Forwarded-For"} {
		if a := ParseAddressList(h.get(name)); len(a) > 0 && strings.Contains(a[0].Email, "@") {
			m.ForwardedFrom = a[0].Email
			break
		}
	}
	for _, name := range []string{"Delivered-To", "X-Original-To", "Envelope-To"} {
		if a := ParseAddressList(h.get(name)); len(a) > 0 && a[0].Email != "" {
			m.DeliveredTo = a[0].Email
			break
		}
	}
}

// addProtected takes from the signed part what the header itself lacks.
func (m *Message) addProtected(get getter) {
	if len(m.From) == 0 {
		m.From = ParseAddressList(get("From"))
	}
	if len(m.To) == 0 && len(m.Cc) == 0 {
		m.To, m.Cc = ParseAddressList(get("To")), ParseAddressList(get("Cc"))
	}
	if m.Subject == "" || m.Subject == "..." {
		m.Subject = strings.TrimSpace(DecodeHeader(get("Subject")))
	}
}

func (m *Message) readDates(h *rawHeader) {
	for _, f := range h.fields {
		if !strings.EqualFold(f.Name, "Received") {
			continue
		}
		i := strings.LastIndexByte(f.Value, ';')
		if t, ok := ParseDate(f.Value[i+1:]); ok && i >= 0 {
			m.Received = t
			break
		}
	}
	for _, name := range []string{"Date", "Resent-Date", "Delivery-Date"} {
		if t, ok := ParseDate(h.get(name)); ok {
			m.Date, m.DateKnown = t, true
			return
		}
	}
	if !m.Received.IsZero() {
		m.Date, m.DateKnown = m.Received, true
	}
}

// When is the instant to file the message under: Date when it is plausible, else Received, else fallback.
// A date more than two days after now, or before 1970, is not plausible.
func (m *Message) When(now, fallback time.Time) time.Time {
	plausible := func(t time.Time) bool {
		return !t.IsZero() && t.Unix() >= 0 && t.Before(now.Add(48*time.Hour))
	}
	for _, t := range []time.Time{m.Date, m.Received, fallback} {
		if plausible(t) {
			return t
		}
	}
	return now
}

func listID(s string) string {
	if i := strings.LastIndexByte(s, '<'); i >= 0 {
		s = s[i+1:]
		if j := strings.IndexByte(s, '>'); j >= 0 {
			s = s[:j]
		}
	}
	return strings.TrimSpace(s)
}

func isAutomatic(h *rawHeader) bool {
	if v := strings.ToLower(h.get("Auto-Submitted")); v != "" && !strings.HasPrefix(v, "no") {
		return true
	}
	switch strings.ToLower(h.get("Precedence")) {
	case "bulk", "junk", "list", "auto_reply":
		return true
	}
	for _, name := range []string{"X-Auto-Response-Suppress", "X-Autoreply", "X-Autorespond", "List-Id", "List-Unsubscribe", "Feedback-Id"} {
		if h.get(name) != "" {
			return true
		}
	}
	if strings.TrimSpace(h.get("Return-Path")) == "<>" {
		return true
	}
	from := strings.ToLower(h.get("From"))
	return strings.Contains(from, "mailer-daemon@") || strings.Contains(from, "no-reply@") || strings.Contains(from, "noreply@")
}
