package local

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFileOfTheFirstFormat opens testdata/version1.db.gz: version1.mbox, search.mbox, loop.mbox, a message to
// oneself and a draft, as the first format of the file held them.
func TestFileOfTheFirstFormat(t *testing.T) {
	packed, err := os.Open("testdata/version1.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	old, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), old, 0o600); err != nil {
		t.Fatal(err)
	}
	clk := newClock()
	clk.advance(365 * 24 * time.Hour)
	s := open(t, dir, clk)
	var version int
	if err := s.reader.QueryRowContext(context.Background(), "PRAGMA user_version").Scan(&version); err != nil || version != len(migrations) {
		t.Errorf("format %d of %d, %v", version, len(migrations), err)
	}
	c := direct(t, s)
	if n, unread := c.count("inbox"); n != 11 || unread != 2 {
		t.Errorf("inbox has %d, %d unread", n, unread)
	}
	if got := folderSubjects(c, "starred"); got != "Kept with its status (2)" {
		t.Errorf("starred: %q", got)
	}
	if got := c.list("/drafts?query=unfinished"); len(got) != 1 {
		t.Errorf("drafts %v", got)
	}

	// The old messages come into the new search index while the mail is open.
	soon(t, "a whole search index", func() bool { return s.CheckSearch(context.Background()) == nil })
	for q, want := range map[string]int{"facade": 2, "label:reisen": 1, "hash": 1, "京都": 0, "東京": 1} {
		if got := c.list("/threads?query=" + q); len(got) != want {
			t.Errorf("%s finds %d threads, want %d", q, len(got), want)
		}
	}

	// What it holds is known, under the identity of that format too.
	if r := importInto(t, s, ImportOptions{}, "testdata/version1.mbox", "testdata/search.mbox", "testdata/loop.mbox"); r.Imported != 0 || r.Skipped != 12 {
		t.Errorf("imported again: %v", r)
	}
	before := mailboxDump(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sameDump(t, mailboxDump(t, open(t, dir, clk)), before)
}

// TestNewerFileStaysAsItIs: a file of a later version is refused with both versions named, and not one byte of it changes.
func TestNewerFileStaysAsItIs(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, newClock())
	if _, err := s.writer.ExecContext(context.Background(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var newer *NewerError
	if _, err := Open(context.Background(), Options{Dir: dir}); !errors.As(err, &newer) || newer.Have != 99 || newer.Know != len(migrations) {
		t.Errorf("error %v", err)
	} else if !strings.Contains(err.Error(), "newer teapost") || !strings.Contains(err.Error(), path) {
		t.Errorf("not polite: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Error("the newer file was changed")
	}
}
