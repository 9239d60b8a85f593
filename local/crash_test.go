package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const crashEnv = "TEAPOST_TEST_CRASH_DIR"

// childLimit only keeps a child from hanging.
const childLimit = 3 * time.Minute

// child prepares another process that runs one test of this program. It ends with this one.
func child(t *testing.T, test string, env ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), childLimit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), env...)
	if _, err := cmd.StdinPipe(); err != nil { // open for as long as this process lives
		t.Fatal(err)
	}
	return cmd
}

// endWithParent ends a child when its parent is gone.
func endWithParent() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}

// soon polls for a condition; the limit only keeps the test from hanging.
func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute still not: %s", what)
		}
	}
}

// crashSend is the body of the n-th message of the crash test.
func crashSend(n int) string {
	return fmt.Sprintf(`{"from":%q,"to":[%q],"subject":"crash %d","text":"once"}`, me, me, n)
}

// crashChild sends message after message until it is killed, naming each number before its send.
func crashChild(dir string) {
	endWithParent()
	s, err := Open(context.Background(), Options{Dir: dir, Addresses: []string{me}, Schedules: true})
	if err != nil {
		log.Fatal(err)
	}
	c := &http.Client{Transport: s.Transport()}
	for n := 0; ; n++ {
		fmt.Println(n)
		req, err := http.NewRequestWithContext(context.Background(), "POST", "http://local.invalid/emails", strings.NewReader(crashSend(n)))
		if err != nil {
			log.Fatal(err)
		}
		req.Header.Set(keyHeader, fmt.Sprintf("crash-%d", n))
		res, err := c.Do(req)
		if err != nil {
			log.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

// TestKilled kills the program at any moment of a send. Repeating each send under its key afterwards must
// leave exactly one copy of each message.
func TestKilled(t *testing.T) {
	if dir := os.Getenv(crashEnv); dir != "" {
		crashChild(dir)
	}
	for round := range 3 {
		dir := filepath.Join(t.TempDir(), "mail")
		cmd := child(t, "TestKilled", crashEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		begun := 0
		for lines := bufio.NewScanner(out); lines.Scan(); begun++ {
			if begun == 5 {
				time.AfterFunc(time.Duration(7*round+1)*time.Millisecond, func() { _ = cmd.Process.Kill() })
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the program ended by itself")
		}
		s, err := Open(context.Background(), Options{Dir: dir, Schedules: true})
		if err != nil {
			t.Fatal(err)
		}
		c := direct(t, s)
		for n := range begun {
			if e := c.do(200, "POST", "/emails", crashSend(n), keyHeader, fmt.Sprintf("crash-%d", n)); e["status"] != "sent" {
				t.Errorf("message %d: %v", n, e["status"])
			}
		}
		if n, _ := c.count("inbox"); n != begun {
			t.Errorf("%d messages arrived, %d were sent", n, begun)
		}
		var copies int
		if err := s.reader.QueryRowContext(context.Background(), "SELECT count(*) FROM messages").Scan(&copies); err != nil || copies != begun {
			t.Errorf("%d copies of %d messages, %v", copies, begun, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
