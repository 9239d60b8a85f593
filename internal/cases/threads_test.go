package cases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoopOfReferences(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		if r := w.imports(file("threads", "loop.mbox")); r.Imported != 3 {
			c.Errorf("the import says %s", r)
		}
		w.open()
		l := w.list(inbox)
		n := 0
		for _, r := range l.Rows {
			n += len(w.thread(r.ID).Messages)
		}
		if len(l.Rows) != 2 || n != 3 {
			c.Errorf("%d threads with %d messages, want 2 with 3", len(l.Rows), n)
		}
		c.has(w.frame(), "Loop one (2)", "Self")
	})
}

func TestSameSubject(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		if r := w.imports(file("threads", "same-subject.mbox")); r.Imported != 3 {
			c.Errorf("the import says %s", r)
		}
		w.open()
		l := w.list(inbox)
		if len(l.Rows) != 2 {
			c.Errorf("%d threads in the inbox, want 2:\n%s", len(l.Rows), w.frame())
		}
		for _, r := range l.Rows {
			want := 1
			if r.From.Email == "post@example.net" {
				want = 2
			}
			if r.Messages != want {
				c.Errorf("%s: %d messages, want %d", r.From, r.Messages, want)
			}
		}
		c.has(w.frame(), "Bank One", "Bank Two", "Your statement (2)")
	})
}

func TestBrokenSubjectBetween(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		w.imports(file("threads", "broken-middle.mbox"))
		w.open()
		if l := w.list(inbox); len(l.Rows) != 3 {
			c.Errorf("%d rows, want 3", len(l.Rows))
		}
		c.has(w.frame(), "Row one", "Zweite", "Row three")
	})
}

func TestFromLines(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		if r := w.imports(file("mbox", "from-lines.mbox")); r.Imported != 3 || r.Failed != 0 {
			c.Errorf("the import says %s", r)
		}
		w.open()
		l := w.list(inbox)
		if len(l.Rows) != 3 {
			c.Errorf("%d rows, want 3", len(l.Rows))
		}
		found := false
		for _, r := range l.Rows {
			text := w.thread(r.ID).Messages[0].Text
			if !strings.Contains(text, "From my side") {
				continue
			}
			found = true
			c.has("\n"+text, "\nFrom my side there are three points.\n", "\nFrom quoted once\n", "\n>From quoted twice\n", "\nFrom: looks like a header")
			w.moveTo(r.Subject)
			c.has(w.read(), "From my side there are three points.", "From quoted once", "From quoted twice", "From: looks like a header")
			w.keys("esc")
		}
		if !found {
			c.Errorf("the first body is not there")
		}
	})
}

// moveTo puts the cursor on the row with that subject.
func (w *world) moveTo(subject string) {
	w.t.Helper()
	w.keys("g", "g")
	for range len(w.list(inbox).Rows) {
		if strings.Contains(cursorLine(w.frame()), subject) {
			return
		}
		w.keys("j")
	}
	w.t.Fatalf("no row %q:\n%s", subject, w.frame())
}

func TestMboxWithoutBlankLines(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		r := w.imports(file("mbox", "crlf-no-blank.mbox"))
		w.open()
		if l := w.list(inbox); r.Imported != 2 || len(l.Rows) != 2 {
			c.Errorf("%s; %d rows, want 2", r, len(l.Rows))
		}
		for _, r := range w.list(inbox).Rows {
			if text := w.thread(r.ID).Messages[0].Text; strings.ContainsAny(text, "\r") || strings.Contains(text, "\nFrom ") {
				c.Errorf("the text is %q", text)
			}
		}
	})
}

func TestEmptyMbox(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		r := w.imports(file("mbox", "empty.mbox"))
		if r.Imported != 0 || r.Failed != 0 || r.String() != "There was no message to import." {
			c.Errorf("%d imported, %d failed: %s", r.Imported, r.Failed, r)
		}
		w.open()
		w.list(inbox)
		c.has(w.frame(), "Nothing waits for you here")
	})
}

func TestNoMailbox(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		r := w.imports(file("mbox", "not-a-mailbox.mbox"))
		if r.Imported != 0 || r.Failed != 1 || len(r.Problems) != 1 || filepath.Base(r.Problems[0].Path) != "not-a-mailbox.mbox" {
			c.Errorf("%+v", r)
		}
		w.open()
		w.list(inbox)
		c.has(w.frame(), "Nothing waits for you here")
	})
}

// TestEverythingAtOnce imports all case files together: the import never stops, and every row can be opened.
func TestEverythingAtOnce(t *testing.T) {
	var paths []string
	err := filepath.WalkDir("testdata", func(path string, e os.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && (ext == ".eml" || ext == ".mbox") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	inWorld(t, setup{}, func(w *world) {
		c := w.row("shown")
		r := w.imports(paths...)
		if r.Failed > 2 || r.Imported < 70 {
			c.Errorf("the import says %s %v", r, r.Problems)
		}
		again := w.imports(paths...)
		if again.Imported != 0 || again.Skipped != r.Imported {
			c.Errorf("the second import says %s", again)
		}
		w.open()
		w.until("the whole list is here", func() bool {
			w.mail.LoadMore(inbox)
			l := w.mail.List(inbox)
			return l.Known && !l.More && !l.Loading
		})
		w.keys("G")
		n := len(w.mail.List(inbox).Rows)
		if n < 60 {
			c.Errorf("%d rows", n)
		}
		w.keys("g", "g", "enter")
		for range n {
			w.settle()
			w.keys("J")
		}
		w.size(140, 40)
		for range n {
			w.keys("K")
		}
	})
}
