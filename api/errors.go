package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Targets for errors.Is. An [*Error] matches by its code, type or status, a
// [*NetworkError] by its flags, an [*ArgumentError] by its code.
var (
	ErrAuthentication        = errors.New("authentication failed")
	ErrPermission            = errors.New("permission denied")
	ErrInsufficientScope     = errors.New("the key lacks a scope")
	ErrStepUp                = errors.New("a step-up is needed")
	ErrStepUpCode            = errors.New("the step-up code was refused")
	ErrNotFound              = errors.New("not found")
	ErrConflict              = errors.New("conflict")
	ErrVersionConflict       = errors.New("changed elsewhere in the meantime")
	ErrValidation            = errors.New("refused as invalid")
	ErrRateLimit             = errors.New("rate limit reached")
	ErrIdempotencyReuse      = errors.New("idempotency key used with another body")
	ErrInvalidIdempotencyKey = errors.New("invalid idempotency key")
	ErrUnrecognised          = errors.New("the answer was not understood")
	ErrTooLarge              = errors.New("the answer is too large")
	ErrTimeout               = errors.New("no answer in time")
	ErrCancelled             = errors.New("cancelled")
	ErrArgument              = errors.New("refused before sending")
	ErrNoCredential          = errors.New("no credential")
	ErrClosed                = errors.New("the runner is closed")
)

// The error types of the API.
const (
	TypeAuthentication = "authentication_error"
	TypePermission     = "permission_error"
	TypeNotFound       = "not_found_error"
	TypeConflict       = "conflict_error"
	TypeValidation     = "validation_error"
	TypeRateLimit      = "rate_limit_error"
	TypeAPI            = "api_error"
	TypeInvalidRequest = "invalid_request_error"
)

const (
	codeUnrecognised          = "unrecognised_response"
	codeTooLarge              = "response_too_large"
	codeInsufficientScope     = "insufficient_scope"
	codeVersionConflict       = "version_conflict"
	codeIdempotencyReuse      = "idempotency_key_reuse"
	codeInvalidIdempotencyKey = "invalid_idempotency_key"
	codeStepUp                = "step_up_required"
	codeStepUpInvalid         = "step_up_code_invalid"
	codeStepUpExpired         = "step_up_code_expired"
	codeNoCredential          = "no_credential"
)

// FieldError is one field that the server refused.
type FieldError struct {
	Key   string `json:"key"`
	Error string `json:"error"`
}

// Error is an answer of the server that is not a success, or one that could not be
// understood (Status is then 2xx). Texts come from the server: whoever shows them
// cleans them. A credential in them is replaced by "[redacted]".
type Error struct {
	Op            string // "emails.send"
	Status        int
	Type          string // one of the Type constants
	Code          string // "insufficient_scope"; "unrecognised_response" when the server gave none
	Message       string
	Param         string
	DocURL        string
	RequestID     string
	RetryAfter    time.Duration // what the server asked for, when HasRetryAfter
	HasRetryAfter bool
	Fields        []FieldError
	Attempts      int // requests that were made

	body  []byte
	cause error
}

// Body returns the answer's body as it came, apart from redacted credentials.
// It is never part of the error's text.
func (e *Error) Body() []byte { return e.body }

// Error names the operation, what the server said and the request id.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	fmt.Fprintf(&b, "%d %s", e.Status, e.Code)
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	var notes []string
	if e.HasRetryAfter {
		notes = append(notes, "retry after "+strconv.FormatFloat(e.RetryAfter.Seconds(), 'f', -1, 64)+" s")
	}
	if e.RequestID != "" {
		notes = append(notes, "request "+e.RequestID)
	}
	if e.Attempts > 1 {
		notes = append(notes, fmt.Sprintf("%d attempts", e.Attempts))
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	return b.String()
}

// Unwrap returns why an answer could not be understood, or nil.
func (e *Error) Unwrap() error { return e.cause }

// GoString is the error's text: the body is not printed.
func (e *Error) GoString() string { return "&api.Error{" + e.Error() + "}" }

// Is reports whether the error belongs to one of the package's targets.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrAuthentication:
		return e.Type == TypeAuthentication
	case ErrPermission:
		return e.Type == TypePermission
	case ErrInsufficientScope:
		return e.Code == codeInsufficientScope
	case ErrStepUp:
		return e.Code == codeStepUp
	case ErrStepUpCode:
		return e.Code == codeStepUpInvalid || e.Code == codeStepUpExpired
	case ErrNotFound:
		return e.Type == TypeNotFound
	case ErrConflict:
		return e.Type == TypeConflict
	case ErrVersionConflict:
		return e.Code == codeVersionConflict
	case ErrValidation:
		return e.Type == TypeValidation
	case ErrRateLimit:
		return e.Type == TypeRateLimit
	case ErrIdempotencyReuse:
		return e.Code == codeIdempotencyReuse
	case ErrInvalidIdempotencyKey:
		return e.Code == codeInvalidIdempotencyKey
	case ErrUnrecognised:
		return e.Code == codeUnrecognised
	case ErrTooLarge:
		return e.Code == codeTooLarge
	}
	return false
}

// NetworkError is a call that got no whole answer: no connection, a cut one, a
// timeout of the last attempt, or the caller's cancellation.
type NetworkError struct {
	Op        string
	Timeout   bool   // the attempt's own time limit passed
	Cancelled bool   // the caller's context ended, by a cancellation or by its deadline
	Attempts  int    // attempts that were begun
	NotSent   bool   // certain that no request of this call left this machine: no attempt had a connection
	Cause     string // "timeout", "connection refused", "503": why the last attempt failed
	Err       error  // the error beneath, perhaps nil
}

// Error names the operation and the cause.
func (e *NetworkError) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	switch {
	case e.Cancelled:
		if errors.Is(e.Err, context.DeadlineExceeded) {
			b.WriteString("not over by the caller's deadline")
		} else {
			b.WriteString("cancelled")
		}
		if e.Cause != "" {
			b.WriteString(" (last failure: " + e.Cause + ")")
		}
	case e.Timeout:
		b.WriteString("no answer in time")
	default:
		b.WriteString("network failure: " + e.Cause)
	}
	if !e.Cancelled && e.Attempts > 1 {
		fmt.Fprintf(&b, " (%d attempts)", e.Attempts)
	}
	return b.String()
}

// Unwrap returns the error beneath; after a cancellation that of the context, and its cause
// where it has one.
func (e *NetworkError) Unwrap() error { return e.Err }

// Is matches ErrTimeout and ErrCancelled.
func (e *NetworkError) Is(target error) bool {
	switch target {
	case ErrTimeout:
		return e.Timeout
	case ErrCancelled:
		return e.Cancelled
	}
	return false
}

// contextError is why a context ended: context.Canceled or context.DeadlineExceeded, and the
// cause that was given with it.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// ArgumentError is a call, or a client, that was refused before anything was sent.
type ArgumentError struct {
	Op      string // empty when no call was made
	Code    string // "invalid_idempotency_key"; often empty
	Message string
	Err     error // the error beneath, perhaps nil
}

// Error says what is wrong.
func (e *ArgumentError) Error() string {
	if e.Op != "" {
		return e.Op + ": " + e.Message
	}
	return e.Message
}

// Unwrap returns the error beneath.
func (e *ArgumentError) Unwrap() error { return e.Err }

// Is matches ErrArgument always, and the target of the error's code.
func (e *ArgumentError) Is(target error) bool {
	switch target {
	case ErrArgument:
		return true
	case ErrInvalidIdempotencyKey:
		return e.Code == codeInvalidIdempotencyKey
	case ErrNoCredential:
		return e.Code == codeNoCredential
	}
	return false
}

func argErr(format string, args ...any) *ArgumentError {
	return &ArgumentError{Message: fmt.Sprintf(format, args...)}
}

// typeOfStatus gives the error type that belongs to a status.
func typeOfStatus(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return TypeAuthentication
	case status == http.StatusForbidden:
		return TypePermission
	case status == http.StatusNotFound:
		return TypeNotFound
	case status == http.StatusConflict:
		return TypeConflict
	case status == http.StatusUnprocessableEntity:
		return TypeValidation
	case status == http.StatusTooManyRequests:
		return TypeRateLimit
	case status >= 500:
		return TypeAPI
	}
	return TypeInvalidRequest
}

func knownType(t string) bool {
	switch t {
	case TypeAuthentication, TypePermission, TypeNotFound, TypeConflict, TypeValidation, TypeRateLimit, TypeAPI, TypeInvalidRequest:
		return true
	}
	return false
}

// errorFromAnswer reads an answer that is not a success. A part of the body that
// has a wrong type counts as absent.
func errorFromAnswer(status int, header http.Header, body []byte) *Error {
	e := &Error{Status: status, Type: typeOfStatus(status), body: body}
	var envelope struct {
		Error struct {
			Type      string       `json:"type"`
			Code      string       `json:"code"`
			Message   string       `json:"message"`
			Param     string       `json:"param"`
			DocURL    string       `json:"docUrl"`
			RequestID string       `json:"requestId"`
			Fields    []FieldError `json:"fields"`
		} `json:"error"`
	}
	// The error is of no interest: Unmarshal passes over a part of a wrong type and goes on.
	_ = json.Unmarshal(body, &envelope)
	said := envelope.Error
	if knownType(said.Type) {
		e.Type = said.Type
	}
	e.Code, e.Message, e.Param, e.DocURL, e.RequestID = said.Code, said.Message, said.Param, said.DocURL, said.RequestID
	for _, f := range said.Fields {
		if f.Key != "" || f.Error != "" {
			e.Fields = append(e.Fields, f)
		}
	}
	if e.Code == "" {
		e.Code = codeUnrecognised
	}
	if e.Message == "" {
		e.Message = firstCharacters(strings.TrimSpace(string(body)), 300)
	}
	if e.Message == "" && status >= 300 && status <= 399 {
		e.Message = "the server redirects elsewhere, and redirects are not followed: check the base URL"
	}
	if e.Message == "" {
		e.Message = "the server gave no explanation"
	}
	if e.RequestID == "" {
		e.RequestID = header.Get("X-Request-Id")
	}
	return e
}

// firstCharacters cuts s after n characters.
func firstCharacters(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// redactBytes takes a credential out of what the server sent back.
func redactBytes(b []byte, secret string) []byte {
	if secret == "" || !bytes.Contains(b, []byte(secret)) {
		return b
	}
	return bytes.ReplaceAll(b, []byte(secret), []byte(redacted))
}
