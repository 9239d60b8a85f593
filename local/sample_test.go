package local

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"net/http"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/internal/mailparse"
)

func openSample(t *testing.T, dir string, clk *clock) *Server {
	t.Helper()
	s := open(t, dir, clk, func(o *Options) { o.Addresses, o.Name, o.Reply = nil, "", SampleReply })
	if err := s.AddSample(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSampleShowsTheProduct(t *testing.T) {
	clk := newClock()
	s := openSample(t, t.TempDir(), clk)
	c := direct(t, s)
	for folder, least := range map[string]int{"inbox": 20, "sent": 8, "archive": 3, "spam": 2, "trash": 1, "snoozed": 1, "starred": 2} {
		if got := len(c.folder(folder)); got < least {
			t.Errorf("%s holds %d threads, want at least %d", folder, got, least)
		}
	}
	if total := len(c.folder("all")) + len(c.folder("spam")) + len(c.folder("trash")) + len(c.folder("snoozed")); total < 28 || total > 40 {
		t.Errorf("%d threads, want about 30", total)
	}
	if n := len(c.list("/drafts")); n != 2 {
		t.Errorf("%d drafts", n)
	}
	if got := s.Addresses(); len(got) != 1 || got[0] != "ada@example.com" {
		t.Errorf("addresses %q", got)
	}
	first := c.do(http.StatusOK, http.MethodGet, "/threads/"+c.folder("inbox")[0], nil)
	messages := first["messages"].([]any)
	if messages[0].(obj)["subject"] != "Welcome to teapost" || len(messages) != 3 || first["hasUnread"] != true {
		t.Errorf("the first thread is %v", messages[0].(obj)["subject"])
	}
	var invite, files, html, long, unread int
	for _, id := range c.folder("inbox") {
		th := c.do(http.StatusOK, http.MethodGet, "/threads/"+id, nil)
		list := th["messages"].([]any)
		if len(list) >= 17 {
			long++
		}
		if th["hasUnread"] == true {
			unread++
		}
		last := ""
		for _, m := range list {
			m := m.(obj)
			text := fmt.Sprint(m["text"], m["subject"], m["html"])
			if strings.Contains(text, "{me}") || strings.Contains(text, "{owner}") || strings.Contains(text, "Attach:") || strings.Contains(text, "%%message") {
				t.Errorf("%v holds a placeholder: %s", m["subject"], text)
			}
			if at := m["receivedAt"].(string); at < last {
				t.Errorf("%v: %s comes after %s", m["subject"], at, last)
			} else {
				last = at
			}
			if h, _ := m["html"].(string); h != "" {
				html++
			}
			a, _ := m["attachments"].([]any)
			files += len(a)
		}
		if resp, _ := c.raw(http.MethodGet, "/threads/"+id+"/event", ""); resp.StatusCode == http.StatusOK {
			invite++
		}
	}
	if invite != 1 || files < 7 || html < 3 || long != 1 || unread < 5 {
		t.Errorf("invites %d, files %d, html %d, long threads %d, unread %d", invite, files, html, long, unread)
	}
}

func TestSampleIsAddedOnce(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	s := openSample(t, dir, clk)
	before, _ := direct(t, s).count("inbox")
	clk.advance(48 * time.Hour)
	if err := s.AddSample(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openSample(t, dir, clk)
	// The snoozed thread woke in the two days between.
	if after, _ := direct(t, again).count("inbox"); after != before+1 {
		t.Errorf("%d threads, before %d", after, before)
	}
	if got := again.Addresses(); got[0] != "ada@example.com" {
		t.Errorf("addresses %q", got)
	}
}

func TestSampleTakesTheOwnersAddress(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	if err := s.AddSample(context.Background()); err != nil {
		t.Fatal(err)
	}
	c := direct(t, s)
	th := c.do(http.StatusOK, http.MethodGet, "/threads/"+c.folder("inbox")[1], nil)
	if s.Addresses()[0] != me || !strings.Contains(fmt.Sprint(th["messages"]), me) || strings.Contains(fmt.Sprint(th["messages"]), "ada@example.com") {
		t.Errorf("the sample is not for %s: %v", me, th["messages"])
	}
}

// TestSampleAtAnyHour holds that no message of a thread is older than the one before it and none lies in
// the future, whatever the time of day.
func TestSampleAtAnyHour(t *testing.T) {
	threads, _, err := readSample()
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []time.Time{time.Date(2026, 3, 10, 0, 0, 0, 0, zone), time.Date(2026, 3, 29, 0, 0, 0, 0, zone)} {
		for hour := range 24 {
			b := &sampleBuilder{now: day.Add(time.Duration(hour)*time.Hour + 5*time.Minute), owner: mailparse.Address{Name: "Ada", Email: "ada@example.com"}}
			for _, th := range threads {
				last := time.Time{}
				for _, m := range th.messages {
					at, err := b.when(m)
					if err != nil {
						t.Fatal(th.slug, err)
					}
					if at.Before(last) || at.After(b.now) {
						t.Errorf("at %v, thread %s: a message of %v follows one of %v", b.now, th.slug, at, last)
					}
					last = at
				}
			}
		}
	}
}

func TestSampleMailIsClean(t *testing.T) {
	threads, _, err := readSample()
	if err != nil {
		t.Fatal(err)
	}
	b := &sampleBuilder{now: newClock().now(), owner: mailparse.Address{Name: "Ada", Email: "ada@example.com"}}
	seen := map[string]bool{}
	for _, th := range threads {
		items, err := b.thread(th)
		if err != nil {
			t.Fatal(th.slug, err)
		}
		if seen[th.slug] {
			t.Errorf("two threads are called %s", th.slug)
		}
		seen[th.slug] = true
		for _, it := range items {
			m, err := mailparse.Parse(context.Background(), it.Raw, mailparse.Limits{})
			if err != nil || len(m.Problems) > 0 {
				t.Errorf("%s: %v %v", th.slug, err, m.Problems)
			}
			for _, list := range [][]mailparse.Address{m.From, m.To, m.Cc} {
				for _, a := range list {
					host := a.Email[strings.LastIndexByte(a.Email, '@')+1:]
					if !strings.HasSuffix(host, ".example") && !strings.HasSuffix("."+host, ".example.com") && !strings.HasSuffix("."+host, ".example.org") && !strings.HasSuffix("."+host, ".example.net") {
						t.Errorf("%s: %s is not a reserved name", th.slug, a.Email)
					}
				}
			}
			for i, a := range m.Attachments {
				_, data, err := mailparse.OpenAttachment(it.Raw, i)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case a.ContentType == "image/png":
					if _, err := png.Decode(bytes.NewReader(data)); err != nil {
						t.Errorf("%s: %v", a.Filename, err)
					}
				case a.ContentType == "application/pdf":
					if !bytes.HasPrefix(data, []byte("%PDF-")) || !isPlainASCII(data) {
						t.Errorf("%s is no PDF of ASCII text", a.Filename)
					}
				}
			}
		}
	}
}

func isPlainASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func TestSamplePeopleAnswerOnce(t *testing.T) {
	clk := newClock()
	s := openSample(t, t.TempDir(), clk)
	c := direct(t, s)
	thread := ""
	for _, id := range c.folder("inbox") {
		th := c.do(http.StatusOK, http.MethodGet, "/threads/"+id, nil)
		if th["messages"].([]any)[0].(obj)["subject"] == "Compiler notes" {
			thread = id
		}
	}
	e := c.do(http.StatusOK, http.MethodPost, "/emails", obj{
		"from": "Ada <ada@example.com>", "to": []string{"Grace Hall <grace@example.org>", "nobody@elsewhere.example"}, "cc": []string{"lin@example.org"},
		"subject": "Re: Compiler notes", "text": "That is exactly what I had in mind.", "threadId": thread,
	}, "Idempotency-Key", "sample-1")
	count := func() int {
		return len(c.do(http.StatusOK, http.MethodGet, "/threads/"+thread, nil)["messages"].([]any))
	}
	if e["threadId"] != thread || count() != 5 {
		t.Fatalf("sent into %v with %d messages, want %s", e["threadId"], count(), thread)
	}
	for range 10 {
		clk.advance(time.Minute)
		if err := s.runDue(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if count() != 7 {
		t.Errorf("%d messages, want one answer of Grace and one of Lin", count())
	}
	th := c.do(http.StatusOK, http.MethodGet, "/threads/"+thread, nil)
	answer := th["messages"].([]any)[5].(obj)
	text := answer["text"].(string)
	if answer["unread"] != true || !strings.Contains(text, "> That is exactly what I had in mind.") || !strings.Contains(text, "sample mailbox") {
		t.Errorf("answer %v", answer)
	}
	if c.folder("inbox")[0] != thread {
		t.Error("the answered thread is not on top")
	}
}

func TestSampleReplyIsNoEcho(t *testing.T) {
	build := func(to string, headers ...mailparse.Field) Sent {
		raw, err := mailparse.Build(mailparse.Outgoing{From: mailparse.Address{Email: "ada@example.com"}, To: mailparse.ParseAddressList(to), Subject: "x", Text: "hello", Headers: headers})
		if err != nil {
			t.Fatal(err)
		}
		return Sent{From: mailparse.Address{Email: "ada@example.com"}, To: []string{to}, MessageID: "<x@y>", SentAt: time.Unix(0, 0), Raw: raw}
	}
	if got := SampleReply(build("grace@example.org", mailparse.Field{Name: "Auto-Submitted", Value: "auto-replied"})); got != nil {
		t.Error("automatic mail was answered")
	}
	if got := SampleReply(build("somebody@example.org")); got != nil {
		t.Error("a stranger answered")
	}
	sent := build("grace@example.org")
	sent.To = append(sent.To, "GRACE@example.org")
	if got := SampleReply(sent); len(got) != 1 || !got[0].At.After(sent.SentAt) {
		t.Errorf("answers %v", got)
	}
}
