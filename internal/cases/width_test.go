package cases

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"codeberg.org/teapost/teapost/internal/cells"
)

// terminals draw the same text in different ways where the standard leaves it open.
var terminals = map[string]measure{"joining": joining, "plain": plain, "without vowel cells": indian}

func TestWidthsInTheList(t *testing.T) {
	rows := table(t, file("width", "strings.tsv"))
	for _, width := range []int{40, 80, 120, 140} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			inWorld(t, setup{}, func(w *world) {
				if r := w.imports(file("width", "rows.mbox")); r.Imported != len(rows) {
					w.row("import").Errorf("%s, want %d", r, len(rows))
				}
				w.open()
				w.size(width, 60)
				w.list(inbox)
				w.keys("j") // away from nothing: the cursor may change no width
				frame := strings.Split(w.model.View(), "\n")
				find := func(no string) string {
					for _, l := range frame {
						if strings.Contains(strings.Join(drawRow(l, joining), ""), " "+no+" ") {
							return l
						}
					}
					return ""
				}
				first := find("01")
				if first == "" {
					w.row("list").Errorf("no first row:\n%s", w.frame())
					return
				}
				// Where the columns begin in the plainest row.
				edges := drawRow(first, joining)
				subject, date, snippet := place(edges, "01", 0), place(edges, "3 Mar", 0), -1
				if width == 80 {
					snippet = place(edges, "plain", subject+6)
					if snippet < 0 {
						w.row("list").Errorf("no snippet in %q", edges)
					}
				}
				for _, row := range rows {
					no := row["no"]
					if len(no) == 1 {
						no = "0" + no
					}
					c := w.row("row " + no + " " + row["code points"])
					line := find(no)
					if line == "" {
						c.Errorf("it is not in the list:\n%s", w.frame())
						continue
					}
					for name, m := range terminals {
						g := drawRow(line, m)
						if len(g) > width {
							c.Errorf("%s: %d cells in a window of %d: %q", name, len(g), width, line)
						}
						at := func(i, n int) string {
							if i < 0 || i >= len(g) {
								return ""
							}
							return strings.Join(g[i:min(i+n, len(g))], "")
						}
						if at(subject, 2) != no {
							c.Errorf("%s: the subject does not begin in cell %d: %q", name, subject, g)
						}
						if at(date, 5) != "3 Mar" {
							c.Errorf("%s: the date does not begin in cell %d: %q", name, date, g)
						}
						if snippet > 0 && (at(snippet-1, 1) != " " || strings.TrimSpace(at(snippet, 1)) == "") {
							c.Errorf("%s: the snippet does not begin in cell %d: %q", name, snippet, g)
						}
						for i, ch := range edges {
							if ch == "│" && at(i, 1) != "│" {
								c.Errorf("%s: no border in cell %d: %q", name, i, g)
							}
						}
					}
					if width >= 80 && row["cells"] != "" && !strings.Contains(row["cells"], "or") && !strings.Contains(row["cells"], "tab") {
						// A bar follows the text at once in the cell that the table says.
						g := drawRow(line, joining)
						n := 0
						if _, err := fmt.Sscan(row["cells"], &n); err != nil {
							c.Errorf("%v", err)
						}
						if i := subject + 3 + n; steadyText(row["text"]) && (i >= len(g) || g[i] != "|") {
							c.Errorf("the bar is not in cell %d after %d cells: %q", i, n, g)
						}
					}
				}
			})
		})
	}
}

// steadyText reports whether the program shows a text as it is.
func steadyText(s string) bool { return cells.Stable(s) == s && cells.Steady(s) }

// place is the cell where a text of plain letters begins, looking from a cell on; -1 when it is not there.
func place(grid []string, text string, from int) int {
	for i := max(0, from); i+len(text) <= len(grid); i++ {
		if strings.Join(grid[i:i+len(text)], "") == text {
			return i
		}
	}
	return -1
}

func TestWidthsOfTheTable(t *testing.T) {
	for _, row := range table(t, file("width", "strings.tsv")) {
		t.Run(row["no"]+" "+row["code points"], func(t *testing.T) {
			text := strings.ReplaceAll(row["text"], `\t`, "\t")
			if strings.Contains(row["cells"], "tab") {
				return
			}
			ok := false
			for _, want := range strings.Split(row["cells"], " or ") {
				ok = ok || want == fmt.Sprint(cells.Width(text))
			}
			if !ok && !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Cf, r) }) {
				t.Errorf("%q takes %d cells, want %s", text, cells.Width(text), row["cells"])
			}
		})
	}
}
