//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEscapeAndArrows(t *testing.T) {
	t.Parallel()
	_, tt := sample(t, 80, 24)
	tt.see(`!^ +···`, `!Loading`)
	tt.to("Compiler notes")
	tt.press("enter")
	tt.see(`The second pass is done`, `Compiler notes +4 messages`, `!Loading`)
	tt.press("esc") // a person's escape, and later another key
	tt.write("j")
	tt.see(`▌. Team Calendar`)
	tt.write("\x1b[A") // in one piece
	tt.see(`▌. Grace Hall`)
	tt.write("\x1bOB") // as terminals in application mode write it
	tt.see(`▌. Team Calendar`)
	tt.write("jjkj") // read together
	tt.see(`▌. Ana Müller`)
	tt.quit()
}

// seeFrame waits for a frame that was there before.
func (tt *terminal) seeFrame(want string) {
	tt.t.Helper()
	for end := time.Now().Add(patience); steady(tt) != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tt.t.Fatalf("the frame is not as it was:\n%s\nit was:\n%s", steady(tt), want)
		}
	}
}

func TestResize(t *testing.T) {
	t.Parallel()
	_, tt := sample(t, 120, 40)
	tt.press("j")
	tt.see(`▌. Grace Hal`, `Piet de Groot`, `!···`, `The second pass is done`) // beside the list, a moment after the cursor has come
	want := steady(tt)
	tt.resize(40, 12)
	time.Sleep(25 * time.Millisecond) // the case: all within 50 ms
	tt.resize(120, 40)
	tt.seeFrame(want)

	for _, s := range []struct{ cols, rows int }{{60, 15}, {40, 12}, {20, 5}, {1, 1}, {2, 2}, {300, 100}, {80, 24}} {
		tt.resize(s.cols, s.rows)
		if s.cols >= 20 {
			until(t, "a frame", func() bool { return strings.TrimSpace(tt.text()) != "" })
		}
		if s.cols >= 60 {
			tt.see(`▌. ?Grace`, `Inbox`)
		}
	}
	tt.press("enter")
	tt.see(`The second pass is done`)
	tt.resize(1, 1)
	tt.resize(60, 15)
	tt.see(`Compiler notes`, `The second pass is done`)
	tt.press("r")
	tt.see(`Subject +Re: Compiler notes`)
	tt.write("Typed at sixty columns.")
	tt.see(`Typed at sixty columns.`)
	tt.resize(1, 1)
	tt.resize(140, 40)
	tt.see(`Typed at sixty columns.`, `\[ Send \]`)
	tt.kill()
}

// A walk at the smallest size that must work.
func TestSmallWindow(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	tt := h.open(60, 15)
	tt.see(`Inbox +8 unread`, `▌● teapost`, `Compiler notes`)
	tt.to("Compiler notes")
	tt.press("enter")
	tt.see(`Grace Hall <grace@example.org>`, `The second pass is done`)
	tt.press("q")
	tt.see(`Inbox +7 unread`)
	tt.press("c")
	tt.see(`New message`, `\[ Send \]`)
	tt.write("grace@example.org")
	tt.press("tab")
	tt.write("Small")
	tt.press("tab")
	tt.write("Body in a small window.")
	tt.see(`Body in a small window`)
	tt.press("^D")
	tt.see(`Sending to .* in \d+ s`)
	tt.press("z")
	tt.see(`Taken back`)
	tt.see(`Subject +Small`) // it opens again
	tt.press("esc")
	tt.see(`!Subject`)
	tt.press("g", "g", "b")
	tt.see(`Snooze`, `enter`)
	tt.press("esc", "?")
	tt.see(`Keys`)
	tt.press("esc", "!")
	tt.see(`Activity`)
	tt.press("esc", ":")
	tt.see(`Commands`)
	tt.press("esc", "/")
	tt.see(`Search`)
	tt.press("esc")
	tt.see(`Inbox`)
	tt.quit()
}

// shell starts an interactive shell with job control on the terminal.
func shell(t *testing.T, h *home) *terminal {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no /bin/sh")
	}
	h.env = append(h.env, "PS1=READY> ", "ENV=", "PROMPT_COMMAND=", "PATH="+filepath.Dir(binaries.teapost)+":/usr/bin:/bin")
	tt := h.openWith(80, 24, nil, "/bin/sh", "-i")
	tt.see(`READY>`)
	tt.write("set -m\r")
	tt.see(`READY> *$`)
	return tt
}

func TestSuspend(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	tt := shell(t, h)
	tt.write("teapost\r")
	tt.see(`▌● teapost`, `Compiler notes`)
	tt.press("j")
	tt.see(`▌. Grace Hall`, `!^ +···`)
	want := steady(tt)
	tt.press("^Z")
	tt.see(`Stopped.*\n *READY> *\s*\z`, `!Compiler notes`)
	tt.write("echo one $((1+1)) three\r") // the shell is usable: it echoes, and lines end as they should
	tt.see(`READY> echo one`, `^one 2 three$`)
	tt.write("fg\r")
	tt.seeFrame(want)
	tt.press("k")
	tt.see(`▌● teapost`)

	tt.press("c")
	tt.see(`New message`)
	tt.press("tab", "tab")
	tt.write("Half a sentence, ")
	tt.see(`Half a sentence,`)
	tt.press("^Z")
	tt.see(`Stopped(.*\n)*.*Stopped.*\n *READY> *\s*\z`, `!Half a sentence`)
	tt.write("fg\r")
	tt.see(`New message`, `Half a sentence,`)
	tt.write("then the rest")
	tt.see(`Half a sentence, then the rest`)
	tt.press("^C")
	tt.see(`fg\n.*teapost\n *READY> *\s*\z`)
	tt.write("exit\r")
	tt.ended()
}

// While the mail is stopped with ctrl+z, a script's message is kept, and it goes when the mail goes on.
func TestSendWhileTheOwnerIsStopped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tt := r.client.open(80, 24)
	tt.see(`Nothing waits for you here`)
	if err := tt.p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p := r.compose()
	if code := p.ended(t); code != 3 || !strings.Contains(p.errs.String(), "safe in the outbox") {
		t.Errorf("exit code %d: %s", code, p.errs)
	}
	if n := r.server.copies(killSubject); n != 0 {
		t.Errorf("%d copies", n)
	}
	if err := tt.p.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, "the message", func() bool { return r.server.copies(killSubject) == 1 })
	tt.see(killSubject) // the copy to oneself
	tt.quit()
	r.once(1)
}

// ctrl+c in the middle of a send: the program ends, and what was on its way is not lost and not doubled.
func TestQuitInASend(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	release := make(chan struct{})
	r.proxy.at(stepAnswered, func() bool { <-release; return false })
	tt := r.client.open(80, 24)
	tt.see(`Nothing waits for you here`)
	tt.writeMail()
	tt.press("^D")
	until(t, "the send", func() bool { return len(r.proxy.seen()) > 0 })
	tt.press("^C")
	tt.see(`“`+killSubject+`” is being sent. If you quit now it stays in`, `y quit`)
	tt.press("y")
	if code := tt.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	close(release)
	rows := r.client.outbox()
	if len(rows) != 1 || rows[0].State != "unknown" || rows[0].Attempts != 1 {
		t.Errorf("outbox: %+v; quitting does not wait until the attempt has failed", rows)
	}
	tt = r.client.open(80, 24)
	until(t, "the message", func() bool { return r.server.copies(killSubject) == 1 })
	tt.press("g", "o")
	tt.see(`Outbox`, `✓.*`+killSubject)
	tt.quit()
	r.once(1)
}

// writeMail fills a new message that the rig counts.
func (tt *terminal) writeMail() {
	tt.t.Helper()
	tt.press("c")
	tt.see(`New message`)
	tt.write("grace@example.org, ada@example.com")
	tt.press("tab")
	tt.write(killSubject)
	tt.press("tab")
	tt.write("The body.")
	tt.see(`To +grace@example.org, ada@example.com`, `Subject +`+killSubject, `The body\.`)
}

// afterPaste is longer than the time in which keys count as the rest of a paste that the screen shows.
func afterPaste() { time.Sleep(80 * time.Millisecond) }

func TestPaste(t *testing.T) {
	t.Parallel()
	t.Run("list", func(t *testing.T) {
		t.Parallel()
		_, tt := sample(t, 80, 24)
		tt.paste("#\ne\n:quit\n")
		tt.see(`Pasted text is not read as keys here`)
		tt.paste("text \x1b[201~ #e\nq")
		tt.to("Grace Hall") // the first keys may come too soon and count as text
		tt.see(`Inbox +8 unread`, `● teapost`)
		tt.press("z")
		tt.see(`There is nothing to undo`)
		tt.quit()
	})
	t.Run("search", func(t *testing.T) {
		t.Parallel()
		_, tt := sample(t, 80, 24)
		tt.press("/")
		tt.see(`Search the mail`)
		tt.paste("foo\nbar")
		tt.see(`/ foo bar`, `Search the mail`)
		afterPaste()
		tt.quit()
	})
	t.Run("fields", func(t *testing.T) {
		t.Parallel()
		_, tt := sample(t, 80, 24)
		tt.press("c")
		tt.see(`New message`)
		tt.paste("ada@example.com, grace@example.org\n")
		tt.see(`To +ada@example.com, grace@example.org`)
		afterPaste()
		tt.write(", lin@example.org") // the cursor is still there
		tt.see(`To +ada@example.com, grace@example.org, lin@example.org`)
		tt.press("tab")
		tt.paste("\tindented\n")
		tt.see(`Subject +indented *$`)
		afterPaste()
		tt.press("tab")
		tt.see(`Subject +indented *$`)
		tt.quit()
	})
	t.Run("body", func(t *testing.T) {
		t.Parallel()
		_, tt := sample(t, 80, 24)
		body := func() {
			tt.press("c")
			tt.see(`New message`)
			tt.press("tab", "tab")
		}
		body()
		tt.paste("line one\r\nline two\rline three\n")
		tt.write("line four")
		tt.see(`^ line one\n line two\n line three\n line four`) // typed right after a paste: text
		afterPaste()
		tt.press("enter")
		tt.paste("a\x1b[31mb\x07c\x00d")
		tt.see(`^ abcd$|^ a\[31mbcd$`)
		afterPaste()
		tt.press("enter")
		p := "\x1b[200~Grüße 漢字 🙂\x1b[201~"
		cut := strings.Index(p, "ü") + 1
		tt.write(p[:cut])
		time.Sleep(30 * time.Millisecond) // two reads
		tt.write(p[cut:])
		tt.see(`^ Grüße 漢字 🙂$`)
		afterPaste()
		tt.press("enter")
		tt.write("xüy") // typed, not pasted
		tt.see(`^ xüy$`)
		tt.press("enter")
		tt.paste("text \x1b[201~ more\n#")
		tt.see(`^ text`)
		afterPaste()
		if strings.Contains(tt.text(), "\uFFFD") {
			t.Errorf("a replacement character:\n%s", tt.text())
		}
		tt.quit()
	})
	t.Run("200 kB", func(t *testing.T) {
		t.Parallel()
		h, tt := sample(t, 80, 24)
		tt.press("c")
		tt.see(`New message`)
		tt.write("grace@example.org")
		tt.press("tab")
		tt.write("A long one")
		tt.press("tab")
		line := "The quick brown fox jumps over the lazy dog, again and again, until the end.\n"
		n := 200_000 / len(line)
		tt.paste(strings.Repeat(line, n) + "LAST LINE")
		tt.see(`LAST LINE`)
		afterPaste()
		tt.write("!")
		tt.see(`LAST LINE!`, `draft saved`)
		tt.press("^D")
		tt.see(`Sending to`)
		tt.see(`Kept as sent`)
		tt.quit()
		p := h.path("data", "teapost", "sample", "mail.db")
		if st, err := os.Stat(p); err != nil || st.Size() < 100_000 {
			t.Errorf("%v %v", st, err)
		}
	})
}
