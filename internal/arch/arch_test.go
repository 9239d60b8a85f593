package arch

import (
	"go/ast"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const (
	module    = "codeberg.org/teapost/teapost"
	bubbletea = "github.com/charmbracelet/bubbletea"
)

// arrows says, for each top folder, which others of the project it may import. main.go may
// import everything; the leaves in internal import only leaves.
var arrows = map[string][]string{
	"api":      nil,
	"config":   nil,
	"keymap":   {"config"},
	"state":    {"api", "internal"},
	"ui":       {"api", "internal", "keymap", "state"},
	"local":    {"api", "internal"},
	"internal": {"internal"},
}

// terminal says who may draw; what is below must run without one.
var terminal = map[string]bool{"": true, "ui": true, "internal": true}

// folder returns the top folder of a package of the project, "" for main.go's.
func folder(path string) (string, bool) {
	if path == module {
		return "", true
	}
	rest, ok := strings.CutPrefix(path, module+"/")
	top, _, _ := strings.Cut(rest, "/")
	return top, ok
}

func load(t *testing.T, mode packages.LoadMode, patterns ...string) []*packages.Package {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Dir: "../.."}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			t.Fatalf("%s: %v", p.PkgPath, e)
		}
	}
	return pkgs
}

func TestImportArrows(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range load(t, packages.NeedName|packages.NeedImports, "./...") {
		from, ours := folder(p.PkgPath)
		if !ours {
			t.Errorf("%s does not belong to %s", p.PkgPath, module)
			continue
		}
		seen[from] = true
		for path := range p.Imports {
			if !terminal[from] && strings.HasPrefix(path, "github.com/charmbracelet/") {
				t.Errorf("%s draws: it imports %s", p.PkgPath, path)
			}
			to, ours := folder(path)
			if !ours || from == "" {
				continue
			}
			allowed, known := arrows[from]
			if !known {
				t.Errorf("%s: nobody said what %s/ may import of the project", p.PkgPath, from)
				continue
			}
			ok := false
			for _, a := range allowed {
				ok = ok || a == to
			}
			// A package may be divided into parts.
			if !ok && (to != from || from == "internal") {
				t.Errorf("%s imports %s; %s/ may import %v", p.PkgPath, path, from, allowed)
			}
		}
	}
	for _, top := range []string{"", "api", "config", "keymap", "state", "ui", "local", "internal"} {
		if !seen[top] {
			t.Errorf("no package in %q: the test looks in the wrong place", top)
		}
	}
}

// ui and local speak the words of api, its types and constants. Calls go through state, or over
// the wire.
func TestOnlyTypesAndConstantsOfAPI(t *testing.T) {
	const mode = packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo
	used := 0
	for _, p := range load(t, mode, "./ui/...", "./local/...") {
		for id, obj := range p.TypesInfo.Uses {
			if obj.Pkg() == nil || obj.Pkg().Path() != module+"/api" {
				continue
			}
			used++
			if why := more(obj); why != "" {
				t.Errorf("%s: api.%s is %s", p.Fset.Position(id.Pos()), id.Name, why)
			}
		}
		for _, f := range p.Syntax {
			for _, imp := range f.Imports {
				if imp.Name != nil && (imp.Name.Name == "." || imp.Name.Name == "_") && strings.Contains(imp.Path.Value, module) && imp.Path.Value != `"`+module+`/internal/aaaterm"` {
					t.Errorf("%s: import with the name %s", p.Fset.Position(imp.Pos()), imp.Name.Name)
				}
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if g, ok := n.(*ast.GoStmt); ok && strings.HasPrefix(p.PkgPath, module+"/ui") {
					t.Errorf("%s: ui starts no goroutine; return a command", p.Fset.Position(g.Pos()))
				}
				return true
			})
		}
	}
	if used == 0 {
		t.Error("ui and local do not use api at all: the test looks in the wrong place")
	}
}

// more says what obj is when it is more than a type, a constant, a field or a plain method of a
// value; empty when it is not.
func more(obj types.Object) string {
	switch o := obj.(type) {
	case *types.TypeName, *types.Const, *types.PkgName:
		return ""
	case *types.Var:
		if o.IsField() {
			return ""
		}
		return "a variable"
	case *types.Func:
		sig := o.Signature()
		if sig.Recv() == nil {
			return "a function"
		}
		for i := range sig.Params().Len() {
			if sig.Params().At(i).Type().String() == "context.Context" {
				return "a call"
			}
		}
		return ""
	}
	return "neither a type nor a constant"
}

// Bubble Tea asks the terminal for its background in its init and waits for the answer. A
// package of ours that answers first must be initialised before it, and packages that do not
// depend on each other are initialised in the order of their import paths.
func TestModulePathSortsBeforeBubbleTea(t *testing.T) {
	pkgs := load(t, packages.NeedName|packages.NeedModule, ".")
	if len(pkgs) != 1 || pkgs[0].Module == nil || pkgs[0].Module.Path != module {
		t.Fatalf("the module is not %s", module)
	}
	if module >= bubbletea {
		t.Errorf("%s sorts after %s", module, bubbletea)
	}
}
