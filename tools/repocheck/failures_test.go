package repocheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// A failure that begins with a value does not say what was looked at.
func TestFailuresSayWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, call := range bare(s.tree) {
			t.Errorf(`%s:%d: the failure begins with a value; say what it is: "the status: %%v"`, s.name, s.line(call.Pos()))
		}
	}
}

// bare are the failures whose format begins with a value.
func bare(tree *ast.File) []*ast.CallExpr {
	var found []*ast.CallExpr
	ast.Inspect(tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		method, isMethod := call.Fun.(*ast.SelectorExpr)
		format, isText := call.Args[0].(*ast.BasicLit)
		if isMethod && isText && code(method.X) != "fmt" && slices.Contains([]string{"Errorf", "Fatalf"}, method.Sel.Name) && strings.HasPrefix(strings.Trim(format.Value, "\"`"), "%v") {
			found = append(found, call)
		}
		return true
	})
	return found
}

func TestBareFindsFailuresWithoutAName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`t.Errorf("%v, want 1", got)`:     1,
		"w.t.Fatalf(`%v`, err)":           1,
		`t.Errorf("the status: %v", got)`: 0,
		`t.Error("%v")`:                   0,
		`err = fmt.Errorf("%v", e)`:       0,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+text+"\n}", 0)
		if err != nil {
			t.Fatalf("the source %q: %v", text, err)
		}
		if got := len(bare(tree)); got != want {
			t.Errorf("bare in %q: %d, want %d", text, got, want)
		}
	}
}
