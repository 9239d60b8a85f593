package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/state"
)

// shown is a message as a person meets it.
type shown struct {
	w        *world
	row      state.Row
	list     string // the list
	line     string // its row in the list
	reader   string // the conversation
	wide     string // the three panes
	messages []api.Message
}

// show imports one file into an empty mailbox, opens its first thread and hands over what is on the screen.
func show(t *testing.T, path string, f func(s *shown, c *check)) {
	t.Helper()
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		if r := w.imports(path); r.Imported != 1 {
			c.Errorf("the import says %s %v", r, r.Problems)
		}
		w.open()
		l := w.list(inbox)
		if len(l.Rows) != 1 {
			c.Errorf("%d rows in the inbox, want 1", len(l.Rows))
			return
		}
		s := &shown{w: w, row: l.Rows[0], list: w.frame()}
		s.line = strings.Split(s.list, "\n")[1]
		w.size(80, 200)
		s.reader = w.read()
		s.messages = w.thread(s.row.ID).Messages
		w.size(140, 60)
		s.wide = w.frame()
		w.size(80, 200)
		f(s, c)
	})
}

func TestSubjectWithSequences(t *testing.T) {
	show(t, file("hostile", "subject-escape.eml"), func(s *shown, c *check) {
		for _, f := range []string{s.line, s.reader, s.wide} {
			c.has(f, "Invoice 4711", "Bank hidden")
			c.hasNot(f, "taken", "[31m", "]0;")
		}
		c.has(s.reader, "bank@example.com")
	})
}

func TestSubjectWithRawSequences(t *testing.T) {
	show(t, file("hostile", "subject-raw-escape.eml"), func(s *shown, c *check) {
		c.has(s.line, "raw  blink", "c1  back", "3 Mar")
		c.has(s.reader, "raw  blink", "c1  back  bell")
		c.hasNot(s.reader, "[5m", "\x1b")
	})
}

func TestSubjectOfThreeLines(t *testing.T) {
	show(t, file("hostile", "subject-newline.eml"), func(s *shown, c *check) {
		c.has(s.line, "Hello")
		c.has(s.reader, "Hello Bcc: eve@example.net")
		d, err := s.w.mail.Reply(s.row.ID, "", true)
		if err != nil {
			c.Errorf("reply: %v", err)
		}
		if d.Bcc != "" || strings.ContainsAny(d.Subject, "\r\n") || !strings.HasPrefix(d.Subject, "Re: Hello") {
			c.Errorf("the reply is %+v", d)
		}
		raw := s.sent(c, d)
		head, _, _ := strings.Cut(raw, "\r\n\r\n")
		for _, l := range strings.Split(head, "\r\n") {
			if l = strings.ToLower(l); strings.HasPrefix(l, "bcc:") || strings.HasPrefix(l, "x-fake:") {
				c.Errorf("the reply has the header %q", l)
			}
		}
		c.has(head, "ada@example.com")
		c.hasNot(strings.ReplaceAll(head, "Hello Bcc: eve@example.net X-Fake: 1", ""), "eve@")
	})
}

// sent sends a draft and returns the raw message as the mailbox keeps it.
func (s *shown) sent(c *check, d state.Draft) string {
	w := s.w
	id := w.mail.Send(d, state.SendOptions{Undo: -1})
	w.until("the message is sent", func() bool {
		e, _ := w.mail.Entry(id)
		if e.State == state.EntryFailed {
			c.Errorf("the send failed: %s", e.Why)
			return true
		}
		return e.State == state.EntrySent
	})
	if len(w.outgoing) == 0 {
		c.Errorf("nothing went out")
		return ""
	}
	return string(w.outgoing[len(w.outgoing)-1])
}

func TestBodyWithSequences(t *testing.T) {
	show(t, file("hostile", "body-escape.eml"), func(s *shown, c *check) {
		rest := s.reader
		for _, word := range []string{
			"Colour: red end", "Clear: top left", "Title:", "end", "Clipboard:", "end", "Link: https://bank.example.com/", "Query:", "end",
			"Alternate screen:", "end", "Mouse:", "end", "C1 CSI:", "end", "Overwrite: safe text", "EVIL", "Backspace: good", "bad! end",
			"Bell, NUL, DEL:", "end", "Unfinished:", "last line of the body",
		} {
			_, after, ok := strings.Cut(rest, word)
			if !ok {
				c.Errorf("lacks %q, in order:\n%s", word, s.reader)
				return
			}
			rest = after
		}
		c.hasNot(s.reader, "taken", "cm0gLXJm", "evil.example.net", "?1049", "?1003")
		c.has(s.line, "Body with control", "Colour: red end")
	})
}

func TestAttachmentNamesWithSequences(t *testing.T) {
	show(t, file("hostile", "attachment-escape.eml"), func(s *shown, c *check) {
		c.has(s.reader, "report.pdf", "line break.txt")
		saved := s.save(c)
		for name, body := range saved {
			if bad := unsafe(name); bad != "" || strings.ContainsAny(name, "\n[") || body != "data" {
				c.Errorf("saved as %q with %q: %s", name, body, bad)
			}
		}
		if _, ok := saved["report.pdf"]; !ok || len(saved) != 2 {
			c.Errorf("saved as %v", saved)
		}
	})
}

// save saves all attachments by the keys that a person presses, and returns the files by their names.
func (s *shown) save(c *check) map[string]string {
	w := s.w
	dir := filepath.Join(w.dir, "saved")
	n := len(s.messages[len(s.messages)-1].Attachments)
	w.keys("w")
	c.has(w.frame(), "Save ")
	if n > 1 {
		w.keys("enter") // all of them
	}
	w.send(tea.KeyMsg{Type: tea.KeyEnter})
	out := map[string]string{}
	w.until("the files are saved", func() bool {
		for _, f := range w.mail.Status().Failures {
			c.Errorf("saving failed: %s", f.Text)
			return true
		}
		return strings.Contains(w.frame(), "Saved ")
	})
	c.has(w.frame(), "Saved ")
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if !e.Type().IsRegular() || filepath.Dir(path) != dir {
			c.Errorf("%q is no plain file in the folder", path)
			return nil
		}
		raw, err := os.ReadFile(path)
		out[e.Name()] = string(raw)
		return err
	})
	if err != nil {
		c.Errorf("%v", err)
	}
	return out
}

func TestInviteWithSequences(t *testing.T) {
	show(t, file("hostile", "invite-escape.eml"), func(s *shown, c *check) {
		c.has(s.reader, "Plan red", "Room,", "10 Mar", "09:00")
		c.hasNot(s.reader, "taken", "[31m")
		c.has(s.line, "Invitation")
	})
}

func TestSubjectTurnedRound(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		w.imports(file("hostile", "bidi-subject.eml"), file("headers", "word-split-in-char.eml"), file("headers", "missing-date.eml"))
		w.open()
		w.list(inbox)
		for _, size := range [][2]int{{40, 12}, {80, 24}, {140, 40}} {
			w.size(size[0], size[1])
			lines := strings.Split(w.frame(), "\n")
			var with string
			for _, l := range lines {
				if strings.Contains(l, "Order") {
					with = l
				}
			}
			before, after, ok := strings.Cut(with, "Order")
			if !ok || !strings.Contains(before, "Ada Byron") || !strings.Contains(after, "3 Mar") {
				c.Errorf("date and sender are not in their columns: %q", with)
			}
			c.has(w.frame(), "Größe")
		}
	})
}

func TestSenderTurnedRound(t *testing.T) {
	show(t, file("hostile", "bidi-sender.eml"), func(s *shown, c *check) {
		c.has(s.line, "eve@example.net")
		c.has(s.reader, "<eve@example.net>")
		c.hasNot(s.line, "knab@example.com", "bank@example.com")
	})
}

func TestFileNameTurnedRound(t *testing.T) {
	show(t, file("hostile", "bidi-filename.eml"), func(s *shown, c *check) {
		c.has(s.reader, "photogpj.exe")
		if saved := s.save(c); saved["photogpj.exe"] != "data" {
			c.Errorf("saved as %v", saved)
		}
	})
}

func TestSenderOfOtherLetters(t *testing.T) {
	show(t, file("hostile", "homograph-sender.eml"), func(s *shown, c *check) {
		c.has(s.line, "service@xn--pypal")
		c.has(s.reader, "<service@xn--pypal-4ve.example>")
	})
}

func TestInvisibleCharacters(t *testing.T) {
	show(t, file("hostile", "invisible.eml"), func(s *shown, c *check) {
		c.has(s.line, "Invoice due now", "3 Mar")
		c.has(s.reader, "zerowidth, softhyphen, joiner, BOM and tag characters.")
		s.w.keys("esc")
		s.w.search("Invoice due now")
		if _, ok := s.w.find(state.View{Query: "Invoice due now"}, s.row.Subject); !ok {
			c.Errorf("a search for the words that are seen finds nothing")
		}
	})
}

// search looks for something by keys.
func (w *world) search(query string) {
	w.keys("/", "ctrl+u")
	w.text(query)
	w.keys("enter")
}
