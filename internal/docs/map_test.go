package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPackagesOnTheMap holds that docs/architecture.md names every package, and none that is gone.
func TestPackagesOnTheMap(t *testing.T) {
	var real []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || len(name) > 2 && name[0] == '.' {
			return filepath.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil || len(files) == 0 {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if rel != "." {
			real = append(real, filepath.ToSlash(rel)+"/")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "docs/architecture.md, packages", firstCells(section(t, read(t, "docs/architecture.md"), "## Packages")), append(real, "main.go"))
}

// constants are the values of the string constants of a type in a package.
func constants(t *testing.T, dir, typeName string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			id, ok := spec.Type.(*ast.Ident)
			if !ok || id.Name != typeName || len(spec.Values) != 1 {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if v, err := strconv.Unquote(lit.Value); err == nil && v != "" {
					out = append(out, v)
				}
			}
			return true
		})
	}
	return out
}

func TestStatesOnTheMap(t *testing.T) {
	page := read(t, "docs/architecture.md")
	for _, c := range []struct{ heading, typeName string }{
		{"### The states of an outbox entry", "EntryState"},
		{"### The questions of an outbox entry", "Ask"},
		{"### The states of a change", "changeState"},
	} {
		same(t, c.heading, firstCells(section(t, page, c.heading)), constants(t, "state", c.typeName))
	}
}
