package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/units"
	"codeberg.org/teapost/teapost/local"
)

// progressBar draws how far something long is, on one line that is written over, at most ten times a second and
// never wider than the terminal. Without a terminal it draws nothing.
type progressBar struct {
	out   io.Writer
	on    bool
	ascii bool
	width func() int // of the terminal, in cells
	now   func() time.Time

	last    time.Time
	drawn   bool
	samples []sample
}

type sample struct {
	at   time.Time
	done float64
}

// rateTime is how far back the rate looks: long enough to be steady, short enough to be true.
const rateTime = 10 * time.Second

func newProgressBar(out io.Writer, ascii bool) *progressBar {
	return &progressBar{out: out, on: isTerminal(os.Stderr), ascii: ascii, width: terminalWidth, now: time.Now}
}

func terminalWidth() int {
	if w, _, err := term.GetSize(os.Stderr.Fd()); err == nil && w > 0 {
		return w
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return 80
}

// importing shows an import.
func (p *progressBar) importing(s local.ImportProgress) {
	p.show(float64(s.BytesDone), float64(s.BytesTotal), float64(s.BytesSkipped), func(rate float64) []string {
		parts := []string{
			count(s.Messages, "message"),
			fmt.Sprintf("%s of %s", units.Bytes(s.BytesDone), units.Bytes(s.BytesTotal)),
		}
		if rate > 0 {
			parts = append(parts, units.Bytes(int64(rate))+"/s")
		}
		return parts
	})
}

// counting shows work on messages.
func (p *progressBar) counting(done, total int) {
	p.show(float64(done), float64(total), 0, func(rate float64) []string {
		parts := []string{fmt.Sprintf("%s of %s", number(done), count(total, "message"))}
		if rate > 0 {
			parts = append(parts, number(int(rate))+"/s")
		}
		return parts
	})
}

// show draws the line. What was passed over at no cost does not count for the rate.
func (p *progressBar) show(done, total, skipped float64, parts func(rate float64) []string) {
	now := p.now()
	if !p.on || p.drawn && now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.drawn = now, true
	p.samples = append(p.samples, sample{now, done - skipped})
	for len(p.samples) > 2 && now.Sub(p.samples[1].at) > rateTime {
		p.samples = p.samples[1:]
	}
	rate := 0.0
	if first := p.samples[0]; now.Sub(first.at) >= time.Second {
		rate = (done - skipped - first.done) / now.Sub(first.at).Seconds()
	}
	share := 0.0
	if total > 0 {
		share = min(max(done/total, 0), 1)
	}
	list := parts(rate)
	if left := time.Duration((total - done) / max(rate, 1e-9) * float64(time.Second)); rate > 0 && left > 0 && left < 100*time.Hour {
		list = append(list, timeLeft(left))
	}
	// The last column stays empty: some terminals begin a new line there.
	fmt.Fprintf(p.out, "\r%s\x1b[K", p.line(share, list, p.width()-1))
}

// line fits the bar and its parts into a width; what is left is told before the other parts.
func (p *progressBar) line(share float64, parts []string, width int) string {
	percent := fmt.Sprintf("%3d %%", int(share*100))
	sep := " · "
	if p.ascii {
		sep = " | "
	}
	const leastBar, mostBar = 8, 24
	for {
		text := percent
		if len(parts) > 0 {
			text += "  " + strings.Join(parts, sep)
		}
		switch room := width - cells.Width(text) - 1; {
		case room >= leastBar:
			return p.bar(share, min(room, mostBar)) + " " + text
		case len(parts) > 1:
			// Of messages, amount, rate and time left the rate goes first, then the amount, then the messages.
			drop := len(parts) - 2
			parts = append(parts[:drop:drop], parts[drop+1:]...)
		case cells.Width(text) <= width:
			return text
		case len(parts) > 0:
			parts = nil
		default:
			return cells.Truncate(strings.TrimSpace(percent), max(width, 0), "")
		}
	}
}

func (p *progressBar) bar(share float64, width int) string {
	full, empty := "█", "░"
	if p.ascii {
		full, empty = "#", "-"
	}
	n := int(share * float64(width))
	return strings.Repeat(full, n) + strings.Repeat(empty, width-n)
}

// end takes the bar away.
func (p *progressBar) end() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

func timeLeft(d time.Duration) string {
	switch s := int(d.Round(time.Second).Seconds()); {
	case s < 60:
		return fmt.Sprintf("%d s left", s)
	case s < 60*60:
		return fmt.Sprintf("%d min left", (s+30)/60)
	default:
		return fmt.Sprintf("%d h %d min left", s/3600, s%3600/60)
	}
}

// number writes a count with its thousands apart.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return number(n) + " " + noun
}
