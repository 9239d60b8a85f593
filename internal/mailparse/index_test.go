package mailparse

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sharedDir finds files that lie beside the repository and are not part of it.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("TEAPOST_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "mail", "INDEX.tsv")); err != nil {
		t.Skip("the folder of difficult mail is not here")
	}
	return dir
}

// TestIndexOfDifficultMail holds each message of the index against its row.
func TestIndexOfDifficultMail(t *testing.T) {
	dir := filepath.Join(sharedDir(t), "mail")
	table, err := os.ReadFile(filepath.Join(dir, "INDEX.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	boxes := map[string][][]byte{}
	for _, line := range strings.Split(strings.TrimRight(string(table), "\n"), "\n")[1:] {
		c := strings.Split(line, "\t")
		file, id, from, subject, date, text, files := c[0], c[5], c[6], c[7], c[8], c[9], c[10]
		t.Run(file, func(t *testing.T) {
			var raw []byte
			if name, number, ok := strings.Cut(file, "#"); ok {
				if boxes[name] == nil {
					boxes[name] = readBox(t, filepath.Join(dir, name))
				}
				n, err := strconv.Atoi(number)
				if err != nil || n > len(boxes[name]) {
					t.Fatalf("message %s of %d", number, len(boxes[name]))
				}
				raw = boxes[name][n-1]
			} else if raw, err = os.ReadFile(filepath.Join(dir, file)); err != nil {
				t.Fatal(err)
			}
			m, err := Parse(context.Background(), raw, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if id != "" && m.MessageID != id {
				t.Errorf("Message-ID %q, want %q", m.MessageID, id)
			}
			sender := ""
			if len(m.From) > 0 {
				sender = m.From[0].String()
				if m.From[0].Name != "" {
					sender = strings.TrimSpace(m.From[0].Name + " <" + m.From[0].Email + ">")
				}
			}
			sender = strings.TrimSuffix(sender, " <>")
			checkCell(t, "From", strings.ReplaceAll(from, " <>", ""), sender)
			checkCell(t, "Subject", subject, m.Subject)
			if date != "-" {
				got := ""
				if m.DateKnown {
					got = m.Date.Format(time.RFC3339)
				}
				checkCell(t, "Date", date, got)
			}
			if text != "-" && !strings.Contains(squeeze(m.Text+" "+tags.ReplaceAllString(m.HTML, "")), squeeze(text)) {
				t.Errorf("text without %q: %.600q", text, m.Text+m.HTML)
			}
			checkFiles(t, raw, files, m.Attachments)
		})
	}
}

var tags = regexp.MustCompile(`<[^>]*>`)

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func checkCell(t *testing.T, what, want, got string) {
	t.Helper()
	for _, w := range strings.Split(want, " ||| ") {
		switch part, contains := strings.CutPrefix(w, "~"); {
		case w == "-", w == "(none)" && got == "", w == got, contains && strings.Contains(got, part):
			return
		}
	}
	t.Errorf("%s is %.300q, want %q", what, got, want)
}

func checkFiles(t *testing.T, raw []byte, want string, got []Attachment) {
	t.Helper()
	for i, a := range got {
		b, data, err := OpenAttachment(raw, i)
		if err != nil || b != a || int64(len(data)) != a.Size {
			t.Errorf("attachment %d: %v, %+v, want %+v with %d bytes", i, err, b, a, len(data))
		}
	}
	if want == "-" || want == "" {
		return
	}
	left := append([]Attachment{}, got...)
	for _, w := range strings.Split(want, " | ") {
		name, size, _ := strings.Cut(w, ";")
		name, optional := strings.CutPrefix(name, "?")
		found := false
		for i, a := range left {
			fits := name == "*" || name == a.Filename || strings.HasPrefix(name, "~") && strings.Contains(a.Filename, name[1:])
			if size != "~" {
				ok := false
				for _, s := range strings.Split(size, "/") {
					ok = ok || s == "~" || s == strconv.FormatInt(a.Size, 10)
				}
				fits = fits && ok
			}
			if fits {
				left = append(left[:i], left[i+1:]...)
				found = true
				break
			}
		}
		if !found && !optional {
			t.Errorf("no attachment %q in %+v", w, got)
		}
	}
	for _, a := range left {
		if a.ContentType != "message/rfc822" || a.Filename == "" {
			t.Errorf("attachment %+v is not expected", a)
		}
	}
}

func readBox(t *testing.T, path string) [][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out [][]byte
	for box := NewMbox(f); ; {
		raw, _, err := box.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, bytes.Clone(raw))
	}
}
