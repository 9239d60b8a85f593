package api

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func decodeMessage(t *testing.T, s string) Message {
	t.Helper()
	var m Message
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return m
}

func TestMessageCanonical(t *testing.T) {
	m := decodeMessage(t, `{"id":"m1","threadId":"t1","subject":"Hi","from":{"name":"Ada","email":"ada@example.com"},
		"to":[{"name":"","email":"b@example.com"}],"cc":[],"bcc":[{"email":"c@example.com"}],"replyTo":[{"email":"r@example.com"}],
		"receivedAt":"2026-03-01T09:30:00.000Z","unread":true,"snippet":"Hello","text":"Hello there","html":"<p>Hello there</p>",
		"attachments":[{"attachmentId":"a1","filename":"x.txt","contentType":"text/plain","size":3,"inline":true,"contentId":"c1"}],
		"messageId":"<1@example.com>","inReplyTo":"<0@example.com>","references":["<a@x>","<b@x>"],"labels":[{"id":"INBOX","name":"Inbox"}],
		"listUnsubscribe":"<mailto:u@example.com>","encryption":{"format":"pgp-mime","detectedAt":"2026-03-01T09:30:00.000Z","rawRetained":true,"parts":[{"index":1,"attachmentId":"a1","role":"ciphertext"}]},
		"deliveredTo":"me@example.com","verificationCode":"123456","sentWith":"Post","forwardedFrom":{"email":"f@example.com"}}`)
	want := Message{
		ID: "m1", ThreadID: "t1", Subject: "Hi", From: Address{"Ada", "ada@example.com"}, To: []Address{{"", "b@example.com"}}, Cc: []Address{},
		Bcc: []Address{{"", "c@example.com"}}, ReplyTo: []Address{{"", "r@example.com"}}, ReceivedAt: when.UTC(), Unread: true, Snippet: "Hello",
		Text: "Hello there", HTML: "<p>Hello there</p>",
		Attachments: []Attachment{{AttachmentID: "a1", Filename: "x.txt", ContentType: "text/plain", Size: 3, Inline: true, ContentID: "c1"}},
		MessageID:   "<1@example.com>", InReplyTo: "<0@example.com>", References: []string{"<a@x>", "<b@x>"}, Labels: []ThreadLabel{{ID: "INBOX", Name: "Inbox"}},
		ListUnsubscribe: "<mailto:u@example.com>",
		Encryption:      &Encryption{Format: "pgp-mime", DetectedAt: when.UTC(), RawRetained: true, Parts: []EncryptionPart{{1, "a1", "ciphertext"}}},
		DeliveredTo:     "me@example.com", VerificationCode: "123456", SentWith: "Post", ForwardedFrom: json.RawMessage(`{"email":"f@example.com"}`),
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	if !m.Encryption.Sealed() || (&Encryption{Format: "pgp-signed"}).Sealed() || (*Encryption)(nil).Sealed() {
		t.Error("Sealed is wrong")
	}
	// What is written is the canonical form, so that a stored message reads back the same.
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if back := decodeMessage(t, string(b)); !reflect.DeepEqual(back, m) {
		t.Errorf("read back %+v", back)
	}
}

// TestMessageOtherNames goes through section 9 of the contract.
func TestMessageOtherNames(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		in   string
		get  func(Message) any
		want any
	}{
		{`{"messageId":"<x@y>"}`, func(m Message) any { return m.ID }, "<x@y>"},
		{`{"id":"a","messageId":"<x@y>"}`, func(m Message) any { return m.ID + m.MessageID }, "a<x@y>"},
		{`{"id":12345678901234567890,"threadId":7}`, func(m Message) any { return m.ID + "/" + m.ThreadID }, "12345678901234567890/7"},
		{`{"subject":null,"title":"T"}`, func(m Message) any { return m.Subject }, "T"},
		{`{"subject":5,"title":"T"}`, func(m Message) any { return m.Subject }, "T"},
		{`{"sender":"Ada <a@b.c>"}`, func(m Message) any { return m.From }, Address{"Ada", "a@b.c"}},
		{`{"from":[{"name":"A","address":"a@b.c"},{"email":"z@b.c"}]}`, func(m Message) any { return m.From }, Address{"A", "a@b.c"}},
		{`{"from":"a@b.c"}`, func(m Message) any { return m.From }, Address{"", "a@b.c"}},
		{`{"from":{},"sender":"a@b.c"}`, func(m Message) any { return m.From }, Address{"", "a@b.c"}},
		{`{"to":null}`, func(m Message) any { return m.To }, []Address{}},
		{`{"to":"Hopper, Grace <g@x>"}`, func(m Message) any { return len(m.To) }, 2},
		{`{"to":"\"Hopper, \\\"G\\\" Grace\" <g@x>, b@x ,, <c@x>"}`, func(m Message) any { return m.To }, []Address{{`Hopper, "G" Grace`, "g@x"}, {"", "b@x"}, {"", "c@x"}}},
		{`{"to":{"email":"b@x"}}`, func(m Message) any { return m.To }, []Address{{"", "b@x"}}},
		{`{"to":["b@x",{"name":"C","email":"c@x"},null,7,[["d@x"]]]}`, func(m Message) any { return m.To }, []Address{{"", "b@x"}, {"C", "c@x"}}},
		{`{"recipients":"b@x"}`, func(m Message) any { return m.To }, []Address{{"", "b@x"}}},
		{`{"cc":"b@x","bcc":["c@x"],"replyTo":"d@x"}`, func(m Message) any { return fmt.Sprint(m.Cc, m.Bcc, m.ReplyTo) }, "[b@x] [c@x] [d@x]"},
		{`{"receivedOn":"2026-03-01T10:30:00+01:00"}`, func(m Message) any { return m.ReceivedAt }, at},
		{`{"receivedAt":"soon","date":"Sun, 01 Mar 2026 10:30:00 +0100"}`, func(m Message) any { return m.ReceivedAt }, at},
		{`{"date":"Sun, 1 Mar 2026 09:30:00 GMT (comment)"}`, func(m Message) any { return m.ReceivedAt }, at},
		{`{"sentAt":1772357400}`, func(m Message) any { return m.ReceivedAt }, at},
		{`{"createdAt":1772357400000}`, func(m Message) any { return m.ReceivedAt }, at},
		{`{"createdAt":"1772357400"}`, func(m Message) any { return m.ReceivedAt }, at},
		{`{"receivedAt":1e300}`, func(m Message) any { return m.ReceivedAt.IsZero() }, true},
		{`{"receivedAt":-5}`, func(m Message) any { return m.ReceivedAt.IsZero() }, true},
		{`{"isUnread":true}`, func(m Message) any { return m.Unread }, true},
		{`{"unread":"maybe","read":false}`, func(m Message) any { return m.Unread }, true},
		{`{"isRead":"true"}`, func(m Message) any { return m.Unread }, false},
		{`{"seen":0}`, func(m Message) any { return m.Unread }, true},
		{`{"unread":1}`, func(m Message) any { return m.Unread }, true},
		{`{"unread":2}`, func(m Message) any { return m.Unread }, false},
		{`{"preview":"P"}`, func(m Message) any { return m.Snippet }, "P"},
		{`{"text":"a\n\n  b\tc"}`, func(m Message) any { return m.Snippet }, "a b c"},
		{`{"textBody":"x"}`, func(m Message) any { return m.Text }, "x"},
		{`{"plain":"x"}`, func(m Message) any { return m.Text }, "x"},
		{`{"bodyText":"x"}`, func(m Message) any { return m.Text }, "x"},
		{`{"body":"a < b and <ada@example.com> and <https://x>"}`, func(m Message) any { return m.Text != "" && m.HTML == "" }, true},
		{`{"body":"<p>x</p>"}`, func(m Message) any { return m.HTML }, "<p>x</p>"},
		{`{"body":"line<br/>line"}`, func(m Message) any { return m.HTML }, "line<br/>line"},
		{`{"body":{"text":"t","html":"<b>h</b>"}}`, func(m Message) any { return m.Text + m.HTML }, "t<b>h</b>"},
		{`{"html":"","processedHtml":"<i>"}`, func(m Message) any { return m.HTML }, "<i>"},
		{`{"decodedBody":"<i>"}`, func(m Message) any { return m.HTML }, "<i>"},
		{`{"htmlBody":"<i>"}`, func(m Message) any { return m.HTML }, "<i>"},
		{`{"bodyHtml":"<i>"}`, func(m Message) any { return m.HTML }, "<i>"},
		{
			`{"attachments":[{"id":5,"name":"n","mimeType":"a/b","sizeBytes":"9","disposition":"INLINE","cid":"c","body":"aGk="},null,"x"]}`, func(m Message) any { return m.Attachments },
			[]Attachment{{AttachmentID: "5", Filename: "n", ContentType: "a/b", Size: 9, Inline: true, ContentID: "c", Content: []byte("hi")}},
		},
		{
			`{"attachments":[{"type":"a/b","content":"aG_-\r\n"}]}`, func(m Message) any { return m.Attachments },
			[]Attachment{{ContentType: "a/b", Size: 3, Content: []byte("ho\xfe")}},
		},
		{`{"attachments":[{"content":"!!","size":-1}]}`, func(m Message) any { return m.Attachments }, []Attachment{{}}},
		{`{"attachments":{"a":1}}`, func(m Message) any { return len(m.Attachments) }, 0},
		{`{"headers":{"Message-ID":"<h@x>","References":"<a> <b>","List-Unsubscribe":["<u>"]}}`, func(m Message) any { return m.MessageID + m.ListUnsubscribe + fmt.Sprint(m.References) }, "<h@x><u>[<a> <b>]"},
		{`{"headers":[{"name":"message-id","value":"<h@x>"},{"name":"Message-ID","value":"<i@x>"}]}`, func(m Message) any { return m.MessageID }, "<h@x>"},
		{`{"internetMessageId":"<i@x>"}`, func(m Message) any { return m.MessageID }, "<i@x>"},
		{`{"references":"<a@x>\r\n <b@x>"}`, func(m Message) any { return m.References }, []string{"<a@x>", "<b@x>"}},
		{`{"tags":[{"id":"l","name":"L"},{"name":"only"}]}`, func(m Message) any { return m.Labels }, []ThreadLabel{{ID: "l", Name: "L"}, {ID: "only", Name: "only"}}},
		{`{"labelIds":["l","",3]}`, func(m Message) any { return m.Labels }, []ThreadLabel{{ID: "l", Name: "l"}}},
		{`{"labels":[],"tags":["t"]}`, func(m Message) any { return m.Labels }, []ThreadLabel{{ID: "t", Name: "t"}}},
		{`{"encryption":{"format":7}}`, func(m Message) any { return m.Encryption == nil }, true},
		{`{"encryption":"pgp"}`, func(m Message) any { return m.Encryption == nil }, true},
		{`{"verificationCode":null,"sentWith":5,"deliveredTo":{}}`, func(m Message) any { return m.VerificationCode + m.SentWith + m.DeliveredTo }, ""},
	} {
		if got := tt.get(decodeMessage(t, tt.in)); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %#v, want %#v", tt.in, got, tt.want)
		}
	}
}

func TestThreadDecoding(t *testing.T) {
	var th Thread
	err := json.Unmarshal([]byte(`{"object":"thread","id":"t1","messages":[
		{"id":"late","receivedAt":"2026-03-03T00:00:00Z"},
		"not a message", null, 7,
		{"id":"early","receivedAt":"2026-03-01T00:00:00Z","unread":true,"threadId":"other"},
		{"id":"undated"},
		{"id":"middle","receivedAt":"2026-03-02T00:00:00Z"}],
		"labels":[{"id":"INBOX","name":"Inbox","color":"#fff"},{"id":"x","name":"X","color":{"backgroundColor":"red"}}],
		"totalReplies":3,"deliveredTo":null,"snoozedUntil":"2026-03-01T09:30:00.000Z","muted":true}`), &th)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range th.Messages {
		ids = append(ids, m.ID)
	}
	if want := []string{"early", "undated", "middle", "late"}; !slices.Equal(ids, want) {
		t.Errorf("order %v, want %v", ids, want)
	}
	if th.Messages[0].ThreadID != "other" || th.Messages[1].ThreadID != "t1" || th.MessageCount != 4 || !th.HasUnread || th.TotalReplies != 3 {
		t.Errorf("%+v", th)
	}
	if th.Muted == nil || !*th.Muted || th.SnoozedUntil == nil || !th.SnoozedUntil.Equal(when) || !reflect.DeepEqual(th.Labels, []ThreadLabel{{"INBOX", "Inbox", "#fff"}, {"x", "X", "red"}}) {
		t.Errorf("%+v", th)
	}
	var empty Thread
	if err := json.Unmarshal([]byte(`{"id":"t","messageCount":5,"hasUnread":false}`), &empty); err != nil || empty.Messages == nil || empty.Labels == nil || empty.MessageCount != 5 {
		t.Errorf("%+v %v", empty, err)
	}
}

func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"id":1}`, `{"from":["a",{"email":"<"}],"to":"\"<,"}`, `{"receivedAt":1e309}`, `{"attachments":[{"size":1e308,"content":"aGk"}]}`,
		`{"headers":[{"name":"Message-ID","value":[]}]}`, `{"body":{"text":"x"}}`, `{"encryption":{"format":"a","parts":[{"index":-1e99}]}}`, `[]`, `"\ud800"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !json.Valid([]byte(s)) {
			return
		}
		var m Message
		if err := json.Unmarshal([]byte(s), &m); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		var th Thread
		if err := json.Unmarshal([]byte(`{"id":"t","messages":[`+s+`]}`), &th); err != nil {
			t.Fatalf("%q fails its thread: %v", s, err)
		}
		// A cached message must read back: writing and reading once more changes nothing.
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		var back Message
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if m.From.Email != "" && back.From.Email == "" || len(back.Attachments) != len(m.Attachments) || back.Unread != m.Unread || back.Text != m.Text {
			t.Fatalf("%q: %+v read back as %+v", s, m, back)
		}
	})
}

func TestFirstCharacters(t *testing.T) {
	if got := firstCharacters("äöü", 2); got != "äö" {
		t.Errorf("%q", got)
	}
	if got := firstCharacters("äöü", 3); got != "äöü" {
		t.Errorf("%q", got)
	}
}

// TestErrorBodies: what is kept of an error answer, and what stands in for what is missing.
func TestErrorBodies(t *testing.T) {
	long := strings.Repeat("ä", 400)
	for _, tt := range []struct {
		name, body string
		status     int
		want       Error
	}{
		{
			"full", `{"error":{"type":"conflict_error","code":"version_conflict","message":"Stale","param":"expectedVersion","docUrl":"https://d","requestId":"req_b","fields":[{"key":"a","error":"b"},7,{}]}}`, 422,
			Error{Type: TypeConflict, Code: "version_conflict", Message: "Stale", Param: "expectedVersion", DocURL: "https://d", RequestID: "req_b", Fields: []FieldError{{"a", "b"}}},
		},
		{"unknown type", `{"error":{"type":"new_error","code":"x","message":"m"}}`, 429, Error{Type: TypeRateLimit, Code: "x", Message: "m", RequestID: "req_h"}},
		{"no object", `{"error":"nope"}`, 403, Error{Type: TypePermission, Code: "unrecognised_response", Message: `{"error":"nope"}`, RequestID: "req_h"}},
		{"wrong types", `{"error":{"type":5,"code":[],"message":{},"fields":"x"}}`, 401, Error{Type: TypeAuthentication, Code: "unrecognised_response", Message: `{"error":{"type":5,"code":[],"message":{},"fields":"x"}}`, RequestID: "req_h"}},
		{"html", "\xef\xbb\xbf <html>502</html> ", 502, Error{Type: TypeAPI, Code: "unrecognised_response", Message: "<html>502</html>", RequestID: "req_h"}},
		{"long", long, 404, Error{Type: TypeNotFound, Code: "unrecognised_response", Message: strings.Repeat("ä", 300), RequestID: "req_h"}},
		{"empty", "", 418, Error{Type: TypeInvalidRequest, Code: "unrecognised_response", Message: "the server gave no explanation", RequestID: "req_h"}},
		{"redirect", "", 302, Error{Type: TypeInvalidRequest, Code: "unrecognised_response", Message: "the server redirects elsewhere, and redirects are not followed: check the base URL", RequestID: "req_h"}},
		{"null", "null", 599, Error{Type: TypeAPI, Code: "unrecognised_response", Message: "null", RequestID: "req_h"}},
		{"surrogate", `{"error":{"code":"c","message":"a\ud800b` + "\xff" + `"}}`, 400, Error{Type: TypeInvalidRequest, Code: "c", Message: "a\uFFFDb\uFFFD", RequestID: "req_h"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := testClient(t, answering(tt.status, tt.body, "X-Request-Id", "req_h"))
				e := asError(t, classCalls[ClassOnce](t.Context(), c))
				tt.want.Op, tt.want.Attempts, tt.want.Status, tt.want.body = "threads.mute", 1, tt.status, e.body
				if !reflect.DeepEqual(*e, tt.want) {
					t.Errorf("got  %+v\nwant %+v", e, &tt.want)
				}
			})
		})
	}
}

func TestErrorTargets(t *testing.T) {
	for _, tt := range []struct {
		err    error
		target error
	}{
		{&Error{Type: TypeAuthentication}, ErrAuthentication},
		{&Error{Type: TypePermission}, ErrPermission},
		{&Error{Code: "insufficient_scope"}, ErrInsufficientScope},
		{&Error{Code: "step_up_required"}, ErrStepUp},
		{&Error{Type: TypeNotFound}, ErrNotFound},
		{&Error{Type: TypeConflict}, ErrConflict},
		{&Error{Code: "version_conflict"}, ErrVersionConflict},
		{&Error{Type: TypeValidation}, ErrValidation},
		{&Error{Type: TypeRateLimit}, ErrRateLimit},
		{&Error{Code: "idempotency_key_reuse"}, ErrIdempotencyReuse},
		{&Error{Code: "invalid_idempotency_key"}, ErrInvalidIdempotencyKey},
		{&Error{Code: "unrecognised_response"}, ErrUnrecognised},
		{&Error{Code: "response_too_large"}, ErrTooLarge},
		{&NetworkError{Timeout: true}, ErrTimeout},
		{&NetworkError{Cancelled: true}, ErrCancelled},
	} {
		if !isTarget(tt.err, tt.target) {
			t.Errorf("%+v is not %v", tt.err, tt.target)
		}
		if isTarget(&Error{}, tt.target) || isTarget(&NetworkError{}, tt.target) || isTarget(&ArgumentError{}, tt.target) {
			t.Errorf("an empty error is %v", tt.target)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{
			&Error{Op: "emails.send", Status: 429, Code: "rate_limited", Message: "Slow down", HasRetryAfter: true, RetryAfter: 61500 * time.Millisecond, RequestID: "r1", Attempts: 2},
			"emails.send: 429 rate_limited: Slow down (retry after 61.5 s, request r1, 2 attempts)",
		},
		{&NetworkError{Op: "threads.get", Timeout: true, Attempts: 3}, "threads.get: no answer in time (3 attempts)"},
		{&NetworkError{Op: "threads.get", Cause: "connection refused", Attempts: 1}, "threads.get: network failure: connection refused"},
		{&NetworkError{Op: "threads.get", Cancelled: true, Cause: "503", Attempts: 2}, "threads.get: cancelled (last failure: 503)"},
		{&NetworkError{Op: "threads.get", Cancelled: true, Err: context.DeadlineExceeded, Cause: "503"}, "threads.get: not over by the caller's deadline (last failure: 503)"},
		{&ArgumentError{Op: "drafts.get", Message: "an id is empty"}, "drafts.get: an id is empty"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
