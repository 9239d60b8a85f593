package cases

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/mailparse"
)

func TestTrackers(t *testing.T) {
	show(t, file("html", "tracking.eml"), func(s *shown, c *check) {
		c.has(s.reader, "Spring offers, chosen for you.", "A red teapot", "Bye!")
		c.hasNot(s.reader, "not text", "script ran", "track.example.net", "@import", "fetch(")
		c.has(s.line, "Newsletter with trackers", "Spring offers")
		c.hasNot(s.list, "not text", "@import", "track.example")
		if s.w.opened() != nil {
			c.Errorf("something was opened: %v", s.w.opened())
		}
	})
}

func TestHiddenText(t *testing.T) {
	show(t, file("html", "hidden-text.eml"), func(s *shown, c *check) {
		c.has(s.reader, "Dear customer,", "Visible end.")
		c.has(s.row.Snippet, "Dear customer,")
		d, err := s.w.mail.Reply(s.row.ID, "", false)
		if err != nil {
			c.Errorf("%v", err)
		}
		for _, text := range []string{s.reader, s.wide, s.list, s.row.Snippet, s.messages[0].Snippet, d.Body} {
			c.hasNot(text, "HIDDEN", "PREHEADER")
		}
		s.w.keys("esc")
		s.w.search("PREHEADER")
		s.w.pass(time.Second)
		c.has(s.w.frame(), "Nothing found")
	})
}

func TestLinks(t *testing.T) {
	show(t, file("html", "links.eml"), func(s *shown, c *check) {
		w := s.w
		c.has(s.reader,
			"[1] (not https://bank.example.com/", "https://evil.example.net/login",
			"[2] https://evil.example.net/", "[3] https://xn--bnk-ooa.example/",
			"javascript:alert(1)", "data:text/html", "file:///etc/passwd", "mailto:grace@example.org",
			"https://example.org/path_(with)_brackets", "https://example.org/x", "Long [11]")
		c.hasNot(s.reader, "bank.example.com@")
		c.hasNot(s.reader, "brackets,\n", "/x).\n")
		for _, l := range strings.Split(s.reader, "\n") {
			if strings.Contains(l, "xxxxx") && cells.Width(l) > 80 {
				c.Errorf("the long link takes more than a line: %q", l)
			}
		}
		if n := strings.Count(s.reader, "xxxxxxxxxxxxxxxxxxxx"); n > 4 {
			c.Errorf("the long link takes %d rows", n)
		}
		// Every number shows the true target; only web links are opened, after it has been seen.
		var want []string
		for n, link := range map[string]struct {
			shows string
			opens string
		}{
			"1": {"https://evil.example.net/login", "https://evil.example.net/login"},
			"2": {"https://evil.example.net/", "https://evil.example.net/"},
			"3": {"https://xn--bnk-ooa.example/", "https://xn--bnk-ooa.example/"},
			"4": {"javascript:alert(1)", ""},
			"5": {"data:text/html", ""},
			"6": {"file:///etc/passwd", ""},
		} {
			w.keys(n)
			c.has(lastLines(w.frame()), "["+n+"] "+link.shows[:min(40, len(link.shows))])
			w.keys("enter")
			w.pass(time.Second)
			if link.opens == "" {
				c.has(w.frame(), "never opened")
			} else {
				want = append(want, link.opens)
			}
			w.keys("esc")
			if !strings.Contains(w.frame(), "Where do the links go?") || strings.HasPrefix(w.frame(), " Inbox") {
				w.keys("enter")
			}
			w.pass(4 * time.Second)
		}
		got := w.opened()
		slices.Sort(got)
		slices.Sort(want)
		if len(got) != len(want) {
			c.Errorf("opened %q, want %q", got, want)
		}
		for _, g := range got {
			if !strings.HasPrefix(g, "https://") {
				c.Errorf("opened %q", g)
			}
		}
		// A mailto: begins a message, with what it brought in sight and without the file.
		w.keys("7")
		c.has(lastLines(w.frame()), "mailto:grace@example.org")
		w.keys("enter")
		w.size(80, 24)
		c.has(w.frame(), "New message", "grace@example.org", "Hi", "Pay now")
		c.hasNot(w.frame(), "passwd", "Where do the links go?")
	})
}

// lastLines are the three rows above the hints.
func lastLines(frame string) string {
	l := strings.Split(strings.TrimRight(frame, "\n"), "\n")
	return strings.Join(l[max(0, len(l)-5):], "\n")
}

func TestLayout(t *testing.T) {
	show(t, file("html", "layout.eml"), func(s *shown, c *check) {
		c.has(s.reader, "quoted lines")
		s.w.keys("tab")
		var lines []string
		for _, l := range strings.Split(s.w.frame(), "\n") {
			lines = append(lines, strings.TrimSpace(l))
		}
		r := strings.Join(lines, "\n")
		rest := r
		for _, word := range []string{
			"Title\n", "First paragraph\nsecond line <tag> & € € 🙂\n", "one\n", "nested\n", "two\n", "9. nine\n", "10. ten\n",
			"deep cell\n", "kept   blanks\n", "tab\n", "┊ quoted\n", "┊ ┊ twice\n", "unclosed bold both\n", "after\n",
		} {
			_, after, ok := strings.Cut(rest, word)
			if !ok {
				c.Errorf("lacks %q, in order:\n%s", word, r)
				return
			}
			rest = after
		}
		for _, l := range lines {
			if strings.HasPrefix(l, "A") && strings.Contains(l, "1") {
				c.has(l, " ")
			}
			if l == "A1" || l == "B22" {
				c.Errorf("table cells run together: %q", l)
			}
		}
		d, err := s.w.mail.Reply(s.row.ID, "", false)
		if err != nil {
			c.Errorf("%v", err)
		}
		c.has(d.Body, "\n>> quoted\n", "\n>>> twice\n")
	})
}

func TestPlainTextIsStub(t *testing.T) {
	show(t, file("html", "plain-is-stub.eml"), func(s *shown, c *check) {
		c.has(s.reader, "The real text is only here.")
		c.has(s.line, "The real text")
		c.has(s.row.Snippet, "The real text is only here.")
	})
}

func TestFlowed(t *testing.T) {
	show(t, file("text", "flowed.eml"), func(s *shown, c *check) {
		open := func() string {
			s.w.keys("tab") // quoted text
			return s.w.frame()
		}
		r := s.reader
		if !strings.Contains(r, "quick brown fox") {
			r = open()
		}
		c.has(r, "The quick brown fox jumps over the lazy dog and keeps on running.", "Older text that goes on.",
			"My answer is one long paragraph that was broken by the sender only because", "From the start: space-stuffed line.",
			"> not a quote, space-stuffed", "\n --\n Ada\n")
		for _, width := range []int{30, 60, 100} {
			s.w.size(width, 100)
			f := s.w.frame()
			c.has(strings.Join(strings.Fields(f), " "), "My answer is one long paragraph that was broken by the sender only because of the format.", "From the start: space-stuffed line.")
		}
		d, err := s.w.mail.Reply(s.row.ID, "", false)
		if err != nil {
			c.Errorf("%v", err)
		}
		c.has(d.Body, "\n>> The quick brown fox jumps over the lazy dog and keeps on running.\n", "\n>>> Older text that goes on.\n",
			"\n> My answer is one long paragraph that was broken by the sender only because of the format.\n")
	})
}

func TestFlowedWithoutBlanks(t *testing.T) {
	show(t, file("text", "flowed-delsp.eml"), func(s *shown, c *check) {
		c.has(s.reader, "日本語の長い文は空白なしで続く。")
	})
}

func TestLongLine(t *testing.T) {
	raw, err := os.ReadFile(file("text", "long-line.eml"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(raw), "\n\n")
	if strings.Contains(strings.ToLower(string(raw)), "base64") {
		t.Fatal("the case has changed")
	}
	show(t, file("text", "long-line.eml"), func(s *shown, c *check) {
		w := s.w
		w.size(80, 300)
		c.has(w.frame(), "end")
		w.size(80, 24)
		letters, wide := 0, 0
		w.size(80, 400)
		for _, l := range strings.Split(w.frame(), "\n") {
			t := strings.TrimSpace(l)
			switch {
			case strings.Trim(t, "字") == "" && t != "":
				wide += strings.Count(t, "字")
				if cells.Width(l) > 80 {
					c.Errorf("%q is longer than the window", l)
				}
			case len(t) > 20 && strings.Trim(t, t[:1]) == "":
				letters += len(t)
			}
		}
		if wide < 600 {
			c.Errorf("%d wide characters in rows of their own", wide)
		}
		if letters < 4500 {
			c.Errorf("%d letters in rows of their own", letters)
		}
		d, err := w.mail.Reply(s.row.ID, "", false)
		if err != nil {
			c.Errorf("%v", err)
		}
		for _, l := range strings.Split(strings.TrimSpace(body), "\n") {
			if l = strings.TrimRight(l, " \r"); l != "" && !strings.Contains(d.Body, "> "+l+"\n") {
				c.Errorf("the reply quotes %.60q… of %d bytes with changes", l, len(l))
			}
		}
	})
}

func TestDeepQuotes(t *testing.T) {
	show(t, file("text", "quotes-deep.eml"), func(s *shown, c *check) {
		c.has(s.reader, "answer")
		s.w.keys("tab")
		for _, size := range [][2]int{{80, 200}, {40, 200}, {24, 300}} {
			s.w.size(size[0], size[1])
			f := s.w.frame()
			for _, want := range []string{"level 1", "level 30", "level 60", "answer"} {
				c.has(f, want)
			}
		}
	})
}

func TestOddLineEnds(t *testing.T) {
	show(t, file("text", "bare-cr.eml"), func(s *shown, c *check) {
		for _, word := range []string{"one", "two", "three", "four", "five", "six", "seven", "eight"} {
			c.has(s.reader, word)
		}
	})
}

// TestNamesOfAttachments saves all of them at once into an empty folder.
func TestNamesOfAttachments(t *testing.T) {
	rows := table(t, file("attachments", "names.tsv"))
	raw, err := os.ReadFile(file("attachments", "names.eml"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // names that a person must find again
		"1": "escape.txt", "2": "passwd", "3": "run.bat", "7": "c.txt", "8": "config", "9": "-rf", "11": "aux.txt", "12": "trailing",
		"13": "hidden", "14": "new line.txt", "15": "Рахунок за березень.pdf", "16": "見積書（最終）.xlsx", "22": "semi;colon", "23": "photogpj.exe",
	}
	show(t, file("attachments", "names.eml"), func(s *shown, c *check) {
		if n := len(s.messages[0].Attachments); n != len(rows) {
			c.Errorf("%d attachments, want %d", n, len(rows))
		}
		saved := s.save(c)
		if len(saved) != len(rows) {
			c.Errorf("%d files are saved, want %d: %q", len(saved), len(rows), saved)
		}
		folded := map[string]string{}
		byBody := map[string]string{}
		for name, body := range saved {
			if strings.ContainsAny(name, "/\\\n\x00") || unsafe(name) != "" || len(name) > 255 {
				c.Errorf("a file is named %q", name)
			}
			if other, ok := folded[strings.ToLower(name)]; ok {
				c.Errorf("%q and %q are one file on some systems", name, other)
			}
			folded[strings.ToLower(name)] = name
			byBody[body] = name
		}
		for _, row := range rows {
			no := row["no"]
			rc := s.w.row("name " + no)
			body := "file " + strings.Repeat("0", 2-len(no)) + no + "\n"
			name, ok := byBody[body]
			switch {
			case !ok:
				rc.Errorf("its bytes are lost")
			case name == "" || strings.Trim(name, ". ") == "":
				rc.Errorf("saved as %q", name)
			case want[no] != "" && !strings.Contains(name, want[no]):
				rc.Errorf("saved as %q, want a name with %q", name, want[no])
			case no == "17" && (!strings.HasPrefix(name, "xxxxxxxxxxxxxxxxxxxx") || len(name) > 255):
				rc.Errorf("saved as %q", name)
			case strings.HasPrefix(strings.ToLower(row["name as sent (Python escapes)"]), "same.txt") && !strings.HasSuffix(strings.ToLower(name), ".txt"):
				rc.Errorf("saved as %q", name)
			}
			t.Logf("%2s %-40q %q", no, row["name as sent (Python escapes)"], name)
		}
		// The names stand in the reader, one line each.
		for _, name := range []string{"escape.txt", "passwd", "-rf", "new line.txt", "Рахунок за березень.pdf", "見積書（最終）.xlsx", "photogpj.exe"} {
			rc := s.w.row("shown in the reader")
			rc.has(s.reader, name)
		}
	})
	if _, err := os.Stat("/tmp/escape.txt"); err == nil {
		t.Error("a file was written outside of the folder")
	}
	if m, err := mailparse.Parse(t.Context(), raw, mailparse.Limits{}); err != nil || len(m.Attachments) != len(rows) {
		t.Errorf("%v", err)
	}
}

// TestForward sends messages on with everything that a person saw, and nothing that was hidden.
func TestForward(t *testing.T) {
	t.Run("files", func(t *testing.T) {
		show(t, file("attachments", "names.eml"), func(s *shown, c *check) {
			w := s.w
			d, err := w.mail.Forward(s.row.ID, "")
			if err != nil {
				c.Errorf("%v", err)
			}
			w.until("the files are there", func() bool {
				got, _ := w.mail.Draft(d.ID)
				return len(got.Files) == len(s.messages[0].Attachments) || len(w.mail.Status().Failures) > 0
			})
			d, _ = w.mail.Draft(d.ID)
			for _, f := range d.Files {
				if bad := unsafe(f.Name); bad != "" || strings.ContainsAny(f.Name, "/\\\n") || f.SizeBytes != 8 {
					c.Errorf("%+v: %s", f, bad)
				}
			}
			d.To = "joan@example.net"
			m, err := mailparse.Parse(t.Context(), []byte(s.sent(c, d)), mailparse.Limits{})
			if err != nil {
				c.Errorf("%v", err)
				return
			}
			if len(m.Attachments) != 23 || m.Subject != "Fwd: Twenty-three attachments" {
				c.Errorf("%d attachments went out, subject %q", len(m.Attachments), m.Subject)
			}
			c.has(m.Text, "Save all of them.", "From: Ada Byron <ada@example.com>")
		})
	})
	t.Run("hidden text", func(t *testing.T) {
		show(t, file("html", "hidden-text.eml"), func(s *shown, c *check) {
			d, err := s.w.mail.Forward(s.row.ID, "")
			if err != nil {
				c.Errorf("%v", err)
			}
			c.has(d.Body, "Dear customer,", "Visible end.")
			c.hasNot(d.Body, "HIDDEN", "PREHEADER", "<p")
		})
	})
	t.Run("sequences", func(t *testing.T) {
		show(t, file("hostile", "body-escape.eml"), func(s *shown, c *check) {
			s.w.keys("f")
			c.has(s.w.frame(), "Fwd: Body with control sequences", "last line of the body")
			d, err := s.w.mail.Forward(s.row.ID, "")
			if err != nil {
				c.Errorf("%v", err)
			}
			if bad := unsafe(d.Body + d.Subject); bad != "" {
				c.Errorf("%s", bad)
			}
			d.To = "joan@example.net"
			raw := s.sent(c, d)
			c.hasNot(raw, "\x1b", "\x07", "\x00")
		})
	})
}
