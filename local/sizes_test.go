package local

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What is too much is refused with the name of the field and the most that there may be, and never ends as an internal error.
func TestHostileSizes(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	thread := arrive(t, s, mailText("1@example.com", "ada@example.com", "Tea", "x")).ThreadID
	rule := c.do(200, "POST", "/rules", obj{
		"name": "x", "conditions": []any{obj{"field": "from", "op": "equals", "value": "x"}}, "actions": []any{obj{"type": "star"}},
	})["id"].(string)
	c.do(200, "POST", "/contacts", obj{"email": "ada@example.com"})
	many := func(n int, form string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf(form, i)
		}
		return out
	}
	words := strings.Repeat("a+", 20_000) + "a"
	long := strings.Repeat("x", 1<<20)
	for _, tc := range []struct {
		param, method, path string
		body                any
	}{
		{"q", "GET", "/contacts?q=" + words, nil},
		{"q", "GET", "/contacts/people?q=" + words, nil},
		{"q", "GET", "/contacts/ada%40example.com/threads?q=" + words, nil},
		{"q", "GET", "/files?q=" + words, nil},
		{"query", "GET", "/drafts?query=" + words, nil},
		{"search", "GET", "/templates?search=" + words, nil},
		{"addLabelIds", "PATCH", "/threads/" + thread, obj{"addLabelIds": many(100_000, "lbl_%d")}},
		{"removeLabelIds", "PATCH", "/threads/" + thread, obj{"removeLabelIds": many(100_000, "lbl_%d")}},
		{"ids", "POST", "/threads/" + thread + "/notes/reorder", obj{"ids": many(100_000, "note_%d")}},
		{"content", "POST", "/threads/" + thread + "/notes", obj{"content": long}},
		{"ruleIds", "POST", "/rules/reorder", obj{"ruleIds": many(100_000, "rule_%d")}},
		{"threadIds", "POST", "/rules/" + rule + "/test", obj{"threadIds": many(100_000, "thr_%d")}},
		{"emails", "POST", "/contacts/batch-delete", obj{"emails": many(100_000, "a%d@example.com")}},
		{"ids", "POST", "/files/batch-delete", obj{"ids": many(100_000, "fil_%d")}},
		{"scopes", "POST", "/keys", obj{"name": "x", "scopes": many(100_000, "threads:read%d")}},
		{"addressAllowlist", "POST", "/keys", obj{"name": "x", "addressAllowlist": many(100_000, "a%d@example.com")}},
		{"name", "POST", "/keys", obj{"name": long}},
		{"name", "POST", "/labels", obj{"name": long}},
		{"name", "POST", "/contacts", obj{"email": "bob@example.com", "name": long}},
		{"notes", "POST", "/contacts", obj{"email": "bob@example.com", "notes": long}},
		{"signature", "PATCH", "/settings", obj{"signature": long}},
		{"blockedWords", "PATCH", "/settings", obj{"blockedWords": many(100_000, "w%d")}},
		{"message", "PUT", "/out-of-office?address=" + me, obj{"message": long}},
		{"email", "POST", "/suppressions", obj{"email": long + "@example.com"}},
		{"response", "POST", "/calendar/events/evt_1/respond", obj{"response": long}},
	} {
		res, raw := c.raw(tc.method, tc.path, jsonText(t, tc.body))
		if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(raw), `"param":"`+tc.param+`"`) {
			t.Errorf("%s %.60s: %d %.300s", tc.method, tc.path, res.StatusCode, raw)
		}
		if len(raw) > 2000 {
			t.Errorf("%s %.60s: the answer has %d bytes", tc.method, tc.path, len(raw))
		}
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	if v == nil {
		return ""
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
