package api

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	backoffBase    = 500 * time.Millisecond
	backoffCeiling = 8 * time.Second
)

// retryableStatus is rule 3 of section 5. A 429 is repeated only when the server
// says when.
func retryableStatus(status int, hasRetryAfter bool) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusTooManyRequests:
		return hasRetryAfter
	}
	return false
}

// backoff draws the wait before extra try n (0, 1, …): between half the ceiling and
// the ceiling. random(d) gives a duration from 0 up to and including d.
func backoff(n int, random func(time.Duration) time.Duration) time.Duration {
	ceiling := backoffCeiling
	if n < 4 {
		ceiling = min(ceiling, backoffBase<<n)
	}
	return ceiling/2 + random(ceiling/2)
}

func randomUpTo(d time.Duration) time.Duration { return rand.N(d + 1) }

// parseRetryAfter reads a Retry-After header: seconds, with a fraction if need be,
// or an HTTP-date. It never gives less than was asked for: fractions of a nanosecond
// and of a second until a date are rounded up, absurd values stop at a century.
func parseRetryAfter(values []string, now time.Time) (time.Duration, bool) {
	s := strings.Trim(strings.Join(values, ", "), " \t")
	if s == "" {
		return 0, false
	}
	if d, ok := parseSeconds(s); ok {
		return d, true
	}
	if s[0] >= '0' && s[0] <= '9' {
		return 0, false // no HTTP-date begins with a digit
	}
	date, err := http.ParseTime(s)
	if err != nil {
		return 0, false
	}
	d := date.Sub(now)
	if d <= 0 {
		return 0, true
	}
	if d > century {
		return century, true
	}
	return (d + time.Second - 1).Truncate(time.Second), true
}

const century = 100 * 365 * 24 * time.Hour

func parseSeconds(s string) (time.Duration, bool) {
	whole, fraction, dotted := strings.Cut(s, ".")
	if !allDigits(whole) || dotted && !allDigits(fraction) {
		return 0, false
	}
	seconds, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || seconds >= uint64(century/time.Second) {
		return century, true
	}
	d := time.Duration(seconds) * time.Second
	for i, unit := 0, time.Second/10; i < len(fraction); i, unit = i+1, unit/10 {
		digit := time.Duration(fraction[i] - '0')
		if unit == 0 {
			if digit > 0 {
				return d + 1, true
			}
			continue
		}
		d += digit * unit
	}
	return d, true
}

// networkCause names a network failure in a few words that hold nothing of the request.
func networkCause(err error) string {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var op *net.OpError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "host unreachable"
	case errors.As(err, &dns):
		return "host not found"
	case errors.As(err, &cert):
		return "certificate not trusted"
	case errors.As(err, &record):
		return "no TLS"
	case errors.Is(err, errShortBody), errors.Is(err, io.ErrUnexpectedEOF):
		return "answer cut short"
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return "connection closed"
	case errors.Is(err, errProxy):
		return "proxy setting not valid"
	case errors.As(err, &op) && op.Timeout():
		return "connection timed out"
	}
	return "connection failed"
}

// neverSent reports whether err shows that no connection was made. Of a transport of the caller's own only what it fails
// with tells.
func neverSent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	var unsent unsentError
	return errors.As(err, &unsent) || errors.As(err, &dns) || errors.Is(err, errProxy) || errors.As(err, &op) && op.Op == "dial"
}

// undecodable reports whether a body arrived but its compression is broken.
func undecodable(err error) bool {
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || isCorrupt(err)
}

// wait sleeps for d or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return ctx.Err()
	}
}
