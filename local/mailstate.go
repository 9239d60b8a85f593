package local

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"time"
)

// An export begins each message with header lines of ours, in this order. stateField says all that the
// mailbox knows of the message; the others say what they can to other programs. The last one is one line.
const (
	stateField  = "X-Teapost"
	labelsField = "X-Gmail-Labels"
	statusField = "Status"
	markField   = "X-Status"
)

const stateVersion = 1

// mailState is what a mailbox knows of a message beside the message.
type mailState struct {
	Version     int    `json:"v"`
	ReceivedAt  int64  `json:"receivedAt"`
	DatedAt     int64  `json:"datedAt,omitempty"`
	Unread      bool   `json:"unread,omitempty"`
	Answered    bool   `json:"answered,omitempty"`
	Outgoing    bool   `json:"outgoing,omitempty"`
	Incoming    bool   `json:"incoming,omitempty"`
	DeliveredTo string `json:"deliveredTo,omitempty"`
	// First is there for the first message of a thread; the others have the hash of that one in Thread.
	First  *threadState `json:"first,omitempty"`
	Thread string       `json:"thread,omitempty"`
	Draft  *draftState  `json:"draft,omitempty"`
	// How the bytes of the message differ from those in the file.
	CRLF bool `json:"crlf,omitempty"` // its lines end so
	Open bool `json:"open,omitempty"` // its last line has no end
}

type threadState struct {
	Inbox        bool         `json:"inbox,omitempty"`
	Starred      bool         `json:"starred,omitempty"`
	Spam         bool         `json:"spam,omitempty"`
	Trashed      bool         `json:"trashed,omitempty"`
	Muted        bool         `json:"muted,omitempty"`
	SnoozedUntil int64        `json:"snoozedUntil,omitempty"`
	WokeAt       int64        `json:"wokeAt,omitempty"`
	DeliveredTo  string       `json:"deliveredTo,omitempty"`
	Labels       []labelState `json:"labels,omitempty"`
}

type labelState struct {
	Name       string `json:"name"`
	Background string `json:"background,omitempty"`
	Foreground string `json:"foreground,omitempty"`
}

type draftState struct {
	To        []string `json:"to"`
	Cc        []string `json:"cc"`
	Bcc       []string `json:"bcc"`
	Subject   string   `json:"subject"`
	HTML      string   `json:"html"`
	From      string   `json:"from,omitempty"`
	ForwardOf string   `json:"forwardOf,omitempty"` // hash of the message
	CreatedAt int64    `json:"createdAt"`
	UpdatedAt int64    `json:"updatedAt"`
}

// restore has a message of an export placed as it was.
func (o *IngestOptions) restore(st *mailState) {
	if st == nil {
		return
	}
	o.exact, o.draft, o.Labels = st, st.Draft != nil, nil
	if st.First != nil {
		for _, l := range st.First.Labels {
			o.Labels = append(o.Labels, l.Name)
		}
	}
}

// place puts a thread where it was. A thread that was there before the message is left where it is.
func (st *mailState) place(th *thread, created bool) {
	if !created || st.First == nil {
		return
	}
	f := st.First
	th.inbox, th.starred, th.spam, th.trashed, th.muted = f.Inbox, f.Starred, f.Spam, f.Trashed, f.Muted
	th.snoozedUntil = sql.NullInt64{Int64: f.SnoozedUntil, Valid: f.SnoozedUntil != 0}
	th.wokeAt = f.WokeAt
	th.deliveredTo = sql.NullString{String: f.DeliveredTo, Valid: f.DeliveredTo != ""}
}

// stateLabels puts labels on a thread, and gives their colours to those that have none.
func (t *tx) stateLabels(thread int64, labels []labelState) error {
	for _, l := range labels {
		if err := t.addLabels(thread, []string{l.Name}); err != nil {
			return err
		}
		if l.Background == "" {
			continue
		}
		err := t.exec("UPDATE labels SET background = ?, foreground = ? WHERE folded = ? AND background IS NULL",
			l.Background, nullText(l.Foreground), fold(oneLine(strings.TrimSpace(l.Name))))
		if err != nil {
			return err
		}
	}
	return nil
}

// threadOfHash finds the thread of a message by its hash in hexadecimal; 0 says that there is none.
func (t *tx) threadOfHash(text string) (int64, error) {
	_, thread, err := t.messageOfHash(text)
	return thread, err
}

func (t *tx) messageOfHash(text string) (message, thread int64, err error) {
	hash, err := hex.DecodeString(text)
	if err != nil || len(hash) != sha256.Size {
		return 0, 0, nil
	}
	err = t.row("SELECT id, thread_id FROM messages WHERE hash = ?", []any{hash}, &message, &thread)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return message, thread, err
}

// writeHeader writes the lines of an export before a message.
func (st *mailState) writeHeader(b *bytes.Buffer, labels []string) error {
	raw, err := json.Marshal(st)
	if err != nil {
		return err
	}
	writeFolded(b, stateField, asciiJSON(raw))
	if len(labels) > 0 {
		list := make([]string, len(labels))
		for i, l := range labels {
			list[i] = mime.QEncoding.Encode("utf-8", l)
		}
		b.WriteString(labelsField + ": " + strings.Join(list, ",\n ") + "\n")
	}
	status, mark := "RO", ""
	if st.Unread {
		status = "O"
	}
	if st.Answered {
		mark += "A"
	}
	if st.First != nil && st.First.Starred {
		mark += "F"
	}
	if st.Draft != nil {
		mark += "T"
	}
	fmt.Fprintf(b, "%s: %s\n%s: %s\n", statusField, status, markField, mark)
	return nil
}

// asciiJSON writes what is not ASCII, and blanks, as escapes, so that the text can be folded anywhere.
func asciiJSON(raw []byte) string {
	var b strings.Builder
	for _, r := range string(raw) {
		switch {
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r > 0x7e, r == ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// writeFolded writes a header line of a value without blanks.
func writeFolded(b *bytes.Buffer, name, value string) {
	const width = 78
	b.WriteString(name + ":")
	for len(value) > 0 {
		n := min(len(value), width-2)
		b.WriteString(" " + value[:n] + "\n")
		value = value[n:]
	}
}

// cutState takes the header lines of an export off a message. It returns nil for any other message, and for
// one of an export that it does not know.
func cutState(raw []byte) (*mailState, []byte) {
	rest, ok := bytes.CutPrefix(raw, []byte(stateField+": "))
	if !ok {
		return nil, raw
	}
	value, rest := cutFolded(rest)
	st := &mailState{}
	if err := json.Unmarshal(value, st); err != nil || st.Version != stateVersion {
		return nil, raw
	}
	if r, ok := bytes.CutPrefix(rest, []byte(labelsField+":")); ok {
		_, rest = cutFolded(r)
	}
	for _, name := range []string{statusField, markField} {
		r, ok := bytes.CutPrefix(rest, []byte(name+":"))
		if !ok {
			return nil, raw
		}
		i := bytes.IndexByte(r, '\n')
		if i < 0 {
			return nil, raw
		}
		rest = r[i+1:]
	}
	if st.Open {
		rest = bytes.TrimSuffix(rest, []byte("\n"))
	}
	if st.CRLF {
		rest = bytes.ReplaceAll(bytes.ReplaceAll(rest, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	return st, bytes.Clone(rest)
}

// cutFolded returns a value without its folds, and what follows it.
func cutFolded(b []byte) (value, rest []byte) {
	for {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		value = append(value, bytes.TrimSpace(line)...)
		if len(b) == 0 || b[0] != ' ' && b[0] != '\t' {
			return value, b
		}
	}
}

// plainFile gives the bytes of a message as an mbox file holds them, and notes what was changed: line ends
// that are CRLF throughout become LF, and the last line gets its end.
func (st *mailState) plainFile(raw []byte) []byte {
	crlf := bytes.Count(raw, []byte("\r\n"))
	if crlf > 0 && crlf == bytes.Count(raw, []byte("\n")) && crlf == bytes.Count(raw, []byte("\r")) {
		raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
		st.CRLF = true
	}
	if !bytes.HasSuffix(raw, []byte("\n")) {
		raw = append(bytes.Clone(raw), '\n')
		st.Open = true
	}
	return raw
}

// gmailLabels are the labels of an exported message as Gmail's export has them, which other programs know.
func (st *mailState) gmailLabels(th *threadState) []string {
	var out []string
	add := func(on bool, name string) {
		if on {
			out = append(out, name)
		}
	}
	if st.Draft != nil {
		return []string{"Drafts"}
	}
	hidden := th.Spam || th.Trashed
	add(th.Trashed, "Trash")
	add(th.Spam && !th.Trashed, "Spam")
	add(st.Outgoing && !hidden, "Sent")
	add(th.Inbox && !hidden, "Inbox")
	add(!th.Inbox && !hidden && !st.Outgoing, "Archived")
	add(th.Starred, "Starred")
	add(st.Unread, "Unread")
	add(!st.Unread, "Opened")
	for _, l := range th.Labels {
		add(true, strings.ReplaceAll(l.Name, ",", " "))
	}
	return out
}

// fromLine is the line that begins a message of an mbox file.
func fromLine(sender string, at int64) string {
	if sender == "" || strings.ContainsAny(sender, " \t\r\n") || !isASCII(sender) {
		sender = "MAILER-DAEMON"
	}
	return "From " + sender + " " + time.UnixMilli(at).UTC().Format(time.ANSIC) + "\n"
}
