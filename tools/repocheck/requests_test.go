package repocheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// runs is the package of the request that is made whole.
const runs = "daemon/run"

// TestARequestOfARunIsMadeWhole keeps a run.Request what one composite literal made it:
// where several functions write into one that is half made, a reader has to know their
// order. Package run itself changes its own copies.
func TestARequestOfARunIsMadeWhole(t *testing.T) {
	t.Parallel()
	groups := packages(t)
	house := &houseImporter{groups: groups, tree: "daemon", made: map[string]*types.Package{}}
	made := 0
	for dir, group := range groups {
		if dir == runs || !within(dir, "daemon") {
			continue
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
		checkedWith(group, info, house)
		for _, s := range group {
			for _, e := range changedRequests(s.tree, info) {
				t.Errorf("%s:%d: a run.Request is changed after it was made", s.name, s.line(e.Pos()))
			}
			made += madeRequests(s.tree, info)
		}
	}
	if made < 2 {
		t.Errorf("%d run.Requests are made, fewer than 2; the test looks at the wrong type", made)
	}
}

func TestChangedRequestsAreFound(t *testing.T) {
	t.Parallel()
	house := &houseImporter{groups: packages(t), tree: "daemon", made: map[string]*types.Package{}}
	for body, want := range map[string]int{
		"func f(r run.Request) { r.Profile = `p` }":                    1,
		"func f(r run.Request) { r.Terms.Profile = `p` }":              1,
		"func f(r run.Request) { r.Message.Text += `p` }":              1,
		"func f(r *run.Request) { r.Keep, r.Once = true, true }":       2,
		"func f() { r := run.Request{}; g(&r) }":                       1,
		"type t struct { run.Request }; func f(x t) { x.Keep = true }": 1,
		"type t struct { r run.Request }; func f(x t) { x.r = g() }":   0,
		"func f() { r := run.Request{}; h(r); r = run.Request{} }":     0,
		"func f(p run.Place) { p.Keep = true }":                        0,
		"type t struct { Keep bool }; func f(x t) { x.Keep = true }":   0,
	} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "", "package p\nimport \""+module+"/"+runs+"\"\n"+body, 0)
		if err != nil {
			t.Fatal(err)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
		checkedWith([]source{{dir: "p", set: set, tree: tree}}, info, house)
		if got := len(changedRequests(tree, info)); got != want {
			t.Errorf("changed in %q: %d, want %d", body, got, want)
		}
	}
}

// changedRequests are the expressions that write to a field of a run.Request, or take its
// address.
func changedRequests(tree *ast.File, info *types.Info) []ast.Expr {
	var found []ast.Expr
	ast.Inspect(tree, func(n ast.Node) bool {
		for _, target := range written(n) {
			if unary, ok := n.(*ast.UnaryExpr); ok && isRequest(info.TypeOf(unary.X)) || inRequest(target, info) {
				found = append(found, target)
			}
		}
		return true
	})
	return found
}

// inRequest reports whether x.y[z] is in a run.Request.
func inRequest(e ast.Expr, info *types.Info) bool {
	for x := range downward(e) {
		if selector, ok := x.(*ast.SelectorExpr); ok && throughRequest(info.Selections[selector]) {
			return true
		}
	}
	return false
}

// throughRequest reports whether a selection of a field is one of a run.Request, or of
// what embeds one.
func throughRequest(s *types.Selection) bool {
	if s == nil || s.Kind() != types.FieldVal {
		return false
	}
	at := s.Recv()
	for _, i := range s.Index() {
		if isRequest(at) {
			return true
		}
		if p, ok := at.Underlying().(*types.Pointer); ok {
			at = p.Elem()
		}
		fields, ok := at.Underlying().(*types.Struct)
		if !ok {
			return false
		}
		at = fields.Field(i).Type()
	}
	return false
}

// isRequest reports whether a type is run.Request, or a pointer to one.
func isRequest(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Name() == "Request" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == runs
}

// madeRequests counts the composite literals of run.Request.
func madeRequests(tree *ast.File, info *types.Info) int {
	n := 0
	ast.Inspect(tree, func(node ast.Node) bool {
		if lit, ok := node.(*ast.CompositeLit); ok && isRequest(info.TypeOf(lit)) {
			n++
		}
		return true
	})
	return n
}
