package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestBig measures a large mailbox. It runs only when TEAPOST_BIG names a number of messages.
func TestBig(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("TEAPOST_BIG"))
	if n == 0 {
		t.Skip("TEAPOST_BIG is not set")
	}
	words := make([]string, 5000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range words {
		var b strings.Builder
		for range 3 + rng.IntN(7) {
			b.WriteByte(byte('a' + rng.IntN(26)))
		}
		words[i] = b.String()
	}
	text := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(words[min(rng.IntN(5000), rng.IntN(5000))])
			b.WriteByte(" \n"[min(1, i%12/11)])
		}
		return b.String()
	}
	clk := newClock()
	dir := t.TempDir()
	s := open(t, dir, clk)
	began := time.Now()
	const batch = 500
	for i := 0; i < n; {
		var items []Item
		for range batch {
			var extra []string
			if i%3 != 0 {
				extra = []string{fmt.Sprintf("References: <m%d@example.com>", i/3*3)}
			}
			from := fmt.Sprintf("Person %d <p%d@example.com>", i%900, i%900)
			folder := []string{"inbox", "archive", "archive", "sent"}[i%4]
			items = append(items, Item{
				Raw:           mailText(fmt.Sprintf("m%d@example.com", i), from, text(5), text(120), extra...),
				IngestOptions: IngestOptions{Folder: folder, Unread: i%7 == 0, ReceivedAt: clk.now().Add(-time.Duration(n-i) * time.Minute)},
			})
			i++
		}
		if _, err := s.IngestBatch(context.Background(), items); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(began)
	fi, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d messages in %v, %.0f a second, file %d MB", n, took, float64(n)/took.Seconds(), fi.Size()>>20)
	c := direct(t, s)
	timed := func(what, path string) obj {
		c.do(200, "GET", path, nil)
		began := time.Now()
		out := c.do(200, "GET", path, nil)
		size := -1
		if d, ok := out["data"].([]any); ok {
			size = len(d)
		}
		t.Logf("%-40s %8.2f ms  %d", what, float64(time.Since(began).Microseconds())/1000, size)
		return out
	}
	first := timed("inbox", "/threads?folder=inbox&limit=50")
	timed("all", "/threads?limit=50")
	timed("sent by sender", "/threads?folder=sent&sort=sender&limit=50")
	timed("counts", "/threads/counts")
	timed("thread", "/threads/"+first["data"].([]any)[0].(obj)["id"].(string))
	for _, q := range []string{words[0], words[4000], words[0][:1], words[3000] + " " + words[0], "from:p77", "is:unread", "is:unread " + words[10], "has:attachment", "-" + words[0], "before:2025-12-01", `"` + words[1] + " " + words[2] + `"`, "in:spam", "zzzzzz"} {
		timed("query "+q, "/threads?limit=50&query="+url.QueryEscape(q))
	}
	timed("people", "/contacts/people?q=person")
	timed("people by threads", "/contacts/people?sort=threads")
	began = time.Now()
	c.do(200, "POST", "/emails", send(me))
	t.Logf("send to self %v", time.Since(began))
}
