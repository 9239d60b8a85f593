package docs

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "write what is generated into the documents")

// root is the repository.
const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

// pages are the documents by their path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"README.md": read(t, "README.md"), "CHANGELOG.md": read(t, "CHANGELOG.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out[rel] = read(t, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// blocks are the fenced pieces of a page in that language.
func blocks(page, language string) []string {
	var out []string
	for _, m := range fence.FindAllStringSubmatch(page, -1) {
		if m[1] == language {
			out = append(out, m[2])
		}
	}
	return out
}

// section is what stands under a heading, up to the next one that is not below it.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut("\n"+page, "\n"+heading+"\n")
	if !ok {
		t.Fatalf("there is no heading %q", heading)
	}
	level := strings.IndexByte(heading, ' ')
	for i, line := range strings.Split(rest, "\n") {
		if n := strings.IndexByte(line, ' '); n > 0 && n <= level && strings.Trim(line[:n], "#") == "" {
			return strings.Join(strings.Split(rest, "\n")[:i], "\n")
		}
	}
	return rest
}

// firstCells are the codes in the first cells of a section's tables: `theme` and the like.
func firstCells(section string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(section, -1) {
		out = append(out, m[1])
	}
	return out
}

// same compares what the documents name with what there is.
func same(t *testing.T, what string, documented, real []string) {
	t.Helper()
	for _, name := range real {
		if !slices.Contains(documented, name) {
			t.Errorf("%s: %s is not documented", what, name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(real, name) {
			t.Errorf("%s: %s is documented, but there is no such thing", what, name)
		}
	}
	if len(real) == 0 {
		t.Errorf("%s: nothing was found: the test looks in the wrong place", what)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
)

// anchor is the id that a heading gets on the web.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

func TestLinks(t *testing.T) {
	all := pages(t)
	anchors := map[string][]string{}
	for name, page := range all {
		for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
			anchors[name] = append(anchors[name], anchor(m[1]))
		}
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(all[name], ""), -1) {
			target := m[1] + m[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			n++
			file, id, _ := strings.Cut(target, "#")
			to := name
			if file != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(name), file))
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", name, target)
				continue
			}
			if id != "" && !slices.Contains(anchors[to], id) {
				t.Errorf("%s: %s has no heading for #%s", name, to, id)
			}
		}
	}
	if n == 0 {
		t.Error("there is no link at all: the test looks in the wrong place")
	}
}

// replaceBetween puts text between the two comments that mark a generated part.
func replaceBetween(page, name, text string) (string, error) {
	begin, end := fmt.Sprintf("<!-- %s: begin -->\n", name), fmt.Sprintf("<!-- %s: end -->\n", name)
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("there is no %q", begin)
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("there is no %q", end)
	}
	return before + begin + text + end + after, nil
}
