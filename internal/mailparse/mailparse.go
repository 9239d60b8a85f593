// Package mailparse reads mail the way a person expects it to be read: it splits messages with
// github.com/emersion/go-message and forgives what real mail does wrong in headers, dates, addresses,
// parameters, charsets, encodings and part boundaries. It also reads mbox files and Maildir trees, and
// writes outgoing messages.
//
// Nothing here cleans text for a terminal: decoded subjects, names and bodies may hold control
// characters and are hostile until the one who shows them has cleaned them. Nothing is ever fetched.
package mailparse

import (
	"errors"
	"strings"
	"time"
)

// Address is one mailbox of a header. Email may lack a host or be empty when the header gave only a name.
type Address struct {
	Name  string
	Email string
}

// String gives the address as a person writes it, for example `Ada <ada@example.com>`. It is not encoded
// for a header.
func (a Address) String() string {
	switch {
	case a.Name == "":
		return a.Email
	case a.Email == "":
		return a.Name
	case strings.ContainsAny(a.Name, "()<>[]:;@\\,.\""):
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a.Name) + `" <` + a.Email + `>`
	}
	return a.Name + " <" + a.Email + ">"
}

// Attachment describes one file of a message.
type Attachment struct {
	// Index is the number of the attachment within its message, from 0, in the order of the parts. It is
	// stable for the same bytes and is what OpenAttachment takes.
	Index int
	// Filename is the name as sent, decoded; it may be empty, hold path separators or control characters.
	Filename string
	// ContentType is the media type in lower case without parameters, for example "image/png".
	ContentType string
	// Size counts the decoded bytes.
	Size int64
	// Inline says that the part is meant to be shown within the text, as an image that the HTML refers to.
	Inline bool
	// ContentID is the part's id without angle brackets, or empty.
	ContentID string
}

// Field is one line of a message's header, unfolded and not decoded.
type Field struct {
	Name  string
	Value string
}

// EncryptedPart names an attachment that carries a piece of an encrypted or signed message.
type EncryptedPart struct {
	Index int    // index into Message.Attachments
	Role  string // "version", "ciphertext" or "signature"
}

// Message is a parsed message. Every text in it is valid UTF-8 and not cleaned of control characters.
type Message struct {
	From, Sender, ReplyTo, To, Cc, Bcc []Address

	// Subject is one logical string; line ends in it come only from encoded words.
	Subject string
	// Date is the instant of the Date header, or else of the topmost Received line. It may lie in the far
	// future; see When.
	// It is the zero time when DateKnown is false.
	Date      time.Time
	DateKnown bool
	// Received is the instant of the topmost Received line that has one; zero if there is none.
	Received time.Time

	MessageID  string   // with angle brackets, or empty
	InReplyTo  string   // with angle brackets, or empty
	References []string // each with angle brackets, oldest first, without repeats

	// Text is the plain text with "\n" line ends; format=flowed paragraphs are joined into one line each.
	// It is empty for a message of HTML alone.
	Text string
	// HTML is the HTML body, decoded to UTF-8, or empty.
	HTML string

	Attachments    []Attachment
	Calendar       []byte // the first text/calendar part in UTF-8, or nil
	CalendarMethod string // its method in upper case, for example "REQUEST"

	ListUnsubscribe     string
	ListUnsubscribePost string
	ListID              string // without angle brackets and description

	// Encryption is "pgp-mime", "pgp-signed", "pgp-inline", "smime-encrypted", "smime-signed" or empty.
	Encryption      string
	EncryptionParts []EncryptedPart

	// AutoSubmitted says that a program or a mailing list sent the message, so that nothing may answer it by
	// itself.
	AutoSubmitted bool
	// ForwardedFrom is the address that an automatic forward or a resend names, or empty.
	ForwardedFrom string
	// DeliveredTo is the address of the topmost Delivered-To, X-Original-To or Envelope-To line, or empty.
	DeliveredTo string

	Fields []Field
	// Problems lists in plain words what was wrong with the message. It is empty for clean mail.
	Problems []string
}

// Header returns the decoded values of all header lines of that name, top first. Case does not matter.
func (m *Message) Header(name string) []string {
	var out []string
	for _, f := range m.Fields {
		if strings.EqualFold(f.Name, name) {
			out = append(out, DecodeHeader(f.Value))
		}
	}
	return out
}

// Limits bounds the work that one message may cause. A zero field means its default.
type Limits struct {
	MaxHeaderBytes int // bytes of the top header that are read; default 1 MiB
	MaxDepth       int // nested multiparts; default 100
	MaxParts       int // parts in all; default 10,000
	MaxTextBytes   int // decoded bytes kept of Text and of HTML each; default 4 MiB
}

func (l Limits) withDefaults() Limits {
	if l.MaxHeaderBytes <= 0 {
		l.MaxHeaderBytes = 1 << 20
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = 100
	}
	if l.MaxParts <= 0 {
		l.MaxParts = 10_000
	}
	if l.MaxTextBytes <= 0 {
		l.MaxTextBytes = 4 << 20
	}
	return l
}

var (
	// ErrEmpty is returned by Parse for input without a single byte that is not blank.
	ErrEmpty = errors.New("the message is empty")
	// ErrNoAttachment is returned by OpenAttachment for an index that the message does not have.
	ErrNoAttachment = errors.New("the message has no such attachment")
)
