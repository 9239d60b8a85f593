package cases

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/state"
	"codeberg.org/teapost/teapost/ui"
)

// evil is text that takes over a terminal when it is drawn as it stands.
const evil = "\x1b]0;taken\x07\x1b[2J\x1b[H\x1b]52;c;eA==\x07\x1bPq\x1b\\\u202egpj\u2066\u0085\u009b31m\x9b7m\u200b\u00ad\ufeff\x08\r\nnext\x00\x7f\u2028end\U000e0041"

// evilServer makes every text of the answers hostile, and refuses changes in hostile words when told to.
type evilServer struct {
	next   http.RoundTripper
	refuse atomic.Bool
}

// texts are the fields of answers that hold free text.
var texts = map[string]bool{
	"name": true, "subject": true, "snippet": true, "text": true, "filename": true, "message": true, "html": true, "summary": true, "location": true,
	"description": true, "sentWith": true, "listUnsubscribe": true, "verificationCode": true, "forwardedFrom": true, "contentType": true,
	"messageId": true, "folder": true, "sentBy": true, "displayName": true, "workspaceName": true, "organizationName": true,
}

func (s *evilServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.refuse.Load() && r.Method != http.MethodGet {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		quoted, _ := json.Marshal(strings.ToValidUTF8(evil, "?"))
		body := `{"error":{"type":"invalid_request_error","code":` + string(quoted) + `,"message":` + string(quoted) +
			`,"param":` + string(quoted) + `,"docUrl":` + string(quoted) + `,"fields":[{"key":` + string(quoted) + `,"error":` + string(quoted) + `}]}}`
		return &http.Response{
			StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {evil}},
			Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}, nil
	}
	resp, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	var v any
	if err == nil && json.Unmarshal(raw, &v) == nil {
		raw, _ = json.Marshal(spoil(v, ""))
	}
	resp.Header.Set("X-Request-Id", evil)
	resp.Header.Del("Content-Length")
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return resp, nil
}

func spoil(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = spoil(v[k], k)
		}
	case []any:
		for i := range v {
			v[i] = spoil(v[i], key)
		}
	case string:
		if texts[key] {
			return v + strings.ToValidUTF8(evil, "?")
		}
	}
	return v
}

// TestHostileServer draws every screen over a server whose every text is hostile: names of labels and folders, people,
// errors, request ids. The world itself looks at each frame.
func TestHostileServer(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {140, 40}, {40, 12}} {
		for _, plain := range []bool{false, true} {
			server := &evilServer{}
			s := setup{width: size[0], height: size[1], title: "grace@example.org" + evil, ascii: plain, net: func(next http.RoundTripper) http.RoundTripper {
				server.next = next
				return server
			}}
			if plain {
				s.colors = ui.ColorsNone
			}
			inWorld(t, s, func(w *world) {
				w.write("labels.mbox", "From x Tue Mar  3 09:30:00 2026\nX-Gmail-Labels: Inbox,home,work\nFrom: Ada <ada@example.com>\nTo: grace@example.org\nSubject: labelled\nMessage-ID: <l@example.com>\nDate: Tue, 03 Mar 2026 09:30:00 +0000\n\nhello\n")
				w.imports(w.dir+"/labels.mbox", file("attachments", "names.eml"), file("hostile"), file("html"))
				w.open()
				w.until("the list is here", func() bool { return strings.Contains(w.frame(), "labelled") || len(w.mail.List(inbox).Rows) > 5 })
				w.pass(2 * time.Second)
				c := w.row("screens")
				for _, walk := range [][]string{
					{"g", "f"},
					{"j", "j", "j", "j", "enter"},
					{"g", "i"},
					{"l"},
					{"down", "esc"},
					{"b"},
					{"f", "r", "esc"},
					{"?"},
					{"j", "esc"},
					{"ctrl+k"},
					{"a", "r", "c", "esc"},
					{"!"},
					{"j", "enter"},
					{"esc", "esc"},
					{"g", "i", "g", "g", "enter"},
					{"H"},
					{"H", "w"},
					{"esc"},
					{"v"},
					{"esc", "J"},
					{"J"},
					{"J"},
					{"1"},
					{"esc", "J"},
					{"r"},
					{"x"},
					{"ctrl+s", "esc"},
					{"g", "i", "c"},
					{"a", "d", "a"},
					{"tab", "tab"},
					{"esc"},
					{"g", "d"},
					{"j", "enter"},
					{"esc", "esc"},
					{"g", "o"},
					{"esc"},
					{"/", "x", "enter"},
					{"esc", "esc"},
					{"g", "i"},
					{"D"},
					{"esc"},
				} {
					w.keys(walk...)
					w.pass(300 * time.Millisecond)
				}
				server.refuse.Store(true)
				for _, walk := range [][]string{{"g", "i"}, {"e"}, {"#"}, {"s"}, {"u"}, {"m"}, {"R"}, {"!"}, {"j", "enter"}, {"esc", "esc"}} {
					w.keys(walk...)
					w.pass(time.Second)
				}
				d := w.mail.NewDraft("")
				d.To, d.Subject, d.Body = "Ada "+`"`+"x"+`"`+" <ada@example.com>", "Sent "+evil, "text "+evil
				w.mail.EditDraft(d)
				w.mail.SaveDraft(d)
				w.pass(3 * time.Second)
				w.mail.Send(d, state.SendOptions{Undo: -1})
				w.pass(5 * time.Second)
				for _, walk := range [][]string{{"g", "o"}, {"j", "enter"}, {"esc"}, {"g", "d"}, {"enter"}, {"esc", "esc"}, {"!"}, {"j", "j", "enter"}} {
					w.keys(walk...)
					w.pass(time.Second)
				}
				if w.quit {
					c.Errorf("the program ended")
				}
			})
		}
	}
}
