package local

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"

	"codeberg.org/teapost/teapost/api"
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
		return api.TypeAuthentication
	case e.status == http.StatusForbidden:
		return api.TypePermission
	case e.status == http.StatusNotFound:
		return api.TypeNotFound
	case e.status == http.StatusConflict:
		return api.TypeConflict
	case e.status == http.StatusUnprocessableEntity:
		return api.TypeValidation
	case e.status == http.StatusTooManyRequests:
		return api.TypeRateLimit
	case e.status >= 500:
		return api.TypeAPI
	}
	return api.TypeInvalidRequest
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

// Handler returns the server's HTTP interface, open to every credential. It is for use within a process.
func (s *Server) Handler() http.Handler { return s.HandlerFor("") }

// HandlerFor returns the server's HTTP interface for those that have key; an empty one lets in everybody, with any
// credential or none. Idempotency keys belong to the API key; all callers without one share theirs.
func (s *Server) HandlerFor(key string) http.Handler {
	h := &handler{s: s, routes: routes(), scope: "local"}
	if key != "" {
		h.key = sha256.Sum256([]byte(key))
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
		if p != http.ErrAbortHandler { // a panic value is compared, not an error chain
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

// found turns sql.ErrNoRows into the API's answer for an unknown id.
func found(err error, what, param string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return notFound(what, param)
	}
	return err
}
