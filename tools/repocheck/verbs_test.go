package repocheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// longBody is how many lines a function may have that is a thing by its comment.
const longBody = 12

// TestCommentsOfFunctionsHaveAVerb refuses "X is" and "X are" for a function that does
// something: its comment says what it returns, starts, writes, refuses. Right is "X is" for a
// short function that only returns a thing.
func TestCommentsOfFunctionsHaveAVerb(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || ast.IsGenerated(s.tree) {
			continue
		}
		for _, f := range nouns(s.tree) {
			if acts(f) || s.line(f.Body.Rbrace)-s.line(f.Body.Lbrace)-1 > longBody {
				first, _, _ := strings.Cut(f.Doc.Text(), "\n")
				t.Errorf("%s:%d: the comment of %s hides what it does; begin with a verb: %q", s.name, s.line(f.Pos()), f.Name.Name, first)
			}
		}
	}
}

// nouns are the functions and methods of a file whose comment begins "NAME is" or "NAME are".
func nouns(tree *ast.File) []*ast.FuncDecl {
	var found []*ast.FuncDecl
	for _, decl := range tree.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		words := strings.Fields(f.Doc.Text())
		if len(words) > 1 && words[0] == f.Name.Name && (words[1] == "is" || words[1] == "are") {
			found = append(found, f)
		}
	}
	return found
}

// acts reports whether a function is there for what it does: it returns nothing, or an error
// alone, or changes what its receiver or a parameter points to.
func acts(f *ast.FuncDecl) bool {
	if f.Type.Results.NumFields() == 0 || changes(f) {
		return true
	}
	id, ok := f.Type.Results.List[0].Type.(*ast.Ident)
	return ok && id.Name == "error" && f.Type.Results.NumFields() == 1
}

// changes reports whether a function assigns to what a pointer leads to that it was given.
func changes(f *ast.FuncDecl) bool {
	given := map[string]bool{}
	for _, list := range []*ast.FieldList{f.Recv, f.Type.Params} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			if _, pointer := field.Type.(*ast.StarExpr); pointer {
				for _, name := range field.Names {
					given[name.Name] = true
				}
			}
		}
	}
	found := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		var targets []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			targets = n.Lhs
		case *ast.IncDecStmt:
			targets = []ast.Expr{n.X}
		}
		for _, target := range targets {
			_, plain := target.(*ast.Ident)
			id := base(target)
			found = found || !plain && id != nil && given[id.Name]
		}
		return !found
	})
	return found
}

func TestNounsFindsCommentsWithoutAVerb(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"// F is the run.\nfunc F() {}":                                  true,
		"// F are the runs.\nfunc (t *T) F() {}":                         true,
		"// F is\n// the run.\nfunc F() error { return nil }":            true,
		"// F is the run.\nfunc F() (err error) { return }":              true,
		"// F runs.\nfunc F() {}":                                        false,
		"// F issues a key.\nfunc F() {}":                                false,
		"// F's run is long.\nfunc F() {}":                               false,
		"// F is the key.\nfunc F() string { return k }":                 false,
		"// F is the key.\nfunc F() (k string, err error) { }":           false,
		"// F is written in assembly.\nfunc F()":                         false,
		"// F is a type.\ntype F struct{}":                               false,
		"// F is next.\nfunc (t *T) F() int { t.n++; return t.n }":       true,
		"// F is next.\nfunc F(t *T) int { *t = T{}; return 1 }":         true,
		"// F is next.\nfunc (t *T) F() int { t = nil; return 1 }":       false,
		"// F is next.\nfunc (t T) F() int { t.n++; return t.n }":        false,
		"// F is next.\nfunc (t *T) F() int { n := t.n; n++; return n }": false,
		"func F() {}": false,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.ParseComments)
		if err != nil {
			t.Fatalf("the source %q: %v", text, err)
		}
		got := false
		for _, f := range nouns(tree) {
			got = got || acts(f)
		}
		if got != want {
			t.Errorf("a comment without a verb in %q: %t, want %t", text, got, want)
		}
	}
}
