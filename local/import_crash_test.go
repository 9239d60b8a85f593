package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const importCrashEnv = "TEAPOST_TEST_IMPORT"

// importCrashBatch makes many batches of a small mailbox.
const importCrashBatch = 7

// importCrashTree writes an mbox file, a Maildir and message files, with labels, drafts, duplicates and broken messages.
func importCrashTree(t *testing.T, root string) []string {
	t.Helper()
	write := func(path string, content []byte) {
		t.Helper()
		full := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	message := func(i int) []byte {
		extra := []string{"X-Number: " + strconv.Itoa(i)}
		if i%3 != 0 {
			extra = append(extra, fmt.Sprintf("References: <m%d@x>", i/3*3))
		}
		from := fmt.Sprintf("Person %d <p%d@example.com>", i%20, i%20)
		if i%5 == 4 {
			from = me
		}
		return mailText(fmt.Sprintf("m%d@x", i), from, fmt.Sprintf("subject %d", i/3), strings.Repeat(fmt.Sprintf("word%d ", i%50), 5+i%60), extra...)
	}
	for box := range 2 {
		var b bytes.Buffer
		for i := range 120 {
			n := box*100 + i // twenty are in both
			labels := []string{"Inbox", "Archived,Reisen", "Sent", "Inbox,Starred,Büro", "Drafts", "Trash", "Spam"}[n%7]
			fmt.Fprintf(&b, "From a@x Tue Mar  3 09:30:00 2026\nX-Gmail-Labels: %s\n%s\n", labels, strings.ReplaceAll(string(message(n)), "\r\n", "\n"))
			if i%40 == 39 {
				b.WriteString("From a@x Tue Mar  3 09:30:00 2026\n\n\n")
			}
		}
		write(fmt.Sprintf("box%d.mbox", box), b.Bytes())
	}
	for i := 200; i < 280; i++ {
		folder := []string{"", "/.Sent", "/.Lists.Go"}[i%3]
		write(fmt.Sprintf("maildir%s/cur/%d.x;2,%s", folder, i, []string{"S", "", "FS", "RS"}[i%4]), message(i))
		for _, d := range []string{"new", "tmp"} {
			if err := os.MkdirAll(filepath.Join(root, "maildir"+folder, d), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := 280; i < 300; i++ {
		write(fmt.Sprintf("files/%d.eml", i), message(i-5))
	}
	return []string{filepath.Join(root, "box0.mbox"), filepath.Join(root, "maildir"), filepath.Join(root, "box1.mbox"), filepath.Join(root, "files")}
}

func importCrashOptions(dir string) Options {
	return Options{Dir: dir, Addresses: []string{me}, Now: newClock().now}
}

// TestImportKilled kills an import at random moments, over and over. What it has taken in in the end must be
// what an import takes in that is left alone. TEAPOST_KILLS sets how often it is killed.
func TestImportKilled(t *testing.T) {
	if v := os.Getenv(importCrashEnv); v != "" {
		endWithParent()
		dir, paths, _ := strings.Cut(v, "\n")
		s, err := Open(context.Background(), importCrashOptions(dir))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("open")
		r, err := s.Import(context.Background(), strings.Split(paths, "\n"), ImportOptions{batch: importCrashBatch})
		if err := errors.Join(err, s.Close()); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("done %d %d\n", r.Failed, r.Imported)
		os.Exit(0)
	}
	paths := importCrashTree(t, t.TempDir())
	started := time.Now()
	whole, err := Open(context.Background(), importCrashOptions(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = whole.Close() })
	report := importInto(t, whole, ImportOptions{batch: importCrashBatch}, paths...)
	took := time.Since(started)
	if report.Failed != 6 || report.Imported < 290 || report.Drafts < 10 {
		t.Fatalf("%+v", report)
	}
	want := mailboxDump(t, whole)

	kills := 60
	if underRace || testing.Short() {
		kills = 4 // the race detector sees only this process, and that one of them imports at a time
	}
	if n, err := strconv.Atoi(os.Getenv("TEAPOST_KILLS")); err == nil {
		kills = n
	}
	rng := rand.New(rand.NewPCG(uint64(kills), 7))
	killed, mailboxes := 0, 0
	for killed < kills {
		dir := t.TempDir()
		mailboxes++
		// Each kill of one mailbox may come later than the last: a machine that is slower now than it was
		// for the whole import would otherwise kill before anything is done, for ever.
		for within := took/3 + 5*time.Millisecond; ; within += within / 8 {
			cmd := child(t, "TestImportKilled", importCrashEnv+"="+dir+"\n"+strings.Join(paths, "\n"))
			var problems bytes.Buffer
			cmd.Stderr = &problems
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// Counted from the opened mailbox, because starting can take longer than importing.
			stop := time.AfterFunc(childLimit, func() { _ = cmd.Process.Kill() })
			last := ""
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if last = lines.Text(); last == "open" {
					stop.Reset(time.Duration(rng.Int64N(int64(within))))
				}
			}
			err = cmd.Wait()
			stop.Stop()
			if err == nil {
				if !strings.HasPrefix(last, "done 6 ") {
					t.Errorf("the import ended with %q, want 6 problems", last)
				}
				break
			}
			if problems.Len() > 0 {
				t.Fatalf("%v: %s", err, problems.String())
			}
			killed++
		}
		s, err := Open(context.Background(), importCrashOptions(dir))
		if err != nil {
			t.Fatal(err)
		}
		sameDump(t, mailboxDump(t, s), want)
		if err := errors.Join(s.CheckSearch(context.Background()), s.quickCheck(context.Background()), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("killed %d times in %d mailboxes, %v", killed, mailboxes, time.Since(started).Round(time.Millisecond))
}
