package bodytext

import (
	"encoding/base64"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeberg.org/teapost/teapost/internal/cells"
	"codeberg.org/teapost/teapost/internal/clean"
)

// part returns the decoded text of the n-th part with a type, of a case file.
func part(t testing.TB, name, typ string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Split(string(raw), "\n--alt") {
		head, body, ok := strings.Cut(strings.TrimPrefix(p, "\n"), "\n\n")
		if !ok || !strings.Contains(head, "Content-Type: "+typ) {
			continue
		}
		if strings.Contains(head, "base64") {
			dec, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(body, "\n", ""))
			if err != nil {
				t.Fatal(err)
			}
			body = string(dec)
		}
		return body
	}
	t.Fatalf("%s has no part %s", name, typ)
	return ""
}

func drawn(d *Doc, width int) string {
	var b strings.Builder
	for _, l := range d.Lines(width) {
		b.WriteString(strings.Repeat("| ", Bars(l.Quote, width)) + l.Text + "\n")
	}
	return b.String()
}

// want compares a drawing with lines that are indented for the test.
func want(t *testing.T, d *Doc, width int, lines ...string) {
	t.Helper()
	got := strings.Split(strings.TrimSuffix(drawn(d, width), "\n"), "\n")
	if !slices.Equal(got, lines) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
	check(t, d, width)
}

// check fails when a line is too wide or not clean, or a span does not lie in its line.
func check(t testing.TB, d *Doc, width int) {
	t.Helper()
	for _, l := range d.Lines(width) {
		if w := cells.Width(l.Text) + BarCells*Bars(l.Quote, width); w > width {
			t.Fatalf("%q takes %d cells of %d", l.Text, w, width)
		}
		if clean.Line(l.Text) != l.Text {
			t.Fatalf("%q is not clean", l.Text)
		}
		end := 0
		for _, s := range l.Spans {
			if s.Start < end || s.End < s.Start || s.End > len(l.Text) || s.Link > len(d.Links) {
				t.Fatalf("%q: span %v after %d, %d links", l.Text, s, end, len(d.Links))
			}
			end = s.End
		}
	}
	for i, l := range d.Links {
		if l.N != i+1 || clean.Line(l.URL) != l.URL || clean.Line(l.Text) != l.Text {
			t.Fatalf("link %+v", l)
		}
	}
	if p := d.Plain(); clean.Text(p) != p {
		t.Fatalf("Plain = %q is not clean", p)
	}
}

func TestHTMLCases(t *testing.T) {
	doc := func(name string) *Doc { return FromHTML(part(t, name, "text/html")) }
	want(t, doc("tracking.eml"), 80, "Spring offers, chosen for you.", "", "[A red teapot]", "", "Bye!")
	want(t, doc("hidden-text.eml"), 80, "Dear customer,", "", "Please read this.", "", "Visible end.")
	want(t, doc("layout.eml"), 80,
		"Title", "", "First paragraph", "second line <tag> & € € 🙂", "", "• one", "  • nested", "• two", "", "9. nine", "10. ten", "",
		"A  1", "B  22", "", "deep cell", "", "  kept   blanks", "        tab", "", "| quoted", "| ", "| | twice", "",
		"unclosed bold both", "", "after")
	want(t, doc("plain-is-stub.eml"), 80, "The real text is only here.")
	want(t, doc("links.eml"), 80,
		"https://bank.example.com/login [1]", "", "Sign in [2]", "", "bänk [3]", "", "Run [4] Data [5] File [6]", "", "Write to us [7]", "",
		"Blank in the link [8]", "", "Plain: https://example.org/path_(with)_brackets [9], and (https://example.org/x", "[10]). End.", "", "Long [11]")
}

func TestWhereLinksGo(t *testing.T) {
	d := FromHTML(part(t, "links.eml", "text/html"))
	for i, l := range []Link{
		{1, "https://bank.example.com/login", "https://evil.example.net/login", "https", true, true},
		{2, "Sign in", "https://evil.example.net/", "https", true, false},
		{3, "bänk", "https://xn--bnk-ooa.example/", "https", true, false},
		{4, "Run", "javascript:alert(1)", "javascript", false, false},
		{5, "Data", "data:text/html;base64,PGI+", "data", false, false},
		{6, "File", "file:///etc/passwd", "file", false, false},
		{7, "Write to us", "mailto:grace@example.org?subject=Hi&body=Pay%20now", "mailto", true, false},
		{8, "Blank in the link", "https://example.org/a%20b?q=%22x%22&y=1#end", "https", true, false},
		{9, "https://example.org/path_(with)_brackets", "https://example.org/path_(with)_brackets", "https", true, false},
		{10, "https://example.org/x", "https://example.org/x", "https", true, false},
	} {
		if d.Links[i] != l {
			t.Errorf("got %+v, want %+v", d.Links[i], l)
		}
	}
	if long := d.Links[10]; !long.Openable || len(long.URL) < 2000 {
		t.Errorf("the long link is %d bytes, openable %v", len(long.URL), long.Openable)
	}
	lines := d.LinkLines(60)
	if len(lines) != 11 {
		t.Fatalf("%d lines for 11 links", len(lines))
	}
	for _, l := range lines {
		if cells.Width(l.Text) > 60 {
			t.Errorf("%q is too wide", l.Text)
		}
	}
	for i, start := range map[int]string{0: "[1] (not https://bank.example.com/login) https://evil", 3: "[4] (not opened) javascript", 10: "[11] https://example.org/x"} {
		if !strings.HasPrefix(lines[i].Text, start) {
			t.Errorf("%q does not begin with %q", lines[i].Text, start)
		}
	}
}

func TestTextCases(t *testing.T) {
	doc := func(name string) *Doc { return FromText(part(t, name, "text/plain")) }
	want(t, doc("bare-cr.eml"), 80, "one", "two", "three", "", "four", "five", "six", "seven", "eight")
	want(t, doc("body-escape.eml"), 80, "Colour: red end", "Clear: top left", "Title:  end", "Clipboard:  end",
		"Link: https://bank.example.com/ [1] end", "Query:  end", "Alternate screen:  end", "Mouse:  end", "C1 CSI:  end",
		"Overwrite: safe text", "EVIL", "Backspace: goodbad! end", "Bell, NUL, DEL:    end", "Unfinished:", "last line of the body")
}

func TestLongLine(t *testing.T) {
	body := part(t, "long-line.eml", "text/plain")
	d := FromText(body)
	for _, width := range []int{80, 41, 20, 7, 2} {
		check(t, d, width)
		if width >= 7 && !strings.Contains(drawn(d, width), "end\n") {
			t.Errorf("%d columns: the end is not seen", width)
		}
	}
	if got, want := d.Plain(), strings.TrimRight(body, "\n"); got != want {
		t.Error("Plain changes the text")
	}
	quoted := "> " + strings.ReplaceAll(strings.TrimRight(body, "\n"), "\n", "\n> ")
	if Quote(d.Plain()) != strings.ReplaceAll(quoted, "> \n", ">\n") {
		t.Error("Quote changes the text")
	}
}

func TestDeepQuotesLeaveRoom(t *testing.T) {
	d := FromText(part(t, "quotes-deep.eml", "text/plain"))
	for _, width := range []int{120, 80, 40, 16} {
		check(t, d, width)
		lines := d.Lines(width)
		if len(lines) != 61 || lines[0].Quote != 60 || lines[0].Text != "level 60" || lines[60].Text != "answer" {
			t.Errorf("%d columns: %d lines, first %+v, last %+v", width, len(lines), lines[0], lines[len(lines)-1])
		}
	}
	if f := Folds(d.Lines(80)); !slices.Equal(f, []Fold{{0, 60}}) {
		t.Errorf("folds %v", f)
	}
}

func TestHTML(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		lines    []string
	}{
		{"nothing", "", []string{""}},
		{"text alone", "a  b\n c", []string{"a b c"}},
		{"blanks between elements", "<b>a</b> <i>b</i>c<span> d</span>", []string{"a bc d"}},
		{"divs", "<div>a</div><div>b</div><div><br></div><div>c</div>", []string{"a", "b", "", "c"}},
		{"empty paragraphs", "<p>a</p><p>&nbsp;</p><p>&nbsp;</p><p>b</p>", []string{"a", "", "b"}},
		{"many breaks", "a<br><br><br><br>b<br>", []string{"a", "", "b"}},
		{"heading levels", "<h1>A</h1>text<h3>B</h3>", []string{"A", "", "text", "", "B"}},
		{"item with paragraph", "<ul><li><p>one</p><p>two</p></li></ul>", []string{"• one", "", "  two"}},
		{"item with break", "<ul><li>one<br>two</ul>", []string{"• one", "  two"}},
		{"unclosed items", "<ol><li>a<li>b<li value=7>c</ol>d", []string{"1. a", "2. b", "7. c", "", "d"}},
		{"item without list", "<li>a</li>", []string{"• a"}},
		{"definitions", "<dl><dt>t<dd>d</dl>", []string{"t", "    d"}},
		{"rule", "a<hr>b", []string{"a", "", strings.Repeat("─", 80), "", "b"}},
		{"comment, doctype", "<!DOCTYPE html><!-- x -->a", []string{"a"}},
		{"entities", "&amp;lt; &copy; &#x41;&#0;&bogus;", []string{"&lt; © A\ufffd&bogus;"}},
		{"control sequences", "a&#27;[31mb&#x9b;1mc\x1b]0;x\x07d", []string{"ab›1mcd"}},
		{"overrides", "a&#x202e;b", []string{"ab"}},
		{"custom tags", "<o:p>a</o:p><my-tag>b</my-tag>", []string{"ab"}},
		{"unclosed comment", "a<!-- b", []string{"a"}},
		{"bad tags", "a < b <> c </ d", []string{"a < b <> c"}},
		{"submit button", "<input type=submit value='Yes'>", []string{"[Yes]"}},
		{"embedded image", "<img src='cid:1'> <img src='data:image/png;base64,QUJD'>", []string{"[image] [image]"}},
		{"image without words", "<img src='http://x.example/a.png'>", []string{""}},
		{"linked image", "<a href='https://x.example'><img src=a.png></a>", []string{"[image] [1]"}},
		{"pixel with words", "<img width=1 height=1 alt=track>", []string{""}},
		{"spacing in pre", "<pre>\na\n\n  b</pre>", []string{"a", "", "  b"}},
		{"pre by style", "<div style='white-space: pre-wrap'>a\n  b</div>", []string{"a", "  b"}},
		{"quotation marks", "<q>a</q>", []string{"“a”"}},
		{"indent by blockquote", "<blockquote style='margin:0 0 0 40px;border:none;padding:0px'>a</blockquote>", []string{"a"}},
		{"cite", "<blockquote type=cite>a<br>b</blockquote>c", []string{"| a", "| b", "", "c"}},
		{"unclosed quote", "a<blockquote>b", []string{"a", "", "| b"}},
		{"nested links", "<a href='http://a.example'>a<a href='http://b.example'>b</a>c</a>", []string{"a [1]b [2]c"}},
		{"link over blocks", "<a href='http://a.example'><div>a</div><div>b</div></a>c", []string{"a [1]", "b [1]", "c"}},
		{"link that is never closed ends with its block", "<p><a href='http://a.example'>a</p><p>b</p>", []string{"a [1]", "", "b"}},
		{"link closed inside a block", "<a href='http://a.example'><div>a</a>b</div>c", []string{"a [1]b", "c"}},
		{"same target, one number", "<a href='http://a.example'>a</a> <a href='http://a.example'>b</a>", []string{"a [1] b [1]"}},
		{"anchor", "<a name=x>a</a> <a href='#x'>b</a>", []string{"a b"}},
		{"address in bold", "<b>see https://a.example/x now</b>", []string{"see https://a.example/x [1] now"}},
		{"unclosed table", "<table><tr><td>a<td>b<tr><td>c<td>d", []string{"a  b", "c  d"}},
		{"table with title row", "<table><tr><td colspan=2>Title of it</td></tr><tr><td>a</td><td>b</td></tr></table>", []string{"Title of it", "a  b"}},
		{"layout in columns", "<table><tr><td><p>a</p><p>b</p></td><td>c</td></tr></table>", []string{"a", "", "b", "", "c"}},
		{"spacer cells", "<table><tr><td></td><td>a</td><td>&nbsp;</td></tr></table>", []string{"a"}},
		{"cells outside a table", "<td>a</td><td>b</td>", []string{"a", "b"}},
		{"wide letters in a table", "<table><tr><td>日本</td><td>x</td></tr><tr><td>a</td><td>y</td></tr></table>", []string{"日本  x", "a     y"}},
		{"end tags of nothing", "</div></table></td></b>a", []string{"a"}},
		{"noscript", "<noscript><p>a</p></noscript>", []string{"a"}},
		{"xmp", "<xmp><b>a</b></xmp>", []string{"<b>a</b>"}},
	} {
		t.Run(tc.name, func(t *testing.T) { want(t, FromHTML(tc.in), 80, tc.lines...) })
	}
}

func TestHiddenText(t *testing.T) {
	for name, hide := range map[string]string{
		"display":             `<div style="display: none !important">HIDDEN</div>`,
		"hidden":              `<p hidden>HIDDEN</p>`,
		"visibility":          `<p style="visibility:hidden">HIDDEN</p>`,
		"size":                `<span style="font-size:0px">HIDDEN</span>`,
		"size of one":         `<span style="font-size:1px">HIDDEN</span>`,
		"font":                `<span style="font:0/0 a">HIDDEN</span>`,
		"percent of nothing":  `<div style="font-size:0"><span style="font-size:100%">HIDDEN</span></div>`,
		"opacity":             `<p style="opacity:0">HIDDEN</p>`,
		"no height":           `<div style="max-height:0;overflow:hidden">HIDDEN</div>`,
		"off the page":        `<div style="position:absolute;left:-9999px">HIDDEN</div>`,
		"white on white":      `<div style="background-color:#fff"><font color="white">HIDDEN</font></div>`,
		"nearly white":        `<div bgcolor="#FFFFFF"><p style="color:rgb(254,254,254)">HIDDEN</p></div>`,
		"transparent":         `<p style="color:transparent">HIDDEN</p>`,
		"template":            `<template>HIDDEN</template>`,
		"script, style":       `<script>HIDDEN</script><style>HIDDEN</style>`,
		"nested":              `<div style="display:none"><div>x</div>HIDDEN<table><tr><td>HIDDEN</td></tr></table></div>`,
		"never closed inside": `<div style="display:none"><b>HIDDEN</div>`,
		"drawing":             `<svg><text>HIDDEN</text></svg>`,
		"fallback":            `<video>HIDDEN</video><object>HIDDEN</object>`,
	} {
		d := FromHTML("<p>All that a person should see.</p>" + hide + "<p>And the end.</p>")
		got := d.Plain()
		if strings.Contains(got, "HIDDEN") || !strings.Contains(got, "And the end.") || d.HiddenNote != "" {
			t.Errorf("%s: %q, %q", name, got, d.HiddenNote)
		}
	}
	for name, seen := range map[string]string{
		"size set again":          `<div style="font-size:0"><span style="font-size:14px">SEEN</span></div>`,
		"visible again":           `<div style="visibility:hidden"><span style="visibility:visible">SEEN</span></div>`,
		"white on dark":           `<div style="background:#fff"><div style="background:#333;color:#fff">SEEN</div></div>`,
		"white on a picture":      `<div style="background:#fff"><div style="background:url(x.png);color:#fff">SEEN</div></div>`,
		"white, ground not known": `<p style="color:#fff">SEEN</p>`,
		"after what was hidden":   `<div style="display:none">x</div>SEEN`,
		"height of the line":      `<p style="line-height:0">SEEN</p>`,
	} {
		if got := FromHTML(seen).Plain(); !strings.Contains(got, "SEEN") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestMessageThatHidesEverything(t *testing.T) {
	d := FromHTML(`<body style="opacity:0"><p>This is the whole text of the message, all of it.</p><style>x</style></body>`)
	if !strings.Contains(d.Plain(), "whole text") || d.HiddenNote == "" {
		t.Errorf("%q, note %q", d.Plain(), d.HiddenNote)
	}
}

func TestStyles(t *testing.T) {
	d := FromHTML(`<p>a <b>bold <i>both</i></b> <a href="https://x.example">l<b>in</b>k</a> <code>c</code> <s>d</s></p>`)
	l := d.Lines(80)[0]
	var got []string
	for _, s := range l.Spans {
		got = append(got, l.Text[s.Start:s.End]+" "+strconv.Itoa(int(s.Style))+" "+strconv.Itoa(s.Link))
	}
	want := []string{"bold  1 0", "both 3 0", "l 0 1", "in 1 1", "k 0 1", "[1] 32 1", "c 16 0", "d 8 0"}
	if !slices.Equal(got, want) {
		t.Errorf("spans %q, want %q", got, want)
	}
}

func TestSpansFollowTheWrap(t *testing.T) {
	d := FromHTML(`<p>one two <b>three four five</b> six</p>`)
	var bold []string
	for _, l := range d.Lines(10) {
		for _, s := range l.Spans {
			bold = append(bold, l.Text[s.Start:s.End])
		}
	}
	if want := []string{"three four", "five"}; !slices.Equal(bold, want) {
		t.Errorf("bold %q, want %q", bold, want)
	}
}

func TestNarrowTable(t *testing.T) {
	d := FromHTML("<table><tr><td>Name of the thing</td><td>What it is good for, in many words</td></tr><tr><td>b</td><td>2</td></tr></table>")
	want(t, d, 30, "Name of the     What it is", "thing           good for, in", "                many words", "b               2")
	want(t, d, 12, "Name of the", "thing", "What it is", "good for, in", "many words", "", "b", "2")
}

func TestAddressesInText(t *testing.T) {
	for _, tc := range []struct {
		in    string
		links []string
	}{
		{"no address", nil},
		{"see https://a.example/x.", []string{"https://a.example/x"}},
		{"see <https://a.example/x>, now", []string{"https://a.example/x"}},
		{"(see https://a.example/x_(y))", []string{"https://a.example/x_(y)"}},
		{"[https://a.example/x]", []string{"https://a.example/x"}},
		{"“https://a.example/x”!", []string{"https://a.example/x"}},
		{"www.a.example and HTTP://B.example", []string{"http://www.a.example", "http://b.example"}},
		{"詳細はhttps://a.example/xをご覧ください。", []string{"https://a.example/x"}},
		{"mailto:ada@a.example?subject=x", []string{"mailto:ada@a.example?subject=x"}},
		{"javascript:alert(1) file:///x xhttp://a.example", nil},
		{"http:// https://", nil},
		{"https://a.example/?a=1&b=2#c;", []string{"https://a.example/?a=1&b=2#c"}},
		{"https://user@b.example@evil.example/", []string{"https://evil.example/"}},
	} {
		var got []string
		for _, l := range FromText(tc.in).Links {
			got = append(got, l.URL)
		}
		if !slices.Equal(got, tc.links) {
			t.Errorf("%q: %q, want %q", tc.in, got, tc.links)
		}
	}
}

func TestMisleadingLinks(t *testing.T) {
	for _, tc := range []struct {
		text, href string
		want       bool
	}{
		{"https://a.example/x", "https://a.example/y", false},
		{"www.a.example", "https://a.example/", false},
		{"a.example", "https://shop.a.example/", false},
		{"shop.a.example", "https://a.example/", true},
		{"bank.example.com", "https://evil.example.net/", true},
		{"ada@a.example", "mailto:ada@a.example", false},
		{"ada@a.example", "https://evil.example/", true},
		{"Read more...", "https://evil.example/", false},
		{"Version 1.2", "https://evil.example/", false},
		{"https://bank.example", "javascript:x", true},
	} {
		d := FromHTML(`<a href="` + tc.href + `">` + tc.text + `</a>`)
		if len(d.Links) != 1 || d.Links[0].Misleading != tc.want {
			t.Errorf("%q to %q: %+v, want misleading %v", tc.text, tc.href, d.Links, tc.want)
		}
	}
}

func TestText(t *testing.T) {
	want(t, FromText("> a\n> > b\n>>c\n >d\nx > y"), 40, "| a", "| | b", "| | c", ">d", "x > y")
	want(t, FromText("a\n\n\n\n\nb\n\n"), 40, "a", "", "", "b")
	d := FromText("Hello\n\n-- \nAda\nhttps://a.example\n")
	lines := d.Lines(40)
	if lines[0].Kind != Para || lines[3].Kind != Signature || lines[4].Kind != Signature || len(d.Links) != 1 {
		t.Errorf("%+v", lines)
	}
}

func TestFolds(t *testing.T) {
	for _, tc := range []struct {
		name string
		doc  *Doc
		want []Fold
	}{
		{"none", FromText("a\nb"), nil},
		{"attribution", FromText("Yes.\n\nOn 3 March 2026 Ada wrote:\n> a\n>\n> b\n\nBye"), []Fold{{2, 6}}},
		{"attribution in two lines", FromText("Yes.\n\nOn Tue, 3 Mar 2026, Ada Byron\n<ada@example.com> wrote:\n\n> a"), []Fold{{2, 6}}},
		{"no attribution", FromText("Two points:\n> a\nyes\n> b\nno"), []Fold{{1, 2}, {3, 4}}},
		{"German", FromText("Ja.\n\nAm 03.03.26 um 09:30 schrieb Ada:\n> a"), []Fold{{2, 4}}},
		{"Outlook text", FromText("Yes.\n\n-----Original Message-----\nFrom: Ada\nSent: Tuesday\nTo: Grace\n\na\n"), []Fold{{2, 8}}},
		{"header only", FromText("Yes.\n\nFrom: Ada\nSent: Tuesday\nTo: Grace\nSubject: x\n\na\n"), []Fold{{2, 8}}},
		{"a forward is passed on to be read", FromText("See below.\n\n---------- Forwarded message ----------\nFrom: Ada\nDate: Tuesday\nTo: Grace\n\na\n"), nil},
		{"what a forward quotes is a quote", FromText("See.\n\n--- Forwarded message ---\nFrom: Ada\nDate: Tuesday\nTo: Grace\n\na\n> b\n"), []Fold{{8, 9}}},
		{"forward of Apple Mail", FromText("See.\n\nBegin forwarded message:\n\nFrom: Ada\nDate: Tuesday\nTo: Grace\n\na\n"), nil},
		{"forward is no quote", FromText("From: Ada\nSent: Tuesday\nTo: Grace\n\na\n"), nil},
		{
			"Gmail", FromHTML(`<div>Yes.</div><br><div class="gmail_quote"><div class="gmail_attr">On Tue, 3 Mar 2026 at 09:30, Ada wrote:<br></div><blockquote class="gmail_quote" style="margin:0 0 0 .8ex;border-left:1px #ccc solid;padding-left:1ex">a<br>b</blockquote></div>`),
			[]Fold{{2, 6}},
		},
		{
			"Outlook", FromHTML(`<p>Yes.</p><div style="border:none;border-top:solid #E1E1E1 1.0pt"><p><b>From:</b> Ada<br><b>Sent:</b> Tuesday<br><b>To:</b> Grace<br><b>Subject:</b> x</p></div><p>a</p>`),
			[]Fold{{2, 8}},
		},
	} {
		if got := Folds(tc.doc.Lines(80)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v\n%s", tc.name, got, tc.want, drawn(tc.doc, 80))
		}
	}
}

func TestPlain(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"<p>a</p><blockquote>b<p>c</p></blockquote><p>d</p>", "a\n\n> b\n>\n> c\n\nd"},
		{"<ul><li>a<li>b</ul>", "• a\n• b"},
		{"<table><tr><td>a</td><td>b</td></tr></table>", "a  b"},
		{"<a href='https://x.example'>x</a>", "x"},
		{"<p>" + strings.Repeat("long ", 100) + "</p>", strings.TrimSpace(strings.Repeat("long ", 100))},
	} {
		if got := FromHTML(tc.in).Plain(); got != tc.want {
			t.Errorf("Plain(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"a\nb", "> a\n> b"},
		{"a\n\nb\n\n", "> a\n>\n> b"},
		{"> a\n>> b\nc", ">> a\n>>> b\n> c"},
		{"a\n-- \nAda", "> a"},
		{"", ""},
	} {
		if got := Quote(tc.in); got != tc.want {
			t.Errorf("Quote(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestSnippet(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"Yes,\n fine.\n\nOn 3 March Ada wrote:\n> a\n-- \nG", "Yes, fine."},
		{"> only\n> this", "only this"},
		{"one two three four five six seven", "one two three four …"},
		{"", ""},
	} {
		if got := FromText(tc.in).Snippet(22); got != tc.want {
			t.Errorf("Snippet(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestDocKnowsWhatItIsMadeFrom(t *testing.T) {
	for _, tc := range []struct {
		text, html string
		want       bool
	}{{"a", "", false}, {"", "<p>a", true}, {"a few words", "<p>a few words", false}, {"<html>a", "", true}} {
		if got := Best(tc.text, tc.html).HTML; got != tc.want {
			t.Errorf("Best(%q, %q) is made from HTML: %v", tc.text, tc.html, got)
		}
	}
}

func TestBest(t *testing.T) {
	stub, page := part(t, "plain-is-stub.eml", "text/plain"), part(t, "plain-is-stub.eml", "text/html")
	long := strings.Repeat("Many words are in this one. ", 30)
	for _, tc := range []struct{ name, text, html, want string }{
		{"the plain part says nothing", stub, page, "The real text is only here."},
		{"plain wins", "The same text.", "<p>The same text.</p>", "The same text."},
		{"no plain", " \n", "<p>a</p>", "a"},
		{"no html", "a", "", "a"},
		{"neither", "", "", ""},
		{"an HTML viewer is needed", "This message needs an HTML viewer.", "<p>Dinner at eight?</p>", "Dinner at eight?"},
		{"short, and the HTML is not much longer", "Dinner at eight", "<p>Dinner at <b>eight</b>, at ours</p>", "Dinner at eight"},
		{"far less", "Hi", "<p>" + long + "</p>", strings.TrimSpace(long)},
		{"html sent as text", "<html><body><p>a</p></body></html>", "", "a"},
		{"empty html", stub, "<style>x</style>", strings.TrimSpace(stub)},
		{"long text about html", long + "html", "<p>x</p>", long + "html"},
	} {
		if got := Best(tc.text, tc.html).Plain(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestAnyMarkup draws mixtures of markup that a person would not write.
func TestAnyMarkup(t *testing.T) {
	pieces := strings.Fields(`<p> </p> <div> </div> <b> </b> <i> </i> <a%href="https://x.example/1"> <a%href="y:z"> </a> <table> </table> <tr> </tr> <td> </td>
		<th> <ul> </ul> <ol%start=99998> </ol> <li> </li> <blockquote> </blockquote> <pre> </pre> <br> <br> <hr> <img%alt="%x%"> <h1> </h1> <font%color=white> </font>
		<div%style="white-space:pre"> <span%style="font-size:0"> <span%style="display:none"> </span> <q> </q> <noscript> </noscript> <dd> <code> </code>
		<!--%x%--> <svg> </svg> <select> </select> one two%three 日本語 e\u0301 \u0301 👨\u200d👩\u200d👧 &#27;[31m &nbsp; \u202e % % %%% \t www.a.example/(x). 1\ufe0f\u20e3 हिन्दी กำ`)
	for i := range pieces {
		pieces[i] = strings.ReplaceAll(pieces[i], "%", " ")
	}
	pieces = append(pieces, "\n", "\n", "\x1b]0;", "\x00", "\xff")
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		var in strings.Builder
		for range rnd.IntN(60) {
			in.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		d := FromHTML(in.String())
		for _, width := range []int{2, 3, 4, 11, 30, 80} {
			check(t, d, width)
			Folds(d.Lines(width))
		}
		if t.Failed() {
			t.Fatalf("%q", in.String())
		}
	}
}

func TestLinkAfterLeadingBreaks(t *testing.T) {
	d := FromHTML(`<br><br>see <a href="https://x.example">this page</a> and <a href="https://y.example">that </a>too`)
	want(t, d, 80, "see this page [1] and that [2] too")
	l := d.Lines(80)[0]
	if s := l.Spans[0]; l.Text[s.Start:s.End] != "this page" {
		t.Errorf("%q: %+v", l.Text, l.Spans)
	}
}

// TestHostileSize holds the time for bodies that make other programs hang; each is about half a
// megabyte and the limit is wide, for slow machines and the race detector.
func TestHostileSize(t *testing.T) {
	deep := strings.Repeat("<div>", 5000) + "text" + strings.Repeat("</div>", 5000) + "<p>after</p>"
	if got := FromHTML(deep).Plain(); got != "text\n\nafter" {
		t.Errorf("5000 nested elements: %q", got)
	}
	for name, in := range map[string]string{
		"nested tables":     strings.Repeat("<table><tr><td>cell text", 20_000),
		"closed tables":     strings.Repeat(strings.Repeat("<table><tr><td>cell", 200)+strings.Repeat("</td></tr></table>", 200), 60),
		"font, b":           strings.Repeat("<font><b>x", 48_000),
		"misnested":         strings.Repeat("<b><div></b>x", 38_000),
		"links":             strings.Repeat("<a href='https://x.example/1'>y ", 15_000),
		"end tags":          strings.Repeat("</b></td>", 50_000),
		"attributes":        "<p " + strings.Repeat("a=b ", 50_000) + ">x",
		"style":             "<p style='" + strings.Repeat("color:red;", 48_000) + "'>x",
		"items":             strings.Repeat("<ul><li>x", 50_000),
		"quotes":            strings.Repeat("<blockquote>x", 35_000),
		"one word":          strings.Repeat("x", 480_000),
		"brackets":          "https://x.example/" + strings.Repeat(")", 50_000),
		"schemes":           strings.Repeat("http:www.", 50_000),
		"breaks":            strings.Repeat("x<br>", 95_000),
		"marks":             "x" + strings.Repeat("\u0301", 220_000),
		"data in one cell":  "<table><tr><td>a</td><td>" + strings.Repeat("word ", 75_000) + "</td></tr></table>",
		"many narrow cells": "<table><tr>" + strings.Repeat("<td>a</td>", 48_000) + "</tr></table>",
		"styled letters":    strings.Repeat("<b>x</b><i>y</i>", 30_000),
	} {
		d := FromHTML(in)
		t.Logf("%-18s %d lines, %d bytes", name, len(d.Lines(80)), len(d.Plain()))
	}
}

func BenchmarkNestedTables(b *testing.B) {
	in := strings.Repeat(strings.Repeat("<table><tr><td>", 20)+"cell text"+strings.Repeat("</td></tr></table>", 20), 2800)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		FromHTML(in)
	}
}

func FuzzHTML(f *testing.F) {
	for _, name := range []string{"tracking", "hidden-text", "links", "layout"} {
		f.Add(part(f, name+".eml", "text/html"), 40)
	}
	f.Add("<table><tr><td>a<td><blockquote>b</table><b><p>c</b>", 9)
	f.Add("<ol start=-5><li><pre>\ta\u0301</pre><a href=x:y>z<div></a>", 3)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 4 + (width%100+100)%100
		d := FromHTML(s)
		check(t, d, width)
		Folds(d.Lines(width))
		d.Snippet(50)
	})
}

func FuzzText(f *testing.F) {
	for _, name := range []string{"flowed", "quotes-deep", "bare-cr", "body-escape"} {
		f.Add(part(f, name+".eml", "text/plain"), 40)
	}
	f.Add("see www.a.example/x). mailto:x@y https://1\n> a\n-- \nb", 5)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 4 + (width%100+100)%100
		d := FromText(s)
		check(t, d, width)
		for _, fold := range Folds(d.Lines(width)) {
			if fold.Start >= fold.End {
				t.Errorf("empty fold %v", fold)
			}
		}
		if q := Quote(d.Plain()); clean.Text(q) != q {
			t.Errorf("Quote = %q", q)
		}
	})
}
