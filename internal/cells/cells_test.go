package cells

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

type row struct {
	text  string
	cells []int
}

func rows(t testing.TB) []row {
	t.Helper()
	raw, err := os.ReadFile("testdata/strings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var out []row
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n")[1:] {
		f := strings.Split(line, "\t")
		if strings.Contains(f[len(f)-1], "tab") {
			continue // a tab never reaches this package
		}
		r := row{text: f[1]}
		for _, n := range strings.Split(f[3], " or ") {
			c, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			r.cells = append(r.cells, c)
		}
		out = append(out, r)
	}
	return out
}

func TestWidthOfCases(t *testing.T) {
	for _, r := range rows(t) {
		if got := Width(r.text); !slices.Contains(r.cells, got) {
			t.Errorf("Width(%q) = %d, want one of %v", r.text, got, r.cells)
		}
		if got, want := Width(r.text), ansi.StringWidth(r.text); got != want {
			t.Errorf("Width(%q) = %d, the renderer counts %d", r.text, got, want)
		}
	}
}

func TestFitKeepsTheNextColumn(t *testing.T) {
	for _, r := range rows(t) {
		for w := range 15 {
			for name, got := range map[string]string{"Fit": Fit(r.text, w), "FitLeft": FitLeft(r.text, w), "Column": Column(r.text, w)} {
				if Width(got) != w {
					t.Errorf("%s(%q, %d) = %q of %d cells", name, r.text, w, got, Width(got))
				}
			}
		}
	}
}

func TestStable(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"plain ascii", "plain ascii"},
		{"日本語", "日本語"},
		{"☎\ufe0f now", "☎ now"},
		{"1\ufe0f\u20e3", "1"},
		{"👍🏽", "👍"},
		{"👨\u200d👩\u200d👧", "👨👩👧"},
		{"🤷\u200d♀\ufe0f", "🤷"},
		{"🏳\ufe0f\u200d🌈", "🏳🌈"},
		{"🇩🇪", "🇩🇪"},
		{"🇩", "D"},
		{"🇩🇪🇫", "🇩🇪F"},
		{"🏴\U000e0067\U000e0062\U000e007f", "🏴"},
		{"\u1112\u1161\u11ab", "한"},
		{"\u1112\u1112", "ㅎㅎ"},
		{"e\u0301", "e\u0301"},
		{"नमस्ते", "नमस्\u200cते"},
		{"กำ", "ก\u0e4d\u0e32"},
		{"می\u200cخواهم", "می\u200cخواهم"},
	} {
		got := Stable(tc.in)
		if got != tc.want {
			t.Errorf("Stable(%q) = %q, want %q", tc.in, got, tc.want)
		}
		if again := Stable(got); again != got {
			t.Errorf("Stable(%q) = %q the second time", got, again)
		}
		if !Steady(got) {
			t.Errorf("%q: %d cells for the renderer, %d for a terminal that counts code points", got, Width(got), widest(got))
		}
	}
}

func TestStableCasesAreSteady(t *testing.T) {
	for _, r := range rows(t) {
		if s := Stable(r.text); !Steady(s) {
			t.Errorf("Stable(%q) = %q: %d or %d cells", r.text, s, Width(s), widest(s))
		}
	}
}

func TestColumnOfUnsteadyText(t *testing.T) {
	got := Column("हिन्दी", 8)
	if !strings.HasPrefix(got, "\x1b[8X\x1b7") || !strings.HasSuffix(got, "\x1b8\x1b[8C") {
		t.Errorf("Column = %q: the place of the next column depends on the terminal", got)
	}
	if Width(got) != 8 {
		t.Errorf("Width = %d, want 8", Width(got))
	}
}

func TestTruncate(t *testing.T) {
	for _, tc := range []struct {
		in    string
		width int
		tail  string
		want  string
	}{
		{"hello", 5, "…", "hello"},
		{"hello", 4, "…", "hel…"},
		{"hello", 1, "…", "…"},
		{"hello", 0, "…", ""},
		{"hello", -1, "…", ""},
		{"hello", 2, "...", "he"},
		{"日本語", 6, "…", "日本語"},
		{"日本語", 5, "…", "日本…"},
		{"日本語", 4, "…", "日…"},
		{"日本語", 1, "", ""},
		{"a👨\u200d👩\u200d👧b", 2, "", "a"},
		{"e\u0301e\u0301", 1, "", "e\u0301"},
		{"\x1b[1mhello\x1b[0m", 3, "…", "\x1b[1mhe…\x1b[0m"},
	} {
		if got := Truncate(tc.in, tc.width, tc.tail); got != tc.want {
			t.Errorf("Truncate(%q, %d, %q) = %q, want %q", tc.in, tc.width, tc.tail, got, tc.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		in    string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"   ", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one  two", 5, []string{"one", "two"}},
		{"one  two", 8, []string{"one  two"}},
		{"  indented text", 10, []string{"  indented", "text"}},
		{"  indented", 5, []string{"  ind", "ented"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"x abcdefghij", 4, []string{"x", "abcd", "efgh", "ij"}},
		{"日本語の文は長い", 6, []string{"日本語", "の文は", "長い"}},
		{"日本語。文", 6, []string{"日本", "語。文"}},
		{"日本語", 1, []string{"日", "本", "語"}},
		{"say 日本語", 7, []string{"say 日", "本語"}},
		{"a\u0301b\u0301c", 2, []string{"a\u0301b\u0301", "c"}},
		{"trailing   ", 20, []string{"trailing"}},
	} {
		if got := Wrap(tc.in, tc.width); !slices.Equal(got, tc.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tc.in, tc.width, got, tc.want)
		}
	}
}

func TestWidthDoesNotAllocate(t *testing.T) {
	s := strings.Repeat("plain text ", 10)
	if n := testing.AllocsPerRun(100, func() { Width(s); Truncate(s, 200, "…") }); n > 0 {
		t.Errorf("%v allocations for ASCII", n)
	}
}

func FuzzCut(f *testing.F) {
	for _, r := range rows(f) {
		f.Add(r.text+" "+r.text, 7)
	}
	f.Add("\u0600a\u0301 1\ufe0f\u20e3", 1)
	f.Fuzz(func(t *testing.T, s string, width int) {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }) {
			t.Skip()
		}
		width = 2 + (width%40+40)%40
		if got := Truncate(s, width, "…"); Width(got) > width {
			t.Errorf("Truncate(%q, %d) = %q of %d cells", s, width, got, Width(got))
		}
		if got := Fit(s, width); Width(got) != width {
			t.Errorf("Fit(%q, %d) = %q of %d cells", s, width, got, Width(got))
		}
		if got := Column(s, width); Width(got) != width {
			t.Errorf("Column(%q, %d) = %q of %d cells", s, width, got, Width(got))
		}
		if got := Stable(s); Stable(got) != got {
			t.Errorf("Stable(%q) = %q, then %q", s, got, Stable(got))
		}
		end := 0
		for _, r := range WrapRanges(s, width, width) {
			if r.Start < end || r.End < r.Start || strings.Trim(s[end:r.Start], " ") != "" {
				t.Fatalf("Wrap(%q, %d): text lost between %d and %d", s, width, end, r.Start)
			}
			line := s[r.Start:r.End]
			if first, _ := next(line); Width(line) > width && first != line {
				t.Errorf("Wrap(%q, %d): line %q of %d cells", s, width, line, Width(line))
			}
			end = r.End
		}
		if strings.Trim(s[end:], " ") != "" {
			t.Errorf("Wrap(%q, %d): lost %q", s, width, s[end:])
		}
	})
}
