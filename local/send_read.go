package local

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

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
	if o.followUpAt, err = f.future("followUpAt", now); err != nil {
		return nil, err
	}
	window, _, err := f.whole("cancellableForSeconds")
	if err != nil {
		return nil, err
	}
	if window < 0 || window > maxWindowSeconds {
		return nil, invalidField("cancellableForSeconds", "cancellableForSeconds must be between 0 and %d.", maxWindowSeconds)
	}
	o.window = window
	if o.scheduledAt, err = f.future("scheduledAt", now); err != nil {
		return nil, err
	}
	return o, nil
}

// future reads an instant that may not have passed; 0 when none is given.
func (f fields) future(name string, now int64) (int64, error) {
	at, given, err := f.when(name)
	if err == nil && given && at <= now {
		err = invalidField(name, "%s has passed.", name)
	}
	return at, err
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
