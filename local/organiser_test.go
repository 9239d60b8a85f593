package local

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func arrive(t *testing.T, s *Server, raw []byte) Ingested {
	t.Helper()
	return ingest(t, s, raw, IngestOptions{Arrival: true, Unread: true, Folder: "inbox"})
}

func rows(t *testing.T, c *client, path string) []obj {
	t.Helper()
	var out []obj
	for _, v := range c.do(200, "GET", path, nil)["data"].([]any) {
		out = append(out, v.(obj))
	}
	return out
}

func sentTo(t *testing.T, c *client, email string) []obj {
	t.Helper()
	var out []obj
	for _, e := range rows(t, c, "/emails") {
		for _, r := range e["recipients"].([]any) {
			if r.(obj)["email"] == email {
				out = append(out, e)
			}
		}
	}
	return out
}

func TestContacts(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		made := c.do(200, "POST", "/contacts", obj{"email": "Ada@Example.com", "name": "Ada", "notes": "tea"})
		wantKeys(t, "contact", made, "object email name source notes photoUrl lastSeenAt createdAt updatedAt audiences")
		c.refused(409, "contact_exists", "", "POST", "/contacts", obj{"email": "ada@example.com"})
		c.refused(422, "invalid_field", "email", "POST", "/contacts", obj{"email": "ada"})
		c.refused(404, "resource_not_found", "", "PATCH", "/contacts/bob%40example.com", obj{"name": "Bob"})
		if got := c.do(200, "PATCH", "/contacts/ada%40example.com", obj{"notes": nil}); got["notes"] != nil || got["name"] != "Ada" {
			t.Errorf("after clearing the notes: %v", got)
		}
		if got := c.do(200, "PUT", "/contacts/bob%40example.com", nil); got["email"] != "bob@example.com" || got["name"] != nil {
			t.Errorf("saved without a body: %v", got)
		}
		if got := rows(t, c, "/contacts?q=ad"); len(got) != 1 || got[0]["email"] != "Ada@Example.com" {
			t.Errorf("contacts with ad: %v", got)
		}
		// A contact without mail is offered for an address too, and one with mail is there once.
		arrive(t, s, mailText("a@example.com", "Ada L <ada@example.com>", "Tea", "x"))
		people := rows(t, c, "/contacts/people?sort=name")
		var names []string
		for _, p := range people {
			names = append(names, fmt.Sprint(p["email"], p["name"], p["saved"]))
		}
		if want := []string{"bob@example.com<nil> true", "ada@example.comAdatrue"}; !slices.Equal(names, want) {
			t.Errorf("people %v, want %v", names, want)
		}
		threads := c.do(200, "GET", "/contacts/ada%40example.com/threads", nil)["data"].([]any)
		if len(threads) != 1 {
			t.Fatalf("threads with Ada: %v", threads)
		}
		wantKeys(t, "contact thread", threads[0].(obj), "object id subject from receivedAt messageCount hasUnread labels")
		block := c.do(200, "POST", "/contacts/ada%40example.com/block", nil)
		if block["blocked"] != true || block["created"] != true {
			t.Errorf("block: %v", block)
		}
		if got := c.do(200, "POST", "/contacts/ada%40example.com/block", nil); got["created"] != false {
			t.Errorf("second block: %v", got)
		}
		if got := rows(t, c, "/contacts/people?blocked=true"); len(got) != 1 || got[0]["blockedBy"] == nil {
			t.Errorf("blocked people: %v", got)
		}
		arrive(t, s, mailText("b@example.com", "ada@example.com", "More tea", "x"))
		if got := c.folder("spam"); len(got) != 1 {
			t.Errorf("spam holds %v after mail of a blocked sender", got)
		}
		if got := c.do(200, "DELETE", "/contacts/ada%40example.com/block", nil); len(got["removed"].([]any)) != 1 || got["blocked"] != false {
			t.Errorf("unblock: %v", got)
		}
		if got := c.do(200, "GET", "/threads?fromContacts=true&folder=inbox", nil)["data"].([]any); len(got) != 1 {
			t.Errorf("threads of contacts: %v", got)
		}
		batch := c.do(200, "POST", "/contacts/batch-delete", obj{"emails": []string{"ada@example.com", "nobody@example.com", "x"}})
		if batch["deleted"] != 2.0 || batch["saved"] != 1.0 || len(batch["invalid"].([]any)) != 1 {
			t.Errorf("batch delete: %v", batch)
		}
		if got := c.do(200, "DELETE", "/contacts/bob%40example.com", nil); got["wasSaved"] != true {
			t.Errorf("delete: %v", got)
		}
	})
}

func TestNotes(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		id := ingest(t, s, mailText("a@example.com", "ada@example.com", "Tea", "x"), IngestOptions{}).ThreadID
		base := "/threads/" + id + "/notes"
		one := c.do(200, "POST", base, obj{"content": "one"})
		wantKeys(t, "note", one, "object id threadId content color pinned order createdAt updatedAt")
		two := c.do(200, "POST", base, obj{"content": "two", "color": "red"})
		c.refused(422, "invalid_field", "color", "POST", base, obj{"content": "x", "color": "black"})
		c.refused(422, "invalid_field", "content", "POST", base, obj{})
		order := func() string {
			var b []string
			for _, n := range rows(t, c, base) {
				b = append(b, n["content"].(string))
			}
			return strings.Join(b, " ")
		}
		c.do(200, "POST", base+"/reorder", obj{"ids": []any{two["id"], one["id"]}})
		if got := order(); got != "two one" {
			t.Errorf("notes %q", got)
		}
		c.refused(422, "invalid_field", "ids", "POST", base+"/reorder", obj{"ids": []any{two["id"]}})
		c.do(200, "PATCH", base+"/"+one["id"].(string), obj{"pinned": true, "content": "first"})
		if got := order(); got != "first two" {
			t.Errorf("notes %q", got)
		}
		// Notes go with a thread that is joined to another, and away with one that is deleted.
		other := ingest(t, s, mailText("b@example.com", "ada@example.com", "Other", "x"), IngestOptions{}).ThreadID
		c.do(200, "POST", "/threads/"+other+"/notes", obj{"content": "joined"})
		ingest(t, s, mailText("c@example.com", "ada@example.com", "Both", "x", "References: <a@example.com> <b@example.com>"), IngestOptions{})
		if got := order(); got != "first two joined" {
			t.Errorf("notes after joining %q", got)
		}
		c.do(200, "DELETE", base+"/"+two["id"].(string), nil)
		c.refused(404, "resource_not_found", "", "DELETE", base+"/"+two["id"].(string), nil)
		c.do(200, "DELETE", "/threads/"+id, nil)
		c.refused(404, "resource_not_found", "", "GET", base, nil)
	})
}

func TestFiles(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		content := "\x00\x01 <script>alert(1)</script>"
		res, raw := c.raw("POST", "/files?filename=..%2Freport.html", content, "Content-Type", "text/html; charset=utf-8")
		if res.StatusCode != 200 {
			t.Fatalf("upload: %s", raw)
		}
		up := rows(t, c, "/files")[0]
		wantKeys(t, "file", up, "object id filename mimeType sizeBytes direction threadId messageId deliveredTo usage deletable visibility publicUrl createdAt")
		if up["filename"] != "report.html" || up["direction"] != "uploaded" || up["sizeBytes"] != float64(len(content)) {
			t.Errorf("uploaded: %v", up)
		}
		res, raw = c.raw("GET", "/files/"+up["id"].(string)+"/content", "")
		if string(raw) != content || res.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("downloaded %q with %v", raw, res.Header)
		}
		c.refused(422, "invalid_field", "filename", "POST", "/files", "x")
		c.do(200, "POST", "/emails", send("bob@example.org", "attachments", []any{obj{"fileId": up["id"]}, obj{"filename": "b.txt", "content": base64.StdEncoding.EncodeToString([]byte("bee"))}}))
		c.refused(404, "resource_not_found", "attachments", "POST", "/emails", send("bob@example.org", "attachments", []any{obj{"fileId": "fil_99"}}))
		sent := rows(t, c, "/files?direction=outbound&sort=name")
		if len(sent) != 2 || sent[1]["filename"] != "report.html" || sent[1]["usage"] != "sent" || sent[1]["deletable"] != false {
			t.Fatalf("sent files: %v", sent)
		}
		if _, raw := c.raw("GET", "/files/"+sent[1]["id"].(string)+"/content", ""); string(raw) != content {
			t.Errorf("the attachment is %q", raw)
		}
		if got := c.do(200, "GET", "/files/"+sent[0]["id"].(string), nil); got["filename"] != "b.txt" {
			t.Errorf("file: %v", got)
		}
		var seen []string
		for path := "/files?limit=1&sort=largest"; path != ""; {
			p := c.do(200, "GET", path, nil)
			for _, f := range p["data"].([]any) {
				seen = append(seen, f.(obj)["id"].(string))
			}
			next, _ := p["nextCursor"].(string)
			if path = ""; next != "" {
				path = "/files?limit=1&sort=largest&cursor=" + next
			}
		}
		slices.Sort(seen)
		if len(seen) != 3 || len(slices.Compact(seen)) != 3 {
			t.Errorf("walked over %v", seen)
		}
		c.refused(409, "file_in_use", "", "DELETE", "/files/"+sent[0]["id"].(string), nil)
		// There are no links to files, so there is none to end.
		links := "/files/" + up["id"].(string) + "/links"
		if got := c.do(200, "DELETE", links, nil); got["revoked"] != 0.0 || got["fileId"] != up["id"] {
			t.Errorf("links that were ended: %v", got)
		}
		c.refused(404, "resource_not_found", "", "DELETE", links+"/lnk_1", nil)
		c.refused(404, "resource_not_found", "", "DELETE", "/files/fil_99/links", nil)
		c.refused(501, "not_available_locally", "", "POST", links, obj{})
		batch := c.do(200, "POST", "/files/batch-delete", obj{"ids": []any{up["id"], sent[0]["id"], "fil_77"}})
		if len(batch["deleted"].([]any)) != 1 || len(batch["kept"].([]any)) != 1 || len(batch["missing"].([]any)) != 1 {
			t.Errorf("batch delete: %v", batch)
		}
		stats := c.do(200, "GET", "/files/stats", nil)
		wantKeys(t, "stats", stats, "object totals received sent uploaded types byDay addresses links")
		if stats["sent"].(obj)["files"] != 2.0 || stats["uploaded"].(obj)["files"] != 0.0 {
			t.Errorf("stats: %v", stats)
		}
	})
}

func TestSettings(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		c.do(200, "PATCH", "/settings", obj{"signature": "Mia", "externalImages": true, "timeFormat": "12h"})
		c.do(200, "PATCH", "/settings?address=*%40example.net", obj{"signature": "Example Ltd"})
		got := c.do(200, "PATCH", "/settings?address=me%40example.net", obj{"externalImages": false})
		if got["signature"] != "Example Ltd" || got["externalImages"] != false || fmt.Sprint(got["overrides"]) != "[externalImages]" {
			t.Errorf("settings of the address: %v", got)
		}
		if _, there := got["timeFormat"]; there {
			t.Error("an address has settings of the account")
		}
		if got = c.do(200, "PATCH", "/settings?address=me%40example.net", obj{"externalImages": nil}); got["externalImages"] != true || len(got["overrides"].([]any)) != 0 {
			t.Errorf("settings that inherit again: %v", got)
		}
		if got = c.do(200, "GET", "/settings", nil); got["timeFormat"] != "12h" || got["defaultEmailAlias"] != me {
			t.Errorf("settings: %v", got)
		}
		c.refused(422, "invalid_field", "timeFormat", "PATCH", "/settings", obj{"timeFormat": "36h"})
		c.refused(422, "invalid_field", "language", "PATCH", "/settings?address=me%40example.net", obj{"language": "de"})
		c.refused(422, "invalid_field", "colour", "PATCH", "/settings", obj{"colour": "x"})
		c.refused(422, "invalid_field", "blockedWords", "PATCH", "/settings", obj{"blockedWords": "x"})
		c.do(200, "PATCH", "/settings", obj{"blockedDomains": []string{"*@bad.example"}, "blockedWords": []string{"Lottery"}})
		arrive(t, s, mailText("a@bad.example", "x@mail.bad.example", "Hello", "x"))
		arrive(t, s, mailText("b@example.com", "ada@example.com", "Hello", "You won the LOTTERY"))
		arrive(t, s, mailText("c@example.com", "ada@example.com", "Hi", "x"))
		if spam, inbox := c.folder("spam"), c.folder("inbox"); len(spam) != 2 || len(inbox) != 1 {
			t.Errorf("spam %v, inbox %v", spam, inbox)
		}
	})
}

func TestRules(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		label := c.do(200, "POST", "/labels", obj{"name": "Invoices"})["id"].(string)
		rule := func(name string, conditions []any, actions []any, more ...any) obj {
			body := obj{"name": name, "conditions": conditions, "actions": actions}
			for i := 0; i+1 < len(more); i += 2 {
				body[more[i].(string)] = more[i+1]
			}
			return c.do(200, "POST", "/rules", body)
		}
		first := rule("Invoices", []any{obj{"field": "subject", "op": "contains", "value": "INVOICE"}, obj{"field": "from_domain", "op": "equals", "value": "shop.example", "negate": false}},
			[]any{obj{"type": "label", "value": label}, obj{"type": "mark_read"}, obj{"type": "archive"}}, "stopProcessing", true)
		wantKeys(t, "rule", first, "object id name description enabled position match conditions actions stopProcessing lastMatchedAt matchCount createdAt updatedAt")
		second := rule("Star", []any{obj{"field": "from", "op": "matches", "value": `^ada@`}, obj{"field": "message_size", "op": "gt", "value": "100000"}},
			[]any{obj{"type": "star"}, obj{"type": "forward", "value": "copy@example.org"}, obj{"type": "reply", "value": "Thanks!"}}, "match", "any")
		for param, bad := range map[string]obj{
			"name":       {"conditions": []any{obj{"field": "from", "op": "equals", "value": "x"}}, "actions": []any{obj{"type": "star"}}},
			"conditions": {"name": "x", "conditions": []any{obj{"field": "from", "op": "matches", "value": "("}}, "actions": []any{obj{"type": "star"}}},
			"actions":    {"name": "x", "conditions": []any{obj{"field": "from", "op": "equals", "value": "x"}}, "actions": []any{obj{"type": "forward", "value": "x"}}},
		} {
			c.refused(422, "invalid_field", param, "POST", "/rules", bad)
		}
		invoice := arrive(t, s, mailText("a@shop.example", "Shop <bills@shop.example>", "Your invoice 7", "x"))
		if got := c.list("/threads?labelIds=" + label); !slices.Equal(got, []string{invoice.ThreadID}) {
			t.Errorf("labelled: %v", got)
		}
		if got := c.do(200, "GET", "/threads/"+invoice.ThreadID, nil); got["hasUnread"] != false {
			t.Error("the invoice is unread")
		}
		ada := arrive(t, s, mailText("b@example.com", "Ada <ada@example.com>", "Hi", "How are you?"))
		if got := c.folder("starred"); !slices.Equal(got, []string{ada.ThreadID}) {
			t.Errorf("starred: %v", got)
		}
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := sentTo(t, c, "copy@example.org"); len(got) != 1 || got[0]["subject"] != "Fwd: Hi" {
			t.Errorf("forwarded: %v", got)
		}
		if got := sentTo(t, c, "ada@example.com"); len(got) != 1 || got[0]["threadId"] != ada.ThreadID {
			t.Errorf("answered: %v", got)
		}
		// Old mail is sorted too, but nobody is written to because of it; nor are lists answered.
		ingest(t, s, mailText("c@shop.example", "bills@shop.example", "Old invoice", "x"), IngestOptions{})
		ingest(t, s, mailText("d@example.com", "ada@example.com", "Old", "x"), IngestOptions{})
		arrive(t, s, mailText("e@example.com", "ada@example.com", "List", "x", "List-Id: <tea.example.com>"))
		if got := c.list("/threads?labelIds=" + label); len(got) != 2 {
			t.Errorf("labelled after an import: %v", got)
		}
		if got := sentTo(t, c, "ada@example.com"); len(got) != 1 {
			t.Errorf("%d answers, want 1", len(got))
		}
		runs := rows(t, c, "/rules/runs?ruleId="+second["id"].(string))
		if len(runs) != 2 || fmt.Sprint(runs[1]["actions"]) != "[star forward:copy@example.org reply]" || len(runs[0]["failures"].([]any)) != 1 {
			t.Errorf("runs: %v", runs)
		}
		wantKeys(t, "run", runs[0], "object id ruleId ruleName threadId messageId sender subject actions failures createdAt")
		test := c.do(200, "POST", "/rules/"+first["id"].(string)+"/test", nil)
		wantKeys(t, "test", test, "object ruleId scanned matched wouldApply messages warnings")
		if test["matched"] != 2.0 || test["scanned"] != 5.0 {
			t.Errorf("test: %v", test)
		}
		c.do(200, "POST", "/rules/reorder", obj{"ruleIds": []any{second["id"]}})
		if got := rows(t, c, "/rules"); got[0]["id"] != second["id"] || got[1]["position"] != 1.0 {
			t.Errorf("order: %v", got)
		}
		c.do(200, "PATCH", "/rules/"+second["id"].(string), obj{"position": 1, "enabled": false})
		if got := rows(t, c, "/rules?enabled=true"); len(got) != 1 || got[0]["matchCount"] != 2.0 {
			t.Errorf("rules that are on: %v", got)
		}
		c.do(200, "DELETE", "/rules/"+second["id"].(string), nil)
		c.refused(404, "resource_not_found", "", "GET", "/rules/"+second["id"].(string), nil)
	})
}

func TestFollowUps(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		id := ingest(t, s, mailText("a@example.com", "ada@example.com", "Tea", "x"), IngestOptions{Folder: "archive"}).ThreadID
		soon := func(d time.Duration) string { return instant(clk.now().Add(d).UnixMilli()) }
		c.refused(422, "invalid_field", "remindAt", "POST", "/follow-ups", obj{"threadId": id, "remindAt": soon(-time.Hour)})
		c.refused(404, "resource_not_found", "threadId", "POST", "/follow-ups", obj{"threadId": "thr_99", "remindAt": soon(time.Hour)})
		old := c.do(200, "POST", "/follow-ups", obj{"threadId": id, "remindAt": soon(2 * time.Hour)})
		wantKeys(t, "follow-up", old, "object id threadId messageId emailId subject remindAt status answeredAt firedAt createdAt")
		set := c.do(200, "POST", "/follow-ups", obj{"threadId": id, "remindAt": soon(time.Hour)})
		if got := rows(t, c, "/follow-ups?status=waiting"); len(got) != 1 || got[0]["id"] != set["id"] {
			t.Errorf("waiting: %v", got)
		}
		clk.advance(time.Hour + time.Second)
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, c, "/follow-ups?threadId="+id+"&status=due"); len(got) != 1 || got[0]["firedAt"] == nil {
			t.Errorf("due: %v", got)
		}
		if got := c.folder("inbox"); !slices.Equal(got, []string{id}) {
			t.Errorf("the inbox holds %v after the reminder", got)
		}
		// A reminder that was set with a send ends when an answer comes.
		sent := c.do(200, "POST", "/emails", send("bob@example.org", "followUpAt", soon(time.Hour)))
		waiting := rows(t, c, "/follow-ups?status=waiting")
		if len(waiting) != 1 || waiting[0]["threadId"] != sent["threadId"] || waiting[0]["emailId"] != sent["id"] {
			t.Fatalf("reminder of the send: %v", waiting)
		}
		arrive(t, s, mailText("r@example.org", "bob@example.org", "Re: Hello", "x", "In-Reply-To: "+sent["messageId"].(string)))
		if got := rows(t, c, "/follow-ups?status=answered"); len(got) != 1 || got[0]["answeredAt"] == nil {
			t.Errorf("answered: %v", got)
		}
		later := c.do(200, "POST", "/emails", send("bob@example.org", "followUpAt", soon(time.Hour), "cancellableForSeconds", 60))
		c.do(200, "POST", "/emails/"+later["id"].(string)+"/cancel", nil)
		if got := rows(t, c, "/follow-ups?status=waiting"); len(got) != 0 {
			t.Errorf("a message that was taken back is followed up: %v", got)
		}
		if got := c.do(200, "DELETE", "/follow-ups/"+set["id"].(string), nil); got["status"] != "cancelled" {
			t.Errorf("cancelled: %v", got)
		}
	})
}

func TestTemplates(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		made := c.do(200, "POST", "/templates", obj{
			"name": "Welcome letter", "subject": "Hello {{name}}", "html": "<p>Dear {{name}}, {{greeting}} {{missing}}</p>",
			"props": []any{obj{"key": "name", "required": true}}, "slots": []any{obj{"key": "greeting", "default": "welcome!"}},
		})
		id := made["id"].(string)
		if made["slug"] != "welcome-letter" || made["status"] != "draft" || made["latestVersion"] != 1.0 {
			t.Errorf("template: %v", made)
		}
		preview := c.do(200, "POST", "/templates/welcome-letter/preview", obj{"props": obj{"name": "<Ada>"}})
		wantKeys(t, "preview", preview, "object templateId version subject html text warnings")
		if preview["html"] != "<p>Dear &lt;Ada&gt;, welcome! </p>" || preview["subject"] != "Hello <Ada>" || len(preview["warnings"].([]any)) != 1 {
			t.Errorf("preview: %v", preview)
		}
		body := obj{"from": me, "to": "bob@example.org", "props": obj{"name": "Bob"}}
		c.refused(422, "template_not_published", "template", "POST", "/templates/"+id+"/send", body)
		published := c.do(200, "POST", "/templates/"+id+"/versions", obj{"expectedVersion": 1})
		if published["state"] != "published" || published["template"].(obj)["status"] != "active" {
			t.Errorf("published: %v", published)
		}
		c.refused(409, "version_conflict", "", "PATCH", "/templates/"+id, obj{"expectedVersion": 7, "html": "x"})
		changed := c.do(200, "PATCH", "/templates/"+id, obj{"expectedVersion": 1, "html": "<p>Second</p>"})
		if changed["latestVersion"] != 2.0 || changed["publishedVersion"] != 1.0 {
			t.Errorf("changed: %v", changed)
		}
		sent := c.do(200, "POST", "/templates/"+id+"/send", body, "Idempotency-Key", "k1")
		if sent["replayed"] != false || sent["subject"] != "Hello Bob" || sent["template"].(obj)["version"] != 1.0 || sent["template"].(obj)["id"] != id {
			t.Errorf("sent: %v", sent)
		}
		c.do(200, "POST", "/templates/"+id+"/versions", nil)
		again := c.do(200, "POST", "/templates/"+id+"/send", body, "Idempotency-Key", "k1")
		if again["replayed"] != true || again["id"] != sent["id"] || again["template"].(obj)["version"] != 1.0 {
			t.Errorf("sent again: %v", again)
		}
		c.refused(422, "idempotency_key_reuse", "", "POST", "/templates/"+id+"/send", obj{"from": me, "to": "eve@example.org", "props": obj{"name": "Bob"}}, "Idempotency-Key", "k1")
		c.refused(422, "invalid_field", "props", "POST", "/templates/"+id+"/send", obj{"from": me, "to": "bob@example.org"})
		if got := c.do(200, "POST", "/emails", obj{"from": me, "to": "bob@example.org", "template": obj{"id": id, "version": 1, "props": obj{"name": "Eve"}}}); got["subject"] != "Hello Eve" {
			t.Errorf("sent as an email: %v", got)
		}
		if got := rows(t, c, "/templates/"+id+"/versions"); len(got) != 2 || got[0]["version"] != 2.0 {
			t.Errorf("versions: %v", got)
		}
		restored := c.do(200, "POST", "/templates/"+id+"/versions/1/restore", nil)
		if restored["restoredFrom"] != 1.0 || restored["latestVersion"] != 3.0 {
			t.Errorf("restored: %v", restored)
		}
		c.refused(409, "version_in_use", "", "DELETE", "/templates/"+id+"/versions/2", nil)
		c.do(200, "DELETE", "/templates/"+id+"/versions/1", nil)
		dup := c.do(200, "POST", "/templates/"+id+"/duplicate", nil)
		if dup["name"] != "Copy of Welcome letter" || dup["status"] != "draft" {
			t.Errorf("duplicate: %v", dup)
		}
		c.do(200, "PATCH", "/templates/"+id, obj{"status": "archived"})
		c.refused(422, "template_archived", "", "POST", "/templates/"+id+"/send", body)
		c.refused(501, "not_available_locally", "engine", "POST", "/templates", obj{"name": "x", "engine": "blocks"})
		c.do(200, "DELETE", "/templates/"+id, nil)
		c.refused(404, "resource_not_found", "", "GET", "/templates/"+id, nil)
	})
}

func TestOutOfOffice(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		list := rows(t, c, "/out-of-office")
		if len(list) != 2 || list[0]["enabled"] != false {
			t.Fatalf("at the beginning: %v", list)
		}
		wantKeys(t, "out of office", list[0], "object address enabled active startsAt endsAt subject message contactsOnly updatedAt")
		set := c.do(200, "PUT", "/out-of-office?address=me%40example.net", obj{"message": "Back on Monday.", "endsAt": instant(clk.now().Add(24 * time.Hour).UnixMilli())})
		if set["active"] != true || set["enabled"] != true {
			t.Errorf("set: %v", set)
		}
		c.refused(422, "invalid_field", "message", "PUT", "/out-of-office", obj{})
		c.refused(422, "invalid_field", "address", "PUT", "/out-of-office?address=x%40y.example", obj{"message": "x"})
		answers := func(to string, want int) {
			t.Helper()
			if err := s.runDue(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := sentTo(t, c, to); len(got) != want {
				t.Errorf("%d answers to %s, want %d", len(got), to, want)
			}
		}
		arrive(t, s, mailText("a@example.com", "ada@example.com", "Hi", "x"))
		arrive(t, s, mailText("b@example.com", "ada@example.com", "Hi again", "x"))
		answers("ada@example.com", 1)
		arrive(t, s, mailText("c@example.com", "news@example.com", "News", "x", "List-Unsubscribe: <https://example.com/u>"))
		arrive(t, s, mailText("d@example.com", "robot@example.com", "Robot", "x", "Auto-Submitted: auto-generated"))
		arrive(t, s, mailText("e@example.com", "no-reply@example.com", "Do not", "x"))
		answers("news@example.com", 0)
		answers("robot@example.com", 0)
		answers("no-reply@example.com", 0)
		c.do(200, "PUT", "/out-of-office", obj{"message": "x", "contactsOnly": true})
		arrive(t, s, mailText("f@example.com", "bob@example.com", "Hi", "x"))
		answers("bob@example.com", 0)
		c.do(200, "DELETE", "/out-of-office", nil)
		arrive(t, s, mailText("g@example.com", "ada@example.com", "Third", "x"))
		answers("ada@example.com", 1)
	})
}

func TestSubscriptions(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		news := arrive(t, s, mailText("a@example.com", "The News <news@paper.example>", "News", "x", "List-Unsubscribe: <https://paper.example/u?x=1>", "List-Unsubscribe-Post: List-Unsubscribe=One-Click"))
		arrive(t, s, mailText("b@example.com", "club@club.example", "Club", "x", "List-Unsubscribe: <mailto:leave@club.example?subject=leave%20me>"))
		list := c.do(200, "GET", "/subscriptions?sort=name", nil)
		wantKeys(t, "list", list, "object data total counts hasMore")
		first, second := list["data"].([]any)[0].(obj), list["data"].([]any)[1].(obj)
		wantKeys(t, "subscription", second, "object id senderEmail senderName recipient status method linkUrl unread recent total sinceUnsubscribed lastSeenAt unsubscribedAt unsubscribedWith future")
		if first["method"] != "email" || second["method"] != "link" || second["linkUrl"] != "https://paper.example/u?x=1" || second["unread"] != 1.0 {
			t.Errorf("subscriptions: %v", list)
		}
		// A web page is left to the person.
		got := c.do(200, "POST", "/threads/"+news.ThreadID+"/unsubscribe", nil)
		wantKeys(t, "unsubscribe", got, "object subscriptionId threadId method url binned")
		if got["method"] != "link" || got["url"] != "https://paper.example/u?x=1" {
			t.Errorf("unsubscribe: %v", got)
		}
		got = c.do(200, "POST", "/subscriptions/"+first["id"].(string)+"/unsubscribe", obj{"bin": true})
		if got["method"] != "email" || got["binned"] != 1.0 {
			t.Errorf("unsubscribe by mail: %v", got)
		}
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
		if mails := sentTo(t, c, "leave@club.example"); len(mails) != 1 || mails[0]["subject"] != "leave me" {
			t.Errorf("mails: %v", mails)
		}
		move := c.do(200, "POST", "/subscriptions/"+second["id"].(string)+"/move", obj{"destination": "archive", "future": true})
		if move["moved"] != 1.0 || move["ruleId"] == nil {
			t.Errorf("move: %v", move)
		}
		clk.advance(time.Minute)
		arrive(t, s, mailText("c@example.com", "news@paper.example", "More news", "x", "List-Unsubscribe: <https://paper.example/u?x=2>"))
		if got := c.folder("inbox"); len(got) != 0 {
			t.Errorf("inbox: %v", got)
		}
		after := rows(t, c, "/subscriptions?status=unsubscribed&q=news")[0]
		if after["sinceUnsubscribed"] != 1.0 || after["future"].(obj)["destination"] != "archive" {
			t.Errorf("after: %v", after)
		}
		domains := c.do(200, "GET", "/subscriptions/domains", nil)
		wantKeys(t, "domain", domains["data"].([]any)[0].(obj), "object domain name sampleEmail senders unsubscribable unread recent total sinceUnsubscribed lastSeenAt")
		if got := c.do(200, "POST", "/subscriptions/domains/club.example/unsubscribe", nil); got["skipped"] != 1.0 {
			t.Errorf("domain: %v", got)
		}
		plain := ingest(t, s, mailText("z@example.com", "ada@example.com", "Tea", "x"), IngestOptions{})
		c.refused(422, "nothing_to_unsubscribe", "", "POST", "/threads/"+plain.ThreadID+"/unsubscribe", nil)
	})
}

func TestSuppressionsAndCategories(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		sup := c.do(200, "POST", "/suppressions", obj{"email": "Gone@example.org"})
		wantKeys(t, "suppression", sup, "object id email reason detail removable createdAt")
		e := c.do(200, "POST", "/emails", send("gone@example.org", "cc", "bob@example.org"))
		if r := e["recipients"].([]any); e["status"] != "sent" || r[0].(obj)["status"] != "suppressed" || r[1].(obj)["status"] == "suppressed" {
			t.Errorf("to one that is suppressed: %v", e)
		}
		if e := c.do(200, "POST", "/emails", send("gone@example.org")); e["status"] != "failed" || e["lastError"] == nil {
			t.Errorf("to nobody else: %v", e)
		}
		if got := c.do(200, "DELETE", "/suppressions/"+sup["id"].(string), nil); got["email"] != "gone@example.org" {
			t.Errorf("removed: %v", got)
		}
		shop := arrive(t, s, mailText("a@example.com", "Shop@example.com", "Sale", "x")).ThreadID
		ada := arrive(t, s, mailText("b@example.com", "ada@example.com", "Tea", "x")).ThreadID
		c.refused(422, "invalid_field", "category", "PUT", "/sender-categories/shop%40example.com", obj{"category": "rubbish"})
		wantKeys(t, "category", c.do(200, "PUT", "/sender-categories/shop%40example.com", obj{"category": "promotions"}), "object sender category updatedAt")
		if p, q := c.list("/threads?folder=inbox&category=promotions"), c.list("/threads?folder=inbox&category=primary"); !slices.Equal(p, []string{shop}) || !slices.Equal(q, []string{ada}) {
			t.Errorf("promotions %v, primary %v", p, q)
		}
		for _, v := range c.do(200, "GET", "/threads/counts", nil)["categories"].([]any) {
			want := map[string]float64{"primary": 1, "promotions": 1}
			if v := v.(obj); v["count"] != want[v["category"].(string)] {
				t.Errorf("count: %v", v)
			}
		}
		c.do(200, "DELETE", "/sender-categories/shop%40example.com", nil)
		if got := rows(t, c, "/sender-categories"); len(got) != 0 {
			t.Errorf("left: %v", got)
		}
	})
}

func TestTempMail(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		domain := rows(t, c, "/temp-mail/domains")[0]["domain"].(string)
		box := c.do(200, "POST", "/temp-mail/inboxes", obj{"localPart": "trial", "ttlMinutes": 5})
		wantKeys(t, "inbox", box, "object id address domain createdAt expiresAt extensionsLeft messageCount messageLimit lastMessageAt token")
		if box["address"] != "trial@"+domain {
			t.Errorf("address: %v", box["address"])
		}
		c.refused(409, "address_taken", "", "POST", "/temp-mail/inboxes", obj{"localPart": "trial"})
		path := "/temp-mail/inboxes/" + box["id"].(string)
		sent := c.do(200, "POST", "/emails", send("trial@"+domain, "bcc", []string{"bob@example.org"}, "attachments", []any{obj{"filename": "a.txt", "content": "aGk="}}))
		if r := sent["recipients"].([]any)[0].(obj); r["status"] != "delivered" {
			t.Errorf("recipient: %v", r)
		}
		messages := c.do(200, "GET", path+"/messages", nil)
		wantKeys(t, "messages", messages, "object data hasMore nextCursor expiresAt")
		m := messages["data"].([]any)[0].(obj)
		wantKeys(t, "message", m, "object id from to subject snippet spam seen attachmentCount sizeBytes receivedAt")
		full := c.do(200, "GET", path+"/messages/"+m["id"].(string), nil)
		if text := full["message"].(obj)["text"]; !strings.Contains(fmt.Sprint(text), "Hello there") || len(full["message"].(obj)["bcc"].([]any)) != 0 {
			t.Errorf("message: %v", full)
		}
		if a := rows(t, c, path+"/messages/"+m["id"].(string)+"/attachments"); len(a) != 1 || a[0]["body"] != "aGk=" {
			t.Errorf("attachments: %v", a)
		}
		if again := c.do(200, "POST", path+"/extend", nil); again["extensionsLeft"] != 2.0 || again["token"] == box["token"] {
			t.Errorf("extended: %v", again)
		}
		c.do(200, "DELETE", path+"/messages/"+m["id"].(string), nil)
		clk.advance(2 * time.Hour)
		c.refused(404, "resource_not_found", "", "GET", path, nil)
		late := c.do(200, "POST", "/emails", send("trial@"+domain))
		if late["status"] == "sent" && late["recipients"].([]any)[0].(obj)["status"] == "delivered" {
			t.Errorf("delivered to a mailbox that is over: %v", late)
		}
	})
}
