package local

import (
	"bytes"
	"crypto/sha256"
	"strings"
)

// mailboxFields are the header lines in which mbox files keep what belongs to the mailbox and not to the
// message. Programs add and change them, so they are no part of a message's identity.
var mailboxFields = map[string]bool{
	"status": true, "x-status": true, "x-keywords": true, "x-uid": true, "x-imap": true, "x-imapbase": true, "content-length": true,
	"x-mozilla-status": true, "x-mozilla-status2": true, "x-mozilla-keys": true, "x-gmail-labels": true,
}

const longestMailboxField = 17

// withoutMailboxFields takes the lines of mailboxFields out of a header. Without one it returns raw itself.
func withoutMailboxFields(raw []byte) []byte {
	var out []byte
	kept := 0 // raw[:kept] is in out, or was taken out
	dropping := false
	for at := 0; at < len(raw); {
		end := len(raw)
		if i := bytes.IndexByte(raw[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := raw[at:end]
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
		if line[0] != ' ' && line[0] != '\t' {
			name, _, ok := bytes.Cut(line[:min(len(line), longestMailboxField+8)], []byte(":"))
			dropping = ok && mailboxFields[strings.ToLower(string(bytes.TrimSpace(name)))]
		}
		if dropping {
			if out == nil {
				out = make([]byte, 0, len(raw))
			}
			out = append(out, raw[kept:at]...)
			kept = end
		}
		at = end
	}
	if out == nil {
		return raw
	}
	return append(out, raw[kept:]...)
}

// identity is the hash by which a message is known: over its bytes without the lines of its mailbox and
// whatever its line ends are.
func identity(raw []byte) [sha256.Size]byte {
	return sha256.Sum256(plainLineEnds(withoutMailboxFields(raw)))
}

// oldIdentity is the hash that the first format of the file had for a message with lines of its mailbox; ok is
// false when it is the same as identity.
func oldIdentity(raw []byte) (hash [sha256.Size]byte, ok bool) {
	if len(withoutMailboxFields(raw)) == len(raw) {
		return hash, false
	}
	return sha256.Sum256(plainLineEnds(raw)), true
}

// plainLineEnds makes copies of a message equal that went through programs with other line ends.
func plainLineEnds(raw []byte) []byte {
	if bytes.Contains(raw, []byte("\r\n")) {
		raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	}
	return bytes.TrimRight(raw, "\n")
}
