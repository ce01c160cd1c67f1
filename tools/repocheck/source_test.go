package repocheck_test

import (
	"errors"
	"go/ast"
	"go/types"
	"strings"
	"testing"
)

// The longest files, in lines. A longer one wants to be two.
const (
	maxLines     = 600
	maxTestLines = 900
)

func TestFilesStayShort(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if ast.IsGenerated(s.tree) {
			continue
		}
		limit := maxLines
		if s.test {
			limit = maxTestLines
		}
		if n := strings.Count(read(t, s.name), "\n"); n > limit {
			t.Errorf("%s has %d lines, more than %d", s.name, n, limit)
		}
	}
}

func TestEveryPackageHasOneDocComment(t *testing.T) {
	t.Parallel()
	for dir, group := range packages(t) {
		var docs []string
		for _, s := range group {
			if s.tree.Doc == nil {
				continue
			}
			docs = append(docs, s.name)
			name := s.tree.Name.Name
			if text := s.tree.Doc.Text(); name != "main" && !strings.HasPrefix(text, "Package "+name+" ") {
				t.Errorf("%s: the comment does not begin with %q", s.name, "Package "+name)
			}
		}
		if len(docs) != 1 {
			t.Errorf("package %s has %d package comments %v, want one", dir, len(docs), docs)
		}
	}
}

func TestPackagesAreNamedForWhatTheyHold(t *testing.T) {
	t.Parallel()
	for dir, group := range packages(t) {
		switch name := group[0].tree.Name.Name; name {
		case "util", "utils", "common", "helper", "helpers", "types", "models", "base", "shared", "misc":
			t.Errorf("package %s: %q names nothing", dir, name)
		}
	}
}

// TestPackageVariablesAreNeverWritten keeps package variables what they are
// for: errors, tables and patterns that Go has no constants for. The one package that
// works in init is there for that.
func TestPackageVariablesAreNeverWritten(t *testing.T) {
	t.Parallel()
	for dir, group := range packages(t) {
		isVar := packageVariables(group)
		for _, s := range group {
			ast.Inspect(s.tree, func(n ast.Node) bool {
				for _, target := range written(n) {
					if id := base(target); id != nil && isVar(id) {
						t.Errorf("%s:%d: package variable %s of %s is written to", s.name, s.line(id.Pos()), id.Name, dir)
					}
				}
				if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" && dir != "internal/sandbox/early" {
					t.Errorf("%s:%d: work in init", s.name, s.line(f.Pos()))
				}
				return true
			})
		}
	}
}

// packageVariables reports which names mean a variable of the package. Imports
// stay unknown to it, which costs errors that say nothing about that.
func packageVariables(group []source) func(*ast.Ident) bool {
	var trees []*ast.File
	for _, s := range group {
		trees = append(trees, s.tree)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}, Importer: nowhere{}}
	pkg, _ := config.Check(group[0].dir, group[0].set, trees, info)
	return func(id *ast.Ident) bool {
		v, ok := info.Uses[id].(*types.Var)
		return ok && v.Parent() == pkg.Scope()
	}
}

type nowhere struct{}

func (nowhere) Import(string) (*types.Package, error) { return nil, errors.ErrUnsupported }

// written is what statement n assigns to, counts up or takes the address of.
func written(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op.String() == "&" {
			return []ast.Expr{n.X}
		}
	case *ast.RangeStmt:
		return []ast.Expr{n.Key, n.Value}
	}
	return nil
}

// base is the variable at the bottom of x.y[z].
func base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
