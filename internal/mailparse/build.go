package mailparse

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// File is an attachment of an outgoing message.
type File struct {
	Filename    string
	ContentType string // default application/octet-stream; parameters are dropped
	ContentID   string // without angle brackets; for files that the HTML refers to
	Inline      bool
	Data        []byte
}

// Outgoing is a message to be written. There is no Bcc on purpose: blind copies belong to the envelope.
type Outgoing struct {
	From       Address
	Sender     Address // left out when empty
	ReplyTo    []Address
	To, Cc     []Address
	Subject    string
	Date       time.Time // written with its own zone
	MessageID  string    // with or without angle brackets
	InReplyTo  string
	References []string

	Text string // plain text with any line ends; may be empty when HTML is not
	HTML string // left out when empty

	Calendar       []byte // an iCalendar object that belongs to the text, or nil
	CalendarMethod string // its method, for example "REPLY"
	Attachments    []File

	// Headers are further lines. Build refuses those that it writes itself, Bcc, and anything that is no
	// valid name or holds a line end.
	Headers []Field
}

// ErrNoSender is returned by Build for a message without a From address.
var ErrNoSender = errors.New("the message has no sender address")

// HeaderError reports a header line or an address that Build does not write.
type HeaderError struct {
	Name   string
	Reason string
}

func (e *HeaderError) Error() string { return fmt.Sprintf("header %q: %s", e.Name, e.Reason) }

// Build writes the message in RFC 5322 form with CRLF line ends, 7-bit clean unless an address has a local
// part that is not ASCII. The result is the same for the same input. Control characters in the subject
// and in names become blanks, so that no value can add a header line. It returns ErrNoSender or a
// *HeaderError.
func Build(o Outgoing) ([]byte, error) {
	if o.From.Email == "" {
		return nil, ErrNoSender
	}
	w := &headerWriter{}
	w.addresses("From", []Address{o.From})
	if o.Sender.Email != "" {
		w.addresses("Sender", []Address{o.Sender})
	}
	w.addresses("Reply-To", o.ReplyTo)
	w.addresses("To", o.To)
	w.addresses("Cc", o.Cc)
	w.text("Subject", o.Subject)
	if !o.Date.IsZero() {
		w.line("Date", o.Date.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	}
	w.ids("Message-ID", []string{o.MessageID})
	w.ids("In-Reply-To", []string{o.InReplyTo})
	w.ids("References", o.References)
	for _, f := range o.Headers {
		w.extra(f)
	}
	w.line("MIME-Version", "1.0")
	if w.err != nil {
		return nil, w.err
	}
	b := o.body()
	out := w.b.Bytes()
	out = append(out, b.header...)
	out = append(out, "\r\n"...)
	return append(out, b.body...), nil
}

// entity is a finished part: its header lines and its body, both with CRLF.
type entity struct{ header, body string }

func (o *Outgoing) body() entity {
	var related, attached []File
	for _, f := range o.Attachments {
		if f.ContentID != "" && f.Inline && o.HTML != "" {
			related = append(related, f)
		} else {
			attached = append(attached, f)
		}
	}
	var alternatives []entity
	if o.Text != "" || o.HTML == "" {
		alternatives = append(alternatives, textEntity("text/plain; charset=utf-8", o.Text))
	}
	if o.HTML != "" {
		e := textEntity("text/html; charset=utf-8", o.HTML)
		if len(related) > 0 {
			parts := []entity{e}
			for _, f := range related {
				parts = append(parts, f.entity())
			}
			e = multipartEntity("related", parts)
		}
		alternatives = append(alternatives, e)
	}
	if len(o.Calendar) > 0 {
		kind := "text/calendar; charset=utf-8"
		if m := token(o.CalendarMethod); m != "" {
			kind += "; method=" + strings.ToUpper(m)
		}
		alternatives = append(alternatives, textEntity(kind, string(o.Calendar)))
	}
	e := alternatives[0]
	if len(alternatives) > 1 {
		e = multipartEntity("alternative", alternatives)
	}
	if len(attached) == 0 {
		return e
	}
	parts := []entity{e}
	for _, f := range attached {
		parts = append(parts, f.entity())
	}
	return multipartEntity("mixed", parts)
}

func multipartEntity(kind string, parts []entity) entity {
	sum := sha256.New()
	for _, p := range parts {
		sum.Write([]byte(p.header))
		sum.Write([]byte(p.body))
	}
	// "=_" cannot occur in quoted-printable or base64.
	boundary := fmt.Sprintf("=_%x", sum.Sum(nil)[:16])
	var b strings.Builder
	for _, p := range parts {
		// The line end before a boundary belongs to it, not to the text.
		b.WriteString("--" + boundary + "\r\n" + p.header + "\r\n" + p.body + "\r\n")
	}
	b.WriteString("--" + boundary + "--\r\n")
	return entity{"Content-Type: multipart/" + kind + ";\r\n boundary=\"" + boundary + "\"\r\n", b.String()}
}

func textEntity(kind, s string) entity {
	s = strings.ReplaceAll(normalLines(strings.ToValidUTF8(s, "\uFFFD")), "\n", "\r\n")
	if s != "" && !strings.HasSuffix(s, "\r\n") {
		s += "\r\n"
	}
	head := "Content-Type: " + kind + "\r\nContent-Transfer-Encoding: "
	if isPlain7Bit(s) {
		return entity{head + "7bit\r\n", s}
	}
	foreign := 0
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			foreign++
		}
	}
	if foreign*3 > len(s) {
		return entity{head + "base64\r\n", wrapBase64([]byte(s))}
	}
	var b strings.Builder
	qp := quotedprintable.NewWriter(&b)
	// A strings.Builder does not fail.
	_, _ = qp.Write([]byte(s))
	_ = qp.Close()
	q := strings.ReplaceAll(b.String(), "\r\nFrom ", "\r\n=46rom ")
	if rest, ok := strings.CutPrefix(q, "From "); ok {
		q = "=46rom " + rest
	}
	return entity{head + "quoted-printable\r\n", q}
}

// isPlain7Bit reports whether text travels unchanged without an encoding. Lines that begin with "From "
// do not: mbox files quote them.
func isPlain7Bit(s string) bool {
	const longest = 990
	for _, line := range strings.Split(s, "\r\n") {
		if len(line) > longest || strings.HasPrefix(line, "From ") {
			return false
		}
		for i := 0; i < len(line); i++ {
			if c := line[i]; c >= 0x7f || c < ' ' && c != '\t' {
				return false
			}
		}
	}
	return true
}

func wrapBase64(data []byte) string {
	const lineBytes = 57 // 76 characters
	var b strings.Builder
	b.Grow(len(data)/3*4 + len(data)/lineBytes*2 + 8)
	for len(data) > 0 {
		n := min(len(data), lineBytes)
		b.WriteString(base64.StdEncoding.EncodeToString(data[:n]))
		b.WriteString("\r\n")
		data = data[n:]
	}
	return b.String()
}

func (f File) entity() entity {
	name := cleanFilename(f.Filename)
	kind, sub, _ := strings.Cut(strings.ToLower(strings.TrimSpace(strings.SplitN(f.ContentType, ";", 2)[0])), "/")
	kind, sub = token(kind), token(sub)
	if kind == "" || sub == "" || kind == "multipart" || kind == "message" {
		// An attached message must not be in base64, but its bytes must arrive unchanged.
		kind, sub = "application", "octet-stream"
	}
	disposition := "attachment"
	if f.Inline {
		disposition = "inline"
	}
	var params map[string]string
	if name != "" {
		params = map[string]string{"filename": name}
	}
	head := "Content-Type: " + kind + "/" + sub + "\r\n" +
		"Content-Transfer-Encoding: base64\r\n" +
		"Content-Disposition: " + strings.Replace(mime.FormatMediaType(disposition, params), "; ", ";\r\n ", 1) + "\r\n"
	if id := cleanID(f.ContentID); id != "" {
		head += "Content-ID: <" + id + ">\r\n"
	}
	return entity{head, wrapBase64(f.Data)}
}

func cleanFilename(s string) string {
	s = path.Base(strings.ReplaceAll(oneLine(s), `\`, "/"))
	if s == "." || s == "/" {
		return ""
	}
	const longest = 200
	for len(s) > longest {
		_, n := utf8.DecodeRuneInString(s)
		s = s[n:]
	}
	return s
}

// oneLine makes s valid UTF-8 without control characters.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

func token(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?=`, c) >= 0 {
			return ""
		}
	}
	return s
}

func cleanID(s string) string {
	s = strings.Trim(strings.TrimSpace(s), "<>")
	for _, r := range s {
		if r <= ' ' || r == 0x7f || r == '<' || r == '>' || unicode.IsControl(r) {
			return ""
		}
	}
	if len(s) > maxIDBytes-20 {
		return ""
	}
	return s
}

type headerWriter struct {
	b   bytes.Buffer
	err error
}

func (w *headerWriter) fail(name, reason string) {
	if w.err == nil {
		w.err = &HeaderError{name, reason}
	}
}

// line writes words that are clean, folded at blanks.
func (w *headerWriter) line(name, value string) {
	const fold = 76
	w.b.WriteString(name + ":")
	column := len(name) + 1
	for _, word := range strings.Split(value, " ") {
		if column > len(name)+1 && column+1+len(word) > fold {
			w.b.WriteString("\r\n")
			column = 0
		}
		w.b.WriteString(" " + word)
		column += 1 + len(word)
	}
	w.b.WriteString("\r\n")
}

func (w *headerWriter) text(name, value string) {
	if value = oneLine(value); value != "" {
		w.line(name, encodeText(value))
	}
}

func (w *headerWriter) addresses(name string, list []Address) {
	if len(list) == 0 {
		return
	}
	var out []string
	for _, a := range list {
		email, ok := encodeEmail(a.Email)
		if !ok {
			w.fail(name, "the address is not valid")
			return
		}
		if phrase := encodePhrase(oneLine(a.Name)); phrase != "" {
			out = append(out, phrase+" <"+email+">")
		} else {
			out = append(out, email)
		}
	}
	w.line(name, strings.Join(out, ", "))
}

func (w *headerWriter) ids(name string, ids []string) {
	const most = 50
	if len(ids) > most {
		ids = append([]string{ids[0]}, ids[len(ids)-most+1:]...)
	}
	var out []string
	for _, id := range ids {
		if id = cleanID(id); id != "" {
			out = append(out, "<"+id+">")
		}
	}
	if len(out) > 0 {
		w.line(name, strings.Join(out, " "))
	}
}

func (w *headerWriter) extra(f Field) {
	lower := strings.ToLower(f.Name)
	switch {
	case f.Name == "" || token(f.Name) == "" || len(f.Name) > 76:
		w.fail(f.Name, "the name is not valid")
	case strings.HasPrefix(lower, "content-"), strings.HasPrefix(lower, "resent-"):
		w.fail(f.Name, "this line is not allowed")
	case strings.ContainsFunc(f.Value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
		w.fail(f.Name, "the value holds a control character")
	default:
		switch lower {
		case "from", "sender", "reply-to", "to", "cc", "bcc", "subject", "date", "message-id", "in-reply-to", "references",
			"mime-version", "received", "return-path":
			w.fail(f.Name, "this line is not allowed")
			return
		}
		if v := oneLine(f.Value); v != "" {
			w.line(f.Name, encodeText(v))
		}
	}
}

// encodeEmail checks an address and writes its domain in ASCII.
func encodeEmail(s string) (string, bool) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexByte(s, '@')
	if i < 1 || i == len(s)-1 || len(s) > 320 || !utf8.ValidString(s) {
		return "", false
	}
	for _, r := range s {
		if unicode.IsControl(r) || strings.ContainsRune(" <>,;\"()\\", r) {
			return "", false
		}
	}
	local, domain := s[:i], s[i+1:]
	if strings.Contains(local, "@") {
		return "", false
	}
	if !isASCII([]byte(domain)) {
		ascii, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return "", false
		}
		domain = ascii
	}
	return local + "@" + domain, true
}

func encodePhrase(s string) string {
	if s == "" {
		return ""
	}
	if !isASCII([]byte(s)) || strings.Contains(s, "=?") || hasLongWord(s) {
		return encodeWords(s)
	}
	for _, r := range s {
		if !(r == ' ' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r)) {
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
		}
	}
	return s
}

func encodeText(s string) string {
	if isASCII([]byte(s)) && !strings.Contains(s, "=?") && !hasLongWord(s) {
		return s
	}
	return encodeWords(s)
}

func hasLongWord(s string) bool {
	const longest = 500
	for _, w := range strings.Split(s, " ") {
		if len(w) > longest {
			return true
		}
	}
	return false
}

// encodeWords writes s as encoded words of at most 75 characters that never cut a character in two.
func encodeWords(s string) string {
	const room = 60
	foreign := 0
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			foreign++
		}
	}
	useB := foreign*3 > len(s)
	var words []string
	var chunk strings.Builder
	used := 0
	flush := func() {
		if chunk.Len() == 0 {
			return
		}
		if useB {
			words = append(words, "=?utf-8?B?"+base64.StdEncoding.EncodeToString([]byte(chunk.String()))+"?=")
		} else {
			words = append(words, "=?utf-8?Q?"+chunk.String()+"?=")
		}
		chunk.Reset()
		used = 0
	}
	for _, r := range s {
		raw := string(r)
		piece, cost := raw, len(raw)*4/3+1
		if !useB {
			piece = encodeQ(raw)
			cost = len(piece)
		}
		if used+cost > room {
			flush()
		}
		chunk.WriteString(piece)
		used += cost
	}
	flush()
	return strings.Join(words, " ")
}

func encodeQ(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ':
			b.WriteByte('_')
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', strings.IndexByte("!*+-/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}
