package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

// CallOption changes one call.
type CallOption func(*callConfig)

type callConfig struct {
	id          string
	idempotency *string
	apiKey      *string
	inbox       *string
	timeout     *time.Duration
	retries     *int
	observers   []func(Event)
}

// WithIdempotencyKey gives a send its key instead of a fresh one, so that a later try
// of the same message, after a restart too, cannot arrive twice.
func WithIdempotencyKey(key string) CallOption {
	return func(c *callConfig) { c.idempotency = &key }
}

// WithAPIKey signs the call with another API key than the client's.
func WithAPIKey(key string) CallOption { return func(c *callConfig) { c.apiKey = &key } }

// WithInboxToken signs a call on a temporary mailbox with that mailbox's token, which
// goes before every other credential. Other calls take no notice of it.
func WithInboxToken(token string) CallOption { return func(c *callConfig) { c.inbox = &token } }

// WithTimeout limits each attempt of the call; 0 or less: no limit.
func WithTimeout(d time.Duration) CallOption { return func(c *callConfig) { c.timeout = &d } }

// WithMaxRetries sets the number of attempts after the first; negative counts as 0.
// An operation that may run only once stays at one attempt.
func WithMaxRetries(n int) CallOption { return func(c *callConfig) { c.retries = &n } }

// WithCallID names the call in its events. Under Async the job's id is used.
func WithCallID(id string) CallOption { return func(c *callConfig) { c.id = id } }

// WithObserver adds an observer for the call. It must return at once.
func WithObserver(f func(Event)) CallOption {
	return func(c *callConfig) { c.observers = append(c.observers, f) }
}

// hook is how Async takes part in a call: it names it, hears its events and lends
// it a slot, which the call gives back while it waits.
type hook struct {
	id     string
	emit   func(Event)
	yield  func()
	regain func(context.Context) error
	busy   atomic.Bool // one call at a time can take part
}

type hookKey struct{}

func hookFrom(ctx context.Context) *hook {
	h, _ := ctx.Value(hookKey{}).(*hook)
	return h
}

// call is an operation with its values.
type call struct {
	op          Operation
	path        string // escaped
	query       string // encoded
	body        []byte // nil: none
	contentType string // empty: application/json when there is a body
	accept      string // empty: application/json
	raw         bool
	repeats     bool
	keyed       bool // an idempotency key may be given
	upload      *source
	sink        *sink
	decode      func(*answer) error
}

// invoke makes a typed call. body is nil, or a value, or json.RawMessage to be sent
// unchanged. out points to a struct; an empty answer to a write leaves it alone. It returns the
// idempotency key, if the call had one.
func (c *core) invoke(ctx context.Context, name string, args []string, q query, body, out any, options []CallOption) (string, error) {
	op, ok := OperationByName(name)
	if !ok {
		return "", argErr("there is no operation %s", name)
	}
	rq := call{op: op, query: q.encode(), repeats: op.Repeats(), keyed: op.Key}
	var early error
	if rq.path, early = buildPath(op.Path, args); early == nil && body != nil {
		if exact, ok := body.(json.RawMessage); ok {
			rq.body = exact
		} else {
			rq.body, early = EncodeBody(body)
		}
	}
	rq.decode = decodeObject(op, out)
	p, err := c.run(ctx, rq, early, options)
	if p == nil {
		return "", err
	}
	return p.idempotency, err
}

var (
	errEmptyAnswer = errors.New("the answer is empty")
	errNoJSON      = errors.New("the answer is not JSON")
)

// decodeObject reads the JSON object of an answer into out.
func decodeObject(op Operation, out any) func(*answer) error {
	return func(ans *answer) error {
		if ans.body == nil || string(ans.body) == "null" {
			if op.Class == ClassRead {
				return errEmptyAnswer
			}
			return nil
		}
		if ans.body[0] != '{' {
			return errors.New("the answer is no object")
		}
		return decodeInto(ans.body, out)
	}
}

// prepare checks everything that can be checked before a request is made.
func (c *core) prepare(ctx context.Context, rq call, cfg callConfig) (*prepared, error) {
	p := &prepared{op: rq.op, raw: rq.raw, repeats: rq.repeats, decode: rq.decode, timeout: c.timeout, body: rq.body, upload: rq.upload, sink: rq.sink}
	target := c.base.String() + rq.path
	if rq.query != "" {
		target += "?" + rq.query
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != c.base.scheme || u.Host != c.base.host || u.User != nil || u.Fragment != "" {
		return nil, argErr("the path does not stay on the base URL")
	}
	p.url = u

	accept := rq.accept
	if accept == "" {
		accept = "application/json"
	}
	p.header = c.header.Clone()
	p.header.Set("Accept", accept)
	p.header.Set("User-Agent", c.userAgent)
	if rq.body != nil || rq.upload != nil {
		contentType := rq.contentType
		if contentType == "" {
			contentType = "application/json"
			if !isObject(rq.body) {
				return nil, argErr("the body is not a JSON object")
			}
		}
		if !httpguts.ValidHeaderFieldValue(contentType) {
			return nil, argErr("the content type holds a control character")
		}
		p.header.Set("Content-Type", contentType)
	}

	switch {
	case cfg.idempotency != nil && !rq.keyed:
		return nil, argErr("the call takes no idempotency key")
	case cfg.idempotency != nil:
		if err := ValidIdempotencyKey(*cfg.idempotency); err != nil {
			return nil, err
		}
		p.idempotency = *cfg.idempotency
	case rq.op.Key:
		p.idempotency = NewIdempotencyKey()
	}
	if p.idempotency != "" {
		p.header.Set("Idempotency-Key", p.idempotency)
	}

	switch {
	case cfg.timeout != nil:
		p.timeout = max(0, *cfg.timeout)
	case p.timeout > 0 && rq.op.Upload:
		p.timeout = max(p.timeout, UploadTimeout)
	}

	cred, err := c.credentialFor(rq.op, cfg)
	if err != nil {
		return nil, err
	}
	if cred.token == nil {
		return p, nil
	}
	if p.credential, err = cred.token(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, &NetworkError{Cancelled: true, NotSent: true, Err: contextError(ctx)}
		}
		var arg *ArgumentError
		if errors.As(err, &arg) {
			return nil, err
		}
		return nil, &ArgumentError{Code: codeNoCredential, Message: "the access token could not be had", Err: err}
	}
	return p, nil
}

// credentialFor picks what a call signs itself with: nothing where none is needed, on a
// temporary mailbox the call's token, the call's key, the client's token, the client's
// credential, and elsewhere the call's key or the client's credential.
func (c *core) credentialFor(op Operation, cfg callConfig) (credential, error) {
	if cfg.apiKey != nil {
		if _, err := keyCredential(*cfg.apiKey); err != nil {
			return credential{}, err
		}
	}
	if cfg.inbox != nil {
		if _, err := inboxCredential(*cfg.inbox); err != nil {
			return credential{}, err
		}
	}
	switch {
	case op.Auth == AuthNone:
		return credential{}, nil
	case op.Auth == AuthInbox && cfg.inbox != nil:
		return inboxCredential(*cfg.inbox)
	case cfg.apiKey != nil:
		return keyCredential(*cfg.apiKey)
	case op.Auth == AuthInbox && c.inbox.token != nil:
		return c.inbox, nil
	case c.cred.token == nil:
		return credential{}, &ArgumentError{Code: codeNoCredential, Message: "the client has no credential for this call"}
	}
	return c.cred, nil
}

// tries is one call on its way: its attempts so far, and who hears of them.
type tries struct {
	id        string
	op        string
	limit     int // attempts allowed
	attempt   int // 1 is the first
	hook      *hook
	observers []func(Event)
	notSent   bool  // no request has left so far
	last      Event // what the last failure was
}

// begin makes the tries of a call. over must be called when they have ended.
func (c *core) begin(ctx context.Context, rq call, cfg callConfig) (t *tries, over func()) {
	t = &tries{id: cfg.id, op: rq.op.Name, limit: 1, notSent: true}
	if rq.repeats {
		retries := c.retries
		if cfg.retries != nil {
			retries = max(0, *cfg.retries)
		}
		t.limit = 1 + min(retries, 1<<20)
	}
	over = func() {}
	switch h := hookFrom(ctx); {
	case h != nil && h.busy.CompareAndSwap(false, true):
		t.hook, t.id, t.observers = h, h.id, []func(Event){h.emit}
		over = func() { h.busy.Store(false) }
	case c.observer != nil:
		t.observers = []func(Event){c.observer}
	}
	t.observers = append(t.observers, cfg.observers...)
	if t.id == "" {
		t.id = randomUUID()
	}
	return t, over
}

func (t *tries) emit(ev Event) {
	ev.Call, ev.Op, ev.Attempt, ev.Limit, ev.At = t.id, t.op, t.attempt, t.limit, time.Now()
	for _, f := range t.observers {
		f(ev)
	}
}

// refused ends a call before its first attempt, and gives the error the call's name.
func (t *tries) refused(err error) error {
	ev := Event{Phase: GaveUp, Cause: "refused before sending"}
	if arg := (*ArgumentError)(nil); errors.As(err, &arg) {
		named := *arg
		named.Op = t.op
		err, ev.Code = &named, named.Code
	}
	if network := (*NetworkError)(nil); errors.As(err, &network) {
		network.Op = t.op
		ev = Event{Phase: Cancelled}
	}
	t.emit(ev)
	return err
}

// cancelled ends a call in an attempt or a wait.
func (t *tries) cancelled(ctx context.Context) error {
	ev := t.last
	ev.Phase = Cancelled
	t.emit(ev)
	return &NetworkError{Op: t.op, Cancelled: true, Attempts: t.attempt, NotSent: t.notSent, Cause: t.last.Cause, Err: contextError(ctx)}
}

// retry is what a failed attempt says about the next one.
type retry struct {
	allowed  bool
	after    time.Duration // what the server asked for, when hasAfter
	hasAfter bool
}

// failed notes a failed attempt, completes its error and says whether it may be repeated. The
// error is the attempt's own, never wrapped; what an upload's reader failed with may itself be
// an error of another call.
func (t *tries) failed(err error, p *prepared, read int64) retry {
	fail := Event{Phase: Failed, Bytes: read}
	var next retry
	switch e := err.(type) {
	case *Error:
		t.notSent = false
		e.Op, e.Attempts = t.op, t.attempt
		fail.Status, fail.Code, fail.RequestID = e.Status, eventText(e.Code), eventText(e.RequestID)
		switch {
		case e.Code == codeTooLarge:
			fail.Cause = "answer too large"
		case e.Status <= 299:
			fail.Cause = "answer not understood"
		default:
			fail.Cause = strconv.Itoa(e.Status)
			next = retry{retryableStatus(e.Status, e.HasRetryAfter), e.RetryAfter, e.HasRetryAfter}
		}
	case *NetworkError:
		t.notSent = t.notSent && e.NotSent
		e.Op, e.Attempts, e.NotSent = t.op, t.attempt, t.notSent
		fail.Cause = e.Cause
		next.allowed = p.sink == nil || p.sink.wrote == 0 || p.sink.rewind != nil
	case *TransferError:
		t.notSent = false
		e.Op, e.Attempts = t.op, t.attempt
		fail.Cause = "file error"
	}
	t.emit(fail)
	t.last = fail
	return next
}

// pause waits before the next attempt. It fails when ctx ends.
func (t *tries) pause(ctx context.Context, next retry, random func(time.Duration) time.Duration) error {
	ev := t.last
	ev.Phase, ev.Wait = Waiting, next.after
	if next.hasAfter {
		ev.Cause = "Retry-After"
	} else {
		ev.Wait = backoff(t.attempt-1, random)
	}
	ev.Until = time.Now().Add(ev.Wait)
	t.emit(ev)
	if t.hook != nil {
		t.hook.yield()
	}
	err := wait(ctx, ev.Wait)
	if err == nil && t.hook != nil {
		err = t.hook.regain(ctx)
	}
	return err
}

// run makes the attempts and waits of one call. early is an error found before,
// which is reported in the call's name.
func (c *core) run(ctx context.Context, rq call, early error, options []CallOption) (*prepared, error) {
	var cfg callConfig
	for _, o := range options {
		o(&cfg)
	}
	t, over := c.begin(ctx, rq, cfg)
	defer over()
	var p *prepared
	err := early
	if err == nil && ctx.Err() != nil {
		err = &NetworkError{Cancelled: true, NotSent: true, Err: contextError(ctx)}
	}
	if err == nil {
		p, err = c.prepare(ctx, rq, cfg)
	}
	if err != nil {
		return nil, t.refused(err)
	}
	for {
		t.attempt++
		t.emit(Event{Phase: Started})
		ans, read, err := c.attempt(ctx, p, func(n, total int64) { t.emit(Event{Phase: Progress, Bytes: n, Total: total}) })
		if err == nil {
			err = p.finish(ans, t.attempt)
		}
		if err == nil {
			t.emit(Event{Phase: Done, Status: ans.status, Bytes: read, RequestID: requestID(ans.header, p.credential)})
			return p, nil
		}
		if network, ok := err.(*NetworkError); ok && network.Cancelled {
			t.notSent = t.notSent && network.NotSent
			return nil, t.cancelled(ctx)
		}
		next := t.failed(err, p, read)
		if !next.allowed || t.attempt >= t.limit || next.hasAfter && next.after > MaxRetryAfter {
			ev := t.last
			ev.Phase = GaveUp
			t.emit(ev)
			return nil, err
		}
		if t.pause(ctx, next, c.random) != nil {
			return nil, t.cancelled(ctx)
		}
	}
}

// finish decodes a success. What cannot be decoded is an answer not understood.
func (p *prepared) finish(ans *answer, attempts int) error {
	ans.attempts = attempts
	if err := p.decode(ans); err != nil {
		message := "the answer does not have the shape of " + p.op.Answer
		if !p.raw && len(ans.body) > 0 && !validJSON(ans.body) {
			message = "" // as of any error: the beginning of the body
		}
		e := p.serverError(ans.status, ans.header, ans.body, codeUnrecognised, message)
		e.cause = err
		return e
	}
	return nil
}

func requestID(h http.Header, credential string) string {
	return eventText(string(redactBytes([]byte(h.Get("X-Request-Id")), credential)))
}

// eventText keeps what a server names itself by from filling the event log.
func eventText(s string) string { return firstCharacters(s, 200) }

func isObject(b []byte) bool {
	trimmed := strings.TrimLeft(string(b[:min(len(b), 64)]), " \t\r\n")
	return strings.HasPrefix(trimmed, "{") && validJSON(b)
}

// Request is a call that has no method of its own on the client.
type Request struct {
	Op     string // for events and errors; empty: "raw"
	Method string // empty: GET
	Path   string // escaped; begins with one slash; without a query
	// Query is sent without its empty values; several values of a key are joined by commas.
	Query       url.Values
	Body        []byte // nil: none
	ContentType string // empty: application/json, and Body is then a JSON object
	Accept      string // empty: application/json
	Repeat      bool   // a failed attempt may be repeated; a GET always may
	Auth        Auth   // which credential it takes; empty: an API key or an access token
	Bytes       bool   // the answer need not be JSON
}

// Response is an answer as it came: JSON without a BOM and in valid UTF-8, or bytes.
type Response struct {
	Status   int
	Header   http.Header
	Body     []byte // nil when empty, which means null
	Attempts int
}

// Decode reads the JSON body into v. An empty body is read as null.
func (a *Response) Decode(v any) error {
	if len(a.Body) == 0 {
		return json.Unmarshal([]byte("null"), v)
	}
	return json.Unmarshal(a.Body, v)
}

// Do makes a raw call. A GET is repeated like any read, another method only when
// the request says so. The caller owns the answer.
func (c *Client) Do(ctx context.Context, r Request, options ...CallOption) (*Response, error) {
	if r.Op == "" {
		r.Op = "raw"
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	class := ClassOnce
	switch {
	case r.Method == http.MethodGet:
		class = ClassRead
	case r.Repeat:
		class = ClassRepeat
	}
	rq := call{
		op:          Operation{Name: r.Op, Method: r.Method, Path: r.Path, Class: class, Auth: r.Auth},
		path:        r.Path,
		body:        r.Body,
		contentType: r.ContentType,
		accept:      r.Accept,
		raw:         r.Bytes,
		repeats:     class != ClassOnce,
		keyed:       class != ClassRead,
	}
	var got Response
	rq.decode = func(ans *answer) error {
		if !r.Bytes && ans.body != nil && !validJSON(ans.body) {
			return errNoJSON
		}
		got = Response{Status: ans.status, Header: ans.header, Body: ans.body, Attempts: ans.attempts}
		return nil
	}
	var q query
	for _, key := range slices.Sorted(maps.Keys(r.Query)) {
		q.list(key, slices.DeleteFunc(slices.Clone(r.Query[key]), func(v string) bool { return v == "" }))
	}
	rq.query = q.encode()
	if _, err := c.core.run(ctx, rq, checkRequest(r), options); err != nil {
		return nil, err
	}
	return &got, nil
}

func checkRequest(r Request) error {
	hasBody := r.Body != nil
	switch {
	case !httpguts.ValidHeaderFieldName(r.Method) || r.Method != strings.ToUpper(r.Method) || r.Method == http.MethodConnect || r.Method == http.MethodTrace:
		return argErr("%q is no method for a call", r.Method)
	case !strings.HasPrefix(r.Path, "/") || strings.HasPrefix(r.Path, "//") || strings.HasPrefix(r.Path, `/\`):
		return argErr("a path begins with exactly one slash")
	case strings.ContainsAny(r.Path, "?#"):
		return argErr("a path holds no ? and no #: the query has a field of its own")
	case hasBody && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodDelete):
		return argErr("a %s carries no body", r.Method)
	case r.Auth != AuthCredential && r.Auth != AuthInbox && r.Auth != AuthNone:
		return argErr("there is no credential %q", r.Auth)
	case !httpguts.ValidHeaderFieldValue(r.ContentType) || !httpguts.ValidHeaderFieldValue(r.Accept):
		return argErr("the content type holds a control character")
	}
	return nil
}
