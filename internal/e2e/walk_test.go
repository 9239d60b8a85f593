//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The sizes at which a person walks through the sample: one pane and three.
var sizes = []struct{ cols, rows int }{{80, 24}, {140, 40}}

// sample opens the sample at a size, with a short time in which a send can be taken back.
func sample(t *testing.T, cols, rows int) (*home, *terminal) { return sampleWithUndo(t, cols, rows, 2) }

// sampleWithUndo opens the sample with that many seconds in which a send can be taken back.
func sampleWithUndo(t *testing.T, cols, rows, seconds int) (*home, *terminal) {
	t.Helper()
	h := newHome(t)
	h.db = h.path("data", "teapost", "sample", "mail.db")
	h.write("config/teapost/config.toml", fmt.Sprintf("[ui]\nundo_seconds = %d\n", seconds))
	tt := h.open(cols, rows)
	tt.see(`Inbox +8 unread`, `● teapost +Welcome to teapost`, `Compiler notes`, `^▌● teapost|│▌● teapost`)
	return h, tt
}

// listLine is the list's part of a line of the screen: all of it, or the middle pane.
func (tt *terminal) listLine(line string) string {
	if parts := strings.SplitN(line, "│", 3); len(parts) > 1 {
		return parts[1]
	}
	return line
}

// to moves the cursor of the list to the row that holds the text.
func (tt *terminal) to(text string) {
	tt.t.Helper()
	pressed := time.Time{}
	at := -1
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		cursor, want := -1, -1
		for i, l := range strings.Split(tt.text(), "\n") {
			l = tt.listLine(l)
			if strings.HasPrefix(l, "▌") {
				cursor = i
			}
			if want < 0 && strings.Contains(l, text) {
				want = i
			}
		}
		switch {
		case cursor < 0 || want < 0:
		case cursor == want:
			return
		case cursor == at && time.Since(pressed) < 10*time.Second: // the last keys are not on the screen yet
		default:
			key := "j"
			if want < cursor {
				key = "k"
			}
			tt.press(key)
			at, pressed = cursor, time.Now()
		}
		if time.Now().After(end) {
			tt.t.Fatalf("the cursor does not come to %q:\n%s", text, tt.text())
		}
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size.cols, size.rows), func(t *testing.T) {
			t.Parallel()
			t.Run("read", func(t *testing.T) {
				t.Parallel()
				_, tt := sample(t, size.cols, size.rows)
				tt.to("Compiler notes")
				tt.press("enter")
				tt.see(`▾ +Grace Hall <grace@example.org>`, `The second pass is done`, `┊ `, `▸ +Lin Okafor`)
				tt.press("p")
				tt.see(`▌▾ +Lin Okafor <lin@example.org>`, `📎 tables.csv 121 B`)
				tt.press("n")
				tt.see(`▌▾ +Grace Hall`)
				tt.press("q") // esc may have to stop a call first
				tt.see(`Inbox +7 unread`)
				tt.to("Dinner?")
				tt.press("enter")
				tt.see(`Ana Müller <ana@example.net>`)
				tt.press("J")
				tt.see(`482 913 is your sign-in code|Harbour Cloud <`)
				tt.press("K")
				tt.see(`Ana Müller <ana@example.net>`)
				tt.press("q")
				tt.see(`Inbox +6 unread`)
				tt.quit()
			})
			t.Run("answer", func(t *testing.T) {
				t.Parallel()
				h, tt := sample(t, size.cols, size.rows)
				tt.to("Compiler notes")
				tt.press("enter")
				tt.see(`The second pass is done`)
				tt.press("r")
				tt.see(`Reply`, `To +Grace Hall <grace@example.org>`, `Subject +Re: Compiler notes`, `Grace Hall wrote:`, `> The second pass is done`)
				tt.write("I shall read it tonight.")
				tt.see(`I shall read it tonight`, `draft saved`)
				tt.press("^D")
				tt.see(`Sending to Grace Hall in \d s · z takes it back`, `!Subject`)
				tt.see(`Kept as sent in test mode`)
				tt.press("q", "g", "i") // until then the answer is read as it comes
				tt.see(`● Grace Hall.*Compiler notes.*\(6\)`)
				tt.press("g", "t")
				tt.see(`Sent`, `Compiler notes`)
				tt.quit()
				if rows := h.outbox(); len(rows) != 1 || rows[0].State != "sent" || rows[0].Attempts != 1 {
					t.Errorf("outbox: %+v", rows)
				}
			})
			t.Run("write", func(t *testing.T) {
				t.Parallel()
				h, tt := sampleWithUndo(t, size.cols, size.rows, 60)
				tt.press("c")
				tt.see(`New message`, `From +Ada <ada@example.com>`)
				tt.write("ana@")
				tt.see(`▌ Ana Müller <ana@example.net>`)
				tt.press("enter")
				tt.see(`To +Ana Müller <ana@example.net>,`)
				tt.press("tab")
				tt.write("The picnic")
				tt.see(`Subject +The picnic`)
				tt.press("tab")
				tt.write("Bring the blue cup.")
				tt.press("enter")
				tt.write("And the kettle.")
				tt.see(`Bring the blue cup\.$`, `And the kettle\.`)
				tt.press("^S")
				tt.see(`draft saved`)
				tt.press("esc")
				tt.see(`Draft kept`, `!New message`)
				tt.press("g", "d")
				tt.see(`Drafts`, `Ana Müller.*The picnic`, `Okonkwo Property`)
				tt.to("The picnic")
				tt.press("enter")
				tt.see(`To +Ana Müller <ana@example.net>`, `Subject +The picnic`, `Bring the blue cup`, `And the kettle`)
				tt.press("^D")
				tt.see(`Sending to Ana Müller in \d+ s · z takes it back`)
				tt.press("z")
				tt.see(`Taken back`)
				tt.see(`Subject +The picnic`, `And the kettle`) // it opens again
				tt.press("esc")
				tt.see(`!And the kettle`)
				tt.quit()
				h.write("config/teapost/config.toml", "[ui]\nundo_seconds = 1\n")
				tt = h.open(size.cols, size.rows)
				tt.see(`Welcome to teapost`)
				tt.press("g", "d")
				tt.see(`Drafts`, `The picnic`)
				tt.to("The picnic")
				tt.press("enter")
				tt.see(`And the kettle`)
				tt.press("M-\r") // the other key that sends
				tt.see(`!New message`)
				tt.press("g", "o")
				tt.see(`Outbox`, `The picnic`, `To Ana Müller <ana@example.net>`)
				tt.see(`✓ Ana Müller`, `kept in test mode`)
				tt.press("g", "i")
				tt.see(`● Ana Müller.*The picnic.*\(2\)`)
				tt.quit()
			})
			t.Run("sort", func(t *testing.T) {
				t.Parallel()
				_, tt := sample(t, size.cols, size.rows)
				tt.to("Nightly report")
				tt.press("#")
				tt.see(`Trashed “Nightly report.*z brings it back`, `!Build Server`)
				tt.press("z")
				tt.see(`Undone: trashed`, `▌● Build Server|● Build Server`, `Inbox +8 unread`)
				tt.to("Nightly report")
				tt.press("e")
				tt.see(`Archived “Nightly report.*z `, `!● Build Server`)
				tt.press("g", "a")
				tt.see(`Archive`, `Nightly report`)
				tt.press("z")
				tt.see(`Undone: archived`)
				tt.press("g", "i")
				tt.see(`Inbox +8 unread`, `Build Server.*Nightly report`)

				tt.to("Dinner?")
				tt.press("b")
				tt.see(`Snooze “Dinner\?” until`, `Later today|This evening|Tomorrow`, `Next week`)
				tt.write("fri 9")
				tt.see(`fri 9 +Fri \d+ \w+ 09:00`)
				tt.press("enter")
				tt.see(`Snoozed “Dinner\?”.*Fri .*z `, `!Ana Müller.*Dinner\?`)
				tt.press("g", "z")
				tt.see(`Snoozed`, `Dinner\?`)
				tt.press("z")
				tt.see(`Undone: snoozed`)
				tt.press("g", "i")
				tt.see(`Dinner\?`)
				tt.to("Dinner?")
				tt.press("b")
				tt.see(`Snooze “Dinner\?” until`)
				tt.press("2", "enter")
				tt.see(`Snoozed “Dinner\?”`, `Inbox +7 unread`)

				tt.to("the cat again")
				tt.press("s")
				tt.see(`⚑.*the cat again`, `Starred`)
				tt.press("u")
				tt.see(`● Mum`, `Inbox +8 unread`)
				tt.press("z")
				tt.see(`!● Mum`, `Inbox +7 unread`)
				tt.press("z")
				tt.see(`!⚑.*the cat again`)
				tt.press("l")
				tt.see(`home`, `work`, `travel`)
				tt.write("home")
				tt.press("space", "enter")
				tt.see(`Mum.*#home.*the cat again|#h.*the cat again`)
				tt.press("m")
				tt.see(`Muted “the cat again” · z unmutes`)
				tt.press("m")
				tt.see(`Unmuted “the cat again”`)
				tt.press("S")
				tt.see(`the cat again”.*z `, `!Mum.*the cat again`)
				tt.press("z")
				tt.see(`Mum.*the cat again`)

				tt.press("g", "g", "x", "j", "x")
				tt.see(`Inbox +\d selected`)
				tt.press("#")
				tt.see(`Trashed \d threads · z brings them back`)
				tt.press("z")
				tt.see(`Undone: trashed`, `Welcome to teapost`)
				tt.quit()
			})
			t.Run("look around", func(t *testing.T) {
				t.Parallel()
				_, tt := sample(t, size.cols, size.rows)
				tt.press("/")
				tt.see(`Search the mail`)
				tt.write("boiler")
				tt.see(`/ boiler`)
				tt.press("enter")
				tt.see(`Search “boiler”`, `Okonkwo Prop.*`)
				tt.press("esc")
				tt.see(`Inbox +8 unread`)
				tt.press("/")
				tt.write("from:grace is:unread")
				tt.press("enter")
				tt.see(`Search “from:grace is:unread”`, `Compiler notes`, `!Okonkwo`)
				tt.press("g", "i")
				tt.see(`Inbox +8 unread`)
				tt.press("?")
				tt.see(`Keys`, `Moving`, `Move down`)
				tt.press("G")
				tt.see(`Program`)
				tt.press("esc")
				tt.see(`Inbox +8 unread`)
				tt.press(":")
				tt.see(`Commands`)
				tt.write("go to sent")
				tt.see(`▌ Go to Sent +g t`)
				tt.press("enter")
				tt.see(`^ Sent|▌Sent`, `The mug`)
				tt.press("^K")
				tt.write("practise")
				tt.see(`[Pp]ractise`)
				tt.press("esc", "!")
				tt.see(`Activity`, `✓ .*req_`)
				tt.press("enter")
				tt.see(`▾|operation`)
				if !tt.shows(`operation`) { // a line of several calls opened
					tt.press("j", "enter")
				}
				tt.see(`operation`, `req_[0-9a-f]{16,}`)
				tt.press("esc", "esc", "esc")
				for _, f := range []struct{ key, shows string }{
					{"s", "Starred"}, {"z", "Snoozed"}, {"d", "Drafts"}, {"o", "Outbox"}, {"a", "Archive"}, {"S", "Spam"}, {"#", "Trash"}, {"A", "All mail"}, {"i", "Inbox"},
				} {
					tt.press("g", f.key)
					tt.see(`\A +` + f.shows)
				}
				tt.press("q")
				if code := tt.ended(); code != 0 {
					t.Errorf("exit code %d", code)
				}
			})
		})
	}
}

// A file saved from a message lies in Downloads under its own name, and the terminal shows where.
func TestSaveAttachment(t *testing.T) {
	t.Parallel()
	h, tt := sample(t, 100, 30)
	tt.to("Compiler notes")
	tt.press("enter")
	tt.see(`The second pass is done`)
	tt.press("p", "w")
	tt.see(`tables\.csv`)
	saved := func() bool {
		found, _ := filepath.Glob(h.path("Downloads", "*.csv")) // it has its name only once it is whole
		return len(found) > 0
	}
	if !saved() {
		tt.see(`[Ss]aved|Save`)
		if !saved() {
			tt.press("enter")
		}
	}
	until(t, "the saved file", saved)
	found, _ := filepath.Glob(h.path("Downloads", "*.csv"))
	if len(found) == 0 {
		t.Fatalf("no csv in Downloads\n%s", tt.text())
	}
	if b, err := os.ReadFile(found[0]); err != nil || !strings.Contains(string(b), ",") {
		t.Errorf("%q %v", b, err)
	}
	tt.see(`[Ss]aved`)
	tt.quit()
}

// The second start shows what was left, with the cursor on mail and not on a blank screen.
func TestSecondStart(t *testing.T) {
	t.Parallel()
	h, tt := sample(t, 80, 24)
	tt.to("Nightly report")
	tt.press("e")
	tt.see(`Archived`)
	tt.quit()
	tt = h.open(80, 24)
	tt.see(`Inbox +7 unread`, `Welcome to teapost`, `!Nightly report`)
	tt.press("g", "a")
	tt.see(`Nightly report`)
	tt.quit()
}
