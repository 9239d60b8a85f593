package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"time"
)

// MaxBodyBytes is the most that a request body may hold.
const MaxBodyBytes = 25 << 20

// apiError is an answer of the contract's error form.
type apiError struct {
	status  int
	code    string
	message string
	param   string
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

func (e *apiError) kind() string {
	switch {
	case e.status == http.StatusUnauthorized:
		return "authentication_error"
	case e.status == http.StatusForbidden:
		return "permission_error"
	case e.status == http.StatusNotFound:
		return "not_found_error"
	case e.status == http.StatusConflict:
		return "conflict_error"
	case e.status == http.StatusUnprocessableEntity:
		return "validation_error"
	case e.status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case e.status >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}

func invalidField(param, format string, args ...any) error {
	return &apiError{http.StatusUnprocessableEntity, "invalid_field", fmt.Sprintf(format, args...), param}
}

func badRequest(code, param, format string, args ...any) error {
	return &apiError{http.StatusBadRequest, code, fmt.Sprintf(format, args...), param}
}

func notFound(what, param string) error {
	return &apiError{http.StatusNotFound, "resource_not_found", "There is no such " + what + ".", param}
}

func conflict(code, format string, args ...any) error {
	return &apiError{http.StatusConflict, code, fmt.Sprintf(format, args...), ""}
}

// storeError gives the database's errors the words of the API. Anything else passes unchanged.
func (s *Server) storeError(err error) error {
	switch sqliteCode(err) {
	case codeFull:
		return &apiError{http.StatusInsufficientStorage, "storage_full", "The disk that holds the mailbox is full. Nothing was changed.", ""}
	case codeReadOnly:
		return &apiError{http.StatusInsufficientStorage, "storage_read_only", "The mailbox file cannot be written. Nothing was changed.", ""}
	case codeIOErr:
		return &apiError{http.StatusInsufficientStorage, "storage_failed", "The disk that holds the mailbox failed. Nothing was changed.", ""}
	case codeCorrupt, codeNotADB:
		return &apiError{http.StatusInternalServerError, "storage_damaged", (&DamagedError{Path: s.path, Cause: err.Error()}).Error(), ""}
	case codeBusy:
		return &apiError{http.StatusServiceUnavailable, "mailbox_busy", "Another process keeps the mailbox busy.", ""}
	}
	return err
}

// call is one request on its way through a route.
type call struct {
	*http.Request
	ctx    context.Context
	params []string
	query  url.Values
	who    *caller
	scope  string // whose idempotency keys these are
	mode   string // live or test, of the key and the mailbox
	body   fields
}

type route struct {
	name   string // operation of the contract, "threads.get"
	verb   string
	parts  []string // a part that begins with ":" takes any segment
	body   bodyRule
	handle func(*Server, *call) (any, error)
}

type bodyRule int

const (
	noBody       bodyRule = iota // ignored
	optionalBody                 // may be missing
	needsBody
)

func routes() []route {
	table := []struct {
		verb, path string
		body       bodyRule
		handle     func(*Server, *call) (any, error)
	}{
		{"GET", "/ping", noBody, (*Server).ping},
		{"GET", "/keys/self", noBody, (*Server).keySelf},
		{"POST", "/keys/self/rotate", noBody, (*Server).rotateSelf},
		{"GET", "/keys", noBody, (*Server).listKeys},
		{"POST", "/keys", needsBody, (*Server).createKey},
		{"GET", "/keys/:id", noBody, (*Server).getKey},
		{"PATCH", "/keys/:id", needsBody, (*Server).updateKey},
		{"POST", "/keys/:id/revoke", optionalBody, (*Server).revokeKey},
		{"POST", "/keys/:id/rotate", noBody, (*Server).rotateKey},
		{"DELETE", "/keys/:id", noBody, (*Server).deleteKey},
		{"GET", "/addresses", noBody, (*Server).listAddresses},

		{"GET", "/contacts", noBody, (*Server).listContacts},
		{"POST", "/contacts", needsBody, (*Server).createContact},
		{"GET", "/contacts/people", noBody, (*Server).listPeople},
		{"POST", "/contacts/batch-delete", needsBody, (*Server).deleteContacts},
		{"GET", "/contacts/:email", noBody, (*Server).getContact},
		{"PATCH", "/contacts/:email", needsBody, (*Server).updateContact},
		{"PUT", "/contacts/:email", optionalBody, (*Server).saveContact},
		{"DELETE", "/contacts/:email", noBody, (*Server).deleteContact},
		{"GET", "/contacts/:email/threads", noBody, (*Server).listContactThreads},
		{"POST", "/contacts/:email/block", noBody, (*Server).blockContact},
		{"DELETE", "/contacts/:email/block", noBody, (*Server).unblockContact},

		{"GET", "/files", noBody, (*Server).listFiles},
		{"POST", "/files", noBody, (*Server).uploadFile},
		{"GET", "/files/stats", noBody, (*Server).fileStats},
		{"POST", "/files/batch-delete", needsBody, (*Server).deleteFiles},
		{"GET", "/files/:id", noBody, (*Server).getFile},
		{"GET", "/files/:id/content", noBody, (*Server).downloadFile},
		{"GET", "/files/:id/links", noBody, (*Server).listFileLinks},
		{"DELETE", "/files/:id", noBody, (*Server).deleteFile},

		{"GET", "/settings", noBody, (*Server).getSettings},
		{"PATCH", "/settings", needsBody, (*Server).updateSettings},

		{"GET", "/follow-ups", noBody, (*Server).listFollowUps},
		{"POST", "/follow-ups", needsBody, (*Server).setFollowUp},
		{"DELETE", "/follow-ups/:id", noBody, (*Server).cancelFollowUp},

		{"GET", "/rules", noBody, (*Server).listRules},
		{"POST", "/rules", needsBody, (*Server).createRule},
		{"GET", "/rules/runs", noBody, (*Server).listRuleRuns},
		{"POST", "/rules/reorder", needsBody, (*Server).reorderRules},
		{"GET", "/rules/:id", noBody, (*Server).getRule},
		{"PATCH", "/rules/:id", needsBody, (*Server).updateRule},
		{"POST", "/rules/:id/test", optionalBody, (*Server).testRule},
		{"DELETE", "/rules/:id", noBody, (*Server).deleteRule},

		{"GET", "/out-of-office", noBody, (*Server).listOutOfOffice},
		{"PUT", "/out-of-office", needsBody, (*Server).setOutOfOffice},
		{"DELETE", "/out-of-office", noBody, (*Server).clearOutOfOffice},

		{"GET", "/subscriptions", noBody, (*Server).listSubscriptions},
		{"GET", "/subscriptions/domains", noBody, (*Server).listSubscriptionDomains},
		{"POST", "/subscriptions/domains/:domain/unsubscribe", optionalBody, (*Server).unsubscribeDomain},
		{"POST", "/subscriptions/:id/unsubscribe", optionalBody, (*Server).unsubscribeOne},
		{"POST", "/subscriptions/:id/move", needsBody, (*Server).moveOne},

		{"GET", "/suppressions", noBody, (*Server).listSuppressions},
		{"POST", "/suppressions", needsBody, (*Server).addSuppression},
		{"GET", "/suppressions/:id", noBody, (*Server).getSuppression},
		{"DELETE", "/suppressions/:id", noBody, (*Server).removeSuppression},

		{"GET", "/templates", noBody, (*Server).listTemplates},
		{"POST", "/templates", needsBody, (*Server).createTemplate},
		{"POST", "/templates/render", needsBody, (*Server).renderTemplate},
		{"GET", "/templates/:id", noBody, (*Server).getTemplate},
		{"PATCH", "/templates/:id", needsBody, (*Server).updateTemplate},
		{"DELETE", "/templates/:id", noBody, (*Server).deleteTemplate},
		{"POST", "/templates/:id/content", needsBody, (*Server).replaceContent},
		{"POST", "/templates/:id/duplicate", optionalBody, (*Server).duplicateTemplate},
		{"POST", "/templates/:id/preview", optionalBody, (*Server).previewTemplate},
		{"POST", "/templates/:id/send", needsBody, (*Server).sendTemplate},
		{"GET", "/templates/:id/versions", noBody, (*Server).listTemplateVersions},
		{"POST", "/templates/:id/versions", optionalBody, (*Server).publishTemplate},
		{"GET", "/templates/:id/versions/:version", noBody, (*Server).getTemplateVersion},
		{"DELETE", "/templates/:id/versions/:version", noBody, (*Server).deleteTemplateVersion},
		{"POST", "/templates/:id/versions/:version/restore", optionalBody, (*Server).restoreTemplateVersion},

		{"GET", "/calendar/events", noBody, (*Server).listEvents},
		{"POST", "/calendar/events", needsBody, (*Server).createEvent},
		{"GET", "/calendar/events/:id", noBody, (*Server).getCalendarEvent},
		{"PATCH", "/calendar/events/:id", needsBody, (*Server).updateEvent},
		{"DELETE", "/calendar/events/:id", noBody, (*Server).deleteEvent},
		{"GET", "/calendar/events/:id/ics", noBody, (*Server).getEventICS},
		{"POST", "/calendar/events/:id/cancel", optionalBody, (*Server).cancelEvent},
		{"POST", "/calendar/events/:id/respond", needsBody, (*Server).respondToEvent},

		{"GET", "/sender-categories", noBody, (*Server).listSenderCategories},
		{"PUT", "/sender-categories/:email", needsBody, (*Server).setSenderCategory},
		{"DELETE", "/sender-categories/:email", noBody, (*Server).clearSenderCategory},

		{"GET", "/temp-mail/domains", noBody, (*Server).listTempDomains},
		{"POST", "/temp-mail/inboxes", optionalBody, (*Server).createTempInbox},
		{"GET", "/temp-mail/inboxes/:id", noBody, (*Server).getTempInbox},
		{"DELETE", "/temp-mail/inboxes/:id", noBody, (*Server).deleteTempInbox},
		{"POST", "/temp-mail/inboxes/:id/extend", noBody, (*Server).extendTempInbox},
		{"GET", "/temp-mail/inboxes/:id/messages", noBody, (*Server).listTempMessages},
		{"GET", "/temp-mail/inboxes/:id/messages/:messageId", noBody, (*Server).getTempMessage},
		{"DELETE", "/temp-mail/inboxes/:id/messages/:messageId", noBody, (*Server).deleteTempMessage},
		{"GET", "/temp-mail/inboxes/:id/messages/:messageId/attachments", noBody, (*Server).listTempAttachments},

		{"GET", "/threads", noBody, (*Server).listThreads},
		{"GET", "/threads/counts", noBody, (*Server).counts},
		{"GET", "/threads/:id", noBody, (*Server).getThread},
		{"PATCH", "/threads/:id", needsBody, (*Server).updateThread},
		{"DELETE", "/threads/:id", noBody, (*Server).deleteThread},
		{"POST", "/threads/:id/trash", noBody, (*Server).trashThread},
		{"POST", "/threads/:id/restore", noBody, (*Server).restoreThread},
		{"POST", "/threads/:id/snooze", needsBody, (*Server).snoozeThread},
		{"POST", "/threads/:id/unsnooze", noBody, (*Server).unsnoozeThread},
		{"POST", "/threads/:id/mute", noBody, (*Server).muteThread},
		{"POST", "/threads/:id/unmute", noBody, (*Server).unmuteThread},
		{"POST", "/threads/:id/unsubscribe", noBody, (*Server).unsubscribeThread},
		{"GET", "/threads/:id/event", noBody, (*Server).getEvent},
		{"GET", "/threads/:id/notes", noBody, (*Server).listNotes},
		{"POST", "/threads/:id/notes", needsBody, (*Server).createNote},
		{"POST", "/threads/:id/notes/reorder", needsBody, (*Server).reorderNotes},
		{"PATCH", "/threads/:id/notes/:noteId", needsBody, (*Server).updateNote},
		{"DELETE", "/threads/:id/notes/:noteId", noBody, (*Server).deleteNote},
		{"GET", "/threads/:id/messages/:messageId/attachments", noBody, (*Server).listAttachments},

		{"GET", "/drafts", noBody, (*Server).listDrafts},
		{"POST", "/drafts", optionalBody, (*Server).createDraft},
		{"GET", "/drafts/:id", noBody, (*Server).getDraft},
		{"PATCH", "/drafts/:id", optionalBody, (*Server).updateDraft},
		{"DELETE", "/drafts/:id", noBody, (*Server).deleteDraft},

		{"GET", "/emails", noBody, (*Server).listEmails},
		{"POST", "/emails", needsBody, (*Server).sendEmail},
		{"POST", "/emails/batch", needsBody, (*Server).sendBatch},
		{"GET", "/emails/:id", noBody, (*Server).getEmail},
		{"GET", "/emails/:id/events", noBody, (*Server).listEmailEvents},
		{"GET", "/emails/:id/tracking", noBody, (*Server).getTracking},
		{"PATCH", "/emails/:id", needsBody, (*Server).updateEmail},
		{"POST", "/emails/:id/cancel", noBody, (*Server).cancelEmail},

		{"GET", "/labels", noBody, (*Server).listLabels},
		{"POST", "/labels", needsBody, (*Server).createLabel},
		{"GET", "/labels/colors", noBody, (*Server).listLabelColors},
		{"GET", "/labels/:id", noBody, (*Server).getLabel},
		{"PATCH", "/labels/:id", needsBody, (*Server).updateLabel},
		{"DELETE", "/labels/:id", noBody, (*Server).deleteLabel},
	}
	names := map[string]string{} // by verb and pattern
	known := operations()
	for _, op := range known {
		if key := op.verb + " " + pattern(op.path); names[key] == "" {
			names[key] = op.name
		}
	}
	out := make([]route, 0, len(known))
	there := map[string]bool{}
	for _, r := range table {
		key := r.verb + " " + pattern(r.path)
		out = append(out, route{names[key], r.verb, strings.Split(r.path[1:], "/"), r.body, r.handle})
		there[key] = true
	}
	for _, op := range known {
		key := op.verb + " " + pattern(op.path)
		if there[key] {
			continue
		}
		there[key] = true
		out = append(out, route{op.name, op.verb, strings.Split(op.path[1:], "/"), noBody, absent(op.name)})
	}
	return out
}

// match tells how well a path fits: the captured segments and how many parts fit literally, or -1.
func (r *route) match(segments []string) (params []string, literal int) {
	if len(segments) != len(r.parts) {
		return nil, -1
	}
	for i, p := range r.parts {
		switch {
		case strings.HasPrefix(p, ":"):
			params = append(params, segments[i])
		case p == segments[i]:
			literal++
		default:
			return nil, -1
		}
	}
	return params, literal
}

// AuthOptions says who may use a handler.
type AuthOptions struct {
	// APIKey is the one key that is let in. Empty lets in everybody, with any credential or none.
	APIKey string
}

// Handler returns the server's HTTP interface, open to every credential. It is for use within a process.
func (s *Server) Handler() http.Handler { return s.HandlerFor(AuthOptions{}) }

// HandlerFor returns the server's HTTP interface for those that o lets in. Idempotency keys belong to the
// API key; all callers without one share theirs.
func (s *Server) HandlerFor(o AuthOptions) http.Handler {
	h := &handler{s: s, routes: routes(), scope: "local"}
	if o.APIKey != "" {
		h.key = sha256.Sum256([]byte(o.APIKey))
		h.locked = true
		h.scope = hex.EncodeToString(h.key[:16])
	}
	return h
}

type handler struct {
	s      *Server
	routes []route
	locked bool
	key    [sha256.Size]byte
	scope  string
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := requestID()
	w.Header().Set("X-Request-Id", id)
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p != http.ErrAbortHandler { //nolint:errorlint // a panic value is compared, not an error chain
			h.s.log.Error("a request panicked", "request", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		panic(http.ErrAbortHandler)
	}()
	answer, err := h.serve(r)
	if err != nil {
		if r.Context().Err() != nil {
			// Nobody reads the answer any more.
			panic(http.ErrAbortHandler)
		}
		h.fail(w, id, err)
		return
	}
	if b, ok := answer.(*bytesAnswer); ok {
		b.write(w)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func (h *handler) serve(r *http.Request) (any, error) {
	rt, params, routeErr := h.route(r)
	who, err := h.caller(r, rt, params)
	if err != nil {
		return nil, h.s.storeError(err)
	}
	if routeErr != nil {
		return nil, routeErr
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("invalid_query", "", "The query of the address cannot be read.")
	}
	c := &call{Request: r, ctx: r.Context(), params: params, query: query, who: who, scope: who.scope, mode: modeTest}
	if h.s.relay != nil && !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer oe_test_") {
		c.mode = modeLive
	}
	if rt.body != noBody {
		if c.body, err = readBody(r, rt.body == needsBody); err != nil {
			return nil, err
		}
	}
	answer, err := rt.handle(h.s, c)
	if err != nil {
		return nil, h.s.storeError(err)
	}
	return answer, nil
}

// route splits the escaped path, so that an encoded slash stays within its segment.
func (h *handler) route(r *http.Request) (*route, []string, error) {
	escaped := strings.TrimSuffix(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	segments := strings.Split(escaped, "/")
	for i, seg := range segments {
		plain, err := url.PathUnescape(seg)
		if err != nil {
			return nil, nil, badRequest("invalid_path", "", "The path cannot be read.")
		}
		segments[i] = plain
	}
	var best *route
	var params []string
	literal := -1
	allowed := map[string]bool{}
	for i := range h.routes {
		rt := &h.routes[i]
		p, n := rt.match(segments)
		switch {
		case n < 0 || n < literal:
			continue
		case n > literal:
			literal, best, params = n, nil, nil
			clear(allowed)
		}
		allowed[rt.verb] = true
		if rt.verb == r.Method {
			best, params = rt, p
		}
	}
	if best != nil {
		return best, params, nil
	}
	if len(allowed) > 0 {
		verbs := make([]string, 0, len(allowed))
		for v := range allowed {
			verbs = append(verbs, v)
		}
		sort.Strings(verbs)
		return nil, nil, &methodError{apiError{
			http.StatusMethodNotAllowed, "method_not_allowed",
			"This path takes " + strings.Join(verbs, ", ") + ", not " + printable(r.Method) + ".", "",
		}, strings.Join(verbs, ", ")}
	}
	return nil, nil, &apiError{http.StatusNotFound, "route_not_found", "The local server has no such route.", ""}
}

type methodError struct {
	apiError
	allow string
}

func printable(s string) string {
	return strings.Trim(strconv.QuoteToASCII(clip(s, 40)), `"`)
}

func (h *handler) fail(w http.ResponseWriter, id string, err error) {
	var e *apiError
	var m *methodError
	switch {
	case errors.As(err, &m):
		w.Header().Set("Allow", m.allow)
		e = &m.apiError
	case errors.As(err, &e):
	default:
		h.s.log.Error("a request failed", "request", id, "error", err)
		e = &apiError{http.StatusInternalServerError, "internal_error", "The local server failed. Its log says more.", ""}
	}
	body := map[string]any{"type": e.kind(), "code": e.code, "message": e.message, "requestId": id}
	if e.param != "" {
		body["param"] = e.param
	}
	writeJSON(w, e.status, map[string]any{"error": body})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// bytesAnswer is an answer that is not JSON.
type bytesAnswer struct {
	contentType string
	filename    string // offered to a browser, so that it saves the bytes and does not show them
	data        []byte
}

func (b *bytesAnswer) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", b.contentType)
	h.Set("Content-Length", strconv.Itoa(len(b.data)))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": b.filename}))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b.data)
}

func requestID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return "req_" + hex.EncodeToString(b[:])
}

// fields is a decoded JSON body.
type fields map[string]any

// readBytes reads the body as it is.
func readBytes(r *http.Request) ([]byte, error) {
	tooLarge := &apiError{http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("The body is larger than %d MiB.", MaxBodyBytes>>20), ""}
	if r.ContentLength > MaxBodyBytes {
		return nil, tooLarge
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, MaxBodyBytes+1))
	if err != nil {
		return nil, badRequest("invalid_body", "", "The body could not be read to its end.")
	}
	if len(raw) > MaxBodyBytes {
		return nil, tooLarge
	}
	return raw, nil
}

func readBody(r *http.Request, needed bool) (fields, error) {
	raw, err := readBytes(r)
	if err != nil {
		return nil, err
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(raw)) == 0 {
		if needed {
			return nil, badRequest("invalid_json", "", "The body is missing.")
		}
		return fields{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var f fields
	if err := dec.Decode(&f); err != nil || f == nil {
		return nil, badRequest("invalid_json", "", "The body is not a JSON object.")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, badRequest("invalid_json", "", "There is something behind the JSON object.")
	}
	return f, nil
}

// fingerprint identifies what a request asks for: verb, path and the parsed body, however it was spelled.
func (c *call) fingerprint() []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s\n", c.Method, c.URL.EscapedPath())
	canonical, _ := json.Marshal(canon(map[string]any(c.body))) // made from JSON, so it can be written as such
	h.Write(canonical)
	return h.Sum(nil)
}

// canon makes equal numbers equal. Go writes the keys of maps in order.
func canon(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = canon(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = canon(e)
		}
		return out
	case json.Number:
		if f, err := v.Float64(); err == nil && math.Abs(f) < 1<<53 {
			return f
		}
		return v.String()
	}
	return v
}

// has reports whether a field is there and not null.
func (f fields) has(name string) bool { return f[name] != nil }

// text reads a string; a missing or null field is "".
func (f fields) text(name string) (string, error) {
	switch v := f[name].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	return "", invalidField(name, "%s must be a string.", name)
}

func (f fields) boolean(name string) (value, given bool, err error) {
	switch v := f[name].(type) {
	case nil:
		return false, false, nil
	case bool:
		return v, true, nil
	}
	return false, false, invalidField(name, "%s must be true or false.", name)
}

func (f fields) whole(name string) (value int64, given bool, err error) {
	switch v := f[name].(type) {
	case nil:
		return 0, false, nil
	case json.Number:
		if x, err := v.Float64(); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return int64(x), true, nil
		}
	}
	return 0, false, invalidField(name, "%s must be a whole number.", name)
}

func (f fields) texts(name string) ([]string, error) {
	switch v := f[name].(type) {
	case nil:
		return nil, nil
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, invalidField(name, "%s must be a list of strings.", name)
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, invalidField(name, "%s must be a list of strings.", name)
}

// when reads an instant in any ISO-8601 offset, in milliseconds.
func (f fields) when(name string) (ms int64, given bool, err error) {
	s, err := f.text(name)
	if err != nil || s == "" {
		return 0, false, err
	}
	t, ok := parseInstant(s)
	if !ok {
		return 0, false, invalidField(name, "%s must be an instant such as 2026-03-01T09:30:00.000Z.", name)
	}
	return t.UnixMilli(), true, nil
}

func parseInstant(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999Z0700", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 && t.Year() < 10000 {
			return t, true
		}
	}
	return time.Time{}, false
}

const (
	defaultLimit = 25
	mostLimit    = 100
)

// limit reads the size of a page: 25 when it is not given, 100 at most.
func (c *call) limit() (int, error) {
	v := c.query.Get("limit")
	if v == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(v)
	var numErr *strconv.NumError
	if errors.As(err, &numErr) && errors.Is(numErr.Err, strconv.ErrRange) && !strings.HasPrefix(v, "-") {
		n, err = mostLimit, nil
	}
	if err != nil || n < 1 {
		return 0, badRequest("invalid_limit", "limit", "limit must be a whole number of at least 1.")
	}
	return min(n, mostLimit), nil
}

// cursor is where a page ended: the sort key and id of its last entry. Entries before it may come and go.
type cursor struct {
	Text string `json:"t,omitempty"`
	At   int64  `json:"a,omitempty"`
	ID   int64  `json:"i"`
	// Window counts the windows of hits of a search that were left behind; see findMatching.
	Window int `json:"w,omitempty"`
}

func (c cursor) String() string {
	raw, _ := json.Marshal(c) // numbers and a string
	return base64.RawURLEncoding.EncodeToString(raw)
}

// cursor reads the named query value; ok is false when it is not given.
func (c *call) cursor(name string) (cur cursor, ok bool, err error) {
	v := c.query.Get(name)
	if v == "" {
		return cursor{}, false, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(v)
	if err == nil {
		err = json.Unmarshal(raw, &cur)
	}
	if err != nil || cur.ID <= 0 {
		return cursor{}, false, badRequest("invalid_cursor", name, "%s is not one that this server gave out.", name)
	}
	return cur, true, nil
}

// page gives the envelope of a list. next is used when more is true.
func page(data []any, more bool, nextName string, next cursor) map[string]any {
	if data == nil {
		data = []any{}
	}
	out := map[string]any{"object": "list", "data": data, "hasMore": more, nextName: nil}
	if more {
		out[nextName] = next.String()
	}
	return out
}

// found turns sql.ErrNoRows into the API's answer for an unknown id.
func found(err error, what, param string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return notFound(what, param)
	}
	return err
}
