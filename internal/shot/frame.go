package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// style is how a cell is drawn. Empty colours are the terminal's own.
type style struct {
	fg, bg                                  string // "#rrggbb"
	bold, faint, italic, underline, reverse bool
	struck                                  bool
}

// cluster is one character as a reader sees it, at its place in a line.
type cluster struct {
	text  string
	at    int // column of its first cell
	width int // cells: 1 or 2
	style style
}

// parse reads lines of text with SGR sequences. Other sequences and control characters are left out.
func parse(frame string) [][]cluster {
	frame = strings.ReplaceAll(frame, "\r\n", "\n")
	frame = strings.TrimSuffix(frame, "\n")
	if frame == "" {
		return nil
	}
	var lines [][]cluster
	var st style
	for line := range strings.SplitSeq(frame, "\n") {
		var out []cluster
		at := 0
		for line != "" {
			if line[0] == 0x1b {
				n := sequence(line)
				if sgr, ok := strings.CutPrefix(line[:n], "\x1b["); ok && strings.HasSuffix(sgr, "m") {
					st.apply(strings.TrimSuffix(sgr, "m"))
				}
				line = line[n:]
				continue
			}
			g := displaywidth.StringGraphemes(line)
			if !g.Next() {
				break
			}
			text := g.Value()
			if i := strings.IndexByte(text, 0x1b); i > 0 {
				text = text[:i]
			}
			line = line[len(text):]
			width := min(displaywidth.String(text), 2)
			if text = printable(text); text == "" || width <= 0 {
				continue
			}
			out = append(out, cluster{text, at, width, st})
			at += width
		}
		lines = append(lines, out)
	}
	return lines
}

// printable leaves out what XML or a reader cannot take.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || r >= 0xfffe && r <= 0xffff {
			return -1
		}
		return r
	}, s)
}

// sequence is the length of the escape sequence that s begins with.
func sequence(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	case ']', 'P', '_', '^', 'X':
		if i := strings.Index(s, "\x1b\\"); i >= 0 {
			if b := strings.IndexByte(s[:i], 0x07); b >= 0 {
				return b + 1
			}
			return i + 2
		}
		if i := strings.IndexByte(s, 0x07); i >= 0 {
			return i + 1
		}
		return len(s)
	case '(', ')':
		return min(3, len(s))
	}
	return 2
}

// apply changes the style by the parameters of an SGR sequence.
func (st *style) apply(params string) {
	var p []int
	for f := range strings.SplitSeq(strings.ReplaceAll(params, ":", ";"), ";") {
		n, err := strconv.Atoi(f)
		if err != nil {
			n = 0
		}
		p = append(p, n)
	}
	for i := 0; i < len(p); i++ {
		switch n := p[i]; {
		case n == 0:
			*st = style{}
		case n == 1:
			st.bold = true
		case n == 2:
			st.faint = true
		case n == 3:
			st.italic = true
		case n == 4:
			st.underline = true
		case n == 7:
			st.reverse = true
		case n == 9:
			st.struck = true
		case n == 22:
			st.bold, st.faint = false, false
		case n == 23:
			st.italic = false
		case n == 24:
			st.underline = false
		case n == 27:
			st.reverse = false
		case n == 29:
			st.struck = false
		case n >= 30 && n <= 37:
			st.fg = indexed(n - 30)
		case n >= 40 && n <= 47:
			st.bg = indexed(n - 40)
		case n >= 90 && n <= 97:
			st.fg = indexed(n - 90 + 8)
		case n >= 100 && n <= 107:
			st.bg = indexed(n - 100 + 8)
		case n == 39:
			st.fg = ""
		case n == 49:
			st.bg = ""
		case n == 38 || n == 48:
			c, used := colour(p[i+1:])
			i += used
			if n == 38 {
				st.fg = c
			} else {
				st.bg = c
			}
		}
	}
}

// colour reads "5;N" or "2;R;G;B" and says how many parameters that took.
func colour(p []int) (c string, used int) {
	switch {
	case len(p) >= 2 && p[0] == 5:
		return indexed(p[1]), 2
	case len(p) >= 4 && p[0] == 2:
		return rgb(p[1], p[2], p[3]), 4
	}
	return "", len(p)
}

func rgb(r, g, b int) string {
	const digits = "0123456789abcdef"
	out := []byte{'#'}
	for _, v := range []int{r, g, b} {
		v = max(0, min(v, 255))
		out = append(out, digits[v>>4], digits[v&15])
	}
	return string(out)
}

// sixteen are the colours that a terminal gives names, as most give them today.
var sixteen = [16]string{
	"#2e3440", "#d16969", "#7fb069", "#d7ba7d", "#569cd6", "#b48ead", "#4ec9b0", "#cfd6e0",
	"#6b7280", "#f28b82", "#a5d6a7", "#f2d38b", "#82b1ff", "#d7aefb", "#80cbc4", "#ffffff",
}

// indexed is a colour of the palette of 256.
func indexed(n int) string {
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return sixteen[n]
	case n < 232:
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return rgb(level(n/36), level(n/6%6), level(n%6))
	}
	v := 8 + 10*(n-232)
	return rgb(v, v, v)
}
