package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

func cases(name string) string {
	return filepath.Join("..", "internal", "mailparse", "testdata", name)
}

func importInto(t *testing.T, s *Server, opts ImportOptions, paths ...string) ImportReport {
	t.Helper()
	r, err := s.Import(context.Background(), paths, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// folderSubjects lists "subject (messages)" of a folder, sorted.
func folderSubjects(c *client, folder string) string {
	var out []string
	for _, id := range c.folder(folder) {
		th := c.do(http.StatusOK, http.MethodGet, "/threads/"+id, nil)
		messages := th["messages"].([]any)
		out = append(out, fmt.Sprintf("%v (%d)", messages[0].(obj)["subject"], len(messages)))
	}
	sort.Strings(out)
	return strings.Join(out, "; ")
}

func TestImportCases(t *testing.T) {
	for file, want := range map[string]struct {
		report, threads string
	}{
		"mbox/from-lines.mbox":           {"3 messages imported.", "One (1); Three (1); Two (1)"},
		"mbox/crlf-no-blank.mbox":        {"2 messages imported.", "One (1); Two (1)"},
		"mbox/empty.mbox":                {"There was no message to import.", ""},
		"mbox/not-a-mailbox.mbox":        {"0 messages imported, 1 could not be read.", ""},
		"threads/loop.mbox":              {"3 messages imported.", "Loop one (2); Self (1)"},
		"threads/same-subject.mbox":      {"3 messages imported.", "Your statement (1); Your statement (2)"},
		"threads/broken-middle.mbox":     {"3 messages imported.", "Row one (1); Row three (1); Zweite zeile =?UTF-8?Q?=_kaputt (1)"},
		"headers/missing-all.eml":        {"1 message imported.", " (1)"},
		"headers/no-subject-no-from.eml": {"1 message imported.", " (1)"},
		"attachments/names.eml":          {"1 message imported.", "Twenty-three attachments (1)"},
	} {
		t.Run(file, func(t *testing.T) {
			s := open(t, t.TempDir(), newClock())
			r := importInto(t, s, ImportOptions{}, cases(file))
			if r.String() != want.report {
				t.Errorf("report %q, want %q; %v", r, want.report, r.Problems)
			}
			for _, p := range r.Problems {
				if !strings.Contains(p.String(), filepath.Base(file)) {
					t.Errorf("the report %q does not name the file", p)
				}
			}
			if got := folderSubjects(direct(t, s), "all"); got != want.threads {
				t.Errorf("threads %q, want %q", got, want.threads)
			}
		})
	}
}

func TestImportTwiceAddsNothing(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	dir := filepath.Dir(cases("mbox/from-lines.mbox"))
	root := filepath.Dir(dir)
	first := importInto(t, s, ImportOptions{}, root)
	if first.Imported < 30 || first.Skipped != 0 {
		t.Fatalf("first: %v", first)
	}
	again := importInto(t, s, ImportOptions{}, root)
	if again.Imported != 0 || again.Skipped != first.Imported {
		t.Errorf("again: %v", again)
	}
	// The tables beside the mail are no mail, and no reason to stop.
	if len(first.Ignored) == 0 || first.Failed != 1 {
		t.Errorf("ignored %v, problems %v", first.Ignored, first.Problems)
	}
}

func TestImportNamesWhatIsMissing(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	r := importInto(t, s, ImportOptions{}, filepath.Join(t.TempDir(), "nothing.mbox"), cases("mbox/crlf-no-blank.mbox"))
	if r.Imported != 2 || r.Failed != 1 || !strings.Contains(r.Problems[0].String(), "nothing.mbox: there is no such file") {
		t.Errorf("%v %v", r, r.Problems)
	}
}

func TestImportMaildirFoldersAndFlags(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	root := t.TempDir()
	put := func(path, subject, from string) {
		t.Helper()
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, mailText(subject+"@example.com", from, subject, "text"), 0o600); err != nil {
			t.Skip("the file system does not take such names:", err)
		}
	}
	for _, d := range []string{".", ".Sent", ".Trash", ".Lists.Go", ".Junk"} {
		for _, sub := range []string{"cur", "new", "tmp"} {
			if err := os.MkdirAll(filepath.Join(root, d, sub), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("cur/1:2,S", "read", "a@example.com")
	put("cur/2:2,FS", "starred", "a@example.com")
	put("cur/3:2,", "unread", "a@example.com")
	put("new/4", "new", "a@example.com")
	put("tmp/5", "unfinished", "a@example.com")
	put("cur/6:2,ST", "deleted", "a@example.com")
	put(".Sent/cur/7:2,S", "sent", me)
	put(".Trash/cur/8:2,S", "trashed", "a@example.com")
	put(".Lists.Go/cur/9:2,S", "list", "a@example.com")
	put(".Junk/cur/10:2,S", "junk", "a@example.com")
	if err := os.WriteFile(filepath.Join(root, "dovecot-uidlist"), []byte("3 V1"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := importInto(t, s, ImportOptions{}, root)
	if r.Imported != 9 || r.Failed != 0 {
		t.Fatalf("%v %v", r, r.Problems)
	}
	c := direct(t, s)
	for folder, want := range map[string]string{
		"inbox": "new (1); read (1); starred (1); unread (1)", "sent": "sent (1)", "trash": "deleted (1); trashed (1)", "archive": "list (1)", "spam": "junk (1)", "starred": "starred (1)",
	} {
		if got := folderSubjects(c, folder); got != want {
			t.Errorf("%s holds %q, want %q", folder, got, want)
		}
	}
	if count, unread := c.count("inbox"); count != 4 || unread != 2 {
		t.Errorf("inbox has %d, %d unread", count, unread)
	}
	th := c.do(http.StatusOK, http.MethodGet, "/threads/"+c.folder("archive")[0], nil)
	if !strings.Contains(fmt.Sprint(th["labels"]), "Lists/Go") {
		t.Errorf("labels %v", th["labels"])
	}
}

func TestImportGmailExport(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	var b bytes.Buffer
	for i, labels := range []string{"Inbox,Unread,Important", "Archived,Opened,Reisen", "Sent", "Spam,Category Promotions,Unread", "Inbox,Starred,Opened", "Trash,Inbox"} {
		fmt.Fprintf(&b, "From %d@xxx\nX-Gmail-Labels: %s\n%s\n", 1844347792267117879+i, labels,
			strings.ReplaceAll(string(mailText(fmt.Sprintf("g%d@x", i), "a@example.com", fmt.Sprintf("g%d", i), "text")), "\r\n", "\n"))
	}
	path := filepath.Join(t.TempDir(), "All mail Including Spam and Trash.mbox")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	importInto(t, s, ImportOptions{}, path)
	c := direct(t, s)
	for folder, want := range map[string]string{
		"inbox": "g0 (1); g4 (1)", "archive": "g1 (1)", "sent": "g2 (1)", "spam": "g3 (1)", "trash": "g5 (1)", "starred": "g4 (1)",
	} {
		if got := folderSubjects(c, folder); got != want {
			t.Errorf("%s holds %q, want %q", folder, got, want)
		}
	}
	if _, unread := c.count("inbox"); unread != 1 {
		t.Errorf("%d unread", unread)
	}
}

func TestImportFolderOfMailPrograms(t *testing.T) {
	for rel, want := range map[string]string{
		"Inbox": "Inbox", "Work.sbd/Reports": "Work/Reports", "Sent Items": "Sent Items", "Plans.mbox/mbox": "Plans", "old.mbox": "", "threads/loop.mbox": "", "Drafts.mbox": "Drafts",
	} {
		if got := folderOfFile(rel, false); got != want {
			t.Errorf("%q is folder %q, want %q", rel, got, want)
		}
	}
	if got := folderOfFile("ada", true); got != "" {
		t.Errorf("a named spool file became the folder %q", got)
	}
}

func TestImportReportsOffsets(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	small := "From a@example.com Tue Mar  3 09:30:00 2026\nFrom: a@example.com\nSubject: small\n\nbody\n\n"
	large := "From a@example.com Tue Mar  3 09:30:00 2026\nFrom: a@example.com\nSubject: large\n\n" + strings.Repeat("x", 4000) + "\n\n"
	empty := "From a@example.com Tue Mar  3 09:30:00 2026\n\n\n\n"
	path := filepath.Join(t.TempDir(), "x.mbox")
	if err := os.WriteFile(path, []byte(small+large+empty+strings.ReplaceAll(small, "small", "last")), 0o600); err != nil {
		t.Fatal(err)
	}
	r := importInto(t, s, ImportOptions{MaxMessageBytes: 2000}, path)
	if r.Imported != 2 || r.Failed != 2 || r.Messages != 4 {
		t.Fatalf("%+v", r)
	}
	if r.Problems[0].Offset != int64(len(small)) || r.Problems[1].Offset != int64(len(small+large)) {
		t.Errorf("offsets %v", r.Problems)
	}
}

func TestImportStopsCleanly(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	var b bytes.Buffer
	const n = 1000
	for i := range n {
		fmt.Fprintf(&b, "From a@example.com Tue Mar  3 09:30:00 2026\nFrom: a@example.com\nMessage-ID: <n%d@x>\nSubject: n%d\n\nbody\n\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "x.mbox")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last ImportProgress
	r, err := s.Import(ctx, []string{path}, ImportOptions{Progress: func(p ImportProgress) {
		last = p
		if p.Messages > 0 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, report %v", err, r)
	}
	if r.Imported%importBatch != 0 || r.Imported >= n {
		t.Errorf("stopped after %d", r.Imported)
	}
	if last.BytesTotal != int64(b.Len()) {
		t.Errorf("total %d, want %d", last.BytesTotal, b.Len())
	}
	again := importInto(t, s, ImportOptions{}, path)
	if again.Imported+again.Skipped != n || again.Skipped != r.Imported {
		t.Errorf("after %v: %v", r, again)
	}
	if count, _ := direct(t, s).count("inbox"); count != n {
		t.Errorf("%d threads, want %d", count, n)
	}
}

func TestImportDates(t *testing.T) {
	clk := newClock()
	s := open(t, t.TempDir(), clk)
	table, err := os.ReadFile(cases("headers/dates.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	importInto(t, s, ImportOptions{}, cases("headers/dates.mbox"))
	c := direct(t, s)
	got := map[string]string{}
	top := ""
	for _, id := range c.folder("inbox") {
		m := c.do(http.StatusOK, http.MethodGet, "/threads/"+id, nil)["messages"].([]any)[0].(obj)
		if top == "" {
			top = m["subject"].(string)
		}
		got[m["subject"].(string)] = m["receivedAt"].(string)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		f := strings.Split(line, "\t")
		at, err := time.Parse(time.RFC3339, got[f[0]])
		if err != nil {
			t.Errorf("%s: %v", f[0], err)
			continue
		}
		if at.After(clk.now()) && top == f[0] {
			t.Errorf("%s stays on top of the list until %v", f[0], at)
		}
		if want, err := time.Parse(time.RFC3339, f[2]); err == nil && !at.Equal(want) {
			t.Errorf("%s is dated %v, want %v", f[0], at, want)
		}
	}
}

func TestImportUndatedTakesTheEnvelope(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	path := filepath.Join(t.TempDir(), "x.mbox")
	if err := os.WriteFile(path, []byte("From a@example.com Tue Mar  3 09:30:00 2026\nFrom: a@example.com\nSubject: undated\n\nbody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	importInto(t, s, ImportOptions{}, path)
	c := direct(t, s)
	m := c.do(http.StatusOK, http.MethodGet, "/threads/"+c.folder("inbox")[0], nil)["messages"].([]any)[0].(obj)
	if m["receivedAt"] != "2026-03-03T09:30:00.000Z" {
		t.Errorf("dated %v", m["receivedAt"])
	}
}

// TestImportDifficultMail imports the folder of difficult mail, when it is there, and looks at each
// message through the API.
func TestImportDifficultMail(t *testing.T) {
	dir := os.Getenv("TEAPOST_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared")
	}
	dir = filepath.Join(dir, "mail")
	if _, err := os.Stat(filepath.Join(dir, "INDEX.tsv")); err != nil {
		t.Skip("the folder of difficult mail is not here")
	}
	s := open(t, t.TempDir(), &clock{})
	s.now = time.Now
	r := importInto(t, s, ImportOptions{}, dir)
	if r.Failed != 0 || r.Imported != 57 {
		t.Errorf("%v %v", r, r.Problems)
	}
	c := direct(t, s)
	for _, id := range c.folder("all") {
		for _, m := range c.do(http.StatusOK, http.MethodGet, "/threads/"+id, nil)["messages"].([]any) {
			m := m.(obj)
			text, _ := m["text"].(string)
			html, _ := m["html"].(string)
			if files, _ := m["attachments"].([]any); strings.TrimSpace(text+html) == "" && len(files) == 0 {
				t.Errorf("%v shows nothing", m["subject"])
			}
		}
	}
}

func TestImportFolderOption(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	if _, err := s.Import(context.Background(), nil, ImportOptions{Folder: "attic"}); err == nil {
		t.Error("an unknown folder was taken")
	}
	importInto(t, s, ImportOptions{Folder: "archive"}, cases("mbox/crlf-no-blank.mbox"))
	if got := folderSubjects(direct(t, s), "archive"); got != "One (1); Two (1)" {
		t.Errorf("archive holds %q", got)
	}
}
