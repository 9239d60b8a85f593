package local

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
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

// TestSearchWords looks for words in many scripts: each text must be found by each query, and by none of those after "|".
func TestSearchWords(t *testing.T) {
	texts := []struct{ name, text, queries string }{
		{"accents", "Crème brûlée à l'Élysée, naïveté", "creme; CREME BRULEE; l'elysee; elysée; naivete; \"crème brulee\"; brulée creme | elysees; \"brulee creme\""},
		{"german", "Die Größe der Straße, ÄRGER über Maßstäbe", "große; grosse; STRASSE; straße; arger; massstab | groesse"},
		{"nordic", "Ærøskøbing, Þórður, Łódź, Đặng", "aeroskobing; thordur; lodz; dang; ærøsk"},
		{"turkish", "İSTANBUL ısı IĞDIR", "istanbul; ISI; igdir; ığdır"},
		{"greek", "Οδυσσεύς ταξίδι", "οδυσσευς; ΟΔΥΣΣΕΎΣ; ταξιδι; οδυσσευσ"},
		{"russian", "Жёлтая ёлка, йод", "желтая; ЁЛКА; елка; йод; елк"},
		{"hebrew", "שָׁלוֹם חבר", "שלום; חבר; שלו"},
		{"arabic", "السَّلامُ عليكم أحمد", "السلام; احمد; أحمد; علي"},
		{"chinese", "会议纪要：下周发布计划", "会议; 纪要; 发布; 下周发布; 发布计划; 会; 划 | 议会; 布下"},
		{"japanese", "東京都庁でミーティングをします。ﾊﾝｶｸ", "東京; 京都; ミーティング; ティング; ハンカク; を | 東庁; ミング"},
		{"korean", "주간 보고서를 공유드립니다", "보고; 보고서; 공유; 드립니다; 주간 보고 | 고보"},
		{"thai", "สวัสดีครับ ประชุม", "สวัสดี; ประชุม; ครับ"},
		{"emoji", "party 🎉🚀 now 👩‍👩‍👧 🇩🇪 👍🏽", "🎉; 🚀; 🎉🚀; party 🎉; 👧; 🇩🇪; 👍; 👍🏽 | 🚀🎉; 🐌"},
		{"invisible", "In\u200bvo\u00adice d\u2060ue\ufeff now", "invoice; \"invoice due now\"; due"},
		{"wide", "Ｆｕｌｌ ｗｉｄｔｈ ﬁne ① ½", "full; width; fine; ｗｉｄ; 1"},
		{"codes", "Order #4711-B by ada.b+list@mail.example.com, C++ and C#, v2.10.3 a_b", "4711; 4711-b; #4711; ada.b; ada.b+list@mail.example.com; mail.example; C++; c#; v2.10; a_b | 4712"},
		{"quotes", `he said "quoted text" isn't AND NOT OR NEAR(a b)`, `"quoted text"; isn't; "NOT"; NEAR; "said quoted" | "text quoted"`},
		{"zalgo", "Z̷̛̳a̶̙͐l̸̰̿g̶̱̋ọ̵̔", "zalgo"},
	}
	s := open(t, t.TempDir(), newClock())
	for _, tt := range texts {
		ingest(t, s, mailText(tt.name+"@x", "a@example.com", "row "+tt.name, tt.text), IngestOptions{})
	}
	c := direct(t, s)
	for _, tt := range texts {
		find, avoid, _ := strings.Cut(tt.queries, " | ")
		for q := range strings.SplitSeq(find, ";") {
			if got := subjects(c, c.list("/threads?query="+url.QueryEscape(strings.TrimSpace(q)))); !slices.Contains(got, "row "+tt.name) {
				t.Errorf("%s: %q finds %q", tt.name, q, got)
			}
		}
		for q := range strings.SplitSeq(avoid, ";") {
			if got := subjects(c, c.list("/threads?query="+url.QueryEscape(strings.TrimSpace(q)))); avoid != "" && slices.Contains(got, "row "+tt.name) {
				t.Errorf("%s: %q finds it", tt.name, q)
			}
		}
	}
}

// operatorMail is what TestSearchOperators searches.
func operatorMail(t *testing.T, s *Server, clk *clock) {
	t.Helper()
	file := "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nsee file\r\n--b\r\nContent-Type: application/pdf\r\n" +
		"Content-Disposition: attachment; filename=\"Jahres-Bericht 2025.pdf\"\r\n\r\n" + strings.Repeat("x", 3000) + "\r\n--b--\r\n"
	for i, m := range []struct {
		head, body string
		ago        time.Duration
		o          IngestOptions
	}{
		{"From: Ada Byron <ada@example.com>\r\nTo: " + me + "\r\nSubject: alpha plan", "the first plan", time.Hour, IngestOptions{Unread: true}},
		{"From: Bob <bob@example.org>\r\nTo: ada@example.com\r\nCc: Carol <carol@example.net>\r\nSubject: beta", "plans of beta", 26 * time.Hour, IngestOptions{Starred: true, Labels: []string{"Big Project"}}},
		{"From: Carol <carol@example.net>\r\nTo: " + me + "\r\nSubject: gamma\r\n" + strings.TrimSuffix(file, "\r\n"), "", 10 * 24 * time.Hour, IngestOptions{Folder: "archive", Labels: []string{"Lists/Go"}}},
		{"From: " + me + "\r\nTo: bob@example.org\r\nSubject: delta", "my own plan", 40 * 24 * time.Hour, IngestOptions{}},
		{"From: spammer@example.com\r\nTo: " + me + "\r\nSubject: epsilon", "cheap plan", 2 * time.Hour, IngestOptions{Folder: "spam"}},
		{"From: Old <old@example.com>\r\nTo: " + me + "\r\nSubject: zeta", "an ancient plan", 800 * 24 * time.Hour, IngestOptions{Folder: "trash"}},
		{"From: Ada Byron <ada@example.com>\r\nTo: " + me + "\r\nSubject: eta", "sleeping", 3 * time.Hour, IngestOptions{SnoozedUntil: clk.now().Add(time.Hour)}},
	} {
		raw := m.head
		if m.body != "" {
			raw += "\r\n\r\n" + m.body
		}
		m.o.ReceivedAt = clk.now().Add(-m.ago)
		ingest(t, s, []byte(raw+strings.Repeat("\r\n", i%2)), m.o)
	}
}

func TestSearchOperators(t *testing.T) {
	clk := newClock() // Tuesday 10 March 2026, 09:00
	s := open(t, t.TempDir(), clk)
	operatorMail(t, s, clk)
	c := direct(t, s)
	for q, want := range map[string]string{
		"plan":                             "alpha plan, beta, delta",
		"PLAN -beta":                       "alpha plan, delta",
		`"plan"`:                           "alpha plan, delta",
		`"the first`:                       "alpha plan",
		"first OR own":                     "alpha plan, delta",
		"first or own":                     "",
		"plan first OR own":                "alpha plan, delta",
		"from:ada":                         "alpha plan",
		"from:ada@example.com":             "alpha plan",
		`from:"Ada Byron"`:                 "alpha plan",
		"from:me":                          "delta",
		"to:ada":                           "beta",
		"to:me":                            "alpha plan, beta, gamma",
		"to:carol":                         "beta",
		"cc:carol":                         "beta",
		"-from:ada":                        "beta, gamma, delta",
		"subject:plan":                     "alpha plan",
		"subject:alpha from:bob":           "",
		"has:attachment":                   "gamma",
		"-has:attachment plan":             "alpha plan, beta, delta",
		"filename:bericht":                 "gamma",
		"filename:pdf":                     "gamma",
		"filename:jahres-bericht":          "gamma",
		"filename:docx":                    "",
		"is:unread":                        "alpha plan",
		"is:read":                          "beta, gamma, delta",
		"-is:unread":                       "beta, gamma, delta",
		"is:starred":                       "beta",
		"is:snoozed":                       "eta",
		"is:snoozed from:ada":              "eta",
		"is:sent":                          "delta",
		"is:unread OR is:starred":          "alpha plan, beta",
		"is:starred OR gamma":              "beta, gamma",
		"label:big-project":                "beta",
		`label:"big project"`:              "beta",
		"label:BIG":                        "",
		"label:lists":                      "gamma",
		"label:lists/go":                   "gamma",
		"-label:lists plan":                "alpha plan, beta, delta",
		"in:inbox":                         "alpha plan, beta",
		"in:archive":                       "gamma",
		"in:sent":                          "delta",
		"in:spam":                          "epsilon",
		"in:spam plan":                     "epsilon",
		"in:trash":                         "zeta",
		"in:anywhere plan":                 "alpha plan, epsilon, beta, delta, zeta",
		"in:spam OR in:trash":              "epsilon, zeta",
		"-in:inbox":                        "gamma, delta",
		"before:2026-03-01":                "gamma, delta",
		"after:2026-02-25":                 "alpha plan, beta, gamma",
		"after:2026-02-01 before:2026/3/5": "gamma",
		"newer:2d":                         "alpha plan, beta",
		"newer:3w plan":                    "alpha plan, beta",
		"older:1m":                         "delta",
		"older:2d plan":                    "delta",
		"in:anywhere older:1y":             "zeta",
		"newer_than:2d":                    "alpha plan, beta",
		"after:today":                      "alpha plan",
		"after:yesterday":                  "alpha plan, beta",
		"before:monday after:feb":          "gamma",
		"larger:2k":                        "gamma",
		"larger:2K smaller:1m":             "gamma",
		"larger:1m":                        "",
		"larger:0.5k plan":                 "",
		// What is not finished yet narrows nothing.
		"plan from:":        "alpha plan, beta, delta",
		"plan before:2026-": "alpha plan, beta, delta",
		"plan is:unr":       "alpha plan, beta, delta",
		"plan has:att":      "alpha plan, beta, delta",
		"plan -":            "alpha plan, beta, delta",
		"plan OR":           "alpha plan, beta, delta",
		"pla":               "alpha plan, beta, delta",
		"p":                 "alpha plan, beta, gamma, delta",
		// What has no meaning is text.
		"http://x":     "",
		"foo:bar":      "",
		"-nothing":     "alpha plan, beta, gamma, delta",
		"( ) ^ * -- :": "",
		"NOT AND NEAR": "",
		"-in:anywhere": "",
	} {
		got := strings.Join(subjects(c, c.list("/threads?query="+url.QueryEscape(q))), ", ")
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", q, got, want)
		}
	}
}

// TestSearchPages reads a word that is everywhere page by page, with every thread once, newest first within what one page shows.
func TestSearchPages(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk)
	const threads = 3 * firstWindow
	var items []Item
	for i := range threads {
		// Imported in an order that is not that of time.
		at := (i * 7919) % threads
		items = append(items, Item{
			Raw:           mailText(fmt.Sprintf("p%d@x", at), "a@example.com", fmt.Sprintf("s%d", at), "common"),
			IngestOptions: IngestOptions{ReceivedAt: clk.now().Add(-time.Duration(at) * time.Hour), Starred: at%500 == 499},
		})
	}
	if _, err := s.IngestBatch(context.Background(), items); err != nil {
		t.Fatal(err)
	}
	c := direct(t, s)
	for sort, first := range map[string]string{"newest": "s0", "oldest": fmt.Sprintf("s%d", threads-1), "subject": "s0"} {
		seen := map[string]bool{}
		token := ""
		for pages := 0; ; pages++ {
			out := c.do(200, "GET", "/threads?limit=100&query=com&sort="+sort+"&pageToken="+token, nil)
			for i, v := range out["data"].([]any) {
				id := v.(obj)["id"].(string)
				if seen[id] {
					t.Fatalf("%s: %s comes twice", sort, id)
				}
				if seen[id] = true; i == 0 && pages == 0 {
					if got := subjects(c, []string{id}); got[0] != first {
						t.Errorf("%s begins with %q, want %q", sort, got, first)
					}
				}
			}
			next, more := out["nextPageToken"].(string)
			if !more {
				break
			}
			token = next
		}
		if len(seen) != threads {
			t.Errorf("%s: %d of %d threads", sort, len(seen), threads)
		}
	}
	got := subjects(c, c.list("/threads?query=com+is:starred"))
	if want := "s499 s999 s1499 s1999 s2499 s2999"; strings.Join(got, " ") != want {
		t.Errorf("starred: %v", got)
	}
}

// TestSearchPicksFew reads what a condition leaves of a word that is everywhere, page by page: each thread once, in order.
func TestSearchPicksFew(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk)
	const threads, most = 3 * firstWindow / 2, 60
	var items []Item
	for at := range threads {
		text := "common"
		o := IngestOptions{ReceivedAt: clk.now().Add(-time.Duration(at+1) * time.Hour), Folder: "archive"}
		switch {
		case at%100 == 99:
			text += strings.Repeat(" filling", 1000)
			o.Starred, o.Unread, o.Answered, o.Labels = true, true, true, []string{"Rare"}
		case at%100 == 98:
			o.Folder = "spam"
		case at%100 == 96:
			text = "rest"
		case at%2 == 0:
			text += " even"
		}
		from := "a@example.com"
		if at%100 == 97 {
			from = me
		}
		items = append(items, Item{Raw: mailText(fmt.Sprintf("f%d@x", at), from, fmt.Sprintf("s%d", at), text), IngestOptions: o})
	}
	if _, err := s.IngestBatch(context.Background(), items); err != nil {
		t.Fatal(err)
	}
	c := direct(t, s)
	rare := func(at int) bool { return at%100 == 99 }
	rest := func(at int) bool { return at%100 == 96 }
	for q, is := range map[string]func(at int) bool{
		"common larger:5k":       rare,
		"larger:5k":              rare,
		"comm label:rare":        rare,
		"comm is:starred":        rare,
		"comm is:unread":         rare,
		"comm is:answered":       rare,
		"common larger:5k -fill": rare, // not the whole word
		"common -filling":        func(at int) bool { return !rare(at) && at%100 != 98 && !rest(at) },
		"-common":                rest,
		"-filling":               func(at int) bool { return !rare(at) && at%100 != 98 },
		"-even larger:1":         func(at int) bool { return at%2 == 1 || rest(at) },
		"-even -filling":         func(at int) bool { return at%2 == 1 && !rare(at) || rest(at) },
		"common from:me":         func(at int) bool { return at%100 == 97 },
		"in:spam comm":           func(at int) bool { return at%100 == 98 },
		"common -larger:5k":      func(at int) bool { return !rare(at) && at%100 != 98 && !rest(at) },
	} {
		var want []string
		for at := range threads {
			if is(at) {
				want = append(want, wireID("thr", int64(at+1)))
			}
		}
		for _, sort := range []string{"newest", "oldest"} {
			var got []string
			for token, more := "", true; more; {
				out := c.do(200, "GET", "/threads?limit=7&query="+url.QueryEscape(q)+"&sort="+sort+"&pageToken="+token, nil)
				for _, v := range out["data"].([]any) {
					got = append(got, v.(obj)["id"].(string))
				}
				token, more = out["nextPageToken"].(string)
				more = more && len(got) < most
			}
			if strings.Join(got, " ") != strings.Join(want[:min(len(want), len(got))], " ") || len(got) < min(most, len(want)) {
				t.Errorf("%s, %s: %d threads of %d, or others\n got %v\nwant %v", q, sort, len(got), len(want), got, want[:min(len(want), most)])
			}
			slices.Reverse(want)
		}
	}
}

// TestSearchHoldsForOneMessage: what is asked of messages must hold for one of a thread; what is excluded for none of it.
func TestSearchHoldsForOneMessage(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk)
	ingest(t, s, mailText("a@x", "ada@example.com", "plan", "common words"), IngestOptions{ReceivedAt: clk.now().Add(-48 * time.Hour)})
	ingest(t, s, mailText("b@x", "bob@example.com", "Re: plan", strings.Repeat("large ", 2000), "References: <a@x>"), IngestOptions{ReceivedAt: clk.now().Add(-time.Hour)})
	c := direct(t, s)
	for q, want := range map[string]int{
		"common": 1, "large larger:5k": 1, "common larger:5k": 0, "common from:bob": 0, "common newer:1d": 0, "large newer:1d": 1, "common older:1d": 1, "large older:1d": 0,
		"common -large": 0, "large -common": 0, "-large": 0, "from:ada -from:bob": 0, "common -from:carol": 1, "newer:1d -from:ada": 0, "newer:1d -from:carol": 1,
	} {
		if got := c.list("/threads?query=" + url.QueryEscape(q)); len(got) != want {
			t.Errorf("%s finds %d threads, want %d", q, len(got), want)
		}
	}
}

// TestSearchWordsThatBeginAlike looks for a beginning that more words go on from than are named one by one, and for fewer.
func TestSearchWordsThatBeginAlike(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	var items []Item
	for i := range 2 * maxWords {
		items = append(items, Item{Raw: mailText(fmt.Sprint(i), "a@example.com", fmt.Sprintf("s%d", i), fmt.Sprintf("wordless%03d and some", i))})
	}
	if _, err := s.IngestBatch(context.Background(), items); err != nil {
		t.Fatal(err)
	}
	c := direct(t, s)
	for q, want := range map[string]int{
		"word": 2 * maxWords, "wordless": 2 * maxWords, "wordless00": 10, "wordless001": 1, "wordless001x": 0, `"wordless00"`: 0, `"wordless001"`: 1,
		"wordless00 OR wordless01": 20, "body:wordless00": 10, "subject:wordless00": 0, "wordless01*": 10, `"wordless002 an`: 1, "wordless002-an": 1, "-wordless00": 2 * maxWords,
		"-wordless001": 2*maxWords - 1, "some wordless01": 10, "wordless02 OR is:starred": 10, "WÖRDLESS01": 10,
	} {
		if got := c.list("/threads?limit=100&query=" + url.QueryEscape(q)); len(got) != want {
			t.Errorf("%s finds %d, want %d", q, len(got), want)
		}
	}
	words, err := s.wordsFrom(context.Background(), "wordless0", maxWords)
	if err != nil || len(words) != maxWords+1 || words[0] != "wordless000" || words[maxWords] != fmt.Sprintf("wordless%03d", maxWords) {
		t.Errorf("words %v, %v", words, err)
	}
}

// TestSearchRefuses: what can only be a mistake is said, with what would be right, and finds nothing silently.
func TestSearchRefuses(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk)
	operatorMail(t, s, clk)
	c := direct(t, s)
	for q, want := range map[string]string{
		"fron:ada":                 "from:",
		"plan Form:ada":            "from:",
		"-subjct:plan":             "subject:",
		"plan OR befor:2026":       "before:",
		"labels:work":              "label:",
		"tag:work":                 "label:",
		"folder:inbox":             "in:",
		"before:foo":               "“foo”, but 2026-03-01, 2026-03",
		"after:2026-13":            "2026-03",
		"older:3x":                 "12h, 2d",
		"newer:2026-03-01-01":      "2026-03-01",
		"plan before:31.31.2026":   "2026-03-01",
		"larger:abc":               "500k",
		"smaller:-5":               "500k",
		"is:foo":                   "unread, read, starred",
		"plan -is:important":       "unread",
		"has:stars":                "attachment",
		"in:nowhere":               "inbox, archive",
		"label:work":               "There is no label “work”",
		"label:\"two words\" plan": "“two words”",
		"is:\x1b[31mred":           "know “",
	} {
		out := c.do(422, "GET", "/threads?query="+url.QueryEscape(q), nil)["error"].(obj)
		if out["param"] != "query" || out["code"] != "invalid_field" || !strings.Contains(out["message"].(string), want) || strings.Contains(out["message"].(string), "\x1b") {
			t.Errorf("%s: %v", q, out)
		}
	}
	// These are words, or not finished yet.
	for _, q := range []string{
		"http://x", "https://example.com/a?b=c", "re: plan", "re:plan", "12:30", "foo:bar", "from: ada", "fron:", "from://x", `"fron:ada"`, "note:plan", "C:\\from", ":", "a:b:c", "::",
		"before:2", "before:20", "before:2026-", "before:2026-0", "before:2026-1", "before:2026-03-", "before:2026-03-3", "before:2026/", "before:1.", "before:1.3.", "before:1.3.20",
		"before:t", "before:mo", "before:j", "older:3", "older:3mon", "older:2 ", "larger:", "larger:1.", "is:u", "is:an", "has:a", "in:in", "in:any", "in:big", "label:b", "label:lists",
		"in:drafts", "label:draft", "in:bin", `"`, `"the fir`, `from:"ada`, `from:"`, "*", "(", "from:*", "-", "OR", "plan OR",
	} {
		c.do(200, "GET", "/threads?query="+url.QueryEscape(q), nil)
	}
}

func TestSearchIndexCanBeRebuilt(t *testing.T) {
	clk := newClock()
	dir := t.TempDir()
	s := open(t, dir, clk)
	importInto(t, s, ImportOptions{}, "testdata/search.mbox", cases("threads/loop.mbox"))
	c := direct(t, s)
	ctx := context.Background()
	if err := s.CheckSearch(ctx); err != nil {
		t.Error(err)
	}
	if _, err := s.writer.ExecContext(ctx, "DELETE FROM mail_search"); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckSearch(ctx); err == nil {
		t.Error("an empty index passes the check")
	}
	if got := c.list("/threads?query=fraiche"); len(got) != 0 {
		t.Fatal("the index is not empty")
	}
	var steps []int
	if err := s.RebuildSearch(ctx, func(done, _ int) { steps = append(steps, done) }); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckSearch(ctx); err != nil {
		t.Error(err)
	}
	if got := c.list("/threads?query=fraiche"); len(got) != 1 || len(steps) < 2 {
		t.Errorf("found %v after %v", got, steps)
	}

	// Interrupted, it goes on with the next start.
	stopped, cancel := context.WithCancel(ctx)
	if err := s.RebuildSearch(stopped, func(int, int) { cancel() }); err == nil {
		t.Error("a stopped rebuild has no error")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, clk)
	soon(t, "a whole search index", func() bool { return s.CheckSearch(ctx) == nil })
	if got := direct(t, s).list("/threads?query=fraiche"); len(got) != 1 {
		t.Errorf("after the next start: %v", got)
	}
}

func TestDamagedSearchIndex(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	var items []Item
	for i := range 300 {
		items = append(items, Item{Raw: mailText(fmt.Sprint(i), "a@example.com", "s", fmt.Sprintf("word%d and more%d", i, i*i))})
	}
	if _, err := s.IngestBatch(context.Background(), items); err != nil {
		t.Fatal(err)
	}
	if _, err := s.writer.ExecContext(context.Background(), "UPDATE mail_search_data SET block = zeroblob(20) WHERE id > 10"); err != nil {
		t.Fatal(err)
	}
	c := direct(t, s)
	c.refused(500, "search_damaged", "", "GET", "/threads?query=word", nil)
	if err := s.CheckSearch(context.Background()); err == nil {
		t.Error("a damaged index passes the check")
	}
	if err := s.RebuildSearch(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if got := c.list("/threads?limit=100&query=word"); len(got) != 100 {
		t.Errorf("after the rebuild: %d", len(got))
	}
}
