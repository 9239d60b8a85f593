package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFileModesAndOddPaths(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd ? # % name", "deep")
	s := open(t, dir, newClock())
	ingest(t, s, mailText("a", "ada@example.com", "A", "x"), IngestOptions{})
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, FileName): 0o600, filepath.Join(dir, FileName+"-wal"): 0o600} {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, fi.Mode().Perm())
		}
	}
	if empty, err := s.Empty(context.Background()); empty || err != nil {
		t.Errorf("empty: %v, %v", empty, err)
	}
}

func TestDamagedFiles(t *testing.T) {
	var damaged *DamagedError
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, bytes.Repeat([]byte("this is no database. "), 500), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), Options{Dir: dir}); !errors.As(err, &damaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("garbage: %v", err)
	}

	dir = t.TempDir()
	path = filepath.Join(dir, FileName)
	s := open(t, dir, newClock())
	for i := range 300 {
		ingest(t, s, mailText(fmt.Sprint(i), "ada@example.com", "A", strings.Repeat("words and ", 100)), IngestOptions{})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 8192; i+4096 < len(raw); i += 16384 {
		copy(raw[i:i+4096], bytes.Repeat([]byte{0xa5}, 4096))
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), Options{Dir: dir}); !errors.As(err, &damaged) {
		t.Errorf("damaged pages: %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, raw) {
		t.Error("a damaged file was changed")
	}
}

func TestFullDisk(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	c := direct(t, s)
	before := c.do(200, "POST", "/emails", send(me))["id"]
	var pages int
	if err := s.writer.QueryRowContext(context.Background(), "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if _, err := s.writer.ExecContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
		t.Fatal(err)
	}
	big := send(me, "text", strings.Repeat("no room for this ", 100_000))
	c.refused(507, "storage_full", "", "POST", "/emails", big, keyHeader, "big")
	if got := c.list("/emails"); len(got) != 1 || got[0] != before {
		t.Errorf("emails: %v", got)
	}
	if _, err := s.writer.ExecContext(context.Background(), "PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	// The key of the send that found no room is free.
	if e := c.do(200, "POST", "/emails", big, keyHeader, "big"); e["replayed"] != false || e["status"] != "sent" {
		t.Errorf("with room again: %v", e["status"])
	}
}

func TestBadOwnAddress(t *testing.T) {
	if _, err := Open(context.Background(), Options{Dir: t.TempDir(), Addresses: []string{"nobody"}}); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("error %v", err)
	}
}
