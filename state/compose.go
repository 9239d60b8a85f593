package state

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/bodytext"
	"codeberg.org/teapost/teapost/internal/clean"
)

// splitAddresses parts a typed list at commas, semicolons and line ends that are not inside quotation marks or brackets.
func splitAddresses(s string) []string {
	var out []string
	var item strings.Builder
	quote, angle, escaped := false, false, false
	flush := func() {
		if t := strings.TrimSpace(item.String()); t != "" {
			out = append(out, t)
		}
		item.Reset()
	}
	for _, r := range s {
		switch {
		case escaped:
			escaped = false
		case quote && r == '\\':
			escaped = true
		case r == '"':
			quote = !quote
		case quote:
		case r == '<':
			angle = true
		case r == '>':
			angle = false
		case !angle && (r == ',' || r == ';') || r == '\n' || r == '\r':
			flush()
			angle = false
			continue
		}
		item.WriteRune(r)
	}
	flush()
	return out
}

// parseAddress reads "a@b.c", "Name <a@b.c>" or "\"Last, First\" <a@b.c>" as a person types it.
func parseAddress(s string) (Address, error) {
	s = strings.TrimSpace(s)
	var a Address
	if open := strings.LastIndexByte(s, '<'); open >= 0 && strings.HasSuffix(s, ">") {
		a.Email = strings.TrimSpace(s[open+1 : len(s)-1])
		a.Name = strings.TrimSpace(s[:open])
		if n := len(a.Name); n >= 2 && a.Name[0] == '"' && a.Name[n-1] == '"' {
			a.Name = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(a.Name[1 : n-1])
		}
	} else {
		a.Email = s
	}
	a.Name = clean.Line(a.Name)
	at := strings.LastIndexByte(a.Email, '@')
	if at <= 0 || at == len(a.Email)-1 {
		return a, fmt.Errorf("“%s” is not an address: it needs a form such as name@example.com", clean.Line(s))
	}
	local, domain := a.Email[:at], a.Email[at+1:]
	bad := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>(),;:\"[]`, r)
	}
	quoted := len(local) > 2 && local[0] == '"' && local[len(local)-1] == '"'
	literal := len(domain) > 2 && domain[0] == '[' && domain[len(domain)-1] == ']'
	if !quoted && (strings.IndexFunc(local, bad) >= 0 || strings.Contains(local, "@")) || !literal && !validDomain(domain) || len(a.Email) > 320 {
		return a, fmt.Errorf("“%s” is not an address: something in it cannot stand there", clean.Line(s))
	}
	return a, nil
}

// ParseAddress reads one address, "a@b.c" or "Name <a@b.c>". The error says what is wrong with it.
func ParseAddress(s string) (Address, error) { return parseAddress(s) }

func validDomain(d string) bool {
	for label := range strings.SplitSeq(strings.TrimSuffix(d, "."), ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && r != '-' && r != '_' {
				return false
			}
		}
	}
	return true
}

// parseAddresses reads the addresses of a typed list; what is none is left out.
func parseAddresses(s string) []Address {
	var out []Address
	for _, item := range splitAddresses(s) {
		if a, err := parseAddress(item); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// formatAddress writes an address so that parseAddress reads it back.
func formatAddress(a Address) string {
	if a.Name == "" {
		return a.Email
	}
	name := clean.Line(a.Name)
	if strings.ContainsAny(name, `,;<>"()@:\`) {
		name = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
	}
	return name + " <" + a.Email + ">"
}

func formatAddresses(as []Address) string {
	out := make([]string, len(as))
	for i, a := range as {
		out[i] = formatAddress(a)
	}
	return strings.Join(out, ", ")
}

// MaxFiles bounds the attachments of one message, in bytes: the API takes bodies of 25 MiB, and base64 adds a third.
const MaxFiles = 18 << 20

// CheckDraft says why a draft cannot be sent as it stands, or gives an empty text.
func (m *Mail) CheckDraft(d Draft) string {
	n := 0
	for _, list := range []struct{ field, text string }{{"To", d.To}, {"Cc", d.Cc}, {"Bcc", d.Bcc}} {
		for _, item := range splitAddresses(list.text) {
			if _, err := parseAddress(item); err != nil {
				return list.field + ": " + err.Error()
			}
			n++
		}
	}
	if n == 0 {
		return "To: nobody is named yet"
	}
	if _, err := parseAddress(d.From); err != nil {
		if strings.TrimSpace(d.From) == "" {
			return "From: no address of yours is known yet; type the one you write from"
		}
		return "From: " + err.Error()
	}
	var size int64
	for _, f := range d.Files {
		size += f.SizeBytes
	}
	if size > MaxFiles {
		return fmt.Sprintf("The attachments are %.1f MB together; at most %.1f MB can be sent", float64(size)/1e6, float64(MaxFiles)/1e6)
	}
	return ""
}

// sendBody makes the exact bytes of a send.
func sendBody(d Draft, files []storedFile, id EntryID, undoSeconds int, at time.Time) ([]byte, error) {
	from, err := parseAddress(d.From)
	if err != nil {
		return nil, fmt.Errorf("the sender: %w", err)
	}
	list := func(s string) ([]api.Address, error) {
		var out []api.Address
		for _, item := range splitAddresses(s) {
			a, err := parseAddress(item)
			if err != nil {
				return nil, err
			}
			out = append(out, api.Address{Name: a.Name, Email: a.Email})
		}
		return out, nil
	}
	body := api.EmailSend{
		From: api.Address{Name: from.Name, Email: from.Email}, Subject: clean.Line(d.Subject), Text: d.Body,
		ThreadID: string(d.ThreadID), CancellableForSeconds: undoSeconds, Tags: map[string]string{tagName: string(id)},
	}
	if signed(d.Body) {
		body.Signature = new(bool) // the server does not add the one of its settings too
	}
	if d.Kind == DraftForward {
		body.ThreadID = "" // it is for other people: a conversation of its own
	}
	if body.Text == "" {
		body.Text = "\n" // a message may be empty, a body may not
	}
	if !at.IsZero() {
		body.ScheduledAt = api.Instant{Time: at.UTC()}
	}
	if body.To, err = list(d.To); err != nil {
		return nil, err
	}
	if body.Cc, err = list(d.Cc); err != nil {
		return nil, err
	}
	if body.Bcc, err = list(d.Bcc); err != nil {
		return nil, err
	}
	for _, f := range files {
		body.Attachments = append(body.Attachments, api.SendAttachment{Filename: f.Name, Content: f.bytes, ContentType: f.ContentType})
	}
	return body.MarshalJSON()
}

type storedFile struct {
	File
	bytes []byte
}

// readFiles reads the bytes of a draft's attachments.
func readFiles(tx *sql.Tx, d Draft) ([]storedFile, error) {
	var out []storedFile
	for _, f := range d.Files {
		s := storedFile{File: f}
		if err := tx.QueryRow("SELECT bytes FROM file WHERE id = ?", f.ID).Scan(&s.bytes); err != nil {
			return nil, fmt.Errorf("the attachment %s is not there any more: %w", clean.Line(f.Name), err)
		}
		out = append(out, s)
	}
	return out, nil
}

// SignatureMark is the line above a signature, by which mail programs know it (RFC 3676 section 4.3).
const SignatureMark = "-- "

// signature is the configured signature with room above it, or nothing.
func (m *Mail) signature() string {
	s := strings.TrimRight(m.opts.Signature, " \t\r\n")
	if s == "" {
		return ""
	}
	return "\n\n" + SignatureMark + "\n" + strings.TrimPrefix(s, SignatureMark+"\n") + "\n"
}

// forwardLine is the line above a message that is passed on.
const forwardLine = "---------- Forwarded message ----------"

// signed reports that a text carries a signature of its own: that of a forwarded message is its sender's.
func signed(text string) bool {
	own, _, _ := strings.Cut("\n"+text, "\n"+forwardLine+"\n")
	return strings.Contains(own+"\n", "\n"+SignatureMark+"\n")
}

// errNobody is the answer of Reply when a message has nobody to answer.
var errNobody = errors.New("there is nobody to answer: the message has no sender")

// Reply makes the draft of an answer in memory: recipients, subject, quoted text. all answers everybody. The
// conversation must be known here.
func (m *Mail) Reply(thread ThreadID, message string, all bool) (Draft, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	msg, err := m.message(thread, message)
	if err != nil {
		return Draft{}, err
	}
	from := m.answerFrom(msg)
	to, cc := m.recipientsOf(msg, all)
	if len(to) == 0 && len(cc) == 0 {
		return Draft{}, errNobody
	}
	d := m.newDraft(formatAddress(from))
	d.Kind, d.ThreadID, d.MessageID = DraftReply, thread, msg.ID
	if all {
		d.Kind = DraftReplyAll
	}
	d.To, d.Cc, d.Subject = formatAddresses(to), formatAddresses(cc), prefixed("Re: ", replyPrefix, msg.Subject)
	d.Body = "\n\n" + m.attribution(msg) + "\n" + bodytext.Quote(strings.TrimRight(bodytext.Best(msg.Text, msg.HTML).Plain(), "\n ")) + "\n" + m.signature()
	return d, nil
}

func (m *Mail) message(thread ThreadID, message string) (*api.Message, error) {
	rec := m.rows[thread]
	if rec == nil || rec.thread == nil {
		return nil, errors.New("the conversation is not here yet")
	}
	msgs := rec.thread.Messages
	for i := range msgs {
		if msgs[i].ID == message || message == "" && i == len(msgs)-1 {
			return &msgs[i], nil
		}
	}
	return nil, errors.New("that message is not in the conversation any more")
}

// answerFrom is the own address that an answer comes from: the one that the message was sent to.
func (m *Mail) answerFrom(msg *api.Message) Address {
	own := m.identities()
	find := func(email string) (Address, bool) {
		for _, a := range own {
			if strings.EqualFold(a.Email, email) {
				return a, true
			}
		}
		return Address{}, false
	}
	for _, list := range [][]api.Address{msg.To, msg.Cc, msg.Bcc, {{Email: msg.DeliveredTo}}, {msg.From}} {
		for _, a := range list {
			if id, ok := find(a.Email); ok {
				return id
			}
		}
	}
	if len(own) > 0 {
		return own[0]
	}
	return Address{}
}

// recipientsOf says who an answer goes to. Reply-To wins over From; own addresses are left out unless nobody else is
// there; an answer to an own message goes to whom that one went to.
func (m *Mail) recipientsOf(msg *api.Message, all bool) (to, cc []Address) {
	have := map[string]bool{}
	add := func(list *[]Address, as []api.Address, own bool) {
		for _, a := range as {
			k := strings.ToLower(strings.TrimSpace(a.Email))
			if k == "" || !strings.Contains(k, "@") || have[k] || !own && m.isMe(k) {
				continue
			}
			have[k] = true
			*list = append(*list, Address{Name: a.Name, Email: a.Email})
		}
	}
	sender := msg.ReplyTo
	if len(sender) == 0 {
		sender = []api.Address{msg.From}
	}
	mine := m.isMe(strings.ToLower(msg.From.Email)) && len(msg.ReplyTo) == 0
	if !mine {
		add(&to, sender, true)
	} else {
		add(&to, msg.To, false)
	}
	if all {
		if !mine {
			add(&to, msg.To, false)
		}
		add(&cc, msg.Cc, false)
	}
	if len(to) == 0 && len(cc) == 0 {
		add(&to, sender, true)
	}
	return to, cc
}

var (
	replyPrefix   = regexp.MustCompile(`(?i)^\s*(re|aw|sv|antw|odp|vs|ref|回复|回覆|返信)(\[\d+\])?\s*[:：]`)
	forwardPrefix = regexp.MustCompile(`(?i)^\s*(fwd?|wg|tr|vs|rv|enc|转发|轉寄)(\[\d+\])?\s*[:：]`)
)

func prefixed(prefix string, have *regexp.Regexp, subject string) string {
	subject = strings.TrimSpace(clean.Line(subject))
	if have.MatchString(subject) {
		return subject
	}
	return strings.TrimSpace(prefix + subject)
}

func (m *Mail) attribution(msg *api.Message) string {
	who := clean.Line(msg.From.Name)
	if who == "" {
		who = clean.Line(msg.From.Email)
	}
	if who == "" {
		who = "somebody"
	}
	if msg.ReceivedAt.IsZero() {
		return who + " wrote:"
	}
	return "On " + msg.ReceivedAt.In(m.now().Location()).Format("Mon, 2 Jan 2006 at 15:04") + ", " + who + " wrote:"
}

// Forward makes the draft of a forwarded message in memory, with its text; its attachments are fetched behind it and
// join the draft's Files. It carries everything itself, so that it never depends on a draft at the server.
func (m *Mail) Forward(thread ThreadID, message string) (Draft, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	msg, err := m.message(thread, message)
	if err != nil {
		return Draft{}, err
	}
	d := m.newDraft(formatAddress(m.answerFrom(msg)))
	d.Kind, d.ThreadID, d.MessageID = DraftForward, thread, msg.ID
	d.Subject = prefixed("Fwd: ", forwardPrefix, msg.Subject)
	var b strings.Builder
	b.WriteString(m.signature())
	b.WriteString("\n\n" + forwardLine + "\n")
	head := func(name, value string) {
		if value = clean.Line(value); value != "" {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	head("From", msg.From.String())
	if !msg.ReceivedAt.IsZero() {
		head("Date", msg.ReceivedAt.In(m.now().Location()).Format("Mon, 2 Jan 2006 15:04 -0700"))
	}
	head("Subject", msg.Subject)
	head("To", formatAPI(msg.To))
	head("Cc", formatAPI(msg.Cc))
	b.WriteString("\n" + strings.TrimRight(bodytext.Best(msg.Text, msg.HTML).Plain(), "\n ") + "\n")
	d.Body = b.String()
	files := 0
	for _, a := range msg.Attachments {
		if !a.Inline {
			files++
		}
	}
	if files > 0 {
		m.drafts[d.ID] = &draftRecord{known: true, draftDoc: draftDoc{Draft: d}}
		m.attachFrom(d.ID, thread, msg)
	}
	return d, nil
}

func formatAPI(as []api.Address) string {
	out := make([]Address, len(as))
	for i, a := range as {
		out[i] = Address{Name: a.Name, Email: a.Email}
	}
	return formatAddresses(out)
}

// Mailto reads a mailto: address into a draft. Every recipient that it brings stands in the draft for the person to see;
// fields other than to, cc, bcc, subject and body are dropped, attachments too. Errors say what is wrong with it.
func Mailto(s string) (Draft, error) {
	u, err := url.Parse(s)
	if err != nil || !strings.EqualFold(u.Scheme, "mailto") {
		return Draft{}, fmt.Errorf("%q is not a mailto: address, such as mailto:ada@example.com?subject=Hi", clean.Line(s))
	}
	to, err := url.PathUnescape(u.Opaque)
	if err != nil {
		return Draft{}, fmt.Errorf("the address in %q cannot be read: %w", clean.Line(s), err)
	}
	d := Draft{ID: DraftID(newID()), Kind: DraftNew}
	join := func(have *string, more string) {
		if more = clean.Line(more); more == "" {
			return
		}
		if *have != "" {
			*have += ", "
		}
		*have += more
	}
	join(&d.To, to)
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		k, v, _ := strings.Cut(pair, "=")
		k, kErr := url.PathUnescape(k) // in a mailto: a plus is a plus
		v, vErr := url.PathUnescape(v)
		if kErr != nil || vErr != nil {
			return Draft{}, fmt.Errorf("a part of %q cannot be read", clean.Line(s))
		}
		switch strings.ToLower(k) {
		case "to":
			join(&d.To, v)
		case "cc":
			join(&d.Cc, v)
		case "bcc":
			join(&d.Bcc, v)
		case "subject":
			d.Subject = clean.Line(v)
		case "body":
			d.Body = clean.Text(v)
		}
	}
	return d, nil
}
