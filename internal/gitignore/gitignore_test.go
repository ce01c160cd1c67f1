package gitignore_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/gitignore"
)

func TestNamesAreLeftOutAsGitDoes(t *testing.T) {
	t.Parallel()
	rules := gitignore.Rules(nil).With("", []byte("# a comment\n*.log\n/build/\nnode_modules\n!keep.log\ndoc/*.txt\na/**/z\n**/gen/*.go\nout/**\n")).
		With("sub", []byte("/own\n!x.log\r\n"))
	for name, want := range map[string]bool{
		"a.log": true, "x/y/a.log": true, "keep.log": false, "x/keep.log": false,
		"build/": true, "build": false, "x/build/": false,
		"node_modules/": true, "x/node_modules/": true, "node_modules": true,
		"doc/a.txt": true, "doc/x/a.txt": false, "x/doc/a.txt": false,
		"a/z": true, "a/b/z": true, "a/b/c/z": true, "a/b/zz": false, "z": false,
		"gen/a.go": true, "x/gen/a.go": true, "x/gen/y/a.go": false,
		"out": false, "out/a": true, "out/a/b": true,
		"sub/own": true, "own": false, "sub/x/own": false, "sub/x.log": false, "x.log": true,
	} {
		plain, dir := strings.CutSuffix(name, "/")
		if got := rules.Ignore(plain, dir); got != want {
			t.Errorf("Ignore(%q) = %t, want %t", name, got, want)
		}
	}
}

// TestNoPatternTakesLong has a pattern that each way through a deep name was tried for.
func TestNoPatternTakesLong(t *testing.T) {
	t.Parallel()
	rules := gitignore.Rules(nil).With("", []byte(strings.Repeat("**/a/", 60)+"b\n"))
	if rules.Ignore(strings.Repeat("a/", 400)+"c", false) {
		t.Error("it matches")
	}
}
