package ui

import (
	"strings"
	"testing"

	"codeberg.org/teapost/teapost/internal/bodytext"
)

func TestPatchIsFound(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a patch": {
			"Please look:\n- this is a list\n---\n a.go | 2 +-\n\ndiff --git a/a.go b/a.go\nindex 1..2 100644\n--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@ func\n package a\n-old\n+new\n }\n-- \n2.40",
			".....ffff@.-+...",
		},
		"two hunks":                {"@@ -1 +1 @@\n-a\n+b\n@@ -9,2 +9 @@\n-c\n d\n- behind it", "@-+@-.."},
		"none":                     {"- a\n- b\n+ c", "..."},
		"a hunk that is cut off":   {"@@ -1,9 +1,9 @@\n+a\nGreetings\n- b", "@+.."},
		"no end of line":           {"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b", "@-.+"},
		"not a number":             {"@@ -1,99999999999999999999 +1 @@\n+a\n-b", "@+."},
		"a quoted one stays quiet": {"hi\n> @@ -1 +1 @@\n> -a\n> +b", "...."},
	} {
		lines := bodytext.FromText(c.text).Lines(60)
		got := diffMarks(lines)
		if got == nil {
			got = make([]byte, len(lines))
		}
		if s := strings.ReplaceAll(string(got), "\x00", "."); s != c.want {
			t.Errorf("%s: %q, want %q of %+v", name, s, c.want, lines)
		}
	}
	long := bodytext.FromText("@@ -1 +1 @@\n-" + strings.Repeat("word ", 30) + "\n+b").Lines(40)
	for i, m := range diffMarks(long) {
		if long[i].Cont && m != diffRemoved {
			t.Errorf("line %d is not drawn as the line that it goes on with", i)
		}
	}
}
