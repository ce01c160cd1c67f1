package repocheck_test

import (
	"errors"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/daemon/openai"
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

// A reverse proxy of net/http breaks answers off on a busy machine unless its server reads
// the request while it writes the answer (daemon/openhandsapi/through.Duplex has the reason).
func TestReverseProxiesReadToTheEnd(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		text := read(t, s.name)
		makes := strings.Contains(text, "&httputil.ReverseProxy"+"{") || strings.Contains(text, "httputil.NewSingleHostReverseProxy"+"(")
		if makes && !strings.Contains(text, "EnableFullDuplex") && !strings.Contains(text, "proxytest.Duplex(") {
			t.Errorf("%s has a reverse proxy without EnableFullDuplex; in a test, put it into proxytest.Duplex", s.name)
		}
	}
}

// The ids of models are made with openai.ModelPrefix. Tests have ids of their own.
func TestThePrefixOfModelsIsWrittenOnce(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.dir == "daemon/openai" {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Value == strconv.Quote(openai.ModelPrefix) {
				t.Errorf("%s:%d: use openai.ModelPrefix", s.name, s.line(text.Pos()))
			}
			return true
		})
	}
}

// TestPackageVariablesAreNeverWritten keeps package variables what they are
// for: errors, tables and patterns that Go has no constants for. The two packages that
// work in init are there for that.
func TestPackageVariablesAreNeverWritten(t *testing.T) {
	t.Parallel()
	for dir, group := range packages(t) {
		isVar := packageVariables(group)
		for _, s := range group {
			for _, id := range changeable(s) {
				if !s.forTests() && !slices.Contains(reused(), dir+"."+id.Name) {
					t.Errorf("%s:%d: package variable %s of %s is changed by its methods", s.name, s.line(id.Pos()), id.Name, dir)
				}
			}
			ast.Inspect(s.tree, func(n ast.Node) bool {
				for _, target := range written(n) {
					if id := base(target); id != nil && isVar(id) {
						t.Errorf("%s:%d: package variable %s of %s is written to", s.name, s.line(id.Pos()), id.Name, dir)
					}
				}
				if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" && dir != "internal/sandbox/helperinit" && dir != "internal/shortlived" {
					t.Errorf("%s:%d: work in init", s.name, s.line(f.Pos()))
				}
				return true
			})
		}
	}
}

// reused names memory that is used again, which no answer depends on.
func reused() []string {
	return []string{"daemon/openhandsapi/socket.scratch", "agentapi/event.buffers", "agentapi/engine/llm/wire.bodies", "agentapi/engine/llm/outgoing.copies"}
}

// changeable are the variables of the package whose types are for values that change.
func changeable(s source) (found []*ast.Ident) {
	for _, decl := range s.tree.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			kind := v.Type
			if lit, ok := first(v.Values).(*ast.CompositeLit); ok && kind == nil {
				kind = lit.Type
			}
			if generic, ok := kind.(*ast.IndexExpr); ok {
				kind = generic.X
			}
			switch name := code(kind); {
			case strings.HasPrefix(name, "atomic."), slices.Contains([]string{"sync.Map", "sync.Mutex", "sync.Once", "sync.Pool", "sync.RWMutex", "sync.WaitGroup"}, name):
				found = append(found, v.Names...)
			}
		}
	}
	return found
}

// first is the first of the values of a variable; nil if it has none.
func first(values []ast.Expr) ast.Expr {
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

// TestNoAssignmentIsDoubled looks for what a merge leaves behind: an assignment, and the
// same again. One with a call may do something else the second time.
func TestNoAssignmentIsDoubled(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		ast.Inspect(s.tree, func(n ast.Node) bool {
			for _, again := range doubled(n) {
				t.Errorf("%s:%d: the assignment stands here twice", s.name, s.line(again.Pos()))
			}
			return true
		})
	}
}

// doubled are the assignments of a block that repeat the statement before them.
func doubled(n ast.Node) []ast.Stmt {
	var list []ast.Stmt
	switch n := n.(type) {
	case *ast.BlockStmt:
		list = n.List
	case *ast.CaseClause:
		list = n.Body
	case *ast.CommClause:
		list = n.Body
	}
	var found []ast.Stmt
	var last *ast.AssignStmt
	for _, stmt := range list {
		a, ok := stmt.(*ast.AssignStmt)
		if !ok || a.Tok != token.ASSIGN || calls(a) {
			last = nil
			continue
		}
		if last != nil {
			if text := code(a); text != "" && text == code(last) {
				found = append(found, stmt)
			}
		}
		last = a
	}
	return found
}

// calls reports whether a statement calls, receives, or makes a function.
func calls(stmt ast.Stmt) bool {
	found := false
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr, *ast.FuncLit:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

// code is a node as Go source.
func code(n ast.Node) string {
	var b strings.Builder
	if err := format.Node(&b, token.NewFileSet(), n); err != nil {
		return ""
	}
	return b.String()
}

func TestDoubledFindsWhatAMergeLeaves(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		"a, b = nil, 0; a, b = nil, 0":    1,
		"a = 1; a = 1; a = 1":             2,
		"switch { case x: a = 1; a = 1 }": 1,
		"a = 1; b = 1; a = 1":             0,
		"a = next(); a = next()":          0,
		"a = <-c; a = <-c":                0,
		"a += 1; a += 1":                  0,
		"if x { a = 1 }; if y { a = 1 }":  0,
		"a = 1\n\n\t// again\n\ta = 1":    1,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		ast.Inspect(tree, func(n ast.Node) bool {
			got += len(doubled(n))
			return true
		})
		if got != want {
			t.Errorf("doubled in %q: %d, want %d", body, got, want)
		}
	}
}

// packageVariables reports which names mean a variable of the package. Most of what is
// written has another name: the types, which take long, are for the rest.
func packageVariables(group []source) func(*ast.Ident) bool {
	names := map[string]bool{}
	for _, s := range group {
		for _, decl := range s.tree.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				for _, id := range spec.(*ast.ValueSpec).Names {
					names[id.Name] = true
				}
			}
		}
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg := sync.OnceValue(func() *types.Package { return checked(group, info) })
	return func(id *ast.Ident) bool {
		if !names[id.Name] {
			return false
		}
		scope := pkg().Scope()
		v, ok := info.Uses[id].(*types.Var)
		return ok && v.Parent() == scope
	}
}

// checked is a package with the types of its names, as far as they are known without
// its imports. The errors are about these alone.
func checked(group []source, info *types.Info) *types.Package {
	return checkedWith(group, info, nowhere{})
}

// checkedWith is checked with the imports that an importer knows.
func checkedWith(group []source, info *types.Info, imports types.Importer) *types.Package {
	var trees []*ast.File
	for _, s := range group {
		trees = append(trees, s.tree)
	}
	config := types.Config{Error: func(error) {}, Importer: imports}
	pkg, _ := config.Check(group[0].dir, group[0].set, trees, info)
	return pkg
}

// houseImporter knows the packages of a tree of the house, without what they import from
// elsewhere.
type houseImporter struct {
	groups map[string][]source
	tree   string
	made   map[string]*types.Package
}

func (h *houseImporter) Import(path string) (*types.Package, error) {
	dir, ours := strings.CutPrefix(path, module+"/")
	if !ours || !within(dir, h.tree) || len(h.groups[dir]) == 0 {
		return nil, errors.ErrUnsupported
	}
	if h.made[dir] == nil {
		h.made[dir] = checkedWith(h.groups[dir], nil, h)
	}
	return h.made[dir], nil
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
	for x := range downward(e) {
		if id, ok := x.(*ast.Ident); ok {
			return id
		}
	}
	return nil
}

// downward are an expression and what it is a part of: x.y[z], x.y, x.
func downward(e ast.Expr) iter.Seq[ast.Expr] {
	return func(yield func(ast.Expr) bool) {
		for e != nil && yield(e) {
			switch x := e.(type) {
			case *ast.SelectorExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			default:
				return
			}
		}
	}
}
