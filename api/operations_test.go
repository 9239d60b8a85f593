package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestOperationsTable(t *testing.T) {
	ops := Operations()
	if len(ops) != 446 {
		t.Errorf("%d operations, want 446", len(ops))
	}
	var sends []string
	count := map[Class]int{}
	for _, op := range ops {
		count[op.Class]++
		if op.Class == ClassSend {
			sends = append(sends, op.Name)
			if !op.Key {
				t.Errorf("%s is a send without a key", op.Name)
			}
		}
		if (op.Method == http.MethodGet) != (op.Class == ClassRead) {
			t.Errorf("%s is a %s of class %s", op.Name, op.Method, op.Class)
		}
		if found, ok := OperationByName(op.Name); !ok || !reflect.DeepEqual(found, op) {
			t.Errorf("%s is not found by its name", op.Name)
		}
		if op.Repeats() != (op.Class != ClassOnce) {
			t.Errorf("%s repeats: %v", op.Name, op.Repeats())
		}
	}
	if want := []string{"broadcasts.send", "emails.send", "emails.sendBatch", "templates.send"}; !slices.Equal(sends, want) {
		t.Errorf("sends are %v", sends)
	}
	if _, ok := OperationByName("threads.nothing"); ok {
		t.Error("an operation that is not there was found")
	}
	ops[0].Name = "changed"
	if Operations()[0].Name == "changed" {
		t.Error("the table can be changed from outside")
	}
}

func TestParseOperationsRefuses(t *testing.T) {
	head := "method\tverb\tpath\tretry\tidempotency_key\tpaging\tquery\tbody\tanswer\n"
	for _, bad := range []string{
		"", "method\tverb\n",
		head + "a.b\tGET\t/x\tsometimes\tno\tnone\t\t\t\n",
		head + "a.b\tGET\tx\tread\tno\tnone\t\t\t\n",
		head + "a.b\tGET\t/x\tread\tno\tnone\t\t\t\na.b\tGET\t/x\tread\tno\tnone\t\t\t\n",
	} {
		if _, err := parseOperations(bad); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

// shapes is the contract's table of shapes.
type shapes map[string][]shapeField

type shapeField struct {
	name, typ string
	required  bool
}

func readShapes(t testing.TB) shapes {
	t.Helper()
	b, err := os.ReadFile("testdata/shapes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	s := shapes{}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		cells := strings.Split(line, "\t")
		s[cells[0]] = append(s[cells[0]], shapeField{cells[1], cells[3], cells[2] == "yes"})
	}
	return s
}

// alternatives splits a type at its outer bars.
func alternatives(typ string) []string {
	var out []string
	depth, start := 0, 0
	for i := range len(typ) {
		switch typ[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '|':
			if depth == 0 {
				out = append(out, typ[start:i])
				start = i + 1
			}
		}
	}
	return append(out, typ[start:])
}

const sampleInstant = "2026-03-01T09:30:00.000Z"

var instantName = regexp.MustCompile(`(At|Until|Start|End|On|^start|^end|^since|^until|^at)$`)

// recipients and attachments are sent in one of the forms that the contract knows.
var sentAs = map[string]string{"RecipientInput": "RecipientInputObject", "RecipientInput|[RecipientInput]": "[RecipientInputObject]", "AttachmentInput": "InlineAttachmentInput"}

// sample makes a value of a shape. With nulls it is the least there may be: what may
// be left out is, and what may be null is.
func (s shapes) sample(t testing.TB, typ, field string, nulls bool) any {
	t.Helper()
	if form := sentAs[typ]; form != "" {
		typ = form
	}
	options := alternatives(typ)
	if nulls && slices.Contains(options, "null") {
		return nil
	}
	switch first := options[0]; {
	case first == "null":
		return nil
	case first == "true", first == "bool":
		return true
	case first == "false":
		return false
	case first == "int":
		return float64(7)
	case first == "number":
		return 7.5
	case strings.Trim(first, "0123456789") == "":
		n, _ := strconv.Atoi(first)
		return float64(n)
	case first == "instant", first == "string" && instantName.MatchString(field):
		return sampleInstant
	case first == "string" && field == "content":
		return base64.StdEncoding.EncodeToString([]byte("file"))
	case first == "string":
		return "a " + field
	case first == "any":
		return map[string]any{"open": []any{true, nil, "x"}}
	case first == "{string:any}", strings.HasPrefix(first, "WebhookPayload"):
		return map[string]any{"id": "m1", "k": true}
	case strings.HasPrefix(first, "{string:") && !strings.HasPrefix(first, "{string: "):
		return map[string]any{"k": s.sample(t, strings.TrimSuffix(first[len("{string:"):], "}"), field, nulls)}
	case strings.HasPrefix(first, "{"): // {wakeAt: instant}
		out := map[string]any{}
		for _, part := range strings.Split(strings.Trim(first, "{}"), ", ") {
			if name, inner, _ := strings.Cut(part, ": "); name == "string" {
				out["k"] = "v"
			} else if !nulls || !strings.Contains(inner, "null") {
				out[name] = s.sample(t, inner, name, nulls)
			}
		}
		return out
	case strings.HasPrefix(first, `"`):
		return strings.Trim(first, `"`)
	case strings.HasPrefix(first, "["):
		return []any{s.sample(t, first[1:len(first)-1], field, nulls)}
	default:
		fields, ok := s[first]
		if !ok {
			t.Fatalf("no shape %q", first)
		}
		if fields[0].name == "(is)" {
			return s.sample(t, fields[0].typ, field, nulls)
		}
		out := map[string]any{}
		for _, f := range fields {
			if f.required || !nulls {
				out[f.name] = s.sample(t, f.typ, f.name, nulls)
			}
		}
		return out
	}
}

// fits reports how v does not have the type.
func (s shapes) fits(v any, typ, where string) error {
	var last error
	for _, option := range alternatives(typ) {
		if last = s.fitsOne(v, option, where); last == nil {
			return nil
		}
	}
	return last
}

func (s shapes) fitsOne(v any, typ, where string) error {
	wrong := fmt.Errorf("%s: %v is no %s", where, v, typ)
	switch {
	case typ == "string", typ == "bytes":
		if _, ok := v.(string); ok {
			return nil
		}
	case typ == "instant":
		text, _ := v.(string)
		if regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).MatchString(text) {
			return nil
		}
	case typ == "true", typ == "false":
		if b, ok := v.(bool); ok && strconv.FormatBool(b) == typ {
			return nil
		}
	case typ == "number":
		if _, ok := v.(float64); ok {
			return nil
		}
	case strings.Trim(typ, "0123456789") == "":
		if f, ok := v.(float64); ok && strconv.Itoa(int(f)) == typ {
			return nil
		}
	case typ == "bool":
		if _, ok := v.(bool); ok {
			return nil
		}
	case typ == "int":
		if f, ok := v.(float64); ok && f == float64(int64(f)) {
			return nil
		}
	case typ == "null":
		if v == nil {
			return nil
		}
	case typ == "any":
		return nil
	case strings.HasPrefix(typ, `"`):
		if v == strings.Trim(typ, `"`) {
			return nil
		}
	case strings.HasPrefix(typ, "["):
		list, ok := v.([]any)
		if !ok {
			return wrong
		}
		for i, item := range list {
			if err := s.fits(item, typ[1:len(typ)-1], fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
		return nil
	case strings.HasPrefix(typ, "{string:") && !strings.HasPrefix(typ, "{string: "):
		m, ok := v.(map[string]any)
		if !ok {
			return wrong
		}
		for k, item := range m {
			if err := s.fits(item, strings.TrimSuffix(typ[len("{string:"):], "}"), where+"."+k); err != nil {
				return err
			}
		}
		return nil
	case strings.HasPrefix(typ, "{"): // {wakeAt: instant}
		var fields []shapeField
		for _, part := range strings.Split(strings.Trim(typ, "{}"), ", ") {
			name, inner, _ := strings.Cut(part, ": ")
			if name == "string" {
				return s.fitsOne(v, "{string:"+inner+"}", where)
			}
			fields = append(fields, shapeField{name, inner, !strings.Contains(inner, "null")})
		}
		return s.object(v, fields, where, typ)
	default:
		fields := s[typ]
		if len(fields) == 0 {
			return fmt.Errorf("%s: no shape %q", where, typ)
		}
		if fields[0].name == "(is)" {
			return s.fits(v, fields[0].typ, where)
		}
		return s.object(v, fields, where, typ)
	}
	return wrong
}

func (s shapes) object(v any, fields []shapeField, where, typ string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %v is no %s", where, v, typ)
	}
	for _, f := range fields {
		item, there := m[f.name]
		if !there && f.required {
			return fmt.Errorf("%s: %s is missing", where, f.name)
		}
		if there {
			if err := s.fits(item, f.typ, where+"."+f.name); err != nil {
				return err
			}
		}
	}
	for k := range m {
		if !slices.ContainsFunc(fields, func(f shapeField) bool { return f.name == k }) {
			return fmt.Errorf("%s: %s has no field %s", where, typ, k)
		}
	}
	return nil
}

// answer makes a sample answer of an operation in its envelope.
func (s shapes) answer(t testing.TB, op Operation, nulls bool) map[string]any {
	t.Helper()
	page := func(item string, more map[string]any) map[string]any {
		out := map[string]any{"object": "list", "data": []any{s.sample(t, item, "", nulls)}, "hasMore": false}
		switch op.Paging {
		case PagingCursor:
			out["nextCursor"] = nil
		case PagingPageToken:
			out["nextPageToken"] = nil
		case PagingList:
			delete(out, "hasMore")
		}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	switch kind, item, _ := strings.Cut(op.Answer, " of "); {
	case item != "":
		return page(item, nil)
	case kind == "AddressBookPage":
		return page("AddressResource", map[string]any{"unrestricted": true, "domains": []any{s.sample(t, "SendableDomainResource", "", nulls)}})
	case kind == "PeoplePage":
		return page("PersonResource", map[string]any{"seen": true})
	case kind == "TempMessagesResource":
		return page("TempMessageResource", map[string]any{"expiresAt": sampleInstant})
	case kind == "BatchResultResource":
		return map[string]any{"data": []any{s.sample(t, "BatchItemResourceOk", "", nulls), s.sample(t, "BatchItemResourceError", "", nulls)}, "sent": float64(1), "failed": float64(1)}
	}
	return s.sample(t, op.Answer, "", nulls).(map[string]any)
}

type wrapped struct {
	op     string
	call   func(context.Context, *Client, ...CallOption) (any, error)
	path   string // escaped
	query  url.Values
	noBody bool
}

var (
	when = time.Date(2026, 3, 1, 10, 30, 0, 0, time.FixedZone("", 3600))
	// An id that must be escaped.
	oddID      = "a/b c@d?é"
	oddEscaped = "a%2Fb%20c%40d%3F%C3%A9"
)

func got[T any](v T, err error) (any, error) { return v, err }

var fullSend = EmailSend{
	From:                  Address{Name: "Ada", Email: "ada@example.com"},
	To:                    []Address{{Email: "b@example.com"}},
	Cc:                    []Address{{Name: "Cäsar", Email: "c@example.com"}},
	Bcc:                   []Address{{Email: "d@example.com"}},
	ReplyTo:               &Address{Email: "r@example.com"},
	Subject:               "Grüße <&>\u2028",
	HTML:                  "<p>x</p>",
	Text:                  "x",
	Headers:               map[string]string{"X-A": "b"},
	Attachments:           []SendAttachment{{Filename: "a.txt", Content: []byte("a"), ContentType: "text/plain"}, {Filename: "empty"}, {FileID: "f1"}},
	AttachmentDelivery:    "auto",
	ThreadID:              "t1",
	DraftID:               "d1",
	Template:              &SendTemplate{ID: "tpl", Version: 2, Props: map[string]any{"a": 1}, Slots: map[string]any{"b": "c"}},
	ScheduledAt:           At(when),
	FollowUpAt:            At(when),
	CancellableForSeconds: 10,
	Tracking:              &SendTracking{Opens: ptr(false), Clicks: ptr(true)},
	Signature:             ptr(false),
	Tags:                  map[string]string{"entry": "1"},
	Translate:             &SendTranslate{To: "de", From: "en", IncludeOriginal: ptr(true), Subject: ptr(true)},
	Stream:                "transactional",
}

var fullDraft = DraftInput{
	To: Set([]string{"a@example.com"}), Cc: Set([]string(nil)), Bcc: Set([]string{}), Subject: Set(""), HTML: Set("<p>"),
	Text: Set("x"), From: Set("b@example.com"), ThreadID: Set("t1"), ForwardOf: Set("m1"),
}

var wrappedCalls = []wrapped{
	{op: "threads.list", path: "/threads", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.List(ctx, ThreadListParams{
			Folder: "inbox", Query: "from:a b&c", LabelIDs: []string{"l1", "l2"}, Sort: "newest", DateFrom: when, DateTo: when,
			FromContacts: ptr(true), Semantic: ptr(false), Category: "primary", Address: "a@b.c", Limit: 50, PageToken: "p=1",
		}, o...))
	}, query: url.Values{
		"folder": {"inbox"}, "query": {"from:a b&c"}, "labelIds": {"l1,l2"}, "sort": {"newest"}, "dateFrom": {sampleInstant}, "dateTo": {sampleInstant},
		"fromContacts": {"true"}, "semantic": {"false"}, "category": {"primary"}, "address": {"a@b.c"}, "limit": {"50"}, "pageToken": {"p=1"},
	}},
	{op: "threads.get", path: "/threads/" + oddEscaped, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Get(ctx, oddID, o...))
	}},
	{op: "threads.update", path: "/threads/t1", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Update(ctx, "t1", ThreadPatch{Read: Set(false), AddLabelIDs: []string{"a"}, RemoveLabelIDs: []string{"b"}}, o...))
	}},
	{op: "threads.trash", path: "/threads/t1/trash", noBody: true, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Trash(ctx, "t1", o...))
	}},
	{op: "threads.restore", path: "/threads/t1/restore", noBody: true, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Restore(ctx, "t1", o...))
	}},
	{op: "threads.delete", path: "/threads/t1", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Delete(ctx, "t1", o...))
	}},
	{op: "threads.snooze", path: "/threads/t1/snooze", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Snooze(ctx, "t1", when, o...))
	}},
	{op: "threads.unsnooze", path: "/threads/t1/unsnooze", noBody: true, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Unsnooze(ctx, "t1", o...))
	}},
	{op: "threads.mute", path: "/threads/t1/mute", noBody: true, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Mute(ctx, "t1", o...))
	}},
	{op: "threads.unmute", path: "/threads/t1/unmute", noBody: true, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Unmute(ctx, "t1", o...))
	}},
	{op: "threads.counts", path: "/threads/counts", query: url.Values{"address": {"a@b.c"}}, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.Counts(ctx, CountsParams{Address: "a@b.c"}, o...))
	}},
	{op: "threads.listAttachments", path: "/threads/t1/messages/" + oddEscaped + "/attachments", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		list, err := c.Threads.ListAttachments(ctx, "t1", oddID, o...)
		return map[string]any{"data": list}, err
	}},
	{op: "threads.getEvent", path: "/threads/t1/event", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Threads.GetEvent(ctx, "t1", o...))
	}},
	{op: "drafts.list", path: "/drafts", query: url.Values{"query": {"x"}, "limit": {"3"}, "pageToken": {"p"}}, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Drafts.List(ctx, DraftListParams{Query: "x", Limit: 3, PageToken: "p"}, o...))
	}},
	{op: "drafts.get", path: "/drafts/d1", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Drafts.Get(ctx, "d1", o...))
	}},
	{op: "drafts.create", path: "/drafts", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Drafts.Create(ctx, fullDraft, o...))
	}},
	{op: "drafts.update", path: "/drafts/d1", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Drafts.Update(ctx, "d1", fullDraft, o...))
	}},
	{op: "drafts.delete", path: "/drafts/d1", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Drafts.Delete(ctx, "d1", o...))
	}},
	{op: "emails.send", path: "/emails", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Emails.Send(ctx, fullSend, o...))
	}},
	{op: "emails.list", path: "/emails", query: url.Values{
		"status": {"queued,sent"}, "from": {"a@b.c"}, "broadcastId": {"b1"}, "scheduledFrom": {sampleInstant}, "scheduledTo": {sampleInstant}, "limit": {"1"}, "cursor": {"c"},
	}, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Emails.List(ctx, EmailListParams{
			Status: []EmailStatus{EmailQueued, EmailSent}, From: "a@b.c", BroadcastID: "b1", ScheduledFrom: when, ScheduledTo: when, Limit: 1, Cursor: "c",
		}, o...))
	}},
	{op: "emails.get", path: "/emails/e1", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Emails.Get(ctx, "e1", o...))
	}},
	{op: "emails.cancel", path: "/emails/e1/cancel", noBody: true, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Emails.Cancel(ctx, "e1", o...))
	}},
	{op: "labels.list", path: "/labels", query: url.Values{"limit": {"1"}, "cursor": {"c"}}, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Labels.List(ctx, ListParams{Limit: 1, Cursor: "c"}, o...))
	}},
	{op: "contacts.listPeople", path: "/contacts/people", query: url.Values{
		"q": {"an"}, "email": {"a@b.c"}, "sort": {"recent"}, "blocked": {"false"}, "limit": {"1"}, "cursor": {"c"},
	}, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Contacts.ListPeople(ctx, PeopleListParams{Q: "an", Email: "a@b.c", Sort: "recent", Blocked: ptr(false), Limit: 1, Cursor: "c"}, o...))
	}},
	{op: "addresses.list", path: "/addresses", query: url.Values{"limit": {"1"}, "cursor": {"c"}}, call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Addresses.List(ctx, ListParams{Limit: 1, Cursor: "c"}, o...))
	}},
	{op: "me.get", path: "/keys/self", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) { return got(c.Me.Get(ctx, o...)) }},
	{op: "me.ping", path: "/ping", call: func(ctx context.Context, c *Client, o ...CallOption) (any, error) {
		return got(c.Me.Ping(ctx, o...))
	}},
}

// TestWrappedOperations drives every typed call against a server that records, and
// compares with the operations table and the contract's shapes, both ways.
func TestWrappedOperations(t *testing.T) {
	s := readShapes(t)
	for _, w := range wrappedCalls {
		t.Run(w.op, func(t *testing.T) {
			op, ok := OperationByName(w.op)
			if !ok {
				t.Fatal("not in the table")
			}
			for _, nulls := range []bool{false, true} {
				sample := s.answer(t, op, nulls)
				b, err := json.Marshal(sample)
				if err != nil {
					t.Fatal(err)
				}
				rec := &recorder{next: answering(200, string(b))}
				result, err := w.call(t.Context(), testClient(t, rec))
				if err != nil {
					t.Fatalf("nulls %v: %v", nulls, describe(err))
				}
				checkRequestOf(t, s, op, w, rec.all())
				checkResult(t, sample, result, nulls)
			}
		})
	}
}

func describe(err error) string {
	if e, ok := err.(*Error); ok && e.Unwrap() != nil {
		return err.Error() + ": " + e.Unwrap().Error()
	}
	return err.Error()
}

func checkRequestOf(t *testing.T, s shapes, op Operation, w wrapped, requests []sentRequest) {
	t.Helper()
	if len(requests) != 1 {
		t.Fatalf("%d requests", len(requests))
	}
	r := requests[0]
	if r.method != op.Method || r.path != w.path {
		t.Errorf("%s %s, want %s %s", r.method, r.path, op.Method, w.path)
	}
	pattern := regexp.MustCompile("^" + regexp.MustCompile(`:[A-Za-z]+`).ReplaceAllString(op.Path, "[^/]+") + "$")
	if !pattern.MatchString(r.path) {
		t.Errorf("path %s is none of %s", r.path, op.Path)
	}
	query, err := url.ParseQuery(r.query)
	if err != nil {
		t.Fatal(err)
	}
	if want := w.query; len(want)+len(query) > 0 && !reflect.DeepEqual(query, want) {
		t.Errorf("query %v, want %v", query, want)
	}
	for _, key := range op.Query {
		if _, ok := query[key]; !ok {
			t.Errorf("query key %s is not used", key)
		}
	}
	for key := range query {
		if !slices.Contains(op.Query, key) {
			t.Errorf("query key %s is not in the table", key)
		}
	}
	if key := r.header.Get("Idempotency-Key"); (key != "") != op.Key || key != "" && !regexp.MustCompile(`^oe-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(key) {
		t.Errorf("idempotency key %q", key)
	}
	if r.header.Get("Accept") != "application/json" || r.header.Get("Authorization") != "Bearer "+testKey || r.header.Get("User-Agent") != "teapost" {
		t.Errorf("headers %v", r.header)
	}
	contentType, hasType := r.header["Content-Type"]
	if op.Body == "" || w.noBody {
		if r.hasBody || hasType {
			t.Errorf("body %q, type %v", r.body, contentType)
		}
		return
	}
	if len(contentType) != 1 || contentType[0] != "application/json" {
		t.Errorf("content type %v", contentType)
	}
	var body any
	if err := json.Unmarshal(r.body, &body); err != nil {
		t.Fatalf("body %s: %v", r.body, err)
	}
	if err := s.fits(body, op.Body, "body"); err != nil {
		t.Errorf("%v in %s", err, r.body)
	}
}

// checkResult compares what was decoded, written as JSON again, with the sample.
func checkResult(t *testing.T, sample map[string]any, result any, nulls bool) {
	t.Helper()
	b, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var back any
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	contains(t, "answer", sample, back, nulls)
}

func contains(t *testing.T, where string, want, have any, nulls bool) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		m, ok := have.(map[string]any)
		if !ok {
			t.Errorf("%s: %v, want an object", where, have)
			return
		}
		for k, v := range want {
			item, there := m[k]
			switch {
			case k == "object" || k == "nextCursor" || k == "nextPageToken" || k == "hasMore" || k == "k" && strings.Contains(where, "message"):
			case v == nil && (!there || item == nil || reflect.ValueOf(item).IsZero()):
			case !there:
				t.Errorf("%s.%s is lost", where, k)
			default:
				contains(t, where+"."+k, v, item, nulls)
			}
		}
	case []any:
		list, ok := have.([]any)
		if !ok || len(list) != len(want) {
			t.Errorf("%s: %v, want %v", where, have, want)
			return
		}
		for i := range want {
			contains(t, fmt.Sprintf("%s[%d]", where, i), want[i], list[i], nulls)
		}
	default:
		if want == sampleInstant {
			if at, ok := parseInstant(fmt.Sprint(have)); ok && at.Equal(when) {
				return
			}
		}
		if want == nil && have == "" {
			return
		}
		if !reflect.DeepEqual(want, have) {
			t.Errorf("%s: %v, want %v", where, have, want)
		}
	}
}

// TestBodies: what must be on the wire byte for byte.
func TestBodies(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    any
		want string
	}{
		{"least send", EmailSend{From: Address{Email: "a@b.c"}, Subject: "<é>\u2028"}, `{"from":{"email":"a@b.c"},"to":[],"subject":"<é>` + "\u2028" + `"}`},
		{"escaped backslash", map[string]string{"a": `\u2028`}, `{"a":"\\u2028"}`},
		{"patch with nothing", ThreadPatch{}, `{}`},
		{"patch unset and false", ThreadPatch{Read: Set(false)}, `{"read":false}`},
		{"draft with nothing", DraftInput{}, `{}`},
		{"draft emptied", DraftInput{To: Set([]string(nil)), Subject: Set("")}, `{"to":[],"subject":""}`},
		{"draft null", DraftInput{ThreadID: Null[string]()}, `{"threadId":null}`},
		{"opt map", struct {
			M Opt[map[string]int] `json:"m,omitzero"`
		}{Set(map[string]int(nil))}, `{"m":{}}`},
		{"instant", struct{ A Instant }{At(when)}, `{"A":"2026-03-01T09:30:00.000Z"}`},
	} {
		b, err := EncodeBody(tt.v)
		if err != nil || string(b) != tt.want {
			t.Errorf("%s: %s %v, want %s", tt.name, b, err, tt.want)
		}
	}
	for _, bad := range []any{map[string]any{"a": func() {}}, []int{1}, "x", nil, map[string]float64{"a": inf()}} {
		if b, err := EncodeBody(bad); err == nil {
			t.Errorf("encoded %v as %s", bad, b)
		}
	}
}

func inf() float64 { f := 1e308; return f * 10 }

func TestOpt(t *testing.T) {
	var w struct{ A, B, C Opt[int] }
	if err := json.Unmarshal([]byte(`{"A":1,"B":null}`), &w); err != nil {
		t.Fatal(err)
	}
	if v, ok := w.A.Get(); v != 1 || !ok || w.A.IsNull() || w.A.IsZero() {
		t.Error("A is not set")
	}
	if _, ok := w.B.Get(); ok || !w.B.IsNull() || w.B.IsZero() {
		t.Error("B is not null")
	}
	if !w.C.IsZero() || w.C.IsNull() {
		t.Error("C is not unset")
	}
	if err := json.Unmarshal([]byte(`"x"`), &w.A); err == nil {
		t.Error("a string became a number")
	}
}

// TestSendBytes: the stored bytes go out unchanged, whatever their blanks and order.
func TestSendBytes(t *testing.T) {
	body := []byte("{ \"to\":[\"b@c.d\"],\n \"from\" : \"a@b.c\" }")
	rec := &recorder{next: answering(200, `{"id":"e1","replayed":true}`)}
	c := testClient(t, rec)
	sent, err := c.Emails.SendBytes(t.Context(), body, WithIdempotencyKey("entry:1"))
	if err != nil || !sent.Replayed || sent.ID != "e1" || sent.IdempotencyKey != "entry:1" {
		t.Errorf("%+v %v", sent, err)
	}
	if r := rec.all()[0]; string(r.body) != string(body) || r.header.Get("Idempotency-Key") != "entry:1" {
		t.Errorf("%q under %q", r.body, r.header.Get("Idempotency-Key"))
	}
	for _, bad := range []string{"", "[]", "null", "{", "{}x", `"{}"`} {
		if _, err := c.Emails.SendBytes(t.Context(), []byte(bad)); err == nil {
			t.Errorf("sent %q", bad)
		}
	}
	if n := len(rec.all()); n != 1 {
		t.Errorf("%d requests", n)
	}
	fresh := map[string]bool{}
	for range 3 {
		if _, err := c.Emails.SendBytes(t.Context(), body); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rec.all() {
		fresh[r.header.Get("Idempotency-Key")] = true
	}
	if len(fresh) != 4 {
		t.Errorf("keys are not fresh for each call: %v", fresh)
	}
}

// TestEmptyAnswers: an empty body means null: fine after a write, no answer to a read.
func TestEmptyAnswers(t *testing.T) {
	for _, body := range []string{"", " \r\n", "null", "\xef\xbb\xbf"} {
		c := testClient(t, answering(204, body))
		if saved, err := c.Drafts.Create(t.Context(), DraftInput{}); err != nil || saved.ID != "" {
			t.Errorf("%q: %+v %v", body, saved, err)
		}
		if _, err := c.Drafts.Delete(t.Context(), "d1"); err != nil {
			t.Errorf("%q: %v", body, err)
		}
		if sent, err := c.Emails.Send(t.Context(), fullSend); err != nil || sent.ID != "" || sent.IdempotencyKey == "" {
			t.Errorf("%q: %+v %v", body, sent, err)
		}
		if e := asError(t, ignore(c.Threads.Get(t.Context(), "t1"))); e.Code != "unrecognised_response" {
			t.Errorf("%q: %+v", body, e)
		}
	}
	c := testClient(t, answering(200, `[1]`))
	if e := asError(t, ignore(c.Drafts.Create(t.Context(), DraftInput{}))); e.Code != "unrecognised_response" || e.Attempts != 1 {
		t.Errorf("%+v", e)
	}
	c = testClient(t, answering(200, `{"data":"x"}`))
	if e := asError(t, ignore(c.Labels.List(t.Context(), ListParams{}))); e.Code != "unrecognised_response" || e.Unwrap() == nil {
		t.Errorf("%+v", e)
	}
}
