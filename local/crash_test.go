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

// crashSend is the body of the n-th message of the crash test.
func crashSend(n int) string {
	return fmt.Sprintf(`{"from":%q,"to":[%q],"subject":"crash %d","text":"once"}`, me, me, n)
}

// crashChild sends message after message until it is killed, naming each number before its send.
func crashChild(dir string) {
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
		cmd := exec.CommandContext(context.Background(), os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), crashEnv+"="+dir)
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
