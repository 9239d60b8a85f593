//go:build linux

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The verbs that TestWalk leaves out: everybody, forward, a file, later; the bin and back, for good, spam, awake; and the
// waits, stopped from the list of calls.
func TestVerbs(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.cols, size.rows), func(t *testing.T) {
			t.Parallel()
			t.Run("everybody", func(t *testing.T) {
				t.Parallel()
				h, tt := sample(t, size.cols, size.rows)
				tt.to("Which kettle for the")
				tt.press("enter")
				tt.see(`Which kettle for the kitchen`, `Noor Haddad <noor@example.com>`)
				tt.press("a")
				tt.see(`Reply to all|Reply all`, `To +Noor Haddad <noor@example.com>`, `Subject +Re: Which kettle for the kitchen`)
				tt.write("The green one, for everybody.")
				tt.see(`The green one, for everybody\.`)
				tt.press("^D")
				tt.see(`Sending to .* in \d s`)
				until(t, "the message", func() bool { return len(h.sent("Re: Which kettle for the kitchen?")) == 3 }) // two are old
				got := h.query("SELECT email FROM email_recipients ORDER BY email")
				want := []string{"grace@example.org", "ingrid@example.com", "lin@example.org", "noor@example.com", "samuel@example.com"}
				if !slices.Equal(got, want) {
					t.Errorf("it went to %q, want %q", got, want)
				}
				tt.press("q", "g", "t")
				tt.see(`\A +Sent`, `Which kettle`)
				tt.quit()
			})
			t.Run("forward", func(t *testing.T) {
				t.Parallel()
				h, tt := sample(t, size.cols, size.rows)
				file := h.write("plan.txt", "The plan.\n")
				tt.to("Compiler notes")
				tt.press("f")
				tt.see(`Forward`, `Subject +Fwd: Re: Compiler notes`)
				tt.write("ana@example.net")
				tt.press("M-c")
				tt.see(`Cc`, `Bcc`)
				tt.press("^A")
				tt.see(`[Aa]ttach`)
				tt.write(file)
				tt.press("enter")
				tt.see(`plan\.txt 10 B`)
				tt.press("^D")
				tt.see(`Sending to .* in \d s`)
				tt.see(`Kept as sent in test mode`)
				tt.press("g", "t")
				tt.see(`Sent`, `Fwd: Re: Compiler notes`)
				tt.quit()
				if n := len(h.sent("Fwd: Re: Compiler notes")); n != 1 {
					t.Errorf("%d copies", n)
				}
			})
			t.Run("later", func(t *testing.T) {
				t.Parallel()
				_, tt := sample(t, size.cols, size.rows)
				tt.press("c")
				tt.see(`New message`)
				tt.write("ana@example.net")
				tt.press("tab")
				tt.write("Next week")
				tt.see(`Subject +Next week`)
				tt.press("^T")
				tt.see(`Send .*(at|later|when)`, `Tomorrow`)
				tt.write("in 3 days")
				tt.see(`in 3 days`)
				tt.press("enter")
				tt.see(`!New message`)
				tt.press("g", "o")
				tt.see(`Outbox`, `Next week`)
				tt.see(`The server has it and sends it`)
				tt.press("z")
				tt.see(`Taken back`)
				tt.see(`Subject +Next week`) // it opens again
				tt.press("esc")
				tt.see(`!Subject`)
				tt.press("g", "d")
				tt.see(`Drafts`, `Next week`)
				tt.to("Next week")
				tt.press("enter")
				tt.see(`Subject +Next week`)
				tt.press("M-k")
				tt.see(`Throw this message away\?`)
				tt.press("y")
				tt.see(`!Next week`)
				tt.quit()
			})
			t.Run("bin", func(t *testing.T) {
				t.Parallel()
				_, tt := sample(t, size.cols, size.rows)
				tt.to("Nightly report")
				tt.press("#")
				tt.see(`Trashed`, `!● Build Server`)
				tt.press("g", "#")
				tt.see(`\A +Trash`, `Nightly report`)
				tt.to("Nightly report")
				tt.press("I")
				tt.see(`!Nightly report:`)
				tt.press("g", "i")
				tt.see(`\A +Inbox +8 unread`, `Build Server.*Nightly report`)
				tt.to("Nightly report")
				tt.press("#")
				tt.see(`!● Build Server`)
				tt.press("g", "#")
				tt.see(`\A +Trash`, `Nightly report`)
				tt.to("Nightly report")
				tt.press("D")
				tt.see(`Delete “Nightly report: 3 failed, 412 passed” for good`)
				tt.press("esc")
				tt.see(`!for good`, `Nightly report`)
				tt.press("D")
				tt.see(`Delete “Nightly report: 3 failed, 412 passed” for good`)
				tt.press("y")
				tt.see(`!for good\?`, `!Nightly report: `)
				tt.press("g", "A")
				tt.see(`\A +All mail`, `!Nightly report`)
				tt.quit()
			})
			t.Run("asleep", func(t *testing.T) {
				t.Parallel()
				_, tt := sample(t, size.cols, size.rows)
				tt.to("Dinner?")
				tt.press("b")
				tt.see(`Snooze “Dinner\?” until`)
				tt.write("31 feb 9am")
				tt.press("enter")
				tt.see(`Snooze “Dinner\?” until`) // there is no such day, and nothing happens
				for range len("31 feb 9am") {
					tt.press("back")
				}
				tt.write("in 3 days")
				tt.press("enter")
				tt.see(`Snoozed “Dinner\?”`, `!Ana Müller.*Dinner\?`)
				tt.press("g", "z")
				tt.see(`\A +Snoozed`, `Dinner\?`)
				tt.to("Dinner?")
				tt.press("B")
				tt.see(`!Ana Müller.*Dinner\?`)
				tt.press("g", "i")
				tt.see(`\A +Inbox`, `Ana Müller.*Dinner\?`)
				tt.quit()
			})
			t.Run("calls", func(t *testing.T) {
				t.Parallel()
				h, p := behindFaults(t, nil, "ok")
				tt := h.open(size.cols, size.rows)
				tt.see(`▌● Grace Hall`, `山田太郎`)
				play(t, p, "GET /threads: 503:retry-after=60, ok")
				tt.press("^R")
				tt.see(`try 2 of 3 in \d+ s · esc stops`)
				n := asked(p, "GET", "/threads")
				tt.press("!")
				tt.see(`Activity`, `Loading inbox.*try 2 of 3`)
				tt.press("x")
				tt.see(`Stopped: loading inbox`, `!try 2 of 3`)
				if got := asked(p, "GET", "/threads"); got != n {
					t.Errorf("%d requests after it was stopped", got-n)
				}
				tt.quit()
			})
		})
	}
}

// A thread that sleeps comes back on the screen by itself. This is the real clock; the rest is in virtual time.
func TestSnoozeOfAMinute(t *testing.T) {
	t.Parallel()
	_, tt := sample(t, 80, 24)
	snooze(tt, "in 1 minute")
	for end := time.Now().Add(time.Minute + patience); !tt.shows(`Ana Müller.*Dinner\?`); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not wake:\n%s", tt.text())
		}
	}
	tt.see(`Inbox +8 unread`, `Ana Müller.*Dinner\?`)
	tt.quit()
}

// It comes back also when no program ran at its time.
func TestSnoozeThatEndsUnseen(t *testing.T) {
	t.Parallel()
	h, tt := sample(t, 80, 24)
	snooze(tt, "in 3 days")
	tt.quit()
	past := time.Now().Add(-time.Hour).UnixMilli()
	if got := h.query("UPDATE threads SET snoozed_until = ? WHERE sort_subject = 'dinner?' AND snoozed_until > ? RETURNING id", past, past); len(got) != 1 {
		t.Fatalf("%d threads sleep", len(got))
	}
	tt = h.open(80, 24)
	tt.see(`Inbox +8 unread`, `Ana Müller.*Dinner\?`)
	tt.quit()
}

func snooze(tt *terminal, when string) {
	tt.to("Dinner?")
	tt.press("b")
	tt.see(`Snooze “Dinner\?” until`)
	tt.write(when)
	tt.press("enter")
	tt.see(`Snoozed “Dinner\?”`, `!Ana Müller.*Dinner\?`)
}

// A folder, a file or a configuration that this user may not read or write is named, and nothing of the text is lost.
func TestWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may do everything")
	}
	h := newHome(t)
	p := h.write("config/teapost/config.toml", "[ui]\n")
	if err := os.Chmod(p, 0); err != nil {
		t.Fatal(err)
	}
	if r := h.run("keys"); r.code != 2 || !strings.Contains(r.err, p) || !strings.Contains(r.err, "permission") {
		t.Errorf("unreadable configuration: %+v", r)
	}
	if err := os.Chmod(p, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"data", "state"} {
		h := newHome(t)
		if err := os.Mkdir(h.path(dir), 0o500); err != nil {
			t.Fatal(err)
		}
		if r := h.run("outbox", "list"); r.code != 1 || !strings.Contains(r.err, h.path(dir)) {
			t.Errorf("%s may not be written to: %+v", dir, r)
		}
	}
}
