package search_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool/search"
)

// TestGrepLeavesOutWhatGitDoes has a checkout with build results and dependencies, one
// checkout in another, and one that is above the search.
func TestGrepLeavesOutWhatGitDoes(t *testing.T) {
	t.Parallel()
	files := []string{
		"node_modules/x/index.js=word", "build/out.js=word", "src/a.js=word", "src/debug.log=word", "src/keep.log=word", "src/gen/b.js=word",
		"secret=word", "vendor/lib/.git/HEAD=", "vendor/lib/c.js=word", "vendor/lib/c.log=word",
		".gitignore=node_modules/\n/build\n*.log\n!keep.log\n", "src/.gitignore=gen/\n",
	}
	inside := append([]string{".git/HEAD=ref", ".git/info/exclude=secret\n"}, files...)
	for name, c := range map[string]struct {
		files []string
		args  map[string]string
		want  []string
	}{
		"a checkout":          {inside, nil, []string{"src/a.js", "src/keep.log", "vendor/lib/c.js", "vendor/lib/c.log"}},
		"below its root":      {inside, map[string]string{"path": "src"}, []string{"src/a.js", "src/keep.log"}},
		"in what is left out": {inside, map[string]string{"path": "node_modules/x"}, []string{"node_modules/x/index.js"}},
		"asked for by name":   {inside, map[string]string{"include": "*.log"}, []string{"src/debug.log", "src/keep.log", "vendor/lib/c.log"}},
		"no checkout": {files, nil, []string{
			"node_modules/x/index.js", "build/out.js", "src/a.js", "src/debug.log", "src/keep.log", "src/gen/b.js", "secret", "vendor/lib/c.js", "vendor/lib/c.log",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, c.files...)
			args := map[string]string{"pattern": "word"}
			for key, value := range c.args {
				args[key] = value
			}
			if args["path"] != "" {
				args["path"] = filepath.Join(dir, filepath.FromSlash(args["path"]))
			}
			for _, confined := range []bool{false, true} {
				var got []string
				for _, file := range run(t, search.NewGrep(config(t, dir, confined)), args).Matches {
					rel, err := filepath.Rel(dir, file)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, filepath.ToSlash(rel))
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("confined %t: %s", confined, diff)
				}
			}
		})
	}
}

// TestGlobListsWhatGitLeavesOut has what its tool in OpenHands lists, too.
func TestGlobListsWhatGitLeavesOut(t *testing.T) {
	t.Parallel()
	dir := tree(t, ".git/HEAD=ref", ".gitignore=*.log\n", "a.log=x")
	if got := run(t, search.NewGlob(config(t, dir, false)), map[string]string{"pattern": "*.log"}).Files; len(got) != 1 {
		t.Errorf("the files are %v", got)
	}
}
