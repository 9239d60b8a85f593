package mailparse

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

func TestMboxCases(t *testing.T) {
	for file, want := range map[string][]string{
		"mbox/from-lines.mbox":       {"One", "Two", "Three"},
		"mbox/crlf-no-blank.mbox":    {"One", "Two"},
		"mbox/empty.mbox":            nil,
		"threads/loop.mbox":          {"Loop one", "Loop two", "Self"},
		"threads/same-subject.mbox":  {"Your statement", "Your statement", "Re: Your statement"},
		"threads/broken-middle.mbox": {"Row one", "Zweite zeile =?UTF-8?Q?=_kaputt", "Row three"},
	} {
		var got []string
		for _, raw := range readBox(t, filepath.Join("testdata", file)) {
			got = append(got, parse(t, string(raw)).Subject)
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

func TestMboxBodies(t *testing.T) {
	box := readBox(t, "testdata/mbox/from-lines.mbox")
	want := "A list:\n\nFrom my side there are three points.\nFrom quoted once\n>From quoted twice\nFrom: looks like a header\n"
	if m := parse(t, string(box[0])); m.Text != want {
		t.Errorf("first body %q, want %q", m.Text, want)
	}
	if m := parse(t, string(box[2])); m.Text != "third, the last one, no line end" {
		t.Errorf("third body %q", m.Text)
	}
	box = readBox(t, "testdata/mbox/crlf-no-blank.mbox")
	if m := parse(t, string(box[0])); m.Text != "first\n" {
		t.Errorf("body %q", m.Text)
	}
}

func TestMboxRefusesOtherFiles(t *testing.T) {
	f, err := os.Open("testdata/mbox/not-a-mailbox.mbox")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, err := NewMbox(f).Next(); !errors.Is(err, ErrNotMbox) {
		t.Errorf("got %v", err)
	}
	for _, s := range []string{"", "\n\n\r\n"} {
		if _, _, err := NewMbox(strings.NewReader(s)).Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestMboxInfo(t *testing.T) {
	first := "From ada@example.com Tue Mar  3 09:30:00 2026\nStatus: RO\nX-Status: AF\nSubject: one\n\nbody\n\n"
	second := "From 123@xxx\nX-Gmail-Labels: Inbox,Unread,Starred,\n =?UTF-8?Q?Caf=C3=A9_list?=\nSubject: two\n\nbody\n\n"
	third := "From - Tue Mar  3 09:32:00 2026\nX-Mozilla-Status: 0005\nSubject: three\n\nbody\n\n"
	fourth := "From x@example.com Tue Mar  3 09:33:00 2026\nSubject: four\n\nbody\n"
	box := NewMbox(strings.NewReader(first + second + third + fourth))
	var infos []Info
	for {
		_, info, err := box.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	if len(infos) != 4 {
		t.Fatalf("%d messages", len(infos))
	}
	if want := time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC); infos[0].EnvelopeFrom != "ada@example.com" || !infos[0].EnvelopeDate.Equal(want) {
		t.Errorf("envelope %+v", infos[0])
	}
	if infos[1].Offset != int64(len(first)) || infos[1].Size != int64(len(second)) || !infos[1].EnvelopeDate.IsZero() {
		t.Errorf("place %+v", infos[1])
	}
	if f := infos[0].Flags; !f.Known || !f.Seen || !f.Answered || !f.Flagged || f.Deleted {
		t.Errorf("status %+v", f)
	}
	if f := infos[1].Flags; !f.Known || f.Seen || !f.Flagged || strings.Join(f.Labels, "|") != "Inbox|Café list" {
		t.Errorf("gmail %+v", f)
	}
	if f := infos[2].Flags; !f.Known || !f.Seen || !f.Flagged || f.Answered {
		t.Errorf("mozilla %+v", f)
	}
	if infos[3].Flags.Known {
		t.Errorf("flags from nowhere: %+v", infos[3].Flags)
	}
	if box.Offset() != int64(len(first+second+third+fourth)) {
		t.Errorf("offset %d", box.Offset())
	}
}

func TestMboxSkipsWhatIsTooLarge(t *testing.T) {
	small := "From a@example.com Tue Mar  3 09:30:00 2026\nSubject: small\n\nbody\n\n"
	large := "From a@example.com Tue Mar  3 09:30:00 2026\nSubject: large\n\n" + strings.Repeat("x", 300_000) + "\n\n"
	box := NewMbox(strings.NewReader(small + large + small))
	box.MaxMessageBytes = 100_000
	var subjects []string
	var tooLarge *TooLargeError
	for {
		raw, info, err := box.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.As(err, &tooLarge) {
			if info.Offset != int64(len(small)) || tooLarge.Offset != info.Offset {
				t.Errorf("offset %d, want %d", info.Offset, len(small))
			}
			continue
		}
		subjects = append(subjects, parse(t, string(raw)).Subject)
	}
	if tooLarge == nil || strings.Join(subjects, " ") != "small small" {
		t.Errorf("read %q, error %v", subjects, tooLarge)
	}
}

func TestMaildir(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{
		"cur/1.host:2,FRS": "a", "cur/2.host:2,": "b", "cur/3.host": "c", "new/4.host": "d", "tmp/5.host": "e", "cur/.hidden": "f", "cur/6.host!2,T": "g",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Skip("the file system does not take such names:", err)
		}
	}
	if !IsMaildir(dir) || IsMaildir(filepath.Join(dir, "cur")) {
		t.Error("IsMaildir is wrong")
	}
	var got []string
	err := WalkMaildir(dir, func(path string, f Flags) error {
		s := filepath.Base(path)
		for flag, on := range map[string]bool{"seen": f.Seen, "answered": f.Answered, "flagged": f.Flagged, "deleted": f.Deleted} {
			if on {
				s += " " + flag
			}
		}
		words := strings.Fields(s)
		sort.Strings(words[1:])
		got = append(got, strings.Join(words, " "))
		return nil
	})
	sort.Strings(got)
	want := "1.host:2,FRS answered flagged seen|2.host:2,|3.host|4.host|6.host!2,T deleted"
	if err != nil || strings.Join(got, "|") != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestMaildirFolder(t *testing.T) {
	for rel, want := range map[string]string{
		".": "", ".Sent": "Sent", ".Lists.Go": "Lists/Go", "Lists/Go": "Lists/Go", ".INBOX.Work": "Work", "INBOX": "INBOX",
		".Entw&APw-rfe": "Entwürfe", ".A &- B": "A & B", ".&broken": "&broken",
	} {
		if got := MaildirFolder(rel); got != want {
			t.Errorf("%q gives %q, want %q", rel, got, want)
		}
	}
}
