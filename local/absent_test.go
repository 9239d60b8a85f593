package local

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table of routes is that of the client, which is that of the contract.
func TestOperationsAreThoseOfTheClient(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "api", "operations.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(raw)) {
		b.WriteString(strings.Join(strings.SplitN(line, "\t", 4)[:3], "\t") + "\n")
	}
	if b.String() != operationsTable {
		t.Error("operations.tsv is not made of the first three columns of ../api/operations.tsv")
	}
}

// Every operation of the contract is either here or says clearly that it is not.
func TestEveryOperationIsKnown(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	here := map[string]int{}
	for _, op := range operations() {
		path := op.path
		for p := range strings.SplitSeq(op.path, "/") {
			if strings.HasPrefix(p, ":") {
				path = strings.Replace(path, p, "nobody%40example.com", 1)
			}
		}
		res, raw := c.raw(op.verb, path, "{}")
		space, _, _ := strings.Cut(op.name, ".")
		switch {
		case res.StatusCode == http.StatusNotImplemented:
			if !strings.Contains(string(raw), `"not_available_locally"`) || !strings.Contains(string(raw), `"message":"`+op.name+" ") && !strings.Contains(string(raw), op.name) && op.name != "imports.importFiles" && op.name != "me.rotate" {
				t.Errorf("%s: %s", op.name, raw)
			}
		case strings.Contains(string(raw), `"route_not_found"`), strings.Contains(string(raw), `"method_not_allowed"`), strings.Contains(string(raw), `"internal_error"`):
			t.Errorf("%s %s: %s", op.verb, op.path, raw)
		default:
			here[space]++
		}
	}
	for _, space := range []string{
		"addresses", "calendar", "contacts", "drafts", "emails", "files", "followUps", "keys", "labels", "me", "outOfOffice", "rules",
		"settings", "subscriptions", "suppressions", "tempMail", "templates", "threads",
	} {
		if here[space] == 0 {
			t.Errorf("nothing of %s is here", space)
		}
	}
	for _, space := range []string{"billing", "domains", "webhooks", "chats", "knowledge", "broadcasts", "members"} {
		if here[space] != 0 {
			t.Errorf("something of %s is here", space)
		}
	}
}
