package repocheck_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// An open conversation has parts, and each changes only its own fields (docs/adr/0039): who
// reads the methods of a part knows all that happens to it. Others call a method that says
// what has happened.
func TestPartsOfAConversationChangeOnlyTheirOwnFields(t *testing.T) {
	t.Parallel()
	const dir, whole = "agentapi/engine/conversation", "Conversation"
	group := packages(t)[dir]
	if len(group) == 0 {
		t.Fatalf("there is no package %s", dir)
	}
	found, parts := foreignWrites(group, whole)
	if want := 10; len(parts) != want {
		t.Errorf("%s has the parts %v, want %d", whole, parts, want)
	}
	for _, w := range found {
		t.Error(w)
	}
}

// foreignWrites are the places at which a method of one part, or a function, writes to a
// field of another. The parts are the type whole and the unexported types it points to.
func foreignWrites(group []source, whole string) (found, parts []string) {
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	parts = partsOf(checked(group, info), whole)
	for _, s := range group {
		for _, decl := range s.tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			owner := ""
			if f.Recv != nil {
				owner = receiver(f)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				for _, target := range append(written(n), emptied(n)...) {
					if part, field := partWritten(target, info, parts); part != "" && part != owner {
						found = append(found, fmt.Sprintf("%s:%d: %s writes to %s.%s; make that a method of %s", s.name, s.line(target.Pos()), f.Name.Name, part, field, part))
					}
				}
				return true
			})
		}
	}
	return found, parts
}

// partsOf are the names of a type and of the unexported types that its fields point to.
func partsOf(pkg *types.Package, whole string) []string {
	parts := []string{whole}
	object := pkg.Scope().Lookup(whole)
	if object == nil {
		return nil
	}
	fields, ok := object.Type().Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for field := range fields.Fields() {
		pointer, ok := field.Type().(*types.Pointer)
		if !ok {
			continue
		}
		if part, ok := pointer.Elem().(*types.Named); ok && !part.Obj().Exported() {
			parts = append(parts, part.Obj().Name())
		}
	}
	return parts
}

// partWritten is the field of a part in which a target lies, such as run and phase for
// c.run.phase, or branch and dir for r.branch.dir.State.Tags["x"].
func partWritten(target ast.Expr, info *types.Info, parts []string) (part, field string) {
	for x := range downward(target) {
		selector, ok := x.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		if s := info.Selections[selector]; s != nil && s.Kind() == types.FieldVal {
			if of := nameOf(s.Recv()); slices.Contains(parts, of) {
				return of, selector.Sel.Name
			}
		}
	}
	return "", ""
}

// emptied is what a call of delete, clear or copy changes.
func emptied(n ast.Node) []ast.Expr {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	if id, ok := call.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy"}, id.Name) {
		return call.Args[:1]
	}
	return nil
}

func TestForeignWritesAreFound(t *testing.T) {
	t.Parallel()
	const types = "type Whole struct { cfg *Config; run *run; door *door }\n" +
		"type Config struct { n int }\ntype run struct { n int; door *door }\ntype door struct { n int; m map[string]int; in struct { n int } }\n"
	for body, want := range map[string]int{
		"r.n = 1":                            0,
		"r.door.n = 1":                       1,
		"r.n, r.door.n = 1, 2":               1,
		"r.door.n++":                         1,
		"r.door.in.n = 1":                    1,
		`r.door.m["x"] = 1`:                  1,
		`delete(r.door.m, "x")`:              1,
		"p := &r.door.in; p.n = 1":           1,
		"d := r.door; d.n = 1":               1,
		"go func() { r.door.n = 1 }()":       1,
		"n := r.door.n; n++":                 0,
		"c := Config{}; c.n = 1":             0,
		"w := Whole{}; w.run = r":            1,
		"w := Whole{run: r}; w.run.n = 1":    0,
		"for r.door.n = range 3 { r.n = 1 }": 1,
	} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, "", "package p\n"+types+"func (r *run) f() {\n"+body+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("the source %q: %v", body, err)
		}
		found, _ := foreignWrites([]source{{dir: "p", set: set, tree: tree}}, "Whole")
		if len(found) != want {
			t.Errorf("foreign writes in %q: %s; want %d", body, strings.Join(found, ", "), want)
		}
	}
}
