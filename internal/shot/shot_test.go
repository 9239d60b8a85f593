package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

type textElement struct {
	X      string `xml:"x,attr"`
	Y      string `xml:"y,attr"`
	Length string `xml:"textLength,attr"`
	Anchor string `xml:"text-anchor,attr"`
	Fill   string `xml:"fill,attr"`
	Weight string `xml:"font-weight,attr"`
	Text   string `xml:",chardata"`
}

type rectElement struct {
	X      string `xml:"x,attr"`
	Width  string `xml:"width,attr"`
	Height string `xml:"height,attr"`
	Fill   string `xml:"fill,attr"`
}

type picture struct {
	Width string `xml:"width,attr"`
	Title string `xml:"title"`
	G     struct {
		Texts []textElement `xml:"text"`
		Rects []rectElement `xml:"rect"`
	} `xml:"g"`
}

func shoot(t *testing.T, frame string, args ...string) picture {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := run(args, strings.NewReader(frame), &out, &errOut); code != 0 {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var p picture
	if err := xml.Unmarshal(out.Bytes(), &p); err != nil {
		t.Fatalf("not XML: %v\n%s", err, out.String())
	}
	return p
}

// x is where a column begins.
func x(col int) string { return px(margin + float64(col)*cellWidth) }

func TestTextIsPlacedByCells(t *testing.T) {
	p := shoot(t, "ab \x1b[1;38;2;26;158;150m会議\x1b[0m <tag>\n  🎉x", "--cols", "20")
	want := []textElement{
		{X: x(0), Text: "ab", Length: px(2 * cellWidth)},
		{X: px(margin + 4*cellWidth), Text: "会", Anchor: "middle", Fill: "#1a9e96", Weight: "bold"},
		{X: px(margin + 6*cellWidth), Text: "議", Anchor: "middle", Fill: "#1a9e96", Weight: "bold"},
		{X: x(8), Text: "<tag>", Length: px(5 * cellWidth)},
		{X: px(margin + 3*cellWidth), Text: "🎉", Anchor: "middle"},
		{X: x(4), Text: "x", Length: px(cellWidth)},
	}
	if len(p.G.Texts) != len(want) {
		t.Fatalf("%d texts, want %d: %+v", len(p.G.Texts), len(want), p.G.Texts)
	}
	for i, w := range want {
		got := p.G.Texts[i]
		got.Y = ""
		if got != w {
			t.Errorf("text %d is\n%+v, want\n%+v", i, got, w)
		}
	}
	if w := px(20*cellWidth + 2*margin); p.Width != w {
		t.Errorf("the picture is %s wide, want %s", p.Width, w)
	}
}

func TestColours(t *testing.T) {
	for _, c := range []struct{ sgr, fg, bg string }{
		{"31", sixteen[1], ""},
		{"97", sixteen[15], ""},
		{"38;5;196", "#ff0000", ""},
		{"38;5;244", "#808080", ""},
		{"38:2:1:2:3", "#010203", ""},
		{"48;5;21;30", sixteen[0], "#0000ff"},
		{"38;2;9;9;9;48;2;1;1;1;7", "#010101", "#090909"},
		{"7", dark.bg, dark.fg},
		{"31;39;44;49", "", ""},
	} {
		p := shoot(t, "\x1b["+c.sgr+"mx")
		bg := ""
		if len(p.G.Rects) > 0 {
			bg = p.G.Rects[0].Fill
		}
		if len(p.G.Texts) != 1 || p.G.Texts[0].Fill != c.fg || bg != c.bg {
			t.Errorf("SGR %s: text %+v on %q, want %q on %q", c.sgr, p.G.Texts, bg, c.fg, c.bg)
		}
	}
}

func TestLinesMeet(t *testing.T) {
	p := shoot(t, "────│")
	if len(p.G.Texts) != 0 || len(p.G.Rects) != 2 {
		t.Fatalf("drawn with %+v and %+v", p.G.Texts, p.G.Rects)
	}
	if w := px(4 * cellWidth); p.G.Rects[0].Width != w {
		t.Errorf("the rule is %s wide, want %s", p.G.Rects[0].Width, w)
	}
	if h := px(cellHeight); p.G.Rects[1].Height != h {
		t.Errorf("the bar is %s high, want %s", p.G.Rects[1].Height, h)
	}
}

// A gap between columns parts words that are drawn from the right; one blank between them does not.
func TestColumnsOfRightToLeftText(t *testing.T) {
	p := shoot(t, "שלום עולם   תודה")
	if len(p.G.Texts) != 2 || p.G.Texts[0].Text != "שלום עולם" || p.G.Texts[1].X != x(12) {
		t.Errorf("drawn as %+v", p.G.Texts)
	}
}

func TestHostileFrames(t *testing.T) {
	for _, frame := range []string{
		"", "\n\n", "\x1b", "\x1b[", "\x1b[38;5m", "\x1b[38;2;1mx", "\x1b[999999999999999999999mx", "\x1b]8;;http://a\x07x\x1b]8;;\x07",
		"\x1b]0;t\x1b\\x", "\x1b]0;never ends", "a\x00b\x08c", "\xff\xfe", "a\u0300\u0301", "\x1b(Bx", "]]><!--&\"'", "\ufffe\uffff",
	} {
		p := shoot(t, frame, "--title", frame)
		for _, e := range p.G.Texts {
			if strings.ContainsAny(e.Text, "\x1b\x00\x07") {
				t.Errorf("%q is drawn with %q", frame, e.Text)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"--no-such-flag"}, {"file"}, {"--cols", "-1"}} {
		var errOut bytes.Buffer
		if code := run(args, strings.NewReader(""), io.Discard, &errOut); code != 2 || errOut.Len() == 0 {
			t.Errorf("%v: exit code %d, said %q", args, code, errOut.String())
		}
	}
	var errOut bytes.Buffer
	if code := run(nil, failing{}, io.Discard, &errOut); code != 1 || errOut.Len() == 0 {
		t.Errorf("an unreadable frame: exit code %d, said %q", code, errOut.String())
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("gone") }
