package mailparse

import (
	"io"
	"time"
)

// Flags is what a mailbox file says about a message beside the message itself.
type Flags struct {
	Known    bool // the file had flags; without them all below are false and mean nothing
	Seen     bool
	Answered bool
	Flagged  bool
	Draft    bool
	Deleted  bool
	// Labels are names of folders or labels, as Gmail's export gives them, decoded.
	Labels []string
}

// Info says where a message of a mailbox came from.
type Info struct {
	Offset       int64 // of the message's first byte in the file, its From line included
	Size         int64 // bytes in the file, the From line included
	EnvelopeFrom string
	EnvelopeDate time.Time // zero when the From line has no date
	Flags        Flags
}

// TooLargeError reports a message above the size limit. Reading goes on after it.
type TooLargeError struct {
	Offset, Size, Limit int64
}

func (e *TooLargeError) Error() string { return "the message is larger than the limit" }

// Mbox reads the messages of an mbox file one after the other in constant memory.
type Mbox struct {
	// MaxMessageBytes limits one message; 0 means 64 MiB. A larger one is skipped with *TooLargeError.
	MaxMessageBytes int64
	r               io.Reader
}

// NewMbox returns a reader of the mbox file in r.
func NewMbox(r io.Reader) *Mbox { return &Mbox{r: r} }

// Next returns the next message without its From line and with one ">" taken off quoted From lines. The
// bytes are valid until the next call. At the end it returns io.EOF; a *TooLargeError or ErrNotMbox
// leaves the reader usable.
func (m *Mbox) Next() ([]byte, Info, error) { return nil, Info{}, io.EOF }
