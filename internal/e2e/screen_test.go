//go:build linux

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"codeberg.org/teapost/teapost/internal/cells"
)

// screen is a small xterm: enough to know what a person would see, and to answer what programs ask.
type screen struct {
	cols, rows  int
	reply       func(string) // nil: a terminal that answers nothing
	grid        [][]string   // "" is the right half of a wide character
	main        [][]string   // the other screen while the alternate one shows
	x, y        int
	savedX      int
	savedY      int
	top, bottom int
	wrapNext    bool
	modes       map[string]bool
	rest        []byte
	titles      []string
	clipboard   []string
	bells       int
	queries     []string
	unknown     []string
}

func newScreen(cols, rows int, reply func(string)) *screen {
	s := &screen{cols: cols, rows: rows, reply: reply, modes: map[string]bool{}}
	s.grid, s.bottom = blank(cols, rows), rows-1
	return s
}

func blank(cols, rows int) [][]string {
	g := make([][]string, rows)
	for i := range g {
		g[i] = blankLine(cols)
	}
	return g
}

func blankLine(cols int) []string {
	l := make([]string, cols)
	for i := range l {
		l[i] = " "
	}
	return l
}

// lines is what the screen shows, without the blanks at the ends.
func (s *screen) lines() []string {
	out := make([]string, len(s.grid))
	for i, row := range s.grid {
		out[i] = strings.TrimRight(strings.Join(row, ""), " ")
	}
	return out
}

// resize keeps what fits, as terminals do on the alternate screen.
func (s *screen) resize(cols, rows int) {
	fit := func(old [][]string) [][]string {
		g := blank(cols, rows)
		for y := range min(rows, len(old)) {
			copy(g[y], old[y])
		}
		return g
	}
	s.grid = fit(s.grid)
	if s.main != nil {
		s.main = fit(s.main)
	}
	s.cols, s.rows, s.top, s.bottom = cols, rows, 0, rows-1
	s.x, s.y, s.wrapNext = min(s.x, cols-1), min(s.y, rows-1), false
}

func (s *screen) feed(p []byte) {
	b := append(s.rest, p...)
	for len(b) > 0 {
		n := s.one(b)
		if n == 0 {
			break
		}
		b = b[n:]
	}
	s.rest = append([]byte(nil), b...)
}

// one takes one character or sequence off the front; 0 when it is not whole yet.
func (s *screen) one(b []byte) int {
	switch c := b[0]; {
	case c == 0x1b:
		return s.escape(b)
	case c < 0x20 || c == 0x7f:
		s.control(c)
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	s.print(string(r))
	return n
}

func (s *screen) control(c byte) {
	switch c {
	case '\r':
		s.x, s.wrapNext = 0, false
	case '\n':
		s.down()
	case '\b':
		s.x, s.wrapNext = max(s.x-1, 0), false
	case '\t':
		s.x = min((s.x/8+1)*8, s.cols-1)
	case 7:
		s.bells++
	}
}

func (s *screen) down() {
	s.wrapNext = false
	switch {
	case s.y == s.bottom:
		s.scroll(s.top, 1)
	case s.y < s.rows-1:
		s.y++
	}
}

// scroll moves the lines from that one to the bottom of the region up, or down when n is negative.
func (s *screen) scroll(from, n int) {
	for range min(max(n, -n), s.bottom-from+1) {
		if n > 0 {
			copy(s.grid[from:s.bottom+1], s.grid[from+1:s.bottom+1])
			s.grid[s.bottom] = blankLine(s.cols)
		} else {
			copy(s.grid[from+1:s.bottom+1], s.grid[from:s.bottom])
			s.grid[from] = blankLine(s.cols)
		}
	}
}

func (s *screen) print(ch string) {
	w := cells.Width(ch)
	if w == 0 { // joins what stands before it
		x := s.x
		if !s.wrapNext {
			x--
		}
		if x > 0 && s.grid[s.y][x] == "" {
			x--
		}
		if x >= 0 {
			s.grid[s.y][x] += ch
		}
		return
	}
	if s.wrapNext || s.x+w > s.cols {
		s.x = 0
		s.down()
	}
	row := s.grid[s.y]
	row[s.x] = ch
	if w == 2 && s.x+1 < s.cols {
		row[s.x+1] = ""
	}
	s.x += w
	if s.x >= s.cols {
		s.x, s.wrapNext = s.cols-1, true
	}
}

func (s *screen) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				s.csi(string(b[2:i]), b[i])
				return i + 1
			}
		}
		return 0
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(b); i++ {
			if b[i] == 7 || b[i] == 0x1b && i+1 < len(b) && b[i+1] == '\\' {
				if b[1] == ']' {
					s.osc(string(b[2:i]))
				}
				if b[i] == 7 {
					return i + 1
				}
				return i + 2
			}
		}
		return 0
	case 'M':
		if s.y == s.top {
			s.scroll(s.top, -1)
		} else {
			s.y = max(s.y-1, 0)
		}
	case '7', '8', '=', '>', 'c':
	case '(', ')':
		if len(b) < 3 {
			return 0
		}
		return 3
	default:
		s.unknown = append(s.unknown, fmt.Sprintf("ESC %q", b[1]))
	}
	return 2
}

func (s *screen) osc(body string) {
	code, rest, _ := strings.Cut(body, ";")
	switch code {
	case "0", "1", "2":
		s.titles = append(s.titles, rest)
	case "52":
		s.clipboard = append(s.clipboard, rest)
	case "10", "11":
		if rest == "?" {
			s.ask("OSC "+code, "\x1b]"+code+";rgb:1010/1010/1010\x1b\\")
		}
	}
}

func (s *screen) ask(what, answer string) {
	s.queries = append(s.queries, what)
	if s.reply != nil {
		s.reply(answer)
	}
}

func (s *screen) csi(params string, final byte) {
	var n []int
	for _, f := range strings.Split(strings.TrimLeft(params, "<=>?"), ";") {
		v, _ := strconv.Atoi(f)
		n = append(n, v)
	}
	arg := func(i, def int) int {
		if i < len(n) && n[i] > 0 {
			return n[i]
		}
		return def
	}
	if final != 'm' {
		s.wrapNext = false
	}
	row := s.grid[s.y]
	switch final {
	case 'H', 'f':
		s.y, s.x = min(arg(0, 1), s.rows)-1, min(arg(1, 1), s.cols)-1
	case 'A':
		s.y = max(s.y-arg(0, 1), 0)
	case 'B', 'e':
		s.y = min(s.y+arg(0, 1), s.rows-1)
	case 'C', 'a':
		s.x = min(s.x+arg(0, 1), s.cols-1)
	case 'D':
		s.x = max(s.x-arg(0, 1), 0)
	case 'E':
		s.y, s.x = min(s.y+arg(0, 1), s.rows-1), 0
	case 'F':
		s.y, s.x = max(s.y-arg(0, 1), 0), 0
	case 'G', '`':
		s.x = min(arg(0, 1), s.cols) - 1
	case 'd':
		s.y = min(arg(0, 1), s.rows) - 1
	case 'J':
		switch n[0] {
		case 0:
			s.erase(s.y, s.x, s.cols)
			for y := s.y + 1; y < s.rows; y++ {
				s.erase(y, 0, s.cols)
			}
		case 1:
			for y := range s.y {
				s.erase(y, 0, s.cols)
			}
			s.erase(s.y, 0, s.x+1)
		case 2:
			for y := range s.rows {
				s.erase(y, 0, s.cols)
			}
		}
	case 'K':
		switch n[0] {
		case 0:
			s.erase(s.y, s.x, s.cols)
		case 1:
			s.erase(s.y, 0, s.x+1)
		case 2:
			s.erase(s.y, 0, s.cols)
		}
	case 'X':
		s.erase(s.y, s.x, min(s.x+arg(0, 1), s.cols))
	case 'P':
		k := min(arg(0, 1), s.cols-s.x)
		copy(row[s.x:], row[s.x+k:])
		s.erase(s.y, s.cols-k, s.cols)
	case '@':
		k := min(arg(0, 1), s.cols-s.x)
		copy(row[s.x+k:], row[s.x:s.cols-k])
		s.erase(s.y, s.x, s.x+k)
	case 'L':
		s.scroll(s.y, -arg(0, 1))
	case 'M':
		s.scroll(s.y, arg(0, 1))
	case 'S':
		s.scroll(s.top, arg(0, 1))
	case 'T':
		s.scroll(s.top, -arg(0, 1))
	case 'r':
		s.top, s.bottom = arg(0, 1)-1, min(arg(1, s.rows), s.rows)-1
		s.x, s.y = 0, 0
	case 'h', 'l':
		s.mode(params, final == 'h')
	case 'n':
		if n[0] == 6 {
			s.ask("CPR", fmt.Sprintf("\x1b[%d;%dR", s.y+1, s.x+1))
		}
	case 'c':
		s.ask("DA", "\x1b[?62;22c")
	case 'm', 's', 'u', 't', 'q', 'p':
	default:
		s.unknown = append(s.unknown, fmt.Sprintf("CSI %s %c", params, final))
	}
}

func (s *screen) erase(y, from, to int) {
	for x := from; x < to; x++ {
		s.grid[y][x] = " "
	}
}

func (s *screen) mode(params string, on bool) {
	for _, m := range strings.Split(params, ";") {
		if !strings.HasPrefix(m, "?") {
			m = "?" + m
		}
		if m == "?1049" && on != s.modes[m] {
			if on {
				s.main, s.grid = s.grid, blank(s.cols, s.rows)
				s.savedX, s.savedY = s.x, s.y
			} else {
				s.grid, s.main = s.main, nil
				s.x, s.y = min(s.savedX, s.cols-1), min(s.savedY, s.rows-1)
			}
		}
		s.modes[m] = on
	}
}
