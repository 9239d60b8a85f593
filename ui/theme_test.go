package ui

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// luminance is that of WCAG 2.
func luminance(rgb [3]int) float64 {
	var l float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		x := float64(rgb[i]) / 255
		if x <= 0.03928 {
			x /= 12.92
		} else {
			x = math.Pow((x+0.055)/1.055, 2.4)
		}
		l += weight * x
	}
	return l
}

func contrast(a, b [3]int) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// colorOf reads the last colour of a style, of 256 or all.
func colorOf(t *testing.T, s Style) [3]int {
	t.Helper()
	codes := strings.Split(s.codes, ";")
	number := func(i int) int {
		n, err := strconv.Atoi(codes[len(codes)-i])
		if err != nil {
			t.Fatalf("no colour in %q", s.codes)
		}
		return n
	}
	if len(codes) >= 5 && codes[len(codes)-4] == "2" {
		return [3]int{number(3), number(2), number(1)}
	}
	n := number(1)
	if n >= 232 {
		v := 8 + 10*(n-232)
		return [3]int{v, v, v}
	}
	level := [6]int{0, 95, 135, 175, 215, 255}
	n -= 16
	return [3]int{level[n/36], level[n/6%6], level[n%6]}
}

// Text can be read on its background and on that of the row with the cursor.
func TestThemeContrast(t *testing.T) {
	white, black, grey := [3]int{255, 255, 255}, [3]int{}, [3]int{30, 30, 30}
	for _, tt := range []struct {
		choice  string
		grounds [][3]int
		least   float64
	}{
		{"light", [][3]int{white}, 3.4},
		{"dark", [][3]int{black, grey}, 3.4},
		{"auto", [][3]int{white, black, grey}, 2.6}, // one set of colours for both
	} {
		for _, colors := range []Colors{Colors256, ColorsTrue} {
			th := NewTheme(tt.choice, colors, false)
			grounds := tt.grounds
			if tt.choice != "auto" {
				grounds = append(grounds, colorOf(t, th.Cursor))
			}
			for name, style := range map[string]Style{
				"muted": th.Muted, "faint": th.Faint, "accent": th.Accent, "danger": th.Danger, "warn": th.Warn, "good": th.Good,
			} {
				for _, ground := range grounds {
					least := tt.least
					if name == "faint" {
						least = 2.6
					}
					if got := contrast(colorOf(t, style), ground); got < least {
						t.Errorf("%s %s: contrast %.1f on %v, want %.1f", tt.choice, name, got, ground, least)
					}
				}
			}
		}
	}
}
