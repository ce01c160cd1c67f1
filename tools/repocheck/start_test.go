package repocheck_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"testing"
)

// TestStartCompilesNoExpression keeps the start of the program cheap: a package variable
// gets its regular expression from internal/pattern, which compiles it when it is used.
func TestStartCompilesNoExpression(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.forTests() || within(s.dir, "tools", "e2e") {
			continue
		}
		for _, call := range compiledAtStart(s.tree) {
			t.Errorf("%s:%d: every start compiles this expression; use pattern.Of", s.name, s.line(call.Pos()))
		}
	}
}

// TestExpressionsCompile finds the mistake in an expression that the program would find
// only when it uses it.
func TestExpressionsCompile(t *testing.T) {
	t.Parallel()
	found := 0
	for dir, group := range packages(t) {
		calls := map[*ast.CallExpr]source{}
		for _, s := range group {
			for _, call := range callsOf(s.tree, "pattern", "Of") {
				calls[call] = s
			}
		}
		if len(calls) == 0 {
			continue
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		checked(group, info)
		for call, s := range calls {
			found++
			value := info.Types[call.Args[0]].Value
			if value == nil || value.Kind() != constant.String {
				t.Errorf("%s:%d: this expression is not a constant of %s", s.name, s.line(call.Pos()), dir)
			} else if _, err := regexp.Compile(constant.StringVal(value)); err != nil {
				t.Errorf("%s:%d: %v", s.name, s.line(call.Pos()), err)
			}
		}
	}
	if found == 0 {
		t.Error("there is no expression")
	}
}

// compiledAtStart are the calls that compile an expression when a package is initialised.
func compiledAtStart(f *ast.File) []*ast.CallExpr {
	var found []*ast.CallExpr
	for _, decl := range f.Decls {
		vars, ok := decl.(*ast.GenDecl)
		if !ok || vars.Tok != token.VAR {
			continue
		}
		for _, name := range []string{"MustCompile", "MustCompilePOSIX"} {
			found = append(found, callsOf(vars, "regexp", name)...)
		}
	}
	return found
}

// callsOf are the calls pkg.name(…) in a node, without those that a function literal
// makes later.
func callsOf(n ast.Node, pkg, name string) []*ast.CallExpr {
	var found []*ast.CallExpr
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			_, later := n.(*ast.FuncLit)
			return !later
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == pkg {
				found = append(found, call)
			}
		}
		return true
	})
	return found
}

func TestCompiledAtStartKnowsWhatRunsLater(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{
		"var a = regexp.MustCompile(`a`)":                                  1,
		"var (\n a = 1\n b = []any{regexp.MustCompile(`b`)}\n)":            1,
		"var a = f(regexp.MustCompilePOSIX(`a`), regexp.MustCompile(`b`))": 2,
		"var a = func() any { return regexp.MustCompile(`a`) }":            0,
		"func f() { a := regexp.MustCompile(`a`) }":                        0,
		"func f() { var a = regexp.MustCompile(`a`) }":                     0,
		"var a = pattern.Of(`a`)":                                          0,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(compiledAtStart(tree)); got != want {
			t.Errorf("%q: number of places = %d, want %d", code, got, want)
		}
	}
}
