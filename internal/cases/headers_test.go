package cases

import (
	"context"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/local"
)

func TestEncodedWords(t *testing.T) {
	for _, tt := range []struct{ name, subject, from string }{
		{"word-split-in-char", "Größe 漢字 🙂 fertig", "Ada Byron"},
		{"word-glued", "Café au lait plain ✓done", "Hopper, Grace"},
		{"word-charsets", "¡Hola!Привет日本שלום", "Ada Byron"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			show(t, file("headers", tt.name+".eml"), func(s *shown, c *check) {
				if s.row.Subject != tt.subject || s.messages[0].From.Name != tt.from {
					c.Errorf("subject %q, from %q", s.row.Subject, s.messages[0].From)
				}
				s.w.size(80, 24)
				c.has(s.w.frame(), tt.subject)
				s.w.keys("esc")
				s.w.size(120, 40)
				c.has(s.w.frame(), tt.from)
			})
		})
	}
}

func TestSenderWithComma(t *testing.T) {
	inWorld(t, setup{own: []string{"ada@example.com"}}, func(w *world) {
		c := w.row("shown")
		w.imports(file("headers", "word-glued.eml"))
		w.open()
		th := w.thread(w.list(inbox).Rows[0].ID)
		if m := th.Messages[0]; m.From.Email != "grace@example.org" || m.From.Name != "Hopper, Grace" {
			c.Errorf("the sender is %+v", m.From)
		}
		d, err := w.mail.Reply(th.Row.ID, "", false)
		if err != nil || d.To != `"Hopper, Grace" <grace@example.org>` {
			c.Errorf("the answer goes to %q, %v", d.To, err)
		}
	})
}

func TestBrokenWords(t *testing.T) {
	show(t, file("headers", "word-broken.eml"), func(s *shown, c *check) {
		c.has(s.line, "Ada Byron", "not base64", "3 Mar")
		c.has(s.reader, "None of these words is right.", " and ")
		c.has(s.row.Subject, "not base64", "no-such-charset", "abc")
	})
}

func TestMissingDate(t *testing.T) {
	show(t, file("headers", "missing-date.eml"), func(s *shown, c *check) {
		if want := time.Date(2026, 3, 2, 7, 0, 0, 0, time.UTC); !s.messages[0].ReceivedAt.Equal(want) {
			c.Errorf("dated %v, want %v", s.messages[0].ReceivedAt, want)
		}
		c.has(s.line, "2 Mar")
		c.has(s.reader, "2 Mar 07:00")
	})
}

func TestTextWithoutHeader(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		r := w.imports(file("headers", "missing-all.eml"), file("headers", "missing-date.eml"))
		if r.Imported+r.Failed != 2 || r.Imported < 1 {
			c.Errorf("the import says %s", r)
		}
		w.open()
		w.list(inbox)
		c.has(w.frame(), "No date")
		if r.Imported == 2 {
			c.has(w.frame(), "(no subject)", "(nobody)")
			row, ok := w.find(inbox, "")
			if !ok {
				c.Errorf("the row is not there")
				return
			}
			if m := w.thread(row.ID).Messages[0]; !strings.Contains(m.Text, "Just a line of text, no header.") {
				c.Errorf("its text is %q", m.Text)
			}
		}
	})
}

func TestNeitherSubjectNorSender(t *testing.T) {
	show(t, file("headers", "no-subject-no-from.eml"), func(s *shown, c *check) {
		c.has(s.line, "(no subject)", "(nobody)")
		c.has(s.reader, "Neither From nor Subject.", "(nobody)")
		for _, key := range []string{"r", "a"} {
			s.w.keys(key)
			c.has(s.w.frame(), "obody to answer")
			c.hasNot(s.w.frame(), "ctrl+d send")
			s.w.pass(4 * time.Second)
		}
	})
}

func TestDates(t *testing.T) {
	rows := table(t, file("headers", "dates.tsv"))
	inWorld(t, setup{}, func(w *world) {
		w.imports(file("headers", "dates.mbox"))
		w.open()
		l := w.list(inbox)
		w.size(80, 24)
		for _, want := range rows {
			c := w.row(want["subject"])
			row, ok := w.find(inbox, want["subject"])
			if !ok {
				c.Errorf("it is not in the list")
				continue
			}
			c.has(w.frame(), want["subject"])
			at := w.thread(row.ID).Messages[0].ReceivedAt
			if want["right instant (UTC)"] == "-" {
				if at.Year() != 2026 || at.After(present) {
					c.Errorf("%v is no sensible date for %q", at, want["date header"])
				}
				continue
			}
			if got := at.UTC().Format(time.RFC3339); got != want["right instant (UTC)"] {
				c.Errorf("%s, want %s", got, want["right instant (UTC)"])
			}
		}
		c := w.row("new mail comes first")
		if n := len(l.Rows); n != len(rows) {
			c.Errorf("%d rows, want %d", n, len(rows))
		}
		raw := "From: Joan <joan@example.net>\r\nTo: grace@example.org\r\nSubject: New\r\nMessage-ID: <new@example.net>\r\n\r\nnew\r\n"
		if _, err := w.server.Ingest(context.Background(), []byte(raw), local.IngestOptions{Arrival: true, Unread: true}); err != nil {
			c.Errorf("%v", err)
		}
		w.pass(5 * time.Second)
		if _, ok := w.find(inbox, "New"); !ok {
			c.Errorf("the new message did not come")
		} else if l := w.list(inbox); l.Rows[0].Subject != "New" {
			c.Errorf("%q is above mail that comes later", l.Rows[0].Subject)
		}
		for _, r := range w.list(inbox).Rows[1:] {
			w.thread(r.ID)
		}
		// Archiving and bringing back must not put a message on top either.
		row, _ := w.find(inbox, "Date 8")
		w.keys("g", "g")
		for range len(rows) + 1 {
			if strings.Contains(cursorLine(w.frame()), "Date 8") {
				break
			}
			w.keys("j")
		}
		w.keys("e")
		w.pass(time.Second)
		w.keys("z")
		w.pass(time.Second)
		if l := w.list(inbox); l.Rows[0].ID == row.ID {
			c.Errorf("the message of the year 9999 is on top after an undo")
		}
	})
}

// cursorLine is the row of a list with the cursor.
func cursorLine(frame string) string {
	for l := range strings.SplitSeq(frame, "\n") {
		if strings.HasPrefix(l, "▌") {
			return l
		}
	}
	return ""
}
