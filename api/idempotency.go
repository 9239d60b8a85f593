package api

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// NewIdempotencyKey makes a key for one send: "oe-" and a random UUID.
// Store it with the message, so that a later try of the same message reuses it.
func NewIdempotencyKey() string { return "oe-" + randomUUID() }

// ValidIdempotencyKey checks the syntax of a key: 1 to 255 of A-Z a-z 0-9 _ . : -.
// The error matches ErrInvalidIdempotencyKey.
func ValidIdempotencyKey(key string) error {
	if len(key) < 1 || len(key) > 255 {
		return &ArgumentError{Code: codeInvalidIdempotencyKey, Message: fmt.Sprintf("an idempotency key has 1 to 255 characters, this one has %d", len(key))}
	}
	for i := range len(key) {
		c := key[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == ':', c == '-':
		default:
			return &ArgumentError{Code: codeInvalidIdempotencyKey, Message: fmt.Sprintf("an idempotency key holds only letters, digits and _ . : -, not %q at place %d", c, i+1)}
		}
	}
	return nil
}

func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[:], b[:4])
	hex.Encode(out[9:], b[4:6])
	hex.Encode(out[14:], b[6:8])
	hex.Encode(out[19:], b[8:10])
	hex.Encode(out[24:], b[10:])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}
