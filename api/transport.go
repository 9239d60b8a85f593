package api

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

const maxAnswerBytes = 64 << 20 // after decompression

const causeTimeout = "timeout" // of an attempt that took too long

var (
	errProxy      = errors.New("the proxy address in the environment is not a URL")
	errShortBody  = errors.New("the answer ended early")
	errTryTimeout = errors.New("the attempt took too long")
)

// wireTransport is net/http's transport, and tells the failure of a request that never had a connection.
type wireTransport struct{ *http.Transport }

// unsentError is a failure before there was a connection: no name, no way, refused, no TLS, or a proxy that refused. Nothing of
// the request can have reached the server. That this counts as nothing sent is a rule of ours: the API says nothing of it.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

func (t wireTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var connected atomic.Bool
	trace := httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := t.Transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &trace)))
	if err != nil && !connected.Load() {
		err = unsentError{err}
	}
	return resp, err
}

// newTransport speaks HTTP/1.1 only: on HTTP/2 net/http repeats a request without
// a body by itself when the server refuses its stream, and one attempt must be one request.
func newTransport(base baseURL) wireTransport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	dialer := net.Dialer{KeepAlive: 15 * time.Second}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := whileAttempted(ctx)
		defer cancel()
		return dialer.DialContext(ctx, network, addr)
	}
	t := &http.Transport{
		DialContext:            dial,
		Protocols:              &protocols,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    time.Minute, // behind a proxy, where DialTLSContext is not asked
		MaxIdleConns:           2 * defaultSlots,
		MaxIdleConnsPerHost:    2 * defaultSlots, // as many as Async uses at once, or each call would connect anew
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
	t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := whileAttempted(ctx)
		defer cancel()
		d := tls.Dialer{NetDialer: &dialer, Config: t.TLSClientConfig}
		return d.DialContext(ctx, network, addr)
	}
	if !base.local {
		t.Proxy = proxyFromEnvironment
	}
	return wireTransport{t}
}

type attemptKey struct{}

// whileAttempted ends ctx with the attempt that a connection is made for. Without it
// net/http would go on connecting behind a call that was cancelled or took too long, to a
// server that never answers a handshake for ever.
func whileAttempted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if try, ok := ctx.Value(attemptKey{}).(context.Context); ok {
		stop := context.AfterFunc(try, cancel)
		return ctx, func() { stop(); cancel() }
	}
	return ctx, cancel
}

// proxyFromEnvironment hides net/http's error, which repeats the address with its password.
func proxyFromEnvironment(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if err != nil {
		return nil, errProxy
	}
	return u, nil
}

// emptyBody is a body of no bytes that net/http does not know to be empty, so that
// it never repeats the request by itself.
type emptyBody struct{}

func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }
func (emptyBody) Close() error             { return nil }

// answer is a whole answer of the server.
type answer struct {
	status   int
	header   http.Header
	body     []byte // without a BOM, valid UTF-8; nil when empty
	bytes    int64  // as read
	attempts int
}

// prepared is a call that has passed every check.
type prepared struct {
	op          Operation
	url         *url.URL
	header      http.Header // without Authorization
	body        []byte      // nil: none
	credential  string
	idempotency string
	timeout     time.Duration
	raw         bool // the answer need not be JSON
	repeats     bool
	upload      *source
	sink        *sink
	decode      func(*answer) error
}

func (p *prepared) request(ctx context.Context) *http.Request {
	u := *p.url
	req := &http.Request{
		Method: p.op.Method,
		URL:    &u,
		Host:   u.Host,
		Header: p.header.Clone(),
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if p.credential != "" {
		req.Header.Set("Authorization", "Bearer "+p.credential)
	}
	switch {
	case p.body != nil:
		// GetBody stays nil: with it net/http would repeat the request unseen.
		req.Body = io.NopCloser(bytes.NewReader(p.body))
		req.ContentLength = int64(len(p.body))
	case p.op.Method == http.MethodGet, p.op.Method == http.MethodHead, p.op.Method == http.MethodDelete, p.idempotency != "":
		// Without a body net/http repeats these unseen. Of an empty one nothing shows on
		// the wire, but for a keyed POST, where it is sent as no chunks.
		req.Body = emptyBody{}
	}
	return req.WithContext(ctx)
}

// attempt makes one request and reads its answer. The error is an *Error or a *NetworkError;
// bytes counts what was read of the body.
// progress hears of the bytes of a transfer, and of nothing once attempt has returned.
func (c *core) attempt(ctx context.Context, p *prepared, progress func(n, total int64)) (ans *answer, read int64, err error) {
	var cancel context.CancelFunc
	try := ctx
	if p.timeout > 0 {
		try, cancel = context.WithTimeoutCause(ctx, p.timeout, errTryTimeout)
	} else {
		try, cancel = context.WithCancel(ctx)
	}
	defer cancel()

	req := p.request(context.WithValue(try, attemptKey{}, try))
	if p.upload != nil {
		body, seekErr := p.upload.begin(progress)
		if seekErr != nil {
			return nil, 0, &TransferError{Err: seekErr}
		}
		req.Body, req.ContentLength = body, p.upload.size
		if p.upload.size == 0 {
			req.Body = http.NoBody // announced as no bytes
		}
		defer func() {
			cancel()
			body.end(ctx)
			if p.upload.fail != nil && ctx.Err() == nil {
				ans, err = nil, &TransferError{Err: p.upload.fail}
			}
		}()
	}
	resp, err := c.transport.RoundTrip(req)
	if err == nil && resp == nil {
		err = errShortBody
	}
	if err != nil {
		return nil, 0, networkError(ctx, try, err)
	}
	defer func() { _ = resp.Body.Close() }()

	header := resp.Header
	success := resp.StatusCode >= 200 && resp.StatusCode <= 299
	if success && p.sink != nil {
		read, tooLarge, err := p.sink.copy(resp, progress)
		switch {
		case p.sink.fail != nil:
			return nil, read, &TransferError{Err: p.sink.fail}
		case tooLarge:
			return nil, read, p.serverError(resp.StatusCode, header, nil, codeTooLarge, "the answer is larger than was asked for")
		case err != nil && ctx.Err() == nil && undecodable(err):
			return nil, read, p.serverError(resp.StatusCode, header, nil, codeUnrecognised, "the answer's compression is broken")
		case err != nil:
			return nil, read, networkError(ctx, try, err)
		}
		return &answer{status: resp.StatusCode, header: header, bytes: read}, read, nil
	}
	body, readErr := readBody(resp, p.op.Method)
	read = int64(len(body))
	if read > maxAnswerBytes {
		return nil, read, p.serverError(resp.StatusCode, header, nil, codeTooLarge, "the answer is larger than 64 MiB")
	}
	switch {
	case readErr == nil:
	case ctx.Err() != nil:
		return nil, read, networkError(ctx, try, readErr)
	case !success:
		// The status already says what happened.
	case undecodable(readErr):
		return nil, read, p.serverError(resp.StatusCode, header, body, codeUnrecognised, "the answer's compression is broken")
	default:
		return nil, read, networkError(ctx, try, readErr)
	}
	body = redactBytes(body, p.credential)
	if !success {
		e := errorFromAnswer(resp.StatusCode, header, cleanJSON(body))
		e.RequestID = string(redactBytes([]byte(e.RequestID), p.credential))
		e.RetryAfter, e.HasRetryAfter = parseRetryAfter(header.Values("Retry-After"), time.Now())
		return nil, read, e
	}
	if !p.raw {
		body = cleanJSON(body) // whether it is JSON shows when it is decoded
	}
	if len(body) == 0 {
		body = nil
	}
	return &answer{status: resp.StatusCode, header: header, body: body, bytes: read}, read, nil
}

// serverError is an error that the client makes from an answer it cannot use.
func (p *prepared) serverError(status int, header http.Header, body []byte, code, message string) *Error {
	e := errorFromAnswer(status, header, redactBytes(body, p.credential))
	if status <= 299 {
		e.Type = TypeAPI
	}
	e.Code = code
	if message != "" {
		e.Message = message
	}
	e.RequestID = string(redactBytes([]byte(e.RequestID), p.credential))
	return e
}

// readBody reads at most one byte more than the limit.
func readBody(resp *http.Response, method string) ([]byte, error) {
	var buf bytes.Buffer
	if n := resp.ContentLength; n > 0 && n <= 1<<20 {
		buf.Grow(int(n) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, maxAnswerBytes+1))
	if err == nil && resp.ContentLength > n && n <= maxAnswerBytes && method != http.MethodHead && !resp.Uncompressed {
		err = errShortBody
	}
	return buf.Bytes(), err
}

// networkError reads from the contexts, never from the error, who ended the attempt.
func networkError(caller, try context.Context, err error) *NetworkError {
	switch {
	case caller.Err() != nil:
		return &NetworkError{Cancelled: true, NotSent: neverSent(err), Err: contextError(caller)}
	case try.Err() != nil:
		return &NetworkError{Timeout: true, Cause: causeTimeout, NotSent: neverSent(err), Err: err}
	}
	return &NetworkError{Cause: networkCause(err), NotSent: neverSent(err), Err: err}
}

func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}

var bom = []byte("\xef\xbb\xbf")

// cleanJSON takes off a BOM and outer blanks and replaces invalid UTF-8. Lone
// surrogate escapes are replaced by encoding/json.
func cleanJSON(b []byte) []byte {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, bom))
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return b
}
