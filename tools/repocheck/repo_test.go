package repocheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the import path of the root module.
const module = "github.com/ohgw/ohgw"

// root is the top of the repository as seen from this package.
const root = "../.."

// ignored are directories that hold nothing of ours.
var ignored = []string{".git", ".cache", "node_modules", "__pycache__", ".venv", "bin", "dist"}

// files lists all files of the repository, slash-separated and relative to its
// top, in order.
func files(t *testing.T) []string {
	t.Helper()
	names, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("the repository is empty")
	}
	return names
}

var listed = sync.OnceValues(func() ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(ignored, d.Name()):
			return filepath.SkipDir
		case d.Type().IsRegular() && d.Name() != ".git": // which is a file in a second work tree
			rel, err := filepath.Rel(root, p)
			if err != nil {
				return err
			}
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	return names, err
})

// read is the text of a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// source is a Go file with its syntax tree.
type source struct {
	name string // relative to the top
	dir  string // of the file: the package's path in the repository
	test bool
	set  *token.FileSet
	tree *ast.File
}

// forTests reports whether the file is a test or belongs to a package that only
// tests use.
func (s source) forTests() bool { return s.test || isTestTree(s.dir) }

// isTestTree reports whether a path is in a tree that only tests use, such as
// agentapi/backendtest.
func isTestTree(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(name string) bool { return strings.HasSuffix(name, "test") })
}

func (s source) line(pos token.Pos) int { return s.set.Position(pos).Line }

// sources are all Go files of the repository, those of nested modules included.
// All tests read the same ones: parsing them takes seconds.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parsed = sync.OnceValues(func() ([]source, error) {
	names, err := listed()
	if err != nil {
		return nil, err
	}
	var all []source
	set := token.NewFileSet()
	for _, name := range names {
		if path.Ext(name) != ".go" {
			continue
		}
		tree, err := parser.ParseFile(set, filepath.Join(root, filepath.FromSlash(name)), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		all = append(all, source{
			name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), set: set, tree: tree,
		})
	}
	return all, nil
})

// packages groups what is not a test by directory.
func packages(t *testing.T) map[string][]source {
	t.Helper()
	dirs := map[string][]source{}
	for _, s := range sources(t) {
		if !s.test {
			dirs[s.dir] = append(dirs[s.dir], s)
		}
	}
	return dirs
}

// within reports whether dir is one of the trees or below one.
func within(dir string, trees ...string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool {
		return dir == tree || strings.HasPrefix(dir, tree+"/")
	})
}
