package clean

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func body(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(raw), "\n\n")
	if !ok {
		t.Fatalf("%s has no body", name)
	}
	return text
}

func TestLine(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"ascii", "plain", "plain"},
		{"empty", "", ""},
		{"letters", "Größe 漢字 🙂 fertig", "Größe 漢字 🙂 fertig"},
		{"title, clear, colour", "\x1b]0;taken\a\x1b[2J\x1b[H\x1b[31mInvoice\x1b[0m 4711", "Invoice 4711"},
		{"concealed", "Bank\x1b[8m hidden\x1b[0m", "Bank hidden"},
		{"raw C1, backspace, bell", "raw \x1b[5m blink \x9b7m c1 \b\b\b back \a bell", "raw  blink  c1  back  bell"},
		{"C1 as UTF-8", "a\u009b31mb", "ab"},
		{"C1 string", "a\u009d0;x\u009cb", "ab"},
		{"C1 string as bytes", "a\x9d0;x\x9cb", "ab"},
		{"DCS, APC, PM, SOS", "a\x1bPq\x1b\\b\x1b_x\x1b\\c\x1b^y\x1b\\d\x1bXz\x1b\\e", "abcde"},
		{"charset, keypad", "a\x1b(0b\x1b=c", "abc"},
		{"unfinished OSC", "Room, \x1b]0;the rest is here", "Room, the rest is here"},
		{"OSC cut by another", "a\x1b]0;title\x1b[31mb", "atitleb"},
		{"unfinished CSI", "a\x1b[38;5;", "a"},
		{"CSI cut by a line end", "a\x1b[38;5;\nb", "a b"},
		{"escape at the end", "a\x1b", "a"},
		{"escape before a letter outside ASCII", "a\x1bé", "aé"},
		{"line ends", "Hello\r\nBcc: eve@example.net\nX-Fake: 1", "Hello Bcc: eve@example.net X-Fake: 1"},
		{"tab", "tab\there", "tab here"},
		{"override and isolate", "Order \u202egnp.tnemyap on drah 002 \u2067 open", "Order gnp.tnemyap on drah 002  open"},
		{"marks of direction", "a\u200eb\u200fc\u061cd", "abcd"},
		{"invisible", "In\u200bvo\u00adice\u2060 due\ufeff n\u034fow\U000e0041", "Invoice due now"},
		{"fillers", "a\u3164\uffa0\u115fb", "ab"},
		{"no-break space", "a\u00a0b\u2003c", "a b c"},
		{"invalid UTF-8", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"non-character", "a\ufffeb\U0010ffffc", "a\ufffdb\ufffdc"},
		{"family", "👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"},
		{"emoji with selector", "☎\ufe0f", "☎\ufe0f"},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3"},
		{"rainbow flag", "🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"},
		{"Wales", "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f!", "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f!"},
		{"tags that are no flag", "🏴\U000e0067x", "🏴x"},
		{"selector on a letter", "a\ufe0fb\ufe0e", "ab"},
		{"joiner between letters", "pay\u200dpal\u200c", "paypal"},
		{"joiner in Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"joiner in Devanagari", "क्\u200dष", "क्\u200dष"},
		{"joiners in a row", "می\u200c\u200c\u200dخ", "می\u200cخ"},
		{"name with ideographic selector", "葛\U000e0100城", "葛\U000e0100城"},
		{"hidden data in selectors", "a\U000e0100\U000e0101\U000e0102", "a"},
		{"zalgo", "a" + strings.Repeat("\u0301", 40) + "b", "a" + strings.Repeat("\u0301", maxMarks) + "b"},
		{"mark without a letter", "\u0301\u0302abc", "abc"},
		{"points", "אְב", "אְב"},
	} {
		if got := Line(tc.in); got != tc.want {
			t.Errorf("%s: Line(%q) = %q, want %q", tc.name, tc.in, got, tc.want)
		}
	}
}

func TestLongJoinedEmojiIsCut(t *testing.T) {
	got := Line(strings.Repeat("👨\u200d", 500) + "👨")
	for _, emoji := range strings.Split(got, "👨👨") {
		if n := strings.Count(emoji, "\u200d"); n > maxJoins {
			t.Fatalf("%d joiners in one emoji", n)
		}
	}
	if Line(got) != got {
		t.Error("not the same the second time")
	}
}

func TestLineMax(t *testing.T) {
	for _, tc := range []struct {
		in   string
		max  int
		want string
	}{
		{"short", 5, "short"},
		{"longer text", 6, "lon…"},
		{"größe und mehr", 7, "gr\u00f6…"},
		{"x", 0, ""},
		{"\x1b[31mred", 3, "red"},
		{"\x1b[31m日本語日本語", 9, "日本…"},
		{"👨\u200d👩\u200d👧 and more", 14, "👨\u200d👩…"},
		{"👨\u200d👩\u200d👧 and more", 11, "👨…"},
	} {
		if got := LineMax(tc.in, tc.max); got != tc.want {
			t.Errorf("LineMax(%q, %d) = %q, want %q", tc.in, tc.max, got, tc.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"as it is", "one\ntwo\n", "one\ntwo\n"},
		{"line ends", "one\rtwo\r\nthree\n\rfour\vfive\fsix\u0085seven\u2028eight\u2029", "one\ntwo\nthree\n\nfour\nfive\nsix\nseven\neight\n"},
		{"tabs", "a\tb\n\tc\n12345678\td", "a       b\n        c\n12345678        d"},
		{"tab after wide letters", "日本\tx", "日本    x"},
		{"mark at the start of a line", "a\n\u0301b", "a\nb"},
		{"unfinished OSC ends with its line", "a \x1b]0;b\nc\a", "a b\nc"},
	} {
		if got := Text(tc.in); got != tc.want {
			t.Errorf("%s: Text(%q) = %q, want %q", tc.name, tc.in, got, tc.want)
		}
	}
}

func TestBodyWithEscapes(t *testing.T) {
	got := strings.Split(strings.TrimSpace(Text(body(t, "body-escape.eml"))), "\n")
	want := []string{
		"Colour: red end",
		"Clear: top left",
		"Title:  end",
		"Clipboard:  end",
		"Link: https://bank.example.com/ end",
		"Query:  end",
		"Alternate screen:  end",
		"Mouse:  end",
		"C1 CSI:  end",
		"Overwrite: safe text",
		"EVIL      ",
		"Backspace: goodbad! end",
		"Bell, NUL, DEL:    end",
		"Unfinished: ",
		"last line of the body",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestOddLineEnds(t *testing.T) {
	got := strings.Fields(Text(body(t, "bare-cr.eml")))
	if want := strings.Fields("one two three four five six seven eight"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCleanTextCostsNothing(t *testing.T) {
	s := strings.Repeat("Plain ASCII text of a mail. ", 20)
	for name, f := range map[string]func(){"Line": func() { Line(s) }, "Text": func() { Text(s + ""[:0]) }, "LineMax": func() { LineMax(s, 4000) }} {
		if n := testing.AllocsPerRun(50, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestHostileInputIsLinear(t *testing.T) {
	for _, piece := range []string{"\x1b]", "\u009d", "\x9d", "\x1b[", "\x1bP0;", "\t", "\U0001f3f4\U000e0067", "a\u0301", "👨\u200d"} {
		in := strings.Repeat(piece, 1<<20/len(piece))
		check(t, Text(in), true)
		check(t, Line(in), false)
	}
}

// check fails when a clean text holds what a terminal might act on.
func check(t testing.TB, s string, lines bool) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("%.200q is not valid UTF-8", s)
	}
	for _, r := range s {
		switch {
		case r == '\n' && lines, r == zwj, r == zwnj, r >= 0xe0030 && r <= cancelTag:
		case unicode.IsControl(r), bidi(r), r == 0x2028, r == 0x2029, r == 0x200b, r == 0xfeff, r == 0xad:
			t.Fatalf("%.200q holds %U", s, r)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"plain", "a\x1b[31mb\x1b]0;x\ac", "\u009b1m\x9d0;\x9c", "👨\u200d👩\ufe0f\u200d👧🏽\u200d♀", "1\ufe0f\u20e3",
		"🏴\U000e0067\U000e0062\U000e007f", "a\u0301\u0302\u0303\u0304\u0305\u0306", "می\u200cخ", "\r\n\t\v\f\u0085\u2028", "\xff\xc2",
		"葛\U000e0100\U000e0101", "\u202e\u2066x\u2069", "12\t日本\t",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, s, s2 string) {
		line := Line(s)
		check(t, line, false)
		if again := Line(line); again != line {
			t.Errorf("Line(%q) = %q, then %q", s, line, again)
		}
		text := Text(s)
		check(t, text, true)
		if again := Text(text); again != text {
			t.Errorf("Text(%q) = %q, then %q", s, text, again)
		}
		for _, l := range strings.Split(text, "\n") {
			if Line(l) != l {
				t.Errorf("a line of Text(%q) is not clean: %q", s, l)
			}
		}
		if both := line + Line(s2); Line(both) != both {
			t.Errorf("%q and %q are clean, joined they are not", line, Line(s2))
		}
		short := LineMax(s, 20)
		check(t, short, false)
		if len(short) > 20 || Line(short) != short {
			t.Errorf("LineMax(%q, 20) = %q", s, short)
		}
		name := Filename(s)
		check(t, name, false)
		if name == "" || len(name) > maxName+1 || strings.ContainsAny(name, `/\`) || name == "." || name == ".." || Filename(name) != name {
			t.Errorf("Filename(%q) = %q, then %q", s, name, Filename(name))
		}
		target, _, ok := Link(s)
		check(t, target, false)
		if ok {
			if again, _, still := Link(target); again != target || !still {
				t.Errorf("Link(%q) = %q, then %q", s, target, again)
			}
			if plain(target, false) != len(target) || strings.Contains(target, " ") {
				t.Errorf("Link(%q) = %q is not printable ASCII", s, target)
			}
		}
		row, full := Address(s, s2)
		check(t, row, false)
		check(t, full, false)
		check(t, Domain(s), false)
	})
}
