package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mailbox is a small mailbox in memory that speaks enough of the API for a person to read,
// sort and send while faults are played. It is gone when the program ends.
type mailbox struct {
	mu      sync.Mutex
	threads []*thread // newest first
	emails  []object
	keys    map[string]keyed
	drafts  []object
	nextID  int
	now     func() time.Time
}

type object = map[string]any

type thread struct {
	id       string
	messages []object
	labels   map[string]bool
	unread   bool
	snoozed  time.Time
}

type keyed struct {
	body any
	id   string
}

const stamp = "2006-01-02T15:04:05.000Z"

// The system labels of the contract's local choice.
var systemLabels = []string{"INBOX", "STARRED", "SPAM", "TRASH", "SENT", "DRAFT", "SNOOZED"}

func newMailbox(now func() time.Time) *mailbox {
	m := &mailbox{keys: map[string]keyed{}, now: now}
	letters := []struct{ name, email, subject, text string }{
		{"Grace Hall", "grace@example.org", "Compiler notes", "The second pass is done. Numbers are in the table.\n\nGrace"},
		{"Team Calendar", "calendar@example.com", "Offsite on Thursday", "2 replies, 1 invite."},
		{"Build Server", "build@example.com", "Nightly report", "3 failed, 412 passed."},
		{"Lin", "lin@example.net", "Patch series v3", "I would rather not touch the cache yet."},
		{"Ana Müller", "ana@example.net", "Dinner?", "Sunday works for us."},
		{"山田太郎", "yamada@example.jp", "来週の打ち合わせ", "よろしくお願いします"},
	}
	for i, l := range letters {
		m.threads = append(m.threads, &thread{
			id: m.id("thr"), unread: i < 3, labels: map[string]bool{"INBOX": true},
			messages: []object{m.message(l.name, l.email, l.subject, l.text, now().Add(-time.Duration(i*5+1)*time.Hour))},
		})
	}
	return m
}

func (m *mailbox) id(kind string) string {
	m.nextID++
	return fmt.Sprintf("%s_%04d", kind, m.nextID)
}

func (m *mailbox) message(name, email, subject, text string, at time.Time) object {
	id := m.id("msg")
	return object{
		"id": id, "subject": subject, "from": object{"name": name, "email": email},
		"to": []object{{"name": "You", "email": "you@example.com"}}, "cc": []object{}, "bcc": []object{}, "replyTo": []object{},
		"receivedAt": at.UTC().Format(stamp), "unread": false, "snippet": strings.Join(strings.Fields(text), " "),
		"text": text, "html": "", "attachments": []object{}, "messageId": "<" + id + "@faultserver.invalid>",
		"inReplyTo": nil, "references": []string{}, "labels": []object{},
	}
}

// answer is how a route answers: the status and what is written as JSON.
type answer = func(*http.Request, object) (status int, body any)

func (m *mailbox) handler() http.Handler {
	mux := http.NewServeMux()
	on := func(pattern string, f answer) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			body, ok := readObject(r)
			if !ok {
				send(w, http.StatusBadRequest, failure(400, "invalid_json", "the body is not a JSON object"))
				return
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.wake()
			status, v := f(r, body)
			send(w, status, v)
		})
	}
	m.accountRoutes(on)
	m.threadRoutes(on)
	m.draftRoutes(on)
	m.emailRoutes(on)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		send(w, http.StatusNotFound, failure(404, "route_not_found", "this small mailbox does not have that"))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			send(w, http.StatusUnauthorized, failure(401, "invalid_api_key", "give any API key, such as oe_test_x"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (m *mailbox) accountRoutes(on func(string, answer)) {
	on("GET /ping", func(*http.Request, object) (int, any) {
		return 200, object{
			"ok": true, "kind": "apiKey", "keyId": "key_fault", "mode": "test", "scopes": []string{},
			"roleId": nil, "grantedScopes": []string{}, "workspaceId": "ws_fault",
		}
	})
	on("GET /keys/self", func(*http.Request, object) (int, any) {
		return 200, object{
			"object": "api_key", "kind": "apiKey", "id": "key_fault", "mode": "test", "scopes": []string{}, "roleId": nil,
			"grantedScopes": []string{}, "workspaceId": "ws_fault", "addressAllowlist": nil, "domainAllowlist": nil,
		}
	})
	on("GET /addresses", func(*http.Request, object) (int, any) {
		p := page([]object{{"object": "address", "address": "you@example.com", "enabled": true, "canSend": true}}, "nextCursor")
		p["unrestricted"], p["domains"] = true, []object{}
		return 200, p
	})
	on("GET /contacts/people", func(*http.Request, object) (int, any) {
		p := page([]object{}, "nextCursor")
		p["seen"] = true
		return 200, p
	})
	on("GET /labels", func(*http.Request, object) (int, any) {
		var out []object
		for _, id := range systemLabels {
			out = append(out, object{
				"object": "label", "id": id, "name": id, "type": "system", "color": nil, "threadCount": len(m.in(id)),
				"aiInstructions": nil, "aiEnabled": false, "createdAt": nil, "updatedAt": nil,
			})
		}
		return 200, page(out, "nextCursor")
	})
}

func (m *mailbox) threadRoutes(on func(string, answer)) {
	on("GET /threads/counts", func(*http.Request, object) (int, any) { return 200, m.counts() })
	on("GET /threads", m.list)
	on("GET /threads/{id}", m.with(func(t *thread, _ object) (int, any) { return 200, t.json() }))
	on("PATCH /threads/{id}", m.with(m.update))
	on("DELETE /threads/{id}", m.with(func(t *thread, _ object) (int, any) {
		m.threads = slices.DeleteFunc(m.threads, func(o *thread) bool { return o == t })
		return 200, object{"object": "thread", "id": t.id, "deleted": true}
	}))
	on("POST /threads/{id}/trash", m.with(func(t *thread, _ object) (int, any) {
		t.labels["TRASH"] = true
		return 200, object{"object": "thread", "id": t.id, "trashed": true}
	}))
	on("POST /threads/{id}/restore", m.with(func(t *thread, _ object) (int, any) {
		delete(t.labels, "TRASH")
		return 200, object{"object": "thread", "id": t.id, "restored": true}
	}))
	on("POST /threads/{id}/snooze", m.with(func(t *thread, body object) (int, any) {
		s, _ := body["wakeAt"].(string)
		at, err := time.Parse(time.RFC3339, s)
		if err != nil || !at.After(m.now()) {
			return 422, failure(422, "invalid_field", "wakeAt is not a time to come")
		}
		t.snoozed = at
		t.labels["SNOOZED"] = true
		delete(t.labels, "INBOX")
		return 200, object{"object": "thread", "id": t.id, "snoozedUntil": at.UTC().Format(stamp)}
	}))
	on("POST /threads/{id}/unsnooze", m.with(func(t *thread, _ object) (int, any) {
		t.wake()
		return 200, object{"object": "thread", "id": t.id, "snoozedUntil": nil}
	}))
	for _, verb := range []string{"mute", "unmute"} {
		on("POST /threads/{id}/"+verb, m.with(func(t *thread, _ object) (int, any) {
			return 200, object{"object": "thread", "id": t.id, "muted": verb == "mute"}
		}))
	}
}

func (m *mailbox) draftRoutes(on func(string, answer)) {
	on("GET /drafts", func(*http.Request, object) (int, any) {
		out := []object{}
		for _, d := range slices.Backward(m.drafts) {
			out = append(out, object{"object": "draft", "id": d["id"]})
		}
		return 200, page(out, "nextPageToken")
	})
	on("POST /drafts", func(_ *http.Request, body object) (int, any) {
		d := draft(object{}, body)
		d["id"] = m.id("dft")
		m.drafts = append(m.drafts, d)
		return 200, object{"object": "draft", "id": d["id"]}
	})
	on("GET /drafts/{id}", m.withDraft(func(i int, _ object) (int, any) { return 200, m.drafts[i] }))
	on("PATCH /drafts/{id}", m.withDraft(func(i int, body object) (int, any) {
		draft(m.drafts[i], body)
		return 200, object{"object": "draft", "id": m.drafts[i]["id"]}
	}))
	on("DELETE /drafts/{id}", m.withDraft(func(i int, _ object) (int, any) {
		id := m.drafts[i]["id"]
		m.drafts = slices.Delete(m.drafts, i, i+1)
		return 200, object{"object": "draft", "id": id, "deleted": true}
	}))
}

func (m *mailbox) emailRoutes(on func(string, answer)) {
	on("POST /emails", m.send)
	on("GET /emails", func(*http.Request, object) (int, any) {
		return 200, page(append([]object{}, m.emails...), "nextCursor")
	})
	on("GET /emails/{id}", m.withEmail(func(e object) (int, any) { return 200, e }))
	on("POST /emails/{id}/cancel", m.withEmail(func(e object) (int, any) {
		switch e["status"] {
		case "cancelled", "queued", "scheduled":
			e["status"] = "cancelled"
			return 200, e
		}
		return 409, failure(409, "conflict", "it was sent")
	}))
}

// readObject reads a JSON object; an empty body counts as an empty one.
func readObject(r *http.Request) (object, bool) {
	b, err := io.ReadAll(io.LimitReader(r.Body, 25<<20))
	if err != nil {
		return nil, false
	}
	out := object{}
	if len(bytes.TrimSpace(b)) == 0 {
		return out, true
	}
	return out, json.Unmarshal(b, &out) == nil
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func failure(status int, code, message string) object {
	kind := map[int]string{401: "authentication_error", 404: "not_found_error", 409: "conflict_error", 422: "validation_error"}[status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	return object{"error": object{"type": kind, "code": code, "message": message}}
}

func page(data []object, cursor string) object {
	return object{"object": "list", "data": data, "hasMore": false, cursor: nil}
}

func notFound() (int, any) { return 404, failure(404, "resource_not_found", "there is no such thing") }

func (m *mailbox) with(f func(*thread, object) (int, any)) answer {
	return func(r *http.Request, body object) (int, any) {
		for _, t := range m.threads {
			if t.id == r.PathValue("id") {
				return f(t, body)
			}
		}
		return notFound()
	}
}

func (m *mailbox) withDraft(f func(int, object) (int, any)) answer {
	return func(r *http.Request, body object) (int, any) {
		for i, d := range m.drafts {
			if d["id"] == r.PathValue("id") {
				return f(i, body)
			}
		}
		return notFound()
	}
}

func (m *mailbox) withEmail(f func(object) (int, any)) answer {
	return func(r *http.Request, _ object) (int, any) {
		for _, e := range m.emails {
			if e["id"] == r.PathValue("id") {
				m.settle(e)
				return f(e)
			}
		}
		return notFound()
	}
}

func (t *thread) wake() {
	t.snoozed = time.Time{}
	delete(t.labels, "SNOOZED")
	t.labels["INBOX"] = true
}

// wake brings back what is due.
func (m *mailbox) wake() {
	for _, t := range m.threads {
		if !t.snoozed.IsZero() && !t.snoozed.After(m.now()) {
			t.wake()
		}
	}
}

// in returns the threads of a folder or label, by the label's id.
func (m *mailbox) in(label string) []*thread {
	var out []*thread
	for _, t := range m.threads {
		hidden := t.labels["TRASH"] || t.labels["SPAM"]
		switch label {
		case "TRASH", "SPAM":
			hidden = false
		case "ALL":
			if !hidden {
				out = append(out, t)
			}
			continue
		case "ARCHIVE":
			if !hidden && !t.labels["INBOX"] && !t.labels["SNOOZED"] && !t.labels["SENT"] {
				out = append(out, t)
			}
			continue
		}
		if !hidden && t.labels[label] {
			out = append(out, t)
		}
	}
	return out
}

var folderLabels = map[string]string{
	"": "ALL", "all": "ALL", "inbox": "INBOX", "archive": "ARCHIVE", "sent": "SENT", "spam": "SPAM", "bin": "TRASH", "trash": "TRASH",
	"snoozed": "SNOOZED", "starred": "STARRED", "draft": "DRAFT", "drafts": "DRAFT",
}

func (m *mailbox) list(r *http.Request, _ object) (int, any) {
	label, ok := folderLabels[strings.ToLower(r.URL.Query().Get("folder"))]
	if !ok {
		return 422, failure(422, "invalid_field", "there is no such folder")
	}
	words := strings.Fields(strings.ToLower(r.URL.Query().Get("query")))
	out := []object{}
	for _, t := range m.in(label) {
		text, _ := json.Marshal(t.messages)
		hit := true
		for _, w := range words {
			hit = hit && strings.Contains(strings.ToLower(string(text)), w)
		}
		for _, id := range strings.FieldsFunc(r.URL.Query().Get("labelIds"), func(c rune) bool { return c == ',' }) {
			hit = hit && t.labels[id]
		}
		if hit {
			out = append(out, object{"object": "thread", "id": t.id})
		}
	}
	limit := 25
	if s := r.URL.Query().Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return 400, failure(400, "invalid_field", "limit is a number from 1")
		}
		limit = min(n, 100)
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("pageToken"))
	from = min(max(from, 0), len(out))
	p := page(out[from:min(from+limit, len(out))], "nextPageToken")
	if from+limit < len(out) {
		p["hasMore"], p["nextPageToken"] = true, strconv.Itoa(from+limit)
	}
	return 200, p
}

func (m *mailbox) counts() object {
	folders := []object{}
	for _, f := range []string{"inbox", "archive", "sent", "snoozed", "spam", "bin"} {
		in := m.in(folderLabels[f])
		unread := 0
		for _, t := range in {
			if t.unread {
				unread++
			}
		}
		folders = append(folders, object{"label": f, "count": len(in), "unread": unread})
	}
	folders = append(folders, object{"label": "draft", "count": len(m.drafts), "unread": 0})
	return object{"object": "mailbox_counts", "folders": folders, "addresses": []object{}, "labels": []object{}, "categories": []object{}}
}

func (t *thread) json() object {
	labels := []object{}
	for _, id := range systemLabels {
		if t.labels[id] {
			labels = append(labels, object{"id": id, "name": id, "color": nil})
		}
	}
	for _, msg := range t.messages {
		msg["threadId"], msg["unread"], msg["labels"] = t.id, t.unread, labels
	}
	out := object{
		"object": "thread", "id": t.id, "messages": t.messages, "labels": labels, "messageCount": len(t.messages),
		"hasUnread": t.unread, "totalReplies": len(t.messages) - 1, "deliveredTo": "you@example.com", "snoozedUntil": nil,
	}
	if !t.snoozed.IsZero() {
		out["snoozedUntil"] = t.snoozed.UTC().Format(stamp)
	}
	return out
}

func (m *mailbox) update(t *thread, body object) (int, any) {
	if read, ok := body["read"].(bool); ok {
		t.unread = !read
	}
	ids := func(key string) []string {
		out := []string{}
		list, _ := body[key].([]any)
		for _, v := range list {
			if s, ok := v.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	added, removed := ids("addLabelIds"), ids("removeLabelIds")
	for _, id := range added {
		t.labels[id] = true
	}
	for _, id := range removed {
		delete(t.labels, id)
	}
	return 200, object{"object": "thread", "id": t.id, "addedLabelIds": added, "removedLabelIds": removed}
}

func draft(d, body object) object {
	for _, k := range []string{"to", "cc", "bcc"} {
		if d[k] == nil {
			d[k] = []string{}
		}
	}
	for k, v := range body {
		d[k] = v
	}
	d["object"] = "draft"
	for _, k := range []string{"subject", "html", "threadId", "forwardOf", "from"} {
		if _, ok := d[k]; !ok {
			d[k] = nil
		}
	}
	if text, ok := d["text"].(string); ok && d["html"] == nil {
		d["html"] = text
	}
	delete(d, "text")
	for _, k := range []string{"subject", "html"} {
		if d[k] == nil {
			d[k] = ""
		}
	}
	d["attachments"] = []object{}
	return d
}

// addressText is a sender as the answer to a send writes it, whichever form the request used.
func addressText(v any) any {
	o, ok := v.(map[string]any)
	if !ok {
		return v
	}
	email, _ := o["email"].(string)
	if name, _ := o["name"].(string); name != "" {
		return name + " <" + email + ">"
	}
	return email
}

// send keeps a message, once for each key: the same key with the same body answers the stored one.
func (m *mailbox) send(r *http.Request, body object) (int, any) {
	key := r.Header.Get("Idempotency-Key")
	if k, ok := m.keys[key]; ok && key != "" {
		if !reflect.DeepEqual(k.body, map[string]any(body)) {
			return 422, failure(422, "idempotency_key_reuse", "this key was used for another message")
		}
		for _, e := range m.emails {
			if e["id"] == k.id {
				m.settle(e)
				return 200, replay(e, true)
			}
		}
	}
	at := m.now()
	e := object{
		"object": "email", "id": m.id("eml"), "status": "sent", "mode": "test", "from": addressText(body["from"]), "subject": body["subject"],
		"messageId": nil, "threadId": body["threadId"], "transport": "test", "attempts": 1, "lastError": nil, "scheduledAt": body["scheduledAt"],
		"cancellableUntil": nil, "sentAt": at.UTC().Format(stamp), "tags": object{}, "broadcastId": nil, "source": "api",
		"stream": "transactional", "createdAt": at.UTC().Format(stamp),
	}
	if tags, ok := body["tags"].(object); ok {
		e["tags"] = tags
	}
	if s, _ := body["scheduledAt"].(string); s != "" {
		e["status"], e["sentAt"] = "scheduled", nil
	} else if n, _ := body["cancellableForSeconds"].(float64); n > 0 {
		e["status"], e["sentAt"] = "queued", nil
		e["cancellableUntil"] = at.Add(time.Duration(n) * time.Second).UTC().Format(stamp)
	}
	subject, _ := body["subject"].(string)
	text, _ := body["text"].(string)
	msg := m.message("You", "you@example.com", subject, text, at)
	msg["to"] = body["to"]
	var t *thread
	for _, o := range m.threads {
		if o.id == body["threadId"] {
			t = o
		}
	}
	if t == nil {
		t = &thread{id: m.id("thr"), labels: map[string]bool{"SENT": true}}
		m.threads = slices.Insert(m.threads, 0, t)
	}
	t.messages = append(t.messages, msg)
	e["threadId"] = t.id
	m.emails = slices.Insert(m.emails, 0, e)
	if key != "" {
		m.keys[key] = keyed{map[string]any(body), e["id"].(string)}
	}
	return 200, replay(e, false)
}

// settle ends a cancel window or a schedule that is over.
func (m *mailbox) settle(e object) {
	for status, field := range map[string]string{"queued": "cancellableUntil", "scheduled": "scheduledAt"} {
		s, _ := e[field].(string)
		at, err := time.Parse(time.RFC3339, s)
		if e["status"] == status && err == nil && !at.After(m.now()) {
			e["status"], e["sentAt"] = "sent", at.UTC().Format(stamp)
		}
	}
}

func replay(e object, replayed bool) object {
	out := object{"replayed": replayed}
	for k, v := range e {
		out[k] = v
	}
	return out
}
