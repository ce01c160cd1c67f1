package repocheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCIHasEveryKindOfEndToEndTest holds e2e/ci.tsv, the end-to-end tests that decide
// whether a commit lands: each of them exists, and no kind of them is missing.
func TestCIHasEveryKindOfEndToEndTest(t *testing.T) {
	t.Parallel()
	kinds := make(map[string]bool)
	for i, row := range strings.Split(strings.TrimSuffix(read(t, "e2e/ci.tsv"), "\n"), "\n") {
		columns := strings.Split(row, "\t")
		if len(columns) != 4 || strings.TrimSpace(columns[3]) == "" {
			t.Errorf("e2e/ci.tsv:%d does not have the four columns package, tests, kind, why", i+1)
			continue
		}
		if i == 0 {
			continue
		}
		kinds[columns[2]] = true
		name, _, _ := strings.Cut(columns[1], "/")
		found := false
		for _, file := range files(t) {
			if filepath.ToSlash(filepath.Dir(file)) != columns[0] || !strings.HasSuffix(file, "_test.go") {
				continue
			}
			text := read(t, file)
			found = found || strings.HasPrefix(text, "//go:build e2e") && strings.Contains(text, "\nfunc "+name+"(")
		}
		if !found {
			t.Errorf("e2e/ci.tsv:%d: %s has no end-to-end test %s", i+1, columns[0], name)
		}
	}
	for _, kind := range []string{"agent-server", "SDK for Python", "SDK for Node", "terminal", "sandbox", "keyring", "security", "local model"} {
		if !kinds[kind] {
			t.Errorf("e2e/ci.tsv has no test of the kind %q", kind)
		}
	}
}

// TestTouchedPackages runs scripts/touched on a repository of its own.
func TestTouchedPackages(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") == "true" {
			t.Fatal(err)
		} else if err != nil {
			t.Skip(err)
		}
	}
	for name, test := range map[string]struct {
		change []string
		commit bool
		want   string
	}{
		"a package, what imports it, and what only its tests import": {
			change: []string{"leaf/leaf.go"}, want: "leaf middle tested tools/check",
		},
		"what imports an importer is not touched": {change: []string{"middle/middle.go"}, want: "middle tools/check top"},
		"a file of a test":                        {change: []string{"leaf/testdata/deep/x.txt"}, want: "leaf middle tested tools/check"},
		"a new file":                              {change: []string{"top/new.go"}, want: "tools/check top"},
		"a document":                              {change: []string{"docs/a.md"}, want: "tools/check"},
		"another module":                          {change: []string{"tools/other/other.go"}, want: "tools/check"},
		"the modules":                             {change: []string{"go.mod"}, want: "leaf middle tested tools/check top"},
		"the last commit, if nothing differs":     {change: []string{"top/top.go"}, commit: true, want: "tools/check top"},
		"nothing":                                 {want: "leaf middle tested tools/check top"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run := func(name string, args ...string) string {
				t.Helper()
				cmd := exec.Command(name, args...)
				cmd.Dir = dir
				cmd.Env = append(withoutGit(os.Environ()), "BASE=", "OHGW_TOUCHED_IN="+dir, "GOFLAGS=-mod=mod", "GOWORK=off", "GIT_CONFIG_GLOBAL=/dev/null",
					"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v", cmd, err)
				}
				return string(out)
			}
			write := func(name, text string) {
				t.Helper()
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run("git", "init", "-q")
			run("git", "commit", "-q", "--allow-empty", "-m", "nothing")
			for file, text := range map[string]string{
				"go.mod":                   "module example.com/m\n\ngo 1.26.0\n",
				"leaf/leaf.go":             "package leaf\n",
				"leaf/testdata/deep/x.txt": "x\n",
				"middle/middle.go":         "package middle\n\nimport _ \"example.com/m/leaf\"\n",
				"top/top.go":               "package top\n\nimport _ \"example.com/m/middle\"\n",
				"tested/tested.go":         "package tested\n",
				"tested/tested_test.go":    "package tested_test\n\nimport _ \"example.com/m/leaf\"\n",
				"tools/check/check.go":     "package check\n",
				"tools/other/go.mod":       "module example.com/m/tools/other\n\ngo 1.26.0\n",
				"tools/other/other.go":     "package other\n",
				"docs/a.md":                "# A\n",
			} {
				write(file, text)
			}
			run("git", "add", ".")
			run("git", "commit", "-q", "-m", "everything")
			for _, file := range test.change {
				text, _ := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
				if len(text) == 0 {
					text = []byte("package top\n")
				}
				write(file, string(text)+"\n// changed\n")
			}
			if test.commit {
				run("git", "commit", "-q", "-a", "-m", "change")
			}
			script, err := filepath.Abs("../../scripts/touched")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(strings.Fields(run("bash", script)), " ")
			got = regexp.MustCompile(`example\.com/m/`).ReplaceAllString(got, "")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("packages (-want +got):\n%s", diff)
			}
		})
	}
}

// withoutGit is an environment without the variables of git: a hook of git has those of the
// repository that it runs for, and what is tested here would change that repository.
func withoutGit(environ []string) []string {
	return slices.DeleteFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, "GIT_") })
}
