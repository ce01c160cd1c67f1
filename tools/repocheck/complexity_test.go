package repocheck_test

import (
	"go/ast"
	"go/token"
	"path"
	"testing"
)

// maxComplexity is how many ways a function may have, counted as in
// [complexity]. A function with more wants to be two.
const maxComplexity = 15

// tables are functions that are one switch or one list, with nothing to find
// out between its rows.
var tables = map[string]bool{
	"agentapi/backendtest.answers":   true, // behaviours of a backend
	"agentapi/event.newBody":         true, // kinds of events
	"daemon/gate.RowOf":              true, // codes of failures
	"internal/openhands/canon.Text":  true, // findings, in words
	"internal/testkit/llmtest.apply": true, // verbs of a script
}

func TestFunctionsAreSimple(t *testing.T) {
	t.Parallel()
	found := make(map[string]bool)
	for _, s := range sources(t) {
		if s.test || ast.IsGenerated(s.tree) {
			continue
		}
		for _, decl := range s.tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := complexity(f)
			name := path.Clean(s.dir) + "." + f.Name.Name
			switch {
			case n <= maxComplexity:
			case tables[name]:
				found[name] = true
			default:
				t.Errorf("%s:%d: %s has a cyclomatic complexity of %d, more than %d; split it", s.name, s.line(f.Pos()), f.Name.Name, n, maxComplexity)
			}
		}
	}
	for name := range tables {
		if !found[name] {
			t.Errorf("%s is simple, or is not there any more; take it out of the list of tables", name)
		}
	}
}

// complexity is 1, and 1 more for each if, loop, case, && and ||.
func complexity(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}
