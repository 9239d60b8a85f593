//go:build linux

package e2e

import (
	"strings"
	"testing"
	"time"
)

// Bubble Tea asks the terminal for its colours and waits five seconds for the answer, unless it is kept from it.
func TestFirstFrameWaitsForNoAnswer(t *testing.T) {
	t.Parallel()
	took := map[string]time.Duration{}
	for name, opts := range map[string][]ttyOption{"answers": nil, "mute": {mute}} {
		h := newHome(t)
		tt := h.openWith(80, 24, opts, binaries.teapost)
		tt.see(`Inbox +\d+ unread`, `Welcome to teapost`)
		took[name] = time.Since(tt.began)
		if took[name] > 3*time.Second {
			t.Errorf("the first frame took %v on a terminal that is %q; asked: %q", took[name], name, tt.scr.queries)
		}
		tt.quit()
	}
	t.Log(took)
}

// What only prints must not touch the terminal, even when it is one that never answers.
func TestCommandsWriteNoEscape(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, args := range [][]string{
		{"version"}, {"keys"}, {"keys", "--json"}, {"outbox", "list"}, {"outbox"}, {"doctor"}, {"--help"}, {"compose", "--help"}, {"--bogus"},
	} {
		began := time.Now()
		tt := h.openWith(100, 40, []ttyOption{mute}, binaries.teapost, args...)
		tt.ended()
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("teapost %q took %v on a terminal that never answers", args, d)
		}
		until(t, "output of "+strings.Join(args, " "), func() bool { return tt.written() != "" })
		if out := tt.written(); strings.Contains(out, "\x1b") {
			t.Errorf("teapost %q writes an escape byte: %q", args, out)
		}
		r := h.run(args...)
		if strings.Contains(r.out+r.err, "\x1b") {
			t.Errorf("teapost %q writes an escape byte into a pipe: %q", args, r.out+r.err)
		}
	}
}

// The whole of what a terminal is told must be undone at the end, however the program ends.
func TestTerminalIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"key", "term"} {
		h := newHome(t)
		tt := h.open(80, 24)
		tt.see(`Welcome to teapost`)
		if end == "key" {
			tt.quit()
		} else {
			signalTerm(t, tt)
			if code := tt.ended(); code != 0 {
				t.Errorf("exit code %d after SIGTERM", code)
			}
		}
		until(t, "the main screen", func() bool {
			tt.mu.Lock()
			defer tt.mu.Unlock()
			return !tt.scr.modes["?1049"]
		})
		tt.mu.Lock()
		for mode, on := range tt.scr.modes {
			if on && mode != "?25" {
				t.Errorf("mode %s is still on after the end by %s", mode, end)
			}
		}
		if len(tt.scr.unknown) > 0 {
			t.Errorf("sequences that a terminal may not know: %q", tt.scr.unknown)
		}
		tt.mu.Unlock()
	}
}
