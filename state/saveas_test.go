package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/api"
)

func TestWriteFileAs(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want string }{
		{"other.pdf", "other.pdf"},
		{"mine.txt", "mine (2).txt"},
		{"new folder/x.pdf", "new folder/x.pdf"},
		{"new folder", "new folder/a_b.pdf"}, // it is there now
		{"not there/", "not there/a_b.pdf"},
	} {
		path := filepath.Join(dir, tt.path)
		if tt.path[len(tt.path)-1] == '/' {
			path += string(filepath.Separator)
		}
		got, err := writeFileAs(api.Attachment{Filename: "../x/a?b.pdf", Content: []byte("pdf")}, path)
		if want := filepath.Join(dir, tt.want); got != want || err != nil {
			t.Errorf("saved as %s: %q, %v, want %q", tt.path, got, err, want)
			continue
		}
		if b, err := os.ReadFile(got); string(b) != "pdf" || err != nil {
			t.Errorf("%s holds %q, %v", got, b, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "mine.txt")); string(b) != "mine" || err != nil {
		t.Errorf("what was there is written over: %q, %v", b, err)
	}
	if got, err := writeFileAs(api.Attachment{}, filepath.Join(dir, "mine.txt", "x")); err == nil {
		t.Errorf("a file in a file: %q", got)
	}
}

func TestShortTimeNamesAnotherYear(t *testing.T) {
	now := time.Date(2026, 11, 30, 9, 41, 0, 0, time.UTC)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{now.Add(2 * time.Hour), "11:41"},
		{now.AddDate(0, 0, 4), "Fri 4 Dec 09:41"},
		{now.AddDate(1, 2, 0), "Sun 30 Jan 2028 09:41"},
	} {
		if got := shortTime(tt.at, now); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.at, got, tt.want)
		}
	}
}
