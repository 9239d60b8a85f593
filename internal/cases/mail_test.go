package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
	"codeberg.org/teapost/teapost/state"
)

// mailDir finds difficult real mail that lies beside the repository and is no part of it.
func mailDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TEAPOST_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "mail")
	if _, err := os.Stat(filepath.Join(dir, "INDEX.tsv")); err != nil {
		t.Skip("the folder of difficult mail is not here")
	}
	return dir
}

// TestDifficultMail imports the folder into an empty mailbox and compares each message with its row: in the list, in
// the reader, and saved.
func TestDifficultMail(t *testing.T) {
	dir := mailDir(t)
	rows := table(t, filepath.Join(dir, "INDEX.tsv"))
	files := map[string][]map[string]string{}
	var order []string
	for _, row := range rows {
		name, _, _ := strings.Cut(row["file"], "#")
		if files[name] == nil {
			order = append(order, name)
		}
		files[name] = append(files[name], row)
	}
	for _, name := range order {
		inWorld(t, setup{own: []string{"nobody@example.invalid"}, width: 100, height: 40}, func(w *world) {
			r := w.imports(filepath.Join(dir, name))
			if r.Imported != len(files[name]) || r.Failed != 0 {
				w.row(name).Errorf("the import says %s %v", r, r.Problems)
			}
			w.open()
			l := w.list(inbox)
			for i, row := range files[name] {
				c := w.row(row["file"])
				th, m, ok := pick(w, l.Rows, row, i)
				if !ok {
					c.Errorf("the message is not in the list:\n%s", w.frame())
					continue
				}
				compare(w, c, th, m, row)
			}
		})
	}
}

// pick finds the message of a row of the index.
func pick(w *world, rows []state.Row, row map[string]string, i int) (state.Row, api.Message, bool) {
	for _, r := range rows {
		for _, m := range w.thread(r.ID).Messages {
			if len(rows) == 1 && len(w.thread(r.ID).Messages) == 1 || row["message_id"] != "" && strings.Trim(m.MessageID, "<>") == strings.Trim(row["message_id"], "<>") {
				return r, m, true
			}
		}
	}
	return state.Row{}, api.Message{}, false
}

func compare(w *world, c *check, th state.Row, m api.Message, row map[string]string) {
	from := m.From.Email
	if m.From.Name != "" {
		from = m.From.Name + " <" + m.From.Email + ">"
	}
	cell(c, "From", strings.ReplaceAll(row["expected_from"], " <>", ""), strings.TrimSuffix(from, " <>"))
	cell(c, "Subject", row["expected_subject"], m.Subject)
	if row["expected_date_utc"] != "-" {
		cell(c, "Date", row["expected_date_utc"], m.ReceivedAt.UTC().Format("2006-01-02T15:04:05Z"))
	} else if m.ReceivedAt.IsZero() {
		c.Errorf("no date")
	}
	attachments(c, row["expected_attachments"], m.Attachments)

	// The row of the list.
	w.size(100, 40)
	list := w.frame()
	short, full := clean.Address(m.From.Name, m.From.Email)
	if short == "" {
		short = "(nobody)"
	}
	c.has(list, firstCells(short, 12))
	subject := strings.TrimSpace(clean.Line(m.Subject))
	if subject == "" {
		subject = "(no subject)"
	}
	c.has(list, firstCells(subject, 12))

	// The reader, with all headers and all quoted text.
	w.size(100, 1000)
	w.moveTo(firstCells(subject, 12))
	w.read()
	w.keys("H")
	closed := w.frame()
	w.keys("tab")
	w.settle()
	text := squeeze(closed + w.frame())
	if want := row["expected_text_contains"]; want != "-" && !strings.Contains(text, squeeze(want)) {
		c.Errorf("the reader lacks %q:\n%s", want, w.frame())
	}
	if full != "" && !strings.Contains(text, squeeze(firstCells(full, 60))) {
		c.Errorf("the reader lacks %q:\n%s", full, firstLines(w.frame(), 30))
	}
	if len(subject) < 300 && !strings.Contains(text, squeeze(cells.Stable(subject))) {
		c.Errorf("the reader lacks the subject %q:\n%s", subject, firstLines(w.frame(), 30))
	}
	for i, a := range m.Attachments {
		if i < 3 && !strings.Contains(text, squeeze(firstCells(clean.Filename(a.Filename), 20))) {
			c.Errorf("the reader lacks the file %q:\n%s", a.Filename, w.frame())
		}
	}
	w.size(40, 12)
	w.size(140, 50)
	w.size(80, 24)
	d, err := w.mail.Reply(th.ID, m.ID, true)
	switch {
	case err != nil && strings.Contains(m.From.Email, "@"):
		c.Errorf("a reply says %v", err)
	case err == nil && (strings.ContainsAny(d.Subject, "\r\n\x1b") || strings.Contains(d.To, "\n")):
		c.Errorf("the reply is %q %q", d.Subject, d.To)
	}
	if _, err := w.mail.Forward(th.ID, m.ID); err != nil {
		c.Errorf("a forward says %v", err)
	}
	save(w, c, th.ID, m)
	w.keys("esc", "esc")
}

// save saves all attachments and compares their sizes.
func save(w *world, c *check, th state.ThreadID, m api.Message) {
	var ids []string
	for _, a := range m.Attachments {
		ids = append(ids, a.AttachmentID)
	}
	if len(ids) == 0 {
		return
	}
	dir := filepath.Join(w.dir, "saved-"+m.ID)
	w.mail.SaveFiles(th, m.ID, ids, dir)
	w.until("the files are saved", func() bool {
		entries, err := os.ReadDir(dir)
		for _, f := range w.mail.Status().Failures {
			c.Errorf("saving failed: %s", f.Text)
			return true
		}
		return err == nil && len(entries) >= len(ids)
	})
	w.settle()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(ids) {
		c.Errorf("%d files of %d were saved, %v", len(entries), len(ids), err)
	}
	var have, want int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			have += info.Size()
		}
	}
	for _, a := range m.Attachments {
		want += a.Size
	}
	if have != want {
		c.Errorf("%d bytes were saved, want %d", have, want)
	}
}

var linkMarks = regexp.MustCompile(`\[\d+\]`)

// squeeze leaves out what the layout adds: blanks, line ends, bars of quotations, numbers of links.
func squeeze(s string) string {
	s = linkMarks.ReplaceAllString(s, "")
	return strings.Join(strings.Fields(strings.NewReplacer("┊", "", ">", "").Replace(s)), "")
}

func firstCells(s string, n int) string {
	if r := []rune(s); len(r) > n {
		s = string(r[:n])
	}
	return strings.TrimSpace(s)
}

func firstLines(s string, n int) string {
	l := strings.Split(s, "\n")
	return strings.Join(l[:min(n, len(l))], "\n")
}

func cell(c *check, what, want, got string) {
	for _, w := range strings.Split(want, " ||| ") {
		switch part, contains := strings.CutPrefix(w, "~"); {
		case w == "-", w == "(none)" && got == "", w == got, contains && strings.Contains(got, part):
			return
		}
	}
	c.Errorf("%s is %.300q, want %q", what, got, want)
}

func attachments(c *check, want string, got []api.Attachment) {
	if want == "-" || want == "" {
		return
	}
	left := append([]api.Attachment(nil), got...)
	for _, w := range strings.Split(want, " | ") {
		name, size, _ := strings.Cut(w, ";")
		name, optional := strings.CutPrefix(name, "?")
		found := false
		for i, a := range left {
			fits := name == "*" || name == a.Filename || strings.HasPrefix(name, "~") && strings.Contains(a.Filename, name[1:])
			sized := false
			for _, s := range strings.Split(size, "/") {
				sized = sized || s == "~" || s == strconv.FormatInt(a.Size, 10)
			}
			if fits && sized {
				left = append(left[:i], left[i+1:]...)
				found = true
				break
			}
		}
		if !found && !optional {
			c.Errorf("no attachment %q in %+v", w, got)
		}
	}
}

// TestFolderOfDifficultMail imports all of it at once and walks through it.
func TestFolderOfDifficultMail(t *testing.T) {
	dir := mailDir(t)
	rows := table(t, filepath.Join(dir, "INDEX.tsv"))
	inWorld(t, setup{own: []string{"nobody@example.invalid"}}, func(w *world) {
		c := w.row("import")
		r := w.imports(dir)
		if r.Imported != len(rows) || r.Failed != 0 || len(r.Problems) != 0 {
			c.Errorf("the import says %s %v", r, r.Problems)
		}
		if len(r.Ignored) != 2 {
			c.Errorf("ignored %v", r.Ignored)
		}
		if again := w.imports(dir); again.Imported != 0 || again.Skipped != len(rows) {
			c.Errorf("the second import says %s", again)
		}
		w.open()
		w.until("the whole list is here", func() bool {
			w.mail.LoadMore(inbox)
			l := w.mail.List(inbox)
			return l.Known && !l.More && !l.Loading
		})
		c = w.row("walk")
		w.keys("enter")
		n := len(w.mail.List(inbox).Rows)
		for range n {
			w.until("the conversation is drawn", func() bool {
				f := w.frame()
				return !strings.Contains(f, "Loading the conversation") && !strings.Contains(f, "Laying out")
			})
			w.keys("H", "tab", "G", "J")
		}
		c.has(w.frame(), "last conversation")
	})
}
