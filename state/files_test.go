package state

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"codeberg.org/teapost/teapost/api"
)

// A saved attachment is there whole or not at all, whenever somebody looks, and nothing else stays behind.
func TestSavedFileIsWholeWhenItIsThere(t *testing.T) {
	dir := t.TempDir()
	content := bytes.Repeat([]byte("x"), 4<<20)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10 {
			if _, err := writeFiles([]api.Attachment{{Filename: "a.bin", Content: content}}, nil, dir); err != nil {
				t.Error(err)
			}
		}
	}()
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
		}
		files, err := filepath.Glob(filepath.Join(dir, "a*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if info, err := os.Stat(f); err != nil || info.Size() != int64(len(content)) {
				t.Fatalf("%s is there and not whole: %v, %v", f, info, err)
			}
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 10 {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

// Two that save the same name at the same time each get a file of their own, and none writes over what is there.
func TestSavingAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if _, err := writeFiles([]api.Attachment{{Filename: "a.txt", Content: []byte{byte(i)}}}, nil, dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 17 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(got) != "mine" {
		t.Errorf("what was there is %q, %v", got, err)
	}
}

// Without links too, a name that is taken is left alone.
func TestRenameFileTakesNoName(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	for _, name := range []string{from, to} {
		if err := os.WriteFile(name, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := renameFile(from, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the name is taken: %v", err)
	}
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	if err := renameFile(from, to); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != from {
		t.Errorf("it holds %q, %v", got, err)
	}
}
