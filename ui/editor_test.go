package ui

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"codeberg.org/teapost/teapost/internal/cells"
)

// drawEditor shows the rows with the cursor as brackets round its cluster.
func drawEditor(e *editor) []string {
	return e.rows(func(s string) string { return "[" + s + "]" }, nil, nil)
}

func editorAt(text string, width, height int) *editor {
	e := newEditor(text)
	e.resize(width+1, height)
	return e
}

func pressAll(e *editor, keys ...string) {
	for _, k := range keys {
		if !e.key(k) {
			e.insert(k)
		}
	}
}

func TestEditorKeys(t *testing.T) {
	end := []string{"ctrl+end"}
	for _, c := range []struct {
		name, text string
		keys       []string
		want       string // with "|" at the cursor
	}{
		{"typing", "", []string{"h", "i"}, "hi|"},
		{"enter splits", "ab", []string{"right", "enter"}, "a\n|b"},
		{"backspace joins lines", "a\nb", []string{"down", "backspace"}, "a|b"},
		{"delete joins lines", "a\nb", []string{"end", "delete"}, "a|b"},
		{"backspace at the start", "a", []string{"backspace"}, "|a"},
		{"delete at the end", "a", append(slices.Clone(end), "delete"), "a|"},
		{"a cluster goes whole", "x👨‍👩‍👧y", append(slices.Clone(end), "left", "backspace"), "x|y"},
		{"a letter and its accent", "e\u0301a", []string{"right", "backspace"}, "|a"},
		{"a flag", "🇩🇪🇫🇷", append(slices.Clone(end), "backspace"), "🇩🇪|"},
		{"word left", "one two, three", append(slices.Clone(end), "alt+b", "alt+b"), "one |two, three"},
		{"word right", "one two", []string{"alt+f", "alt+f"}, "one two|"},
		{"word erase", "one two", append(slices.Clone(end), "ctrl+w"), "one |"},
		{"word erase forward", "one two", []string{"alt+d"}, "| two"},
		{"kill to the end", "one two\nthree", []string{"alt+f", "ctrl+k"}, "one|\nthree"},
		{"kill the line end", "one\ntwo", []string{"end", "ctrl+k"}, "one|two"},
		{"kill to the start", "one two", append(slices.Clone(end), "ctrl+u"), "|"},
		{"home goes to the row", "aaaa bbbb", append(slices.Clone(end), "home"), "aaaa |bbbb"},
		{"home twice goes to the line", "aaaa bbbb", append(slices.Clone(end), "home", "home"), "|aaaa bbbb"},
		{"end of a row", "aaaa bbbb", []string{"end"}, "aaaa| bbbb"},
		{"end twice", "aaaa bbbb", []string{"end", "end"}, "aaaa bbbb|"},
		{"down keeps the column over a short line", "abcd\na\nabcd", []string{"right", "right", "right", "down", "down"}, "abcd\na\nabc|d"},
		{"down through wide letters", "abcd\n日本語", []string{"right", "right", "right", "down"}, "abcd\n日|本語"},
		{"up at the top goes to the start", "abc", []string{"right", "up"}, "|abc"},
		{"down at the bottom goes to the end", "abc", []string{"down"}, "abc|"},
		{"down in a quoted line keeps the column", "> ab cd ef", []string{"right", "right", "right", "down"}, "> ab cd e|f"},
		{"up from a quoted line to the column", "abcdef\n> ab cde", append(slices.Clone(end), "left", "up", "up"), "abcd|ef\n> ab cde"},
		{"down on a quote's marks goes to its text", "> ab cde", []string{"down"}, "> ab |cde"},
		{"erasing the marks of a quoted line", "> ab cd ef", []string{"delete", "delete", "ctrl+end"}, "ab cd ef|"},
		{"undo takes a word", "", []string{"a", "b", " ", "c", "ctrl+end"}, "ab c|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := editorAt(c.text, 7, 5)
			pressAll(e, c.keys...)
			all := e.text()
			at := offsetIn(e)
			if got := all[:at] + "|" + all[at:]; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func offsetIn(e *editor) int {
	n := e.cur.col
	for i := range e.cur.row {
		n += len(e.lines[i].text) + 1
	}
	return n
}

func TestEditorUndo(t *testing.T) {
	e := editorAt("", 20, 5)
	pressAll(e, "o", "n", "e", " ", "t", "w", "o", "enter")
	e.paste("three\r\nfour")
	var seen []string
	for e.undoStep() {
		seen = append(seen, e.text())
	}
	want := []string{"one two\n", "one two", "one ", ""}
	if !slices.Equal(seen, want) {
		t.Errorf("undo went through %q, want %q", seen, want)
	}
	for e.redoStep() {
	}
	if got := e.text(); got != "one two\nthree\nfour" {
		t.Errorf("redo ended at %q", got)
	}
	e.undoStep()
	e.insert("x")
	if e.redoStep() {
		t.Error("typing after undo must end the redo list")
	}
}

func TestEditorWrap(t *testing.T) {
	for _, c := range []struct {
		name, text string
		width      int
		want       []string
	}{
		{"words", "one two three", 8, []string{"one two ", "three"}},
		{"blanks hang", "one two  three", 7, []string{"one two", "three"}},
		{"a long word", "abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"wide letters", "日本語日本", 5, []string{"日本", "語日", "本"}},
		{"no row begins with a stop", "日本語。日", 6, []string{"日本", "語。日"}},
		{"tab", "a\tb", 20, []string{"a       b"}},
		{"a family is drawn as its members", "👨‍👩‍👧", 10, []string{"👨👩👧"}},
		{"empty lines", "\n\n", 5, []string{"", "", ""}},
		{"a quoted line reads as quoted to its end", "> one two three", 10, []string{"> one two ", "> three"}},
		{"and a quote in a quote", ">> one two\n> > one two", 8, []string{">> one ", ">> two", "> > one ", "> > two"}},
		{"not where the marks leave no room", "> > > > one two", 10, []string{"> > > > ", "one two"}},
		{"a long word stays beside the marks", "> abcdefghij", 6, []string{"> abcd", "> efgh", "> ij"}},
		{"wide letters in a quote", "> 日本語日", 6, []string{"> 日本", "> 語日"}},
		{"override is not drawn", "a\u202eb", 5, []string{"ab"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := editorAt(c.text, c.width, 9)
			if got := e.rows(nil, nil, nil); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEditorCursorIsDrawn(t *testing.T) {
	e := editorAt("one two", 4, 4)
	if got := drawEditor(e); !slices.Equal(got, []string{"[o]ne ", "two"}) {
		t.Errorf("got %q", got)
	}
	pressAll(e, "ctrl+end")
	if got := drawEditor(e); !slices.Equal(got, []string{"one ", "two[ ]"}) {
		t.Errorf("got %q", got)
	}
	pressAll(e, " ", " ", " ")
	if got := drawEditor(e); !slices.Equal(got, []string{"one ", "two [ ]"}) {
		t.Errorf("blanks over the edge: got %q", got)
	}
}

func TestEditorScroll(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	e := editorAt(b.String(), 20, 5)
	pressAll(e, "pgdown")
	if got := drawEditor(e); got[0] != "line 0" || got[4] != "[l]ine 4" {
		t.Errorf("after a page: %q", got)
	}
	pressAll(e, "pgdown")
	if got := drawEditor(e); got[4] != "[l]ine 8" {
		t.Errorf("after two pages: %q", got)
	}
	e.scroll(3)
	if got := drawEditor(e); got[0] != "line 7" || got[1] != "[l]ine 8" {
		t.Errorf("after the wheel: %q", got)
	}
	e.scroll(4)
	if got := drawEditor(e); got[0] != "[l]ine 11" {
		t.Errorf("the cursor must stay on the screen: %q", got)
	}
	e.click(3, 2)
	if got := drawEditor(e); got[2] != "lin[e] 13" {
		t.Errorf("after a click: %q", got)
	}
	e.resize(21, 2)
	if got := drawEditor(e); !slices.Contains(got, "lin[e] 13") || len(got) != 2 {
		t.Errorf("after a resize the cursor must be seen: %q", got)
	}
}

func TestCleanInput(t *testing.T) {
	for in, want := range map[string]string{
		"line one\r\nline two\rline three\n": "line one\nline two\nline three\n",
		"a\x1b[31mb\x07c\x00d":               "abcd",
		"a\x1b]0;title\x07b":                 "ab",
		"a\x1b]52;c;aGk=\x1b\\b":             "ab",
		"a\x1b]never ends\nb":                "a]never ends\nb",
		"a\x1b":                              "a",
		"a\x1b[":                             "a",
		"Grüße 漢字 🙂":                         "Grüße 漢字 🙂",
		"x\u009b31my":                        "x31my",
		"bad \xff byte":                      "bad  byte",
		"\ttab":                              "\ttab",
		"a\x7fb":                             "ab",
		"one\u2028two":                       "one\ntwo",
	} {
		if got := cleanInput(in); got != want {
			t.Errorf("cleanInput(%q) = %q, want %q", in, got, want)
		}
	}
}

// model is the plainest editor that could be: a string and an offset, all found by searching from the start.
type model struct {
	s   string
	cur int
}

func bounds(s string) []int {
	out := []int{0}
	at := 0
	for line := range strings.SplitAfterSeq(s, "\n") {
		g := displaywidth.StringGraphemes(strings.TrimSuffix(line, "\n"))
		p := at
		for g.Next() {
			p += len(g.Value())
			out = append(out, p)
		}
		at += len(line)
		if strings.HasSuffix(line, "\n") {
			out = append(out, at)
		}
	}
	return slices.Compact(out)
}

func (m *model) snap() {
	for _, b := range bounds(m.s) {
		if b >= m.cur {
			m.cur = b
			return
		}
	}
}

func (m *model) insert(t string) {
	m.s = m.s[:m.cur] + t + m.s[m.cur:]
	m.cur += len(t)
	m.snap()
}

func (m *model) left() int {
	last := 0
	for _, b := range bounds(m.s) {
		if b >= m.cur {
			break
		}
		last = b
	}
	return last
}

func (m *model) right() int {
	for _, b := range bounds(m.s) {
		if b > m.cur {
			return b
		}
	}
	return m.cur
}

var pieces = []string{
	"a", "b", " ", "  ", "-", "word", "\n", "\n\n", "日", "本語。", "🙂", "\u0301", "e\u0301", "\u200d", "👨‍👩‍👧",
	"🇩", "🇩🇪", "\t", "ก็", "\ufe0f", "☎", "אְב", "a longer piece of text that wraps", "xxxxxxxxxxxxxxxxxxxxxxxxxxx", "\u200b", "न", "\u094d",
	"한", "ᄒ", "ᅡ", "\u0600", "\u202e", "\u00ad",
	">", "> ", "> > quoted text that wraps",
}

// drive plays one program of editing on the editor and on the model.
func drive(t *testing.T, ops []byte, width int) {
	t.Helper()
	e, m := editorAt("", width, 6), &model{}
	var past []string
	for i := 0; i < len(ops); i++ {
		before := e.text()
		op := ops[i]
		switch op % 16 {
		case 0, 1, 2, 3, 4, 5:
			p := pieces[int(op>>4)*3%len(pieces)]
			if i+1 < len(ops) {
				i++
				p = pieces[int(ops[i])%len(pieces)]
			}
			if op%2 == 0 {
				e.insert(p)
			} else {
				e.paste(p)
			}
			m.insert(p)
		case 6:
			e.key("left")
			m.cur = m.left()
		case 7:
			e.key("right")
			m.cur = m.right()
		case 8, 9:
			e.key("backspace")
			l := m.left()
			m.s = m.s[:l] + m.s[m.cur:]
			m.cur = l
			m.snap()
		case 10:
			e.key("delete")
			r := m.right()
			m.s = m.s[:m.cur] + m.s[r:]
			m.snap()
		case 11:
			e.key("ctrl+home")
			m.cur = 0
		case 12:
			// Moves by rows are those of the editor; the model takes the place over.
			e.key([]string{"up", "down", "pgup", "pgdown", "home", "end", "alt+b", "alt+f"}[int(op>>4)%8])
			m.cur = offsetIn(e)
		case 13:
			e.resize(2+int(op>>4), 1+int(op>>5))
		case 14:
			e.key([]string{"ctrl+w", "ctrl+k", "ctrl+u", "alt+d"}[int(op>>4)%4])
			m.s, m.cur = e.text(), offsetIn(e)
		case 15:
			if e.undoStep() {
				if got := e.text(); len(past) > 0 && !slices.Contains(past, got) {
					t.Fatalf("undo made a text that never was: %q", got)
				}
				if op>>4 < 8 {
					e.redoStep()
				}
			}
			m.s, m.cur = e.text(), offsetIn(e)
		}
		if before != e.text() {
			past = append(past, before)
		}
		if got := e.text(); got != m.s {
			t.Fatalf("after op %d (%d): text %q, model %q", i, op%16, got, m.s)
		}
		if got := offsetIn(e); got != m.cur {
			t.Fatalf("after op %d (%d): cursor %d, model %d in %q", i, op%16, got, m.cur, m.s)
		}
		if !slices.Contains(bounds(m.s), m.cur) {
			t.Fatalf("after op %d: cursor %d is inside a character of %q", i, m.cur, m.s)
		}
		for r := range e.lines {
			if l := &e.lines[r]; l.w == e.width && !slices.Equal(l.brk, wrapAll(l.text, e.width)) {
				t.Fatalf("after op %d: wrap of %q at %d is %v, want %v", i, l.text, e.width, l.brk, wrapAll(l.text, e.width))
			}
		}
		rows := drawEditor(e)
		if len(rows) > e.height || !strings.Contains(strings.Join(rows, "\n"), "[") {
			t.Fatalf("after op %d: the cursor is not on the screen: %q", i, rows)
		}
		for _, r := range e.rows(nil, nil, nil) {
			if w := cells.Width(r); w > e.width {
				t.Fatalf("after op %d: row %q takes %d cells of %d", i, r, w, e.width)
			}
		}
	}
}

func TestEditorAgainstModel(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 60
	}
	for seed := range n {
		r := rand.New(rand.NewSource(int64(seed)))
		ops := make([]byte, 120)
		r.Read(ops)
		drive(t, ops, 6+seed%30)
	}
}

func FuzzEditor(f *testing.F) {
	f.Add([]byte{0, 3, 1, 8, 6, 9, 15}, 12)
	f.Add([]byte{0, 22, 0, 23, 8, 13, 15, 255}, 7)
	f.Fuzz(func(t *testing.T, ops []byte, width int) {
		if len(ops) > 200 {
			return
		}
		drive(t, ops, 1+(width&63))
	})
}

func FuzzCleanInput(f *testing.F) {
	f.Add("a\x1b]0;x\x07\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := cleanInput(s)
		if !utf8.ValidString(got) {
			t.Fatalf("not UTF-8: %q", got)
		}
		for _, r := range got {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("control character left: %q", got)
			}
		}
		if again := cleanInput(got); again != got {
			t.Fatalf("not stable: %q then %q", got, again)
		}
	})
}

func bigText(line string) string { return strings.Repeat(line, 200_000/len(line)+1) }

var bigTexts = map[string]string{
	"lines":    bigText("The second pass is done, and the numbers are in the table.\n"),
	"one line": bigText("The second pass is done, and the numbers are in the table. "),
	"no blank": bigText("x"),
	"wide":     bigText("二回目の調査が終わりました。"),
}

func TestEditorHoldsBigPaste(t *testing.T) {
	for name, text := range bigTexts {
		e := editorAt("", 78, 20)
		e.paste(text)
		rows := drawEditor(e)
		if e.text() != text {
			t.Errorf("%s: something of the paste is missing", name)
		}
		if !strings.Contains(strings.Join(rows, ""), "[ ]") {
			t.Errorf("%s: the cursor is not at the end: %q", name, rows)
		}
	}
}

func BenchmarkEditorPaste(b *testing.B) {
	for name, text := range bigTexts {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e := editorAt("", 78, 20)
				e.paste(text)
				drawEditor(e)
			}
		})
	}
}

// BenchmarkEditorType is one key and one frame at 200 kB, in the middle of the text, with the whole text taken out
// as it is for saving.
func BenchmarkEditorType(b *testing.B) {
	for name, text := range bigTexts {
		b.Run(name, func(b *testing.B) {
			e := editorAt(text, 78, 20)
			last := len(e.lines) / 2
			e.moveTo(place{last, len(e.lines[last].text) / 2})
			i := 0
			for b.Loop() {
				if i++; i%8 == 0 {
					e.key("backspace")
				} else {
					e.insert("é"[:2])
				}
				_ = e.text()
				drawEditor(e)
			}
		})
	}
}
