package repocheck_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxMethods is how many methods a type may have, those of its embedded fields included.
// Any of its own may change any of its fields, and a reader has to know all of them: a type
// with more wants to be two.
const maxMethods = 60

func TestTypesHaveFewMethods(t *testing.T) {
	t.Parallel()
	sets := methodSets(t)
	if len(sets) < 1000 {
		t.Fatalf("only %d types have methods", len(sets))
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if n := len(sets[name]); n > maxMethods {
			t.Errorf("%s has %d methods, more than %d; make a part of it a type of its own", name, n, maxMethods)
		}
	}
}

// methodSets are the names of the methods of each type of the program, those that it gets
// from its embedded fields included: all that its package can call on a pointer to it.
func methodSets(t *testing.T) map[string]map[string]bool {
	t.Helper()
	sets := make(map[string]map[string]bool)
	groups := packages(t)
	all := &declarations{groups: groups, others: compiled(t, groups), made: map[string]*types.Package{}}
	for dir := range groups {
		pkg := all.check(dir)
		for _, name := range pkg.Scope().Names() {
			object, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || object.IsAlias() || types.IsInterface(object.Type()) || ast.IsGenerated(all.file(dir, object.Pos())) {
				continue
			}
			if set := methodsOf(object); len(set) > 0 {
				sets[dir+"."+name] = set
			}
		}
	}
	return sets
}

// methodsOf are the methods of a type, those that it gets from its embedded fields
// included. Unexported ones of other packages, which its own cannot call, do not count.
func methodsOf(object *types.TypeName) map[string]bool {
	set := make(map[string]bool)
	for method := range types.NewMethodSet(types.NewPointer(object.Type())).Methods() {
		if m := method.Obj(); m.Exported() || m.Pkg() == object.Pkg() {
			set[m.Name()] = true
		}
	}
	return set
}

// declarations are the packages of the repository without the bodies of their functions,
// each with the files of all systems: a method that each of them has in a file of its own
// counts once. They are checked when they are imported.
type declarations struct {
	groups map[string][]source
	others types.Importer // knows what is not of this repository
	made   map[string]*types.Package
}

func (d *declarations) Import(path string) (*types.Package, error) {
	if dir, ours := strings.CutPrefix(path, module+"/"); ours && len(d.groups[dir]) > 0 {
		return d.check(dir), nil
	}
	return d.others.Import(path)
}

// check returns the package in a directory. Errors are not its concern: the compiler has them.
func (d *declarations) check(dir string) *types.Package {
	if d.made[dir] == nil {
		group := d.groups[dir]
		trees := make([]*ast.File, 0, len(group))
		for _, s := range group {
			trees = append(trees, s.tree)
		}
		config := types.Config{IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {}, Importer: d}
		d.made[dir], _ = config.Check(dir, group[0].set, trees, nil)
	}
	return d.made[dir]
}

// file is the file of a directory that has a position.
func (d *declarations) file(dir string, pos token.Pos) *ast.File {
	for _, s := range d.groups[dir] {
		if s.tree.FileStart <= pos && pos <= s.tree.FileEnd {
			return s.tree
		}
	}
	return nil
}

// compiled imports packages of other modules and of the standard library, as the compiler
// has stored them. Those of other systems than this one it does not know.
func compiled(t *testing.T, groups map[string][]source) types.Importer {
	t.Helper()
	args := []string{"list", "-e", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}}\t{{.Export}}{{end}}", "--"}
	seen := make(map[string]bool)
	for _, group := range groups {
		for _, s := range group {
			for _, spec := range s.tree.Imports {
				path, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if path != "C" && !seen[path] && !within(path, module) {
					seen[path] = true
					args = append(args, path)
				}
			}
		}
	}
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatalf("list the packages that are imported: %v", err)
	}
	stored := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			stored[path] = file
		}
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if stored[path] == "" {
			return nil, fs.ErrNotExist
		}
		return os.Open(stored[path])
	})
}

func TestMethodsOfEmbeddedFieldsCount(t *testing.T) {
	t.Parallel()
	const low = "package low\ntype Core struct{}\nfunc (*Core) Run() {}\nfunc (*Core) hidden() {}\n"
	others := compiled(t, packages(t))
	for text, want := range map[string]string{
		"type T struct{ *low.Core }\nfunc (T) own() {}":                       "Run own",
		"type T struct{ core *low.Core }\nfunc (T) own() {}":                  "own",
		"type T struct{ *low.Core }\nfunc (T) Run() {}":                       "Run",
		"type T struct{ mid }\ntype mid struct{ low.Core }":                   "Run",
		"type T struct{ mid }\ntype mid struct{}\nfunc (mid) hidden() {}":     "hidden",
		"type T struct{ sync.Mutex }":                                         "Lock TryLock Unlock",
		"type T struct{ io.Closer }\nfunc (T) x() { missing() }":              "Close x",
		"type T[E any] struct{ *mid[E] }\ntype mid[E any] struct{ low.Core }": "Run",
	} {
		groups, set := map[string][]source{}, token.NewFileSet()
		for dir, text := range map[string]string{"low": low, "p": "package p\nimport (\n\"io\"\n\"sync\"\n\"" + module + "/low\"\n)\n" + text} {
			tree, err := parser.ParseFile(set, dir, text, 0)
			if err != nil {
				t.Fatal(err)
			}
			groups[dir] = []source{{dir: dir, set: set, tree: tree}}
		}
		all := &declarations{groups: groups, others: others, made: map[string]*types.Package{}}
		got := slices.Sorted(maps.Keys(methodsOf(all.check("p").Scope().Lookup("T").(*types.TypeName))))
		if got := strings.Join(got, " "); got != want {
			t.Errorf("the methods of %q: %q, want %q", text, got, want)
		}
	}
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
