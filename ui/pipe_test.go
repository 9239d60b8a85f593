package ui

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"codeberg.org/teapost/teapost/api"
)

func TestPipedMessage(t *testing.T) {
	m := sampleMail()
	msg := api.Message{
		ID: "m1", Subject: "[PATCH] tea\x1b[31m", From: api.Address{Name: "Grace Hall", Email: "grace@example.org"},
		To: []api.Address{{Email: "ada@example.com"}}, Cc: []api.Address{{Email: "lin@example.net"}},
		ReceivedAt: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), Text: "diff --git a/x b/x\n+\tif hot {\x1b]0;x\x07\n \t}\n", HTML: "<p>if <b>hot</b></p>",
	}
	alone(m, msg)
	s := startTest(t, m, 80, 24)
	s.keys("enter")
	const head = "From: Grace Hall <grace@example.org>\nTo: ada@example.com\nCc: lin@example.net\n" +
		"Date: Mon, 30 Nov 2026 09:00:00 +0000\nSubject: [PATCH] tea"
	r := s.app.reader
	got := r.pipeText(&r.th.Messages[0], s.app.frame(r))
	if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, "\n\ndiff --git a/x b/x\n+\tif hot {\n \t}\n") || strings.Contains(got, "\x1b") {
		t.Errorf("a command gets %q", got)
	}
	s.keys("t")
	if got := r.pipeText(&r.th.Messages[0], s.app.frame(r)); !strings.HasSuffix(got, "\n\nif hot\n") {
		t.Errorf("of the HTML a command gets %q", got)
	}
}

func TestPipeAsksForACommand(t *testing.T) {
	m := sampleMail()
	alone(m, api.Message{Text: "Words"})
	s := startTest(t, m, 80, 24)
	s.keys("enter", "|")
	s.has("Pipe the message to a command", "enter runs it")
	s.keys("enter")
	s.hasNot("Pipe the message")
	s.keys("|", "true |x", "enter", "|")
	s.has("up earlier commands")
	s.keys("up")
	s.has("| true |x")
	s.keys("esc", "q", "j", "enter", "|", "enter", "up") // in another conversation too
	s.has("| true |x")
}

func TestPipeAFile(t *testing.T) {
	m := sampleMail()
	alone(m, api.Message{Text: "Words", Attachments: []api.Attachment{
		{AttachmentID: "a1", Filename: "one.patch"}, {AttachmentID: "a2", Filename: "two.patch"},
	}})
	s := startTest(t, m, 80, 24)
	s.keys("enter", "|")
	s.has("Pipe what to a command?", "The text of the message", "one.patch")
	s.keys("3")
	s.has("Pipe “two.patch” to a command")
	s.keys("cat", "enter")
	if got := m.took(); !strings.Contains(got, "read m1 a2") {
		t.Errorf("calls %q", got)
	}
	// A file that was asked for before is not what the command gets.
	m.opened = "/nowhere/one.patch"
	s.refresh()
	if s.app.reader.wanted == nil {
		t.Fatal("another file is taken for the one that is piped")
	}
	m.opened = "/nowhere/two.patch"
	s.refresh()
	if s.app.reader.wanted != nil {
		t.Error("the file is here and nothing comes of it")
	}
}

func TestPipeRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of another shell")
	}
	t.Setenv("OPENEMAIL_API_KEY", "oe_live_secret")
	file := filepath.Join(t.TempDir(), "a b.bin")
	if err := os.WriteFile(file, []byte("\x00bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		run  pipeRun
		want string
	}{
		{"text", pipeRun{command: "cat | tr a-z A-Z", text: "tea\n"}, "TEA\n\n[Done · enter"},
		{"file", pipeRun{command: "cat", path: file}, "\x00bytes\n[Done · enter"},
		{"no secret", pipeRun{command: `printf '<%s>' "$OPENEMAIL_API_KEY"`}, "<>\n[Done"},
		{"code", pipeRun{command: "exit 3"}, "\n[It ended with code 3 · enter"},
		{"signal", pipeRun{command: "kill -INT $$"}, "\n[It was stopped · enter"},
		{"errors are seen", pipeRun{command: "echo no >&2"}, "no\n\n[Done"},
		{"a text that is not read", pipeRun{command: "true", text: strings.Repeat("x", 1<<20)}, "\n[Done"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			keys := strings.NewReader("x\nnext")
			tt.run.out = &out
			tt.run.SetStdin(keys)
			if err := tt.run.Run(); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out.String(), tt.want) {
				t.Errorf("the terminal shows %q, want %q", out.String(), tt.want)
			}
			if rest := keys.Len(); rest != len("next") {
				t.Errorf("%d bytes of keys are left, want those after enter", rest)
			}
		})
	}
	gone := pipeRun{command: "cat", path: file + ".gone"}
	if err := gone.Run(); err == nil {
		t.Error("a file that is gone is no error")
	}
}

func TestIsText(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		want       bool
	}{
		{"a.txt", "text/plain; charset=utf-8", true},
		{"a.csv", "text/csv", true},
		{"a", "application/json", true},
		{"a", "application/ld+json", true},
		{"server.log", "application/octet-stream", true},
		{"0001-tea.PATCH", "", true},
		{"a.html", "text/html", false},
		{"a.pdf", "application/pdf", false},
		{"a.txt", "image/png", false},
		{"a.bin", "application/octet-stream", false},
		{"a.svg", "image/svg+xml", false},
	} {
		if got := isText(api.Attachment{Filename: tt.name, ContentType: tt.kind}); got != tt.want {
			t.Errorf("%s of type %q is text: %v", tt.name, tt.kind, got)
		}
	}
}

func TestDecoded(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a\nä", "a\nä"},
		{"\xef\xbb\xbfa", "a"},
		{"caf\xe9 cr\xe8me", "café crème"},
		{"\xff\xfea\x00\xe4\x00", "aä"},
		{"\xfe\xff\x00a\x00\xe4", "aä"},
		{"tea \xf0\x9f\x8d", "tea "}, // cut in the last letter
	} {
		if got, ok := decoded([]byte(tt.in)); got != tt.want || !ok {
			t.Errorf("%q: %q, %v, want %q", tt.in, got, ok, tt.want)
		}
	}
	if _, ok := decoded([]byte("PK\x03\x04\x00\x00")); ok {
		t.Error("an archive is text")
	}
}

func TestTextFileIsShownHere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.log")
	if err := os.WriteFile(file, []byte("first\x1b[2J line\n\n"+strings.Repeat("more\n", 100)+"the last "+strings.Repeat("word ", 30)), 0o600); err != nil {
		t.Fatal(err)
	}
	m := sampleMail()
	alone(m, api.Message{Text: "Words", Attachments: []api.Attachment{{AttachmentID: "a1", Filename: "server.log", ContentType: "text/plain"}}})
	s := startTest(t, m, 80, 24, func(o *Options) { o.Opener = []string{"/nonexistent/opener"} })
	s.keys("enter", "v")
	m.opened = file
	s.refresh()
	s.has("server.log", "first line")
	s.keys("G")
	s.has("the last word")
	s.send(tea.WindowSizeMsg{Width: 60, Height: 15})
	s.keys("G")
	s.has("word")
	s.keys("esc")
	s.has("Words")

	// Who is somewhere else meanwhile is not disturbed.
	s.keys("v", "c")
	m.opened = file
	s.refresh()
	s.has("New message")
	s.hasNot("first line")
	s.keys("esc")

	// What is no text after all is for a program.
	if err := os.WriteFile(file, []byte("\x00\x01"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.send(tea.WindowSizeMsg{Width: 120, Height: 24})
	s.keys("v")
	m.opened = file
	s.refresh()
	s.has("Could not open it with /nonexistent/opener: it is not installed · w saves the file")
}

func TestLongTextFileGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "big.log")
	if err := os.WriteFile(file, []byte(strings.Repeat("0123456789\n", maxTextView/11+100)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startTest(t, sampleMail(), 80, 24)
	msg := readTextCmd(file, 80)().(textReadMsg)
	s.send(pushScreenMsg{msg.view})
	s.keys("G")
	s.has("The file goes on; save it to read all of it.")
}
