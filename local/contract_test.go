package local

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func send(to string, change ...any) obj {
	m := obj{"from": me, "to": []string{to}, "subject": "Hello", "text": "Hello there"}
	for i := 0; i+1 < len(change); i += 2 {
		m[change[i].(string)] = change[i+1]
	}
	return m
}

// keys lists what an object must hold, and nothing else.
func wantKeys(t *testing.T, what string, o obj, keys string) {
	t.Helper()
	want := strings.Fields(keys)
	for _, k := range want {
		if _, ok := o[k]; !ok {
			t.Errorf("%s lacks %q", what, k)
		}
	}
	for k := range o {
		if !slices.Contains(want, k) {
			t.Errorf("%s has %q, which the contract does not know", what, k)
		}
	}
}

func TestShapes(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		in := ingest(t, s, mailText("a@example.com", "Ada <ada@example.com>", "Tea", "Milk?\r\n\r\n> quoted"), IngestOptions{Unread: true, Labels: []string{"Club"}})
		wantKeys(t, "ping", c.do(200, "GET", "/ping", nil), "ok kind keyId mode scopes roleId grantedScopes workspaceId")
		wantKeys(t, "key", c.do(200, "GET", "/keys/self", nil), "object kind id mode scopes roleId grantedScopes workspaceId addressAllowlist domainAllowlist")
		a := c.do(200, "GET", "/addresses", nil)
		wantKeys(t, "addresses", a, "object data hasMore nextCursor unrestricted domains")
		if got := a["data"].([]any)[0].(obj); got["address"] != me || got["canSend"] != true {
			t.Errorf("first address: %v", got)
		}
		p := c.do(200, "GET", "/contacts/people?q=ad", nil)
		wantKeys(t, "people", p, "object data hasMore nextCursor seen")
		person := p["data"].([]any)[0].(obj)
		wantKeys(t, "person", person, "object email displayEmail name saved source notes photoUrl threads lastAt createdAt updatedAt blockedBy")
		if person["email"] != "ada@example.com" || person["name"] != "Ada" || person["threads"] != 1.0 {
			t.Errorf("person: %v", person)
		}
		l := c.do(200, "GET", "/threads", nil)
		wantKeys(t, "thread list", l, "object data hasMore nextPageToken")
		wantKeys(t, "thread row", l["data"].([]any)[0].(obj), "object id")
		th := c.do(200, "GET", "/threads/"+in.ThreadID, nil)
		wantKeys(t, "thread", th, "object id messages labels messageCount hasUnread totalReplies deliveredTo muted snoozedUntil")
		if th["hasUnread"] != true || th["messageCount"] != 1.0 || th["totalReplies"] != 0.0 || th["deliveredTo"] != me {
			t.Errorf("thread: %v", th)
		}
		m := th["messages"].([]any)[0].(obj)
		wantKeys(t, "message", m, "id threadId subject from to cc bcc replyTo receivedAt unread snippet text html attachments messageId inReplyTo references labels listUnsubscribe encryption deliveredTo verificationCode sentWith forwardedFrom")
		if m["snippet"] != "Milk?" || m["messageId"] != "<a@example.com>" || m["receivedAt"] != "2026-03-03T09:30:00.000Z" || m["from"].(obj)["email"] != "ada@example.com" {
			t.Errorf("message: %v", m)
		}
		labels := c.do(200, "GET", "/labels", nil)
		wantKeys(t, "labels", labels, "object data hasMore nextCursor")
		ids := c.list("/labels")
		if want := []string{"INBOX", "STARRED", "SNOOZED", "SENT", "DRAFT", "SPAM", "TRASH", "lbl_1"}; !slices.Equal(ids, want) {
			t.Errorf("labels %v, want %v", ids, want)
		}
		wantKeys(t, "label", labels["data"].([]any)[7].(obj), "object id name type color threadCount aiInstructions aiEnabled createdAt updatedAt")
		counts := c.do(200, "GET", "/threads/counts", nil)
		wantKeys(t, "counts", counts, "object folders addresses labels categories")
		e := c.do(200, "POST", "/emails", send("bob@example.org"))
		wantKeys(t, "email", e, "object id status mode from subject messageId threadId transport attempts lastError scheduledAt cancellableUntil sentAt tags broadcastId source stream createdAt recipients replayed")
		wantKeys(t, "recipient", e["recipients"].([]any)[0].(obj), "email name kind status error deliveredAt")
		if e["status"] != "sent" || e["mode"] != "test" || e["transport"] != "test" || e["replayed"] != false {
			t.Errorf("email: %v", e)
		}
		list := c.do(200, "GET", "/emails?status=sent,failed", nil)
		wantKeys(t, "emails", list, "object data hasMore nextCursor")
		if n := len(list["data"].([]any)); n != 1 {
			t.Errorf("%d emails listed, want 1", n)
		}
		d := c.do(200, "POST", "/drafts", obj{"to": []string{"x"}, "text": "one\n\ntwo <b>"})
		wantKeys(t, "saved draft", d, "object id")
		d = c.do(200, "GET", "/drafts/"+d["id"].(string), nil)
		wantKeys(t, "draft", d, "object id to cc bcc subject html threadId forwardOf from attachments")
		if d["html"] != "<p>one</p><p>two &lt;b&gt;</p>" {
			t.Errorf("html of a text draft: %q", d["html"])
		}
	})
}

func TestErrors(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		id := ingest(t, s, mailText("a@example.com", "ada@example.com", "Tea", "x"), IngestOptions{}).ThreadID
		c.refused(404, "route_not_found", "", "GET", "/nowhere", nil)
		c.refused(501, "not_available_locally", "", "GET", "/threads/"+id+"/summary", nil)
		c.refused(405, "method_not_allowed", "", "PUT", "/threads/"+id, obj{})
		c.refused(405, "method_not_allowed", "", "DELETE", "/threads/counts", nil)
		c.refused(404, "resource_not_found", "", "GET", "/threads/thr_999", nil)
		c.refused(404, "resource_not_found", "", "GET", "/threads/a%2Fb", nil)
		c.refused(404, "resource_not_found", "", "GET", "/threads/thr_01", nil)
		c.refused(404, "resource_not_found", "", "POST", "/threads/thr_999/trash", nil)
		c.refused(404, "resource_not_found", "", "GET", "/emails/eml_9", nil)
		c.refused(404, "resource_not_found", "", "GET", "/drafts/drf_9", nil)
		c.refused(404, "resource_not_found", "", "DELETE", "/drafts/drf_9", nil)
		c.refused(404, "resource_not_found", "", "GET", "/labels/lbl_9", nil)
		c.refused(404, "resource_not_found", "", "GET", "/threads/"+id+"/event", nil)
		c.refused(400, "invalid_json", "", "POST", "/emails", "{")
		c.refused(400, "invalid_json", "", "POST", "/emails", "[]")
		c.refused(400, "invalid_json", "", "POST", "/emails", "null")
		c.refused(400, "invalid_json", "", "POST", "/emails", "{} {}")
		c.refused(400, "invalid_json", "", "POST", "/emails", nil)
		c.refused(413, "body_too_large", "", "POST", "/emails", strings.Repeat(" ", MaxBodyBytes+1))
		c.refused(400, "invalid_limit", "limit", "GET", "/threads?limit=0", nil)
		c.refused(400, "invalid_limit", "limit", "GET", "/threads?limit=-4", nil)
		c.refused(400, "invalid_limit", "limit", "GET", "/emails?limit=ten", nil)
		c.refused(400, "invalid_cursor", "pageToken", "GET", "/threads?pageToken=nonsense", nil)
		c.refused(400, "invalid_cursor", "cursor", "GET", "/labels?cursor=%21", nil)
		c.refused(422, "invalid_field", "folder", "GET", "/threads?folder=attic", nil)
		c.refused(422, "invalid_field", "sort", "GET", "/threads?sort=size", nil)
		c.refused(422, "invalid_field", "read", "PATCH", "/threads/"+id, obj{"read": "yes"})
		c.refused(422, "invalid_field", "addLabelIds", "PATCH", "/threads/"+id, obj{"addLabelIds": "INBOX"})
		c.refused(422, "invalid_field", "addLabelIds", "PATCH", "/threads/"+id, obj{"addLabelIds": []string{"SENT"}})
		c.refused(404, "resource_not_found", "addLabelIds", "PATCH", "/threads/"+id, obj{"addLabelIds": []string{"lbl_77"}})
		c.refused(422, "invalid_field", "wakeAt", "POST", "/threads/"+id+"/snooze", obj{})
		c.refused(422, "invalid_field", "wakeAt", "POST", "/threads/"+id+"/snooze", obj{"wakeAt": "soon"})
		c.refused(422, "invalid_field", "wakeAt", "POST", "/threads/"+id+"/snooze", obj{"wakeAt": instant(clk.now().UnixMilli())})
		for name, bad := range map[string]any{
			"from": "stranger@example.com", "to": []string{}, "cc": 4, "bcc": []string{"a b@c"}, "replyTo": "x", "subject": 1,
			"headers": obj{"Bcc": "a@b.c"}, "attachments": []any{obj{"filename": "a", "content": "*"}}, "tags": obj{"a": 1},
			"scheduledAt": "2020-01-01T00:00:00.000Z", "cancellableForSeconds": -1, "stream": "x", "template": obj{}, "translate": obj{"to": "de"}, "followUpAt": "2020-01-01T00:00:00.000Z",
		} {
			c.refused(422, "invalid_field", name, "POST", "/emails", send("bob@example.org", name, bad))
		}
		c.refused(422, "invalid_field", "headers", "POST", "/emails", send("bob@example.org", "headers", obj{"X-A": "1\r\nBcc: x@y.z"}))
		c.refused(404, "resource_not_found", "threadId", "POST", "/emails", send("bob@example.org", "threadId", "thr_999"))
		c.refused(404, "resource_not_found", "draftId", "POST", "/emails", send("bob@example.org", "draftId", "drf_999"))
		c.refused(422, "invalid_field", "name", "POST", "/labels", obj{"name": " "})
		c.refused(422, "invalid_field", "name", "POST", "/labels", obj{"name": "Inbox"})
		if got := c.folder("all"); !slices.Equal(got, []string{id}) {
			t.Errorf("a refused request changed the mailbox: %v", got)
		}
	})
}

func TestFoldersAndLabels(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		id := ingest(t, s, mailText("a@example.com", "ada@example.com", "Tea", "x"), IngestOptions{Unread: true}).ThreadID
		other := ingest(t, s, mailText("b@example.com", "bob@example.com", "Other", "x"), IngestOptions{Folder: "archive"}).ThreadID
		in := func(folder string, want ...string) {
			t.Helper()
			got := c.folder(folder)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s holds %v, want %v", folder, got, want)
			}
		}
		patch := func(body obj) obj { return c.do(200, "PATCH", "/threads/"+id, body) }
		in("inbox", id)
		in("archive", other)
		in("all", id, other)
		if n, u := c.count("inbox"); n != 1 || u != 1 {
			t.Errorf("inbox counts %d, %d unread", n, u)
		}
		patch(obj{"read": true})
		if _, u := c.count("inbox"); u != 0 {
			t.Errorf("%d unread after reading", u)
		}
		patch(obj{"read": false, "addLabelIds": []string{"STARRED"}})
		in("starred", id)
		got := patch(obj{"removeLabelIds": []string{"INBOX", "INBOX"}})
		if r := got["removedLabelIds"].([]any); len(r) != 1 || r[0] != "INBOX" {
			t.Errorf("answer of update: %v", got)
		}
		in("inbox")
		in("archive", id, other)
		// The trash hides where a thread was and gives it back there.
		c.do(200, "POST", "/threads/"+id+"/trash", nil)
		in("bin", id)
		in("trash", id)
		in("archive", other)
		in("starred")
		in("all", other)
		c.do(200, "POST", "/threads/"+id+"/restore", "{}")
		in("archive", id, other)
		in("starred", id)
		patch(obj{"addLabelIds": []string{"INBOX"}})
		in("inbox", id)
		patch(obj{"addLabelIds": []string{"SPAM"}})
		in("spam", id)
		in("inbox")
		patch(obj{"removeLabelIds": []string{"SPAM"}})
		in("inbox", id)
		// Labels.
		l := c.do(200, "POST", "/labels", obj{"name": "Tea Club", "color": obj{"backgroundColor": "#fff"}})
		c.refused(409, "label_exists", "", "POST", "/labels", obj{"name": "tea club"})
		lid := l["id"].(string)
		patch(obj{"addLabelIds": []string{lid}})
		if got := c.list("/threads?labelIds=" + lid); !slices.Equal(got, []string{id}) {
			t.Errorf("labelled: %v", got)
		}
		if got := c.list("/threads?folder=archive&labelIds=" + lid); len(got) != 0 {
			t.Errorf("labelled in the archive: %v", got)
		}
		if got := c.list("/threads?query=" + url.QueryEscape(`label:"tea club"`)); !slices.Equal(got, []string{id}) {
			t.Errorf("label: finds %v", got)
		}
		l = c.do(200, "PATCH", "/labels/"+lid, obj{"color": nil, "name": "Tea"})
		if l["color"] != nil || l["name"] != "Tea" || l["threadCount"] != 1.0 {
			t.Errorf("label: %v", l)
		}
		if lab := c.do(200, "GET", "/threads/"+id, nil)["labels"].([]any); len(lab) != 3 {
			t.Errorf("labels of the thread: %v", lab)
		}
		c.do(200, "DELETE", "/labels/"+lid, nil)
		if lab := c.do(200, "GET", "/threads/"+id, nil)["labels"].([]any); len(lab) != 2 {
			t.Errorf("labels after deleting one: %v", lab)
		}
		c.refused(403, "system_label", "", "DELETE", "/labels/INBOX", nil)
		c.do(200, "DELETE", "/threads/"+id, nil)
		in("all", other)
		c.refused(404, "resource_not_found", "", "GET", "/threads/"+id, nil)
		if got := c.list("/threads?query=tea"); len(got) != 0 {
			t.Errorf("a deleted thread is found: %v", got)
		}
		if n, _ := c.count("inbox"); n != 0 {
			t.Errorf("%d in the inbox after deleting", n)
		}
	})
}

func TestPaging(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		var items []Item
		for i := range 130 {
			items = append(items, Item{
				Raw:           mailText(fmt.Sprintf("p%d@example.com", i), fmt.Sprintf("Person %03d <p%d@example.com>", i, i), "Page test", "x"),
				IngestOptions: IngestOptions{ReceivedAt: clk.now().Add(-time.Duration(i/2) * time.Hour)},
			})
		}
		if _, err := s.IngestBatch(context.Background(), items); err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{"folder=inbox", "query=page", "sort=oldest", "sort=sender&query=test", "sort=subject", "query=in:anywhere"} {
			seen := map[string]bool{}
			token, pages := "", 0
			for {
				p := c.do(200, "GET", "/threads?limit=40&"+q+"&pageToken="+token, nil)
				for _, v := range p["data"].([]any) {
					id := v.(obj)["id"].(string)
					if seen[id] {
						t.Fatalf("%s: %s twice", q, id)
					}
					seen[id] = true
				}
				if pages++; p["hasMore"] != true {
					if p["nextPageToken"] != nil {
						t.Errorf("%s: a token on the last page", q)
					}
					break
				}
				token = p["nextPageToken"].(string)
				if pages == 1 && q == "folder=inbox" {
					// A thread that was listed goes, and a new one comes on top: nothing is missed or seen twice.
					ingest(t, s, mailText("new@example.com", "New <new@example.com>", "Page test", "x"), IngestOptions{Arrival: true})
					for id := range seen {
						c.do(200, "POST", "/threads/"+id+"/trash", nil)
						break
					}
				}
			}
			want := 130
			if q == "query=in:anywhere" {
				want = 131
			}
			if len(seen) != want {
				t.Errorf("%s: %d threads, want %d", q, len(seen), want)
			}
		}
		if n := len(c.list("/threads?limit=5000")); n != 100 {
			t.Errorf("a limit of 5000 gives %d", n)
		}
		if n := len(c.list("/threads")); n != 25 {
			t.Errorf("no limit gives %d", n)
		}
		people := map[string]bool{}
		for _, sort := range []string{"recent", "name", "threads"} {
			clear(people)
			cur := ""
			for {
				p := c.do(200, "GET", "/contacts/people?limit=50&sort="+sort+"&cursor="+cur, nil)
				for _, v := range p["data"].([]any) {
					people[v.(obj)["email"].(string)] = true
				}
				if p["hasMore"] != true {
					break
				}
				cur = p["nextCursor"].(string)
			}
			if len(people) != 131 {
				t.Errorf("sort=%s: %d people", sort, len(people))
			}
		}
		var labels []string
		for cur := ""; ; {
			p := c.do(200, "GET", "/labels?limit=3&cursor="+cur, nil)
			for _, v := range p["data"].([]any) {
				labels = append(labels, v.(obj)["id"].(string))
			}
			if p["hasMore"] != true {
				break
			}
			cur = p["nextCursor"].(string)
		}
		if !slices.Equal(labels, systemLabels) {
			t.Errorf("labels by pages: %v", labels)
		}
	})
}

func TestQueries(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	file := "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nsee the file\r\n" +
		"--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=invoice.pdf\r\n\r\nPDF\r\n--b--\r\n"
	raw := []byte("From: Ada Byron <ada@example.com>\r\nTo: " + me + "\r\nCc: Carol <carol@example.org>\r\nSubject: Kettle order\r\nMessage-ID: <k@x>\r\nDate: Mon, 02 Mar 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\n" + file)
	ada := ingest(t, s, raw, IngestOptions{Unread: true}).ThreadID
	bob := ingest(t, s, mailText("b@x", "Bob <bob@example.com>", "Re: kettles", "no order here, only red tea"), IngestOptions{Starred: true}).ThreadID
	gone := ingest(t, s, mailText("c@x", "Spammer <s@example.com>", "Kettle offer", "buy"), IngestOptions{Folder: "spam"}).ThreadID
	for q, want := range map[string][]string{
		"kettle":                          {bob, ada},
		"kettle -order":                   nil,
		"kettle -from:ada":                {bob},
		`"red tea"`:                       {bob},
		`"red te"`:                        nil,
		"red te":                          {bob},
		"from:ada":                        {ada},
		"from:ada@example.com":            {ada},
		"to:carol":                        {ada},
		"cc:carol":                        {ada},
		"subject:order":                   {ada},
		"is:unread":                       {ada},
		"is:read":                         {bob},
		"is:starred":                      {bob},
		"has:attachment":                  {ada},
		"filename:invoice":                {ada},
		"invoice":                         {ada},
		"in:spam kettle":                  {gone},
		"in:spam":                         {gone},
		"in:anywhere kettle from:spammer": {gone},
		"in:inbox -in:starred":            {ada},
		"from:ada OR from:bob":            {bob, ada},
		"is:starred OR filename:invoice":  {bob, ada},
		"before:2026-03-03":               {ada},
		"after:2026-03-03":                {bob},
		"older:7d":                        {ada},
		"larger:5m":                       nil,
		"smaller:5m kettle":               {bob, ada},
		"subject:":                        nil,
		"http://example":                  nil,
		"-":                               nil,
		`from:"Ada Byron" order`:          {ada},
		`( ) AND NOT * ^ {x}`:             nil,
		"NEAR(kettle order)":              nil,
	} {
		got := c.list("/threads?query=" + url.QueryEscape(q))
		if !slices.Equal(got, append([]string{}, want...)) {
			t.Errorf("%s: %v, want %v", q, got, want)
		}
	}
	if got := c.list("/threads?folder=spam&query=kettle"); !slices.Equal(got, []string{gone}) {
		t.Errorf("search in spam: %v", got)
	}
}

func TestAttachments(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		content := strings.Repeat("tea leaves\n", 40_000) // large enough for its texts to be kept aside
		e := c.do(200, "POST", "/emails", send(me, "attachments", []any{obj{
			"filename": "päper.txt", "contentType": "text/plain", "content": base64.StdEncoding.EncodeToString([]byte(content)),
		}}))
		th := c.do(200, "GET", "/threads/"+e["threadId"].(string), nil)
		m := th["messages"].([]any)[0].(obj)
		if strings.TrimSpace(m["text"].(string)) != "Hello there" {
			t.Errorf("text: %q", m["text"])
		}
		a := m["attachments"].([]any)[0].(obj)
		wantKeys(t, "attachment", a, "attachmentId filename contentType size inline contentId")
		list := c.do(200, "GET", fmt.Sprintf("/threads/%s/messages/%s/attachments", th["id"], m["id"]), nil)
		wantKeys(t, "attachment list", list, "object data")
		full := list["data"].([]any)[0].(obj)
		wantKeys(t, "attachment content", full, "object attachmentId filename contentType size content")
		got, err := base64.StdEncoding.DecodeString(full["content"].(string))
		if err != nil || string(got) != content || full["filename"] != "päper.txt" || full["attachmentId"] != a["attachmentId"] || full["size"] != float64(len(content)) {
			t.Errorf("content of %d bytes, name %q, size %v, %v", len(got), full["filename"], full["size"], err)
		}
	})
}

func TestDrafts(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		file := "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nthe original text\r\n" +
			"--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n\r\nPDF\r\n--b--\r\n"
		in := ingest(t, s, []byte("From: ada@example.com\r\nTo: "+me+"\r\nSubject: Plans\r\nMessage-ID: <k@x>\r\nMIME-Version: 1.0\r\n"+file), IngestOptions{})
		d := c.do(200, "POST", "/drafts", obj{"to": []string{"bob@example.org"}, "threadId": in.ThreadID, "forwardOf": in.MessageID, "text": "look"})
		id := d["id"].(string)
		d = c.do(200, "GET", "/drafts/"+id, nil)
		if d["forwardOf"] != in.MessageID || d["threadId"] != in.ThreadID || len(d["attachments"].([]any)) != 1 {
			t.Errorf("forward: %v", d)
		}
		clk.advance(time.Minute)
		second := c.do(200, "POST", "/drafts", nil)["id"].(string)
		clk.advance(time.Minute)
		c.do(200, "PATCH", "/drafts/"+id, obj{"subject": "Größe"})
		if got := c.list("/drafts"); !slices.Equal(got, []string{id, second}) {
			t.Errorf("drafts: %v", got)
		}
		if got := c.list("/drafts?query=grosse"); !slices.Equal(got, []string{id}) {
			t.Errorf("found drafts: %v", got)
		}
		if n, u := c.count("draft"); n != 2 || u != 0 {
			t.Errorf("draft count %d, %d", n, u)
		}
		c.do(200, "PATCH", "/drafts/"+id, obj{"subject": ""})
		e := c.do(200, "POST", "/emails", obj{"from": me, "to": "bob@example.org", "text": "look", "draftId": id})
		if e["subject"] != "Fwd: Plans" {
			t.Errorf("subject of the forward: %v", e["subject"])
		}
		m := c.do(200, "GET", "/threads/"+e["threadId"].(string), nil)["messages"].([]any)
		last := m[len(m)-1].(obj)
		if !strings.Contains(last["text"].(string), "the original text") || len(last["attachments"].([]any)) != 1 {
			t.Errorf("forwarded message: %v", last)
		}
		if got := c.list("/drafts"); !slices.Equal(got, []string{second}) {
			t.Errorf("the draft is still there: %v", got)
		}
		if del := c.do(200, "DELETE", "/drafts/"+second, nil); del["deleted"] != true {
			t.Errorf("delete: %v", del)
		}
	})
}

func TestInvite(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	cal := "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VTIMEZONE\r\nTZID:W. Europe Standard Time\r\nBEGIN:STANDARD\r\nDTSTART:16010101T030000\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n" +
		"BEGIN:VEVENT\r\nUID:u1\r\nSEQUENCE:2\r\nSUMMARY:Tea\\, with\r\n  milk\r\nDTSTART;TZID=W. Europe Standard Time:20260401T150000\r\nDURATION:PT1H30M\r\n" +
		"ORGANIZER;CN=\"Ada: B\":mailto:ada@example.com\r\nATTENDEE;PARTSTAT=ACCEPTED;RSVP=TRUE:MAILTO:" + me + "\r\nBEGIN:VALARM\r\nTRIGGER:-PT15M\r\nDESCRIPTION:not this\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	raw := "From: ada@example.com\r\nTo: " + me + "\r\nSubject: Tea\r\nMessage-ID: <i@x>\r\nMIME-Version: 1.0\r\nContent-Type: text/calendar; method=REQUEST\r\n\r\n" + cal
	id := ingest(t, s, []byte(raw), IngestOptions{}).ThreadID
	e := c.do(200, "GET", "/threads/"+id+"/event", nil)
	wantKeys(t, "event", e, "object id uid sequence summary description location url start end allDay timezone recurrence exdates rdates recurrenceId subscriptionId status transparency visibility organizer isOrganizer source messageId threadId alarms attendees createdAt updatedAt")
	if e["summary"] != "Tea, with milk" || e["start"] != "2026-04-01T13:00:00.000Z" || e["end"] != "2026-04-01T14:30:00.000Z" ||
		e["timezone"] != "Europe/Berlin" || e["organizer"].(obj)["name"] != "Ada: B" || e["sequence"] != 2.0 || e["description"] != nil {
		t.Errorf("event: %v", e)
	}
	a := e["attendees"].([]any)[0].(obj)
	wantKeys(t, "attendee", a, "object email name partstat role rsvp cutype respondedAt proposedStart proposedEnd")
	if a["email"] != me || a["partstat"] != "ACCEPTED" || e["alarms"].([]any)[0].(obj)["minutesBefore"] != 15.0 {
		t.Errorf("attendee and alarm: %v %v", a, e["alarms"])
	}
}
