package local

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
)

func subjects(c *client, ids []string) []string {
	var out []string
	for _, id := range ids {
		th := c.do(200, "GET", "/threads/"+id, nil)
		out = append(out, th["messages"].([]any)[0].(obj)["subject"].(string))
	}
	return out
}

func TestSearchCases(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	ingestMbox(t, s, "search.mbox")
	c := direct(t, s)
	raw, err := os.ReadFile("testdata/queries.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n")[1:] {
		row := strings.Split(line, "\t")
		got := subjects(c, c.list("/threads?query="+url.QueryEscape(row[0])))
		if row[1] == "" {
			if len(got) != 0 {
				t.Errorf("%s: found %q, want nothing", row[0], got)
			}
			continue
		}
		if !slices.Contains(got[:min(3, len(got))], row[1]) {
			t.Errorf("%s: found %q, want %q among the first three", row[0], got, row[1])
		}
	}
}
