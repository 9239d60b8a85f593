package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedDir finds the collection of difficult mail, which is no part of the repository.
func sharedDir(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{os.Getenv("TEAPOST_SHARED"), "../../shared"} {
		if dir == "" {
			continue
		}
		if fi, err := os.Stat(filepath.Join(dir, "mail")); err == nil && fi.IsDir() {
			return dir
		}
	}
	t.Skip("the collection of difficult mail is not here")
	return ""
}

// TestDifficultMail takes every message in and reads it back through the API.
func TestDifficultMail(t *testing.T) {
	dir := sharedDir(t)
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	var files []string
	for _, pattern := range []string{"mail/*.eml", "cases/*/*.eml"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Ingest(context.Background(), raw, IngestOptions{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		th := c.do(200, "GET", "/threads/"+got.ThreadID, nil)
		found := false
		for _, m := range th["messages"].([]any) {
			m := m.(obj)
			if m["id"] != got.MessageID {
				continue
			}
			found = true
			if s := m["snippet"].(string); strings.ContainsAny(s, "\x1b\x00\r\n\x07") {
				t.Errorf("%s: the snippet holds control characters: %q", file, s)
			}
			list := c.do(200, "GET", "/threads/"+got.ThreadID+"/messages/"+got.MessageID+"/attachments", nil)
			if a, b := len(list["data"].([]any)), len(m["attachments"].([]any)); a != b {
				t.Errorf("%s: %d attachments with content, %d in the message", file, a, b)
			}
		}
		if !found {
			t.Errorf("%s: the message is not in its thread", file)
		}
	}
}
