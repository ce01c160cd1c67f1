package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/search"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// tree is a workspace with the files, each older than the one before.
func tree(t testing.TB, files ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i, file := range files {
		name, content, _ := strings.Cut(file, "=")
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		when := at.Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(full, when, when); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func config(t testing.TB, dir string, confined bool) search.Config {
	t.Helper()
	files := sandbox.Unconfined()
	if confined {
		var err error
		if files, err = sandbox.Confined(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = files.Close() })
	return search.Config{Dir: dir, Confined: confined, Files: files}
}

type seen struct {
	Files, Matches []string
	SearchPath     string `json:"search_path"`
	Include        string `json:"include_pattern"`
	Truncated      bool
	IsError        bool `json:"is_error"`
	Text           string
	Kind           string
}

func run(t testing.TB, x tool.Tool, args map[string]string) seen {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	result, err := x.Run(t.Context(), tool.Call{Args: data})
	if err != nil {
		t.Fatal(err)
	}
	var s seen
	if err := json.Unmarshal(result.Observation, &s); err != nil {
		t.Fatal(err)
	}
	s.Text = result.Content[0].Text
	return s
}

// below are paths as they are in the workspace.
func below(t testing.TB, dir string, paths []string) []string {
	t.Helper()
	var out []string
	for _, p := range paths {
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out
}

func TestGlobFindsFilesTheNewestFirst(t *testing.T) {
	t.Parallel()
	dir := tree(t, "z.go", "a/b/a.go", "a/c.py", ".hidden/x.go", ".env", ".git/config", "a/node.go/inner.txt")
	g := search.NewGlob(config(t, dir, true))
	for pattern, want := range map[string][]string{
		"*.go":                          {"z.go", "a/b/a.go"},
		"a/*.py":                        {"a/c.py"},
		"b/*.go":                        {"a/b/a.go"},
		"**/*.{py,txt}":                 {"a/c.py", "a/node.go/inner.txt"},
		".hidden/**":                    {".hidden/x.go"},
		".env":                          {".env"},
		".git/**":                       nil,
		"*.rs":                          nil,
		filepath.Join(dir, "a", "*.py"): {"a/c.py"},
	} {
		got := run(t, g, map[string]string{"pattern": pattern})
		if diff := cmp.Diff(want, below(t, dir, got.Files)); diff != "" || got.IsError || got.Truncated {
			t.Errorf("%s: %s%+v", pattern, diff, got)
		}
	}
	got := run(t, g, map[string]string{"pattern": "*.go", "path": filepath.Join(dir, "a")})
	if diff := cmp.Diff([]string{"a/b/a.go"}, below(t, dir, got.Files)); diff != "" || got.SearchPath != filepath.Join(dir, "a") {
		t.Errorf("files (-want +got):\n%sresult = %+v", diff, got)
	}
}

func TestGrepFindsFilesByLines(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a.txt=first\nTODO: one\n", "b/c.go=// todo\n", "b/d.go=to\ndo\n", "e.bin=todo\x00todo", ".f=todo", "crlf.txt=x\r\nend\r\n")
	g := search.NewGrep(config(t, dir, true))
	for _, c := range []struct {
		pattern, include string
		want             []string
	}{
		{"todo", "", []string{"a.txt", "b/c.go"}},
		{"todo", "*.go", []string{"b/c.go"}},
		{"todo", "*.{txt,md}", []string{"a.txt"}},
		{"todo", "b/**", []string{"b/c.go"}},
		{"todo", ".f", []string{".f"}},
		{"^todo:", "", []string{"a.txt"}},
		{"^end$", "", []string{"crlf.txt"}},
		{"to[^x]do", "", nil}, // not across lines
		{"nothing", "", nil},
	} {
		got := run(t, g, map[string]string{"pattern": c.pattern, "include": c.include})
		if diff := cmp.Diff(c.want, below(t, dir, got.Matches)); diff != "" || got.IsError || got.Include != c.include {
			t.Errorf("%s, %s: %s%+v", c.pattern, c.include, diff, got)
		}
	}
}

func TestWhatCannotBeSearchedIsAnError(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a.txt=x")
	outside := tree(t, "secret.txt=key")
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Skip(err)
	}
	cfg := config(t, dir, true)
	for name, c := range map[string]struct {
		x    tool.Tool
		args map[string]string
		want string
	}{
		"a wrong glob":       {search.NewGlob(cfg), map[string]string{"pattern": "{a"}, "cannot be read"},
		"a wrong expression": {search.NewGrep(cfg), map[string]string{"pattern": "(a"}, "missing closing )"},
		"look-around":        {search.NewGrep(cfg), map[string]string{"pattern": "(?=a)"}, "not a regular expression"},
		"a wrong include":    {search.NewGrep(cfg), map[string]string{"pattern": "a", "include": "["}, "cannot be read"},
		"no directory":       {search.NewGrep(cfg), map[string]string{"pattern": "a", "path": filepath.Join(dir, "a.txt")}, "not a directory"},
		"outside":            {search.NewGrep(cfg), map[string]string{"pattern": "key", "path": outside}, "outside the workspace"},
		"a link outside":     {search.NewGlob(cfg), map[string]string{"pattern": "*", "path": filepath.Join(dir, "out")}, "outside the workspace"},
	} {
		if got := run(t, c.x, c.args); !got.IsError || !strings.Contains(got.Text, c.want) || len(got.Files)+len(got.Matches) > 0 {
			t.Errorf("%s: result = %+v", name, got)
		}
	}
	for _, got := range []seen{
		run(t, search.NewGrep(cfg), map[string]string{"pattern": "key"}),
		run(t, search.NewGlob(cfg), map[string]string{"pattern": "secret*"}),
	} {
		if len(got.Files)+len(got.Matches) > 0 {
			t.Errorf("a link was followed: %+v", got)
		}
	}
}

func TestLongResultsAreCut(t *testing.T) {
	t.Parallel()
	var files []string
	for i := range 150 {
		files = append(files, fmt.Sprintf("d%d/f%03d.txt=needle", i%7, i))
	}
	dir := tree(t, files...)
	cfg := config(t, dir, false)
	got := run(t, search.NewGlob(cfg), map[string]string{"pattern": "*.txt"})
	if len(got.Files) != 100 || !got.Truncated || !strings.Contains(got.Text, "100 of 150") || filepath.Base(got.Files[0]) != "f000.txt" {
		t.Errorf("result = %+v", got)
	}
	got = run(t, search.NewGrep(cfg), map[string]string{"pattern": "needle"})
	if len(got.Matches) != 100 || !got.Truncated || filepath.Base(got.Matches[99]) != "f099.txt" {
		t.Errorf("result = %+v", got)
	}
}

func TestFilesThatAreTooBigAreCounted(t *testing.T) {
	t.Parallel()
	dir := tree(t, "small=x", "big=x")
	if err := os.Truncate(filepath.Join(dir, "big"), 11<<20); err != nil {
		t.Fatal(err)
	}
	got := run(t, search.NewGrep(config(t, dir, true)), map[string]string{"pattern": "x"})
	if diff := cmp.Diff([]string{"small"}, below(t, dir, got.Matches)); diff != "" || !strings.Contains(got.Text, "1 files of more than 10 MB") {
		t.Errorf("matches (-want +got):\n%sresult = %+v", diff, got)
	}
}

func TestASearchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a=x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := search.NewGrep(config(t, dir, true)).Run(ctx, tool.Call{Args: json.RawMessage(`{"pattern":"x"}`)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
