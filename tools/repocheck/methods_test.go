package repocheck_test

import (
	"go/ast"
	"maps"
	"slices"
	"testing"
)

// maxMethods is how many methods a type may have. Any of them may change any of its
// fields, so a type with more wants to be two.
const maxMethods = 60

// large are the types that have more, with how many. The numbers only go down.
var large = map[string]int{
	"agentapi/engine.Backend": 95, // two interfaces: the seam and control
}

func TestTypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	sets := methodSets(t)
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		n := len(sets[name])
		switch known := large[name]; {
		case known == 0 && n > maxMethods:
			t.Errorf("%s has %d methods, more than %d; make a part of it a type of its own", name, n, maxMethods)
		case known > 0 && n > known:
			t.Errorf("%s has %d methods, and had %d when it was already too large; put the new ones on a type of their own", name, n, known)
		case known > 0 && n < known && n > maxMethods:
			t.Errorf("%s has only %d methods; lower its number in the list of large types", name, n)
		}
	}
	for name := range large {
		if len(sets[name]) <= maxMethods {
			t.Errorf("%s has %d methods; take it out of the list of large types", name, len(sets[name]))
		}
	}
}

// methodSets are the names of the methods of each type of the program. A method that
// each system has in a file of its own counts once.
func methodSets(t *testing.T) map[string]map[string]bool {
	t.Helper()
	sets := make(map[string]map[string]bool)
	for dir, group := range packages(t) {
		for _, s := range group {
			if ast.IsGenerated(s.tree) {
				continue
			}
			for _, decl := range s.tree.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Recv == nil {
					continue
				}
				name := dir + "." + receiver(f)
				if sets[name] == nil {
					sets[name] = make(map[string]bool)
				}
				sets[name][f.Name.Name] = true
			}
		}
	}
	return sets
}

// receiver is the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	expr := f.Recv.List[0].Type
	for {
		switch x := expr.(type) {
		case *ast.StarExpr:
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.IndexListExpr:
			expr = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
