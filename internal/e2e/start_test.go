//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// Bubble Tea asks the terminal for its colours and its cursor's place and waits five seconds for the answers, unless it is
// kept from it. What we ask ourselves nobody waits for.
func TestFirstFrameWaitsForNoAnswer(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]ttyOption{"answers": nil, "mute": {mute}} {
		h := newHome(t)
		tt := h.openWith(80, 24, opts, binaries.teapost)
		tt.see(`Inbox +\d+ unread`, `Welcome to teapost`)
		tt.quit()
		before, _, framed := strings.Cut(tt.written(), "\x1b[?1049h")
		if !framed || strings.Contains(before, "\x1b]") || slices.Contains(tt.scr.queries, "CPR") {
			t.Errorf("on a terminal that is %q it asks before it draws: %q, all in all %q", name, before, tt.scr.queries)
		}
	}
}

// What only prints must not touch the terminal, even when it is one that never answers.
func TestCommandsWriteNoEscape(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, args := range [][]string{
		{"version"}, {"keys"}, {"keys", "--json"}, {"outbox", "list"}, {"outbox"}, {"doctor"}, {"--help"}, {"compose", "--help"}, {"--bogus"},
	} {
		tt := h.openWith(100, 40, []ttyOption{mute}, binaries.teapost, args...)
		tt.ended()
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
