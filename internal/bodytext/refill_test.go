package bodytext

import (
	"strings"
	"testing"
)

// Lines that a sender wrapped are filled up in a narrower window; in a window that is wide enough they are as sent.
func TestWrappedLinesAreFilled(t *testing.T) {
	d := FromText("The second pass is done. It is shorter than the first, which worries me more\n" +
		"than if it were longer, so please read https://a.example/notes as if somebody\n" +
		"else had written it.\n" +
		"\n" +
		"> What about the tables, and who is going to tell the people upstairs about\n" +
		"> them?\n")
	want(t, d, 40,
		"The second pass is done. It is shorter", "than the first, which worries me more", "than if it were longer, so please read",
		"https://a.example/notes [1] as if", "somebody else had written it.", "",
		"| What about the tables, and who is", "| going to tell the people upstairs", "| about them?")
	for _, l := range d.Lines(40) {
		for _, s := range l.Spans {
			if s.Style&Mark == 0 && l.Text[s.Start:s.End] != "https://a.example/notes" {
				t.Errorf("the link is %q", l.Text[s.Start:s.End])
			}
		}
	}
	if got := d.Lines(90)[1].Text; got != "than if it were longer, so please read https://a.example/notes [1] as if somebody" {
		t.Errorf("in a wide window: %q", got)
	}
}

// What is no running text stays line by line in any window.
func TestOtherLinesStay(t *testing.T) {
	for name, text := range map[string]string{
		"a verse":     "Shall I compare thee to a summer's day, or to a winter's night of rain?\nThou art more lovely\nand more temperate.",
		"a list":      "We need a kettle with a temperature dial, since green tea is not for boiling\n- one that is quiet\n* one that is cheap\n1. one",
		"a table":     "name of the thing       what it costs     where it is to be had, if at all today\nkettle       60       the shop round the corner, and only until Thursday, they say",
		"code":        "int main(int argc, char **argv, char **envp, struct something_long *x) {\nreturn 0;\n}",
		"headers":     "From: somebody with a long name and an address <somebody@long.example.org>\nSubject: what it is about",
		"a signature": "-- \nGrace Hall, Head of Compilers and other things that take long, Tea Company\nLisbon",
		"a link":      "The whole of it is to be read at the following place, in about ten minutes:\nhttps://a.example/",
		"a patch": "diff --git a/internal/bodytext/refill.go b/internal/bodytext/refill.go long\nindex 123..456 100644\n" +
			"something that is long enough to be taken for prose, because it is quite long\nand goes on",
		"two lines": "Grace Hall, Head of Compilers and other things that take long, Tea Company\nPhone 123",
	} {
		d := FromText(text)
		for i, b := range d.blocks {
			if b.goesOn {
				t.Errorf("%s: %q goes on", name, d.blocks[i].text)
			}
		}
		for _, w := range []int{20, 40, 60} {
			var starts int
			for _, l := range d.Lines(w) {
				if !l.Cont {
					starts++
				}
			}
			if n := strings.Count(text, "\n") + 1; starts != n {
				t.Errorf("%s at %d: %d lines begin, want %d", name, w, starts, n)
			}
		}
	}
}
