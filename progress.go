package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/local"
)

// progressBar draws how far an import is, on one line that is written over, at most ten times a second.
type progressBar struct {
	out   io.Writer
	on    bool
	began time.Time
	last  time.Time
	drawn bool
}

func newProgressBar(out io.Writer, on bool) *progressBar {
	return &progressBar{out: out, on: on, began: time.Now()}
}

func (p *progressBar) show(s local.ImportProgress) {
	now := time.Now()
	if !p.on || now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.drawn = now, true
	share := 0.0
	if s.BytesTotal > 0 {
		share = min(float64(s.BytesDone)/float64(s.BytesTotal), 1)
	}
	const width = 24
	full := int(share * width)
	line := fmt.Sprintf("%s%s %3.0f %%  %d messages", strings.Repeat("█", full), strings.Repeat("░", width-full), share*100, s.Messages)
	if spent := now.Sub(p.began); spent > time.Second && share > 0.01 {
		left := time.Duration(float64(spent) * (1 - share) / share)
		line += fmt.Sprintf("  %.1f MB/s  %s left", float64(s.BytesDone)/1e6/spent.Seconds(), left.Round(time.Second))
	}
	fmt.Fprintf(p.out, "\r%s\x1b[K", line)
}

// end takes the bar away.
func (p *progressBar) end() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
