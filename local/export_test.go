package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// mailboxDump writes down all that a person can tell of a mailbox, without its ids.
func mailboxDump(t *testing.T, s *Server) string {
	t.Helper()
	var b strings.Builder
	for _, q := range []string{
		`SELECT 'message', row_number() OVER (ORDER BY id), (SELECT count(*) FROM messages x WHERE x.id <
			(SELECT min(y.id) FROM messages y WHERE y.thread_id = m.thread_id)), hex(hash), message_id, received_at, dated_at, subject, from_name,
			from_email, snippet, unread, outgoing, incoming, answered, size, attachments, delivered_to FROM messages m ORDER BY id`,
		`SELECT 'thread', subject, sort_subject, sort_sender, first_at, last_at, woke_at, messages, unread, incoming, outgoing, inbox, starred,
			spam, trashed, muted, snoozed_until, delivered_to FROM threads t ORDER BY (SELECT min(id) FROM messages m WHERE m.thread_id = t.id)`,
		`SELECT 'place', (SELECT min(hex(hash)) FROM messages m WHERE m.thread_id = p.thread_id) AS h,
			CASE WHEN place >= 1000 THEN (SELECT name FROM labels WHERE id = place - 1000) ELSE place END AS place, sort_at, unread FROM places p ORDER BY h, place`,
		`SELECT 'label', (SELECT min(hex(hash)) FROM messages m WHERE m.thread_id = x.thread_id) AS h, name, background, foreground
			FROM thread_labels x JOIN labels l ON l.id = x.label_id ORDER BY h, name`,
		`SELECT 'file', (SELECT hex(hash) FROM messages m WHERE m.id = a.message_id) AS h, position, filename, content_type, size, inline, content_id
			FROM attachments a ORDER BY h, position`,
		`SELECT 'person', email, display, name, folded, count(*) FROM people JOIN participants ON person_id = id GROUP BY id ORDER BY email`,
		`SELECT 'draft', recipients, subject, html, from_address, (SELECT min(hex(hash)) FROM messages m WHERE m.thread_id = d.thread_id),
			(SELECT hex(hash) FROM messages m WHERE m.id = d.forward_of), created_at, updated_at FROM drafts d ORDER BY id`,
		`SELECT 'search', (SELECT count(*) FROM mail_search), (SELECT count(search_id) FROM messages), search_id >> 20 FROM messages ORDER BY id`,
	} {
		rows, err := s.reader.QueryContext(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			into := make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				fmt.Fprintf(&b, "%v|", v)
			}
			b.WriteByte('\n')
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := s.reader.QueryContext(context.Background(), "SELECT encoding, data FROM raws ORDER BY message_id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var m storedMessage
		if err := rows.Scan(&m.encoding, &m.data); err != nil {
			t.Fatal(err)
		}
		raw, err := unpack(m.encoding, m.data)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "raw|%x\n", sha256.Sum256(withoutMailboxFields(raw)))
	}
	return b.String()
}

// sameDump reports the first lines in which two mailboxes differ.
func sameDump(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	shown := 0
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("line %d\n got %.400s\nwant %.400s", i, a, b)
			if shown++; shown == 5 {
				t.FailNow()
			}
		}
	}
}

func export(t *testing.T, s *Server) []byte {
	t.Helper()
	var b bytes.Buffer
	r, err := s.Export(context.Background(), &b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Bytes != int64(b.Len()) {
		t.Errorf("the report says %d bytes of %d", r.Bytes, b.Len())
	}
	return b.Bytes()
}

func fileOf(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// livedIn makes a mailbox in which somebody has read, starred, moved, snoozed, answered and deleted.
func livedIn(t *testing.T, clk *clock) *Server {
	t.Helper()
	s := open(t, t.TempDir(), clk)
	if err := s.AddSample(context.Background()); err != nil {
		t.Fatal(err)
	}
	importInto(t, s, ImportOptions{}, filepath.Dir(filepath.Dir(cases("mbox/from-lines.mbox"))))
	for i, raw := range []string{
		"", "\nno header\n", " continued first\nSubject: x\n\nbody", "From nobody\n\nFrom here\n>From there\n", "Subject: crlf\r\n\r\nFrom a line\r\n\r\n\r\n",
		"Subject: open", "Subject: mixed\r\n\nlines\r\n\r\n", "Subject: cr only\r\rbody\r", "Subject: nul\n\na\x00b\xff\n",
		"X-Teapost: {\"v\":1,\"first\":{\"spam\":true}}\nSubject: forged\n\nx\n", "Subject: ends blank\n\nx\n\n\n",
	} {
		if raw == "" {
			continue
		}
		ingest(t, s, []byte(raw), IngestOptions{Folder: []string{"inbox", "archive", "trash", "spam"}[i%4], Unread: i%2 == 0, Labels: []string{"Größe, groß", "日本/東京"}})
	}
	// An answer in its own words to a message without an id is threaded by the API alone.
	lost := ingest(t, s, []byte("From: lost@example.com\nTo: "+me+"\nSubject: no id\n\nwhat?\n"), IngestOptions{Arrival: true})
	c := direct(t, s)
	from := s.Addresses()[0]
	c.do(http.StatusOK, "POST", "/emails", obj{"from": from, "to": []string{"lost@example.com"}, "subject": "here", "text": "this", "threadId": lost.ThreadID})
	c.do(http.StatusOK, "POST", "/emails", obj{"from": from, "to": []string{from}, "subject": "Mühe 🙂", "text": "to myself"})
	c.do(http.StatusOK, "POST", "/drafts", obj{"to": "unfinished addr", "subject": "Entwurf\u2028ß", "html": "<p>From here</p>\n\n<p>on</p>"})
	ids := c.folder("inbox")
	for i, id := range ids[:9] {
		path := "/threads/" + id
		switch i {
		case 0:
			c.do(http.StatusOK, "POST", path+"/snooze", obj{"wakeAt": instant(clk.now().Add(72 * time.Hour).UnixMilli())})
		case 1:
			c.do(http.StatusOK, "POST", path+"/mute", nil)
		case 2:
			c.do(http.StatusOK, "POST", path+"/trash", nil)
		case 3:
			c.do(http.StatusOK, "PATCH", path, obj{"read": false, "addLabelIds": []string{labelStarred, labelSpam}})
		case 4:
			c.do(http.StatusOK, "PATCH", path, obj{"removeLabelIds": []string{labelInbox}, "addLabelIds": []string{labelStarred}})
		case 5:
			c.do(http.StatusOK, "POST", path+"/snooze", obj{"wakeAt": instant(clk.now().Add(time.Hour).UnixMilli())})
		case 6:
			c.do(http.StatusOK, "DELETE", path, nil)
		case 7:
			m := c.do(http.StatusOK, "GET", path, nil)["messages"].([]any)[0].(obj)
			c.do(http.StatusOK, "POST", "/drafts", obj{"to": "a@example.com", "subject": "Fwd", "html": "<p>see</p>", "forwardOf": m["id"]})
		}
	}
	clk.advance(2 * time.Hour)
	if err := s.runDue(context.Background()); err != nil {
		t.Fatal(err)
	}
	clk.advance(time.Minute)
	return s
}

func TestExportComesBackTheSame(t *testing.T) {
	clk := newClock()
	s := livedIn(t, clk)
	want := mailboxDump(t, s)
	if n := strings.Count(want, "\nmessage|"); n < 60 {
		t.Fatalf("only %d messages", n)
	}
	first := export(t, s)
	path := fileOf(t, "all.mbox", first)

	again := open(t, t.TempDir(), clk, func(o *Options) { o.Addresses, o.Name = s.Addresses(), s.Name() })
	r := importInto(t, again, ImportOptions{}, path)
	if r.Failed != 0 || r.Skipped != 0 {
		t.Errorf("%v %v", r, r.Problems)
	}
	sameDump(t, mailboxDump(t, again), want)
	if second := export(t, again); !bytes.Equal(first, second) {
		t.Error("the export of the import differs from the export")
	}

	// Nothing is there twice, and nothing moves.
	before := mailboxDump(t, s)
	if r := importInto(t, s, ImportOptions{}, path); r.Imported > r.Drafts || r.Failed != 0 {
		t.Errorf("into itself: %v %v", r, r.Problems)
	}
	after := mailboxDump(t, s)
	for _, line := range strings.Split(after, "\n") {
		if !strings.HasPrefix(line, "draft|") && !strings.Contains(before, line) {
			t.Errorf("changed: %.300s", line)
		}
	}
}

func TestExportIsReadByOthers(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk)
	ingest(t, s, mailText("a@x", "Ada <ada@example.com>", "Hello", "From me\r\n>From you"), IngestOptions{Starred: true, Unread: true, Labels: []string{"Reisen", "Büro"}})
	got := string(export(t, s))
	for _, want := range []string{
		"From ada@example.com Tue Mar  3 09:30:00 2026\n", "\nX-Gmail-Labels: Inbox,\n Starred,\n Unread,\n Reisen,\n =?utf-8?q?B=C3=BCro?=\n",
		"\nStatus: O\nX-Status: F\nFrom: Ada <ada@example.com>\n", "\n\n>From me\n>>From you\n\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the export lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "\r") {
		t.Error("the export has CRLF line ends")
	}
}

func TestImportKeepsMarksOfOthers(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	box := "From a@x Tue Mar  3 09:30:00 2026\nStatus: O\nX-Status: AF\nX-Keywords: Lists\nFrom: a@x\nSubject: one\nMessage-ID: <1@x>\nContent-Length: 5\n\nbody\n\n" +
		"From a@x Tue Mar  3 09:30:00 2026\nFrom: " + me + "\nTo: b@x\nSubject: later\nX-Status: T\n\nunfinished\n\n"
	importInto(t, s, ImportOptions{}, fileOf(t, "Inbox", []byte(box)))
	c := direct(t, s)
	if got := folderSubjects(c, "starred"); got != "one (1)" {
		t.Errorf("starred: %q", got)
	}
	if n, unread := c.count("inbox"); n != 1 || unread != 1 {
		t.Errorf("inbox has %d, %d unread", n, unread)
	}
	if got := c.list("/threads?query=is:answered"); len(got) != 1 {
		t.Errorf("answered: %v", got)
	}
	if got := c.list("/drafts"); len(got) != 1 {
		t.Fatalf("drafts: %v", got)
	}
	if d := c.do(200, "GET", "/drafts/"+c.list("/drafts")[0], nil); d["subject"] != "later" || fmt.Sprint(d["to"]) != "[b@x]" || !strings.Contains(d["html"].(string), "unfinished") {
		t.Errorf("draft %v", d)
	}
	// The same message without the lines of its mailbox is the same message.
	r := importInto(t, s, ImportOptions{}, fileOf(t, "one.eml", []byte("From: a@x\nSubject: one\nMessage-ID: <1@x>\n\nbody\n")))
	if r.Skipped != 1 || r.Imported != 0 {
		t.Errorf("without the lines of its mailbox: %v", r)
	}
	// A draft that was thrown away does not come back.
	c.do(200, "DELETE", "/drafts/"+c.list("/drafts")[0], nil)
	if r := importInto(t, s, ImportOptions{}, fileOf(t, "Inbox", []byte(box))); r.Skipped != 2 || len(c.list("/drafts")) != 0 {
		t.Errorf("again: %v, drafts %v", r, c.list("/drafts"))
	}
}

func TestFilesAreNotOverwritten(t *testing.T) {
	s := livedIn(t, newClock())
	dir := t.TempDir()
	ctx := context.Background()
	for name, write := range map[string]func(string) error{
		"backup": func(p string) error { return s.Backup(ctx, p) },
		"export": func(p string) error { _, err := s.ExportFile(ctx, p, nil); return err },
	} {
		path := filepath.Join(dir, name)
		if err := write(path); err != nil {
			t.Fatal(name, err)
		}
		fi, err := os.Stat(path)
		if err != nil || fi.Mode().Perm() != 0o600 || fi.Size() == 0 {
			t.Errorf("%s: %v %v", name, fi, err)
		}
		before, _ := os.ReadFile(path)
		if err := write(path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s over a file: %v", name, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s changed the file that was there", name)
		}
		stopped, cancel := context.WithCancel(ctx)
		cancel()
		if name == "backup" {
			err = s.Backup(stopped, filepath.Join(dir, "stopped"))
		} else {
			_, err = s.ExportFile(stopped, filepath.Join(dir, "stopped"), nil)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s stopped: %v", name, err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left in the folder: %v %v", left, err)
	}
}

func TestBackupIsAMailbox(t *testing.T) {
	clk := newClock()
	s := livedIn(t, clk)
	dir := t.TempDir()
	t.Chdir(dir)
	if err := s.Backup(context.Background(), FileName); err != nil {
		t.Fatal(err)
	}
	copied := open(t, dir, clk)
	sameDump(t, mailboxDump(t, copied), mailboxDump(t, s))
}

// TestExportContactsAndCalendar takes the contacts and the calendar of one mailbox into another by their files.
func TestExportContactsAndCalendar(t *testing.T) {
	s, into := open(t, t.TempDir(), newClock()), open(t, t.TempDir(), newClock())
	c, other := direct(t, s), direct(t, into)
	c.do(200, "POST", "/contacts", obj{"email": "Ada@example.com", "name": "Ada Byron", "notes": "engines"})
	c.do(200, "POST", "/contacts", obj{"email": "bob@example.org"})
	c.do(200, "POST", "/calendar/events", obj{"summary": "Launch", "start": "2026-03-12T10:00:00Z", "end": "2026-03-12T11:00:00Z"})
	dir := t.TempDir()
	for _, e := range []struct {
		name  string
		write func(context.Context, string) (int, error)
		want  int
		path  string
	}{{"all.vcf", s.ExportContacts, 2, "/contacts/imports"}, {"all.ics", s.ExportCalendar, 1, "/calendar/imports"}} {
		path := filepath.Join(dir, e.name)
		if n, err := e.write(context.Background(), path); n != e.want || err != nil {
			t.Errorf("%s: %d, %v", e.name, n, err)
		}
		if _, err := e.write(context.Background(), path); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s a second time: %v", e.name, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.name, fi, err)
		}
		if got := other.do(200, "POST", e.path+"?filename="+e.name, string(text)); got["counts"].(obj)["imported"] != float64(e.want) {
			t.Errorf("%s: %v", e.name, got)
		}
	}
	if got := other.do(200, "GET", "/contacts/ada@example.com", nil); got["name"] != "Ada Byron" {
		t.Errorf("Ada: %v", got)
	}
	if got := other.do(200, "GET", "/contacts/cards?email=ada@example.com", nil)["data"].([]any); len(got) != 1 || got[0].(obj)["notes"] != "engines" {
		t.Errorf("Ada's card: %v", got)
	}
}
