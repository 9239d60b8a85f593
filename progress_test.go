package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/local"
)

// barAt returns a bar on a terminal of a width, its output and its clock.
func barAt(width int) (*progressBar, *bytes.Buffer, *time.Time) {
	var out bytes.Buffer
	now := time.Date(2026, 3, 10, 9, 0, 0, 0, time.UTC)
	return &progressBar{out: &out, on: true, width: func() int { return width }, now: func() time.Time { return now }}, &out, &now
}

// lastLine is what the terminal shows: all was written over the same line.
func lastLine(out string) string {
	lines := strings.Split(out, "\r")
	return strings.TrimSuffix(lines[len(lines)-1], "\x1b[K")
}

func TestBarFitsAnyWidth(t *testing.T) {
	for width, want := range map[int]string{
		120: "██████░░░░░░░░░░░░░░░░░░  25 %  12,345 messages · 500.0 MB of 2.00 GB · 25.0 MB/s · 1 min left",
		80:  "██░░░░░░░  25 %  12,345 messages · 500.0 MB of 2.00 GB · 25.0 MB/s · 1 min left",
		70:  "██░░░░░░░░░  25 %  12,345 messages · 500.0 MB of 2.00 GB · 1 min left",
		60:  "█████░░░░░░░░░░░░░░░░░░  25 %  12,345 messages · 1 min left",
		30:  "██░░░░░░░░░  25 %  1 min left",
		20:  " 25 %  1 min left",
		10:  " 25 %",
		5:   "25 %",
		2:   "2",
		1:   "",
	} {
		p, out, now := barAt(width)
		for i := range 21 {
			p.importing(local.ImportProgress{BytesDone: int64(i) * 25e6, BytesTotal: 2e9, Messages: 12345})
			*now = now.Add(time.Second)
		}
		got := lastLine(out.String())
		if got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
		for _, l := range strings.Split(out.String(), "\r") {
			if w := cells.Width(strings.TrimSuffix(l, "\x1b[K")); w >= width && w > 0 {
				t.Errorf("%d columns: a line of %d cells", width, w)
			}
		}
		p.end()
		if !strings.HasSuffix(out.String(), "\r\x1b[K") {
			t.Errorf("%d columns: the bar stays", width)
		}
	}
}

func TestBarIsSilentWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	p := &progressBar{out: &out, now: time.Now, width: func() int { return 80 }}
	p.importing(local.ImportProgress{BytesDone: 1, BytesTotal: 2})
	p.end()
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
}

func TestBarCountsOnlyWhatIsRead(t *testing.T) {
	p, out, now := barAt(100)
	p.ascii = true
	// Half of it was read by the import that was interrupted; the rest comes at 10 MB a second.
	for i := range 6 {
		p.importing(local.ImportProgress{BytesDone: 1e9 + int64(i)*10e6, BytesTotal: 2e9, BytesSkipped: 1e9, Messages: 7})
		*now = now.Add(time.Second)
	}
	if got, want := lastLine(out.String()), "############------------  52 %  7 messages | 1.05 GB of 2.00 GB | 10.0 MB/s | 2 min left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := number(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{4 * time.Second: "4 s left", 90 * time.Second: "2 min left", 65 * time.Minute: "1 h 5 min left"} {
		if got := timeLeft(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
