package local

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestThreading(t *testing.T) {
	type m struct {
		id, subject string
		extra       []string
	}
	reply := func(ids ...string) []string {
		s := "References:"
		for _, id := range ids {
			s += " <" + id + ">"
		}
		return []string{s}
	}
	for name, tc := range map[string]struct {
		mails []m
		want  [][]int // the mails of each thread
	}{
		"in order":               {[]m{{"a", "S", nil}, {"b", "Re: S", reply("a")}, {"c", "Other words", reply("a", "b")}}, [][]int{{0, 1, 2}}},
		"answer first":           {[]m{{"b", "Re: S", reply("a")}, {"a", "S", nil}}, [][]int{{0, 1}}},
		"missing root":           {[]m{{"b", "Re: S", reply("gone")}, {"c", "Re: S", reply("gone")}}, [][]int{{0, 1}}},
		"joined late":            {[]m{{"a", "S", nil}, {"c", "Re: S", reply("b")}, {"b", "Re: S", reply("a")}}, [][]int{{0, 1, 2}}},
		"strangers":              {[]m{{"a", "Hello", nil}, {"b", "Hello", nil}}, [][]int{{0}, {1}}},
		"in-reply-to":            {[]m{{"a", "S", nil}, {"b", "x", []string{"In-Reply-To: <a>"}}}, [][]int{{0, 1}}},
		"commas":                 {[]m{{"a@x", "S", nil}, {"b@x", "S", nil}, {"c@x", "x", []string{"References: <a@x>, <b@x>"}}}, [][]int{{0, 1, 2}}},
		"empty ids":              {[]m{{"", "S", []string{"References: <>"}}, {"", "T", []string{"In-Reply-To: <>"}}}, [][]int{{0}, {1}}},
		"loop":                   {[]m{{"a", "S", reply("b")}, {"b", "S", reply("a")}, {"c", "S", reply("c")}}, [][]int{{0, 1}, {2}}},
		"one id, other messages": {[]m{{"a", "S", nil}, {"a", "T", nil}}, [][]int{{0, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), newClock())
			c := direct(t, s)
			for _, mail := range tc.mails {
				ingest(t, s, mailText(mail.id, "ada@example.com", mail.subject, "x", mail.extra...), IngestOptions{})
			}
			if n := len(c.folder("all")); n != len(tc.want) {
				t.Fatalf("%d threads, want %d", n, len(tc.want))
			}
			// Ingesting again finds each message where it is now.
			for i, group := range tc.want {
				var thread string
				for _, k := range group {
					mail := tc.mails[k]
					got := ingest(t, s, mailText(mail.id, "ada@example.com", mail.subject, "x", mail.extra...), IngestOptions{})
					if !got.Duplicate {
						t.Fatalf("mail %d was stored twice", k)
					}
					if thread == "" {
						thread = got.ThreadID
					}
					if got.ThreadID != thread {
						t.Errorf("mail %d is in %s, want %s", k, got.ThreadID, thread)
					}
				}
				if th := c.do(200, "GET", "/threads/"+thread, nil); th["messageCount"] != float64(len(group)) {
					t.Errorf("thread %d: %v messages", i, th["messageCount"])
				}
			}
		})
	}
}

func TestCaseThreads(t *testing.T) {
	for file, want := range map[string][2]int{"loop.mbox": {3, 2}, "same-subject.mbox": {3, 2}, "broken-middle.mbox": {3, 3}} {
		s := open(t, t.TempDir(), newClock())
		got := ingestMbox(t, s, file)
		if n := len(direct(t, s).folder("all")); len(got) != want[0] || n != want[1] {
			t.Errorf("%s: %d messages in %d threads, want %v", file, len(got), n, want)
		}
	}
}

func TestMergedThreadKeepsItsOldID(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	ingest(t, s, mailText("a", "ada@example.com", "S", "x"), IngestOptions{Folder: "archive"})
	old := ingest(t, s, mailText("c", "ada@example.com", "S", "x", "References: <b>"), IngestOptions{Labels: []string{"Kept"}, Unread: true}).ThreadID
	ingest(t, s, mailText("b", "ada@example.com", "S", "x", "References: <a>"), IngestOptions{})
	if th := c.do(200, "GET", "/threads/"+old, nil); th["messageCount"] != 3.0 || th["hasUnread"] != true || len(th["labels"].([]any)) != 2 {
		t.Errorf("by its old id: %v", th)
	}
	c.do(200, "PATCH", "/threads/"+old, obj{"read": true})
	c.do(200, "POST", "/threads/"+old+"/trash", nil)
	if n, u := c.count("bin"); n != 1 || u != 0 {
		t.Errorf("bin: %d, %d unread", n, u)
	}
}

func TestSnooze(t *testing.T) {
	both(t, func(t *testing.T, s *Server, clk *clock, c *client) {
		old := ingest(t, s, mailText("a", "ada@example.com", "Old", "x"), IngestOptions{Starred: true, Labels: []string{"L"}}).ThreadID
		newer := ingest(t, s, mailText("b", "ada@example.com", "New", "x"), IngestOptions{ReceivedAt: clk.now()}).ThreadID
		wake := clk.now().Add(time.Hour)
		got := c.do(200, "POST", "/threads/"+old+"/snooze", obj{"wakeAt": wake.In(time.FixedZone("", 3600)).Format(time.RFC3339)})
		if got["snoozedUntil"] != instant(wake.UnixMilli()) {
			t.Errorf("snooze: %v", got)
		}
		for _, folder := range []string{"inbox", "all", "starred", "archive"} {
			if slices.Contains(c.folder(folder), old) {
				t.Errorf("a snoozed thread is in %s", folder)
			}
		}
		if got := c.folder("snoozed"); !slices.Equal(got, []string{old}) {
			t.Errorf("snoozed: %v", got)
		}
		if got := c.list("/threads?query=is:snoozed"); !slices.Equal(got, []string{old}) {
			t.Errorf("is:snoozed: %v", got)
		}
		if got := c.list("/threads?labelIds=lbl_1"); len(got) != 0 {
			t.Errorf("under its label: %v", got)
		}
		if th := c.do(200, "GET", "/threads/"+old, nil); th["snoozedUntil"] != instant(wake.UnixMilli()) {
			t.Errorf("thread: %v", th["snoozedUntil"])
		}
		due := func() {
			if err := s.runDue(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		clk.advance(59 * time.Minute)
		due()
		if n := len(c.folder("snoozed")); n != 1 {
			t.Errorf("woke early")
		}
		clk.advance(time.Minute)
		due()
		if got := c.folder("inbox"); !slices.Equal(got, []string{old, newer}) {
			t.Errorf("after waking: %v, want the woken one first", got)
		}
		c.do(200, "POST", "/threads/"+newer+"/snooze", obj{"wakeAt": instant(clk.now().Add(time.Hour).UnixMilli())})
		if got := c.do(200, "POST", "/threads/"+newer+"/unsnooze", nil); got["snoozedUntil"] != nil {
			t.Errorf("unsnooze: %v", got)
		}
		if got := c.folder("inbox"); !slices.Equal(got, []string{old, newer}) {
			t.Errorf("after unsnoozing: %v", got)
		}
		// A new message wakes.
		c.do(200, "POST", "/threads/"+newer+"/snooze", obj{"wakeAt": instant(clk.now().Add(time.Hour).UnixMilli())})
		ingest(t, s, mailText("d", "ada@example.com", "Re: New", "x", "References: <b>"), IngestOptions{Arrival: true, Unread: true, ReceivedAt: clk.now()})
		if got := c.folder("inbox"); len(got) != 2 || len(c.folder("snoozed")) != 0 {
			t.Errorf("after an answer: %v", got)
		}
		// Old mail that is imported does not.
		c.do(200, "POST", "/threads/"+newer+"/snooze", obj{"wakeAt": instant(clk.now().Add(time.Hour).UnixMilli())})
		ingest(t, s, mailText("e", "ada@example.com", "Re: New", "x", "References: <b>"), IngestOptions{})
		if n := len(c.folder("snoozed")); n != 1 {
			t.Errorf("an import woke a thread")
		}
	})
}

func TestSnoozeOverdueAtOpen(t *testing.T) {
	dir, clk := t.TempDir(), newClock()
	s := open(t, dir, clk)
	id := ingest(t, s, mailText("a", "ada@example.com", "Old", "x"), IngestOptions{}).ThreadID
	direct(t, s).do(200, "POST", "/threads/"+id+"/snooze", obj{"wakeAt": instant(clk.now().Add(time.Hour).UnixMilli())})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clk.advance(48 * time.Hour)
	s = open(t, dir, clk)
	if got := direct(t, s).folder("inbox"); !slices.Equal(got, []string{id}) {
		t.Errorf("inbox at the next start: %v", got)
	}
}

func TestWakesByTheClock(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir, newClock(), func(o *Options) { o.Now = time.Now })
		c := direct(t, s)
		id := ingest(t, s, mailText("a", "ada@example.com", "Old", "x"), IngestOptions{}).ThreadID
		<-s.Changes()
		c.do(200, "POST", "/threads/"+id+"/snooze", obj{"wakeAt": instant(time.Now().Add(time.Minute).UnixMilli())})
		time.Sleep(time.Minute + time.Millisecond)
		synctest.Wait()
		select {
		case <-s.Changes():
		default:
			t.Error("the wake-up did not poke")
		}
		if got := c.folder("inbox"); !slices.Equal(got, []string{id}) {
			t.Errorf("inbox: %v", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestMute(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	id := ingest(t, s, mailText("a", "ada@example.com", "Noise", "x"), IngestOptions{}).ThreadID
	if got := c.do(200, "POST", "/threads/"+id+"/mute", nil); got["muted"] != true {
		t.Errorf("mute: %v", got)
	}
	if n := len(c.folder("inbox")); n != 1 {
		t.Errorf("muting moved the thread")
	}
	ingest(t, s, mailText("b", "ada@example.com", "Re: Noise", "x", "References: <a>"), IngestOptions{Arrival: true, Unread: true})
	if n := len(c.folder("inbox")); n != 0 {
		t.Errorf("a muted thread got a message into the inbox")
	}
	c.do(200, "POST", "/threads/"+id+"/unmute", nil)
	ingest(t, s, mailText("c", "ada@example.com", "Re: Noise", "x", "References: <a>"), IngestOptions{Arrival: true, Unread: true})
	if n := len(c.folder("inbox")); n != 1 {
		t.Errorf("an unmuted thread skips the inbox")
	}
}

func TestArrivalInTrashAndSpam(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	trash := ingest(t, s, mailText("a", "ada@example.com", "A", "x"), IngestOptions{Folder: "trash"}).ThreadID
	spam := ingest(t, s, mailText("b", "s@example.com", "B", "x"), IngestOptions{Folder: "spam"}).ThreadID
	for _, root := range []string{"a", "b"} {
		ingest(t, s, mailText("re-"+root, "x@example.com", "Re", "x", "References: <"+root+">"), IngestOptions{Arrival: true, Unread: true})
	}
	if got := c.folder("inbox"); !slices.Equal(got, []string{trash}) {
		t.Errorf("inbox: %v", got)
	}
	if got := c.folder("spam"); !slices.Equal(got, []string{spam}) {
		t.Errorf("spam: %v", got)
	}
}

func TestDuplicates(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	raw := mailText("a", "ada@example.com", "A", "x")
	a := ingest(t, s, raw, IngestOptions{})
	for _, same := range [][]byte{raw, append(slices.Clone(raw), '\r', '\n')} {
		if got := ingest(t, s, same, IngestOptions{}); !got.Duplicate || got.MessageID != a.MessageID {
			t.Errorf("again: %+v", got)
		}
	}
	if got := ingest(t, s, mailText("a", "ada@example.com", "A", "other bytes"), IngestOptions{}); got.Duplicate || got.ThreadID != a.ThreadID {
		t.Errorf("other bytes under the same id: %+v", got)
	}
}

func TestFutureDateIsNotOnTop(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk)
	future := []byte(fmt.Sprintf("From: a@example.com\r\nSubject: later\r\nDate: %s\r\n\r\nx\r\n", clk.now().AddDate(9, 0, 0).Format(time.RFC1123Z)))
	id := ingest(t, s, future, IngestOptions{}).ThreadID
	clk.advance(time.Hour)
	now := ingest(t, s, mailText("b", "ada@example.com", "now", "x"), IngestOptions{ReceivedAt: clk.now()}).ThreadID
	if got := direct(t, s).folder("inbox"); !slices.Equal(got, []string{now, id}) {
		t.Errorf("inbox: %v", got)
	}
}
