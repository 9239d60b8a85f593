//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// The mail is open in one terminal, a script sends in another: one mail, both end well and both know.
func TestSendWhileTheMailIsOpen(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"sample", "account"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			var h *home
			var tt *terminal
			var once func()
			if where == "sample" {
				h, tt = sample(t, 80, 24)
				once = func() {
					if rows := h.outbox(); len(rows) != 1 || rows[0].Subject != killSubject || rows[0].State != "sent" {
						t.Errorf("outbox: %+v", rows)
					}
				}
			} else {
				r := newRig(t)
				h = r.client
				tt = h.open(80, 24)
				tt.see(`Nothing waits for you here`)
				once = func() { r.once(1) }
			}
			// 3 when the one that has the mail open was given no time to begin; the message goes all the same.
			r := h.runIn("The text.\n", "compose", "--send", "--to", "ana@example.net", "--to", "ada@example.com", "--subject", killSubject)
			if r.code != 3 && (r.code != 0 || strings.TrimSpace(r.out) == "") {
				t.Fatalf("compose --send: %+v", r)
			}
			tt.press("g", "o")
			tt.see(`Outbox`, `✓.*`+killSubject)
			once()
			tt.press("g", "t")
			tt.see(`Sent`, killSubject)
			tt.quit()
			once()
		})
	}
}

// Many scripts send at once while the mail is open: each message once, none lost.
func TestManySendersAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tt := r.client.open(80, 24)
	tt.see(`Nothing waits for you here`)
	const n = 6
	var all []*process
	for range n {
		all = append(all, r.compose())
	}
	for _, p := range all {
		if code := p.ended(t); code != 0 && code != 3 {
			t.Errorf("exit code %d: %s", code, p.errs)
		}
	}
	r.server.holds(killSubject, n)
	if got := len(r.proxy.seen()); got != n {
		t.Errorf("%d requests for %d messages", got, n)
	}
	tt.quit()
}

// The process that sends dies with a message of another one on its way: that other one takes over, and the message goes
// once.
func TestTakingOver(t *testing.T) {
	t.Parallel()
	for _, step := range []string{stepReceived, stepHanded, stepAnswered} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			tt := r.client.open(80, 24)
			tt.see(`Nothing waits for you here`)
			reached := r.proxy.at(step, func() bool { tt.kill(); return true })
			p := r.compose()
			waitFor(t, reached, "the step "+step)
			if code := p.ended(t); code != 0 && code != 3 {
				t.Errorf("exit code %d: %s", code, p.errs)
			}
			r.settle()
			r.server.holds(killSubject, 1)
		})
	}
}

// What one terminal does shows in the other.
func TestTwoTerminals(t *testing.T) {
	t.Parallel()
	h, one := sample(t, 80, 24)
	two := h.open(80, 24)
	two.see(`Welcome to teapost`, `Nightly report`)
	one.to("Nightly report")
	one.press("e")
	one.see(`Archived`, `!Build Server`)
	two.see(`!Build Server`)
	two.to("Dinner?")
	two.press("#")
	two.see(`Trashed`)
	one.see(`!Ana Müller .*Dinner\?`)
	one.press("z")
	one.see(`● Build Server`)
	two.see(`● Build Server`)
	one.kill() // the other one goes on alone
	two.to("Nightly report")
	two.press("s")
	two.see(`⚑.*Nightly report`)
	two.quit()
	three := h.open(80, 24)
	three.see(`⚑.*Nightly report`, `!Dinner\?`)
	three.quit()
}

// The screen as the client that dies: with each step of a send, and while the text is typed.
func TestKillScreen(t *testing.T) {
	t.Parallel()
	for _, step := range sendSteps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.client.write("config/teapost/config.toml", "[ui]\nundo_seconds = 0\n")
			tt := r.client.open(80, 24)
			tt.see(`Nothing waits for you here`)
			tt.writeMail()
			reached := r.proxy.at(step, func() bool { tt.kill(); return true })
			tt.press("^D")
			waitFor(t, reached, "the step "+step)
			tt = r.client.open(80, 24)
			until(t, "the message", func() bool { return r.server.copies(killSubject) == 1 })
			tt.see(killSubject) // the copy to oneself
			tt.press("g", "o")
			tt.see(`✓.*` + killSubject)
			tt.quit()
			r.once(1)
		})
	}
}

// A text is on the disk within a second of its last letter, whatever ends the program.
func TestKillWhileWriting(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"kill", "hangup", "term"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			h, tt := sample(t, 80, 24)
			tt.press("c")
			tt.see(`New message`)
			tt.press("tab")
			tt.write("Half written")
			tt.press("tab")
			tt.write("This must not be lost")
			switch end {
			case "kill":
				// That it takes no longer than a second is shown in virtual time, by state.
				until(t, "the text on the disk", func() bool {
					return len(h.stateQuery("SELECT id FROM draft WHERE CAST(doc AS TEXT) LIKE '%This must not be lost%'")) == 1
				})
				tt.kill()
			case "hangup":
				tt.see(`This must not be lost`)
				_ = tt.file.Close()
				waitFor(t, tt.done, "the end with the terminal")
			case "term":
				tt.see(`This must not be lost`)
				signalTerm(t, tt)
				tt.ended()
			}
			tt = h.open(80, 24)
			tt.see(`Welcome to teapost`)
			if end == "kill" {
				tt.see(`teapost ended while you were writing “Half written”`, `Go on writing it\?`)
				tt.press("n")
				tt.see(`!Go on writing it`)
			}
			tt.press("g", "d")
			tt.see(`Drafts`, `Half written`)
			tt.to("Half written")
			tt.press("enter")
			tt.see(`This must not be lost`)
			tt.kill()
		})
	}
}
