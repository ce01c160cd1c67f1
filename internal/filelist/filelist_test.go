package filelist_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/filelist"
)

// tree makes files; a value is a file's text.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var usual = filelist.Options{Max: 1000, Look: 1000}

func names(t *testing.T, dir string, o filelist.Options) []string {
	t.Helper()
	list, err := filelist.Below(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return list.Names
}

func TestFilesAreListedLevelByLevel(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"b.go": "", "a/c.go": "", "a/d/e.go": "", "z file": "", ".env": "", ".git/config": "", ".github/ci.yml": ""})
	want := []string{"a/", "b.go", "z file", "a/c.go", "a/d/", "a/d/e.go"}
	if diff := cmp.Diff(want, names(t, dir, usual)); diff != "" {
		t.Error(diff)
	}
	hidden := usual
	hidden.Hidden = true
	want = []string{".env", ".github/", "a/", "b.go", "z file", ".github/ci.yml", "a/c.go", "a/d/", "a/d/e.go"}
	if diff := cmp.Diff(want, names(t, dir, hidden)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatGitIgnoresIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ rules, file string }{
		"a name":             {"x.log", "a/b/x.log"},
		"an extension":       {"# logs\n\n*.log  \r\n", "a/x.log"},
		"a directory":        {"node_modules/", "a/node_modules/m/x.js"},
		"anchored":           {"/dist", "dist/x"},
		"with a slash":       {"a/*.tmp", "a/x.tmp"},
		"any depth":          {"a/**/x", "a/b/c/x"},
		"any depth, none":    {"a/**/x", "a/x"},
		"below":              {"a/**", "a/b/c"},
		"the last rule wins": {"!x\nx", "x"},
		"not of a class":     {"x.[!a-c]", "x.o"},
		"a class":            {"*.[oa]", "a/x.o"},
		"a bracket":          {"x[]!]y", "x]y"},
		"not a bracket":      {"x[!]]y", "xay"},
		"a dash":             {"x[-a]y", "x-y"},
		"a dash at the end":  {"x[a-]y", "x-y"},
		"an escape":          {`x[\]]y`, "x]y"},
	} {
		dir := tree(t, map[string]string{".gitignore": tc.rules, tc.file: "", "kept": ""})
		if got := names(t, dir, usual); slices.Contains(got, tc.file) || !slices.Contains(got, "kept") {
			t.Errorf("%s: names = %q", name, got)
		}
	}
	for name, tc := range map[string]struct{ rules, file string }{
		"another name":            {"x.log", "a/ax.log"},
		"anchored elsewhere":      {"/dist", "a/dist"},
		"a file, not a dir":       {"x/", "x"},
		"one level":               {"a/*.tmp", "a/b/x.tmp"},
		"taken back":              {"*.log\n!x.log", "x.log"},
		"a rule that is wrong":    {"[", "["},
		"of a class that is not":  {"x.[!a-c]", "x.b"},
		"not an exclamation mark": {"x[!!]y", "x!y"},
		"a class without an end":  {"x[!a", "x[!a"},
	} {
		dir := tree(t, map[string]string{".gitignore": tc.rules, tc.file: ""})
		if got := names(t, dir, usual); !slices.Contains(got, tc.file) {
			t.Errorf("%s: %q is missing in %q", name, tc.file, got)
		}
	}
}

func TestARuleIsForItsDirectory(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a/.gitignore": "/x\n*.tmp", "a/x": "", "x": "", "a/b/x": "", "a/b/y.tmp": "", "y.tmp": "", ".git/info/exclude": "secret", "secret": ""})
	want := []string{"a/", "x", "y.tmp", "a/b/", "a/b/x"}
	if diff := cmp.Diff(want, names(t, dir, usual)); diff != "" {
		t.Error(diff)
	}
}

func TestAListHasLimits(t *testing.T) {
	t.Parallel()
	files := map[string]string{"near": ""}
	for i := range 50 {
		files[fmt.Sprintf("d/%d", i)] = ""
	}
	dir := tree(t, files)
	for _, o := range []filelist.Options{{Max: 10, Look: 1000}, {Max: 1000, Look: 10}} {
		list, err := filelist.Below(t.Context(), dir, o)
		if err != nil || !list.Cut || len(list.Names) > 10 || !slices.Contains(list.Names, "near") {
			t.Errorf("%+v: list = %+v, error %v", o, list, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelist.Below(ctx, dir, usual); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled listing: %v", err)
	}
	if _, err := filelist.Below(t.Context(), filepath.Join(dir, "none"), usual); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

func TestALinkIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a/x": ""})
	if err := os.Symlink(dir, filepath.Join(dir, "a", "again")); err != nil {
		t.Skip(err)
	}
	if diff := cmp.Diff([]string{"a/", "a/again", "a/x"}, names(t, dir, usual)); diff != "" {
		t.Error(diff)
	}
}

func TestANameThatATerminalCannotShowIsLeftOut(t *testing.T) {
	t.Parallel()
	files := map[string]string{"grüße.md": "", "क्\u200dष.md": "", "a\u00a0b": ""}
	for _, name := range []string{"red\x1b[31m", "two\nlines", "\u202etxt.exe", "\u2028x", "\u009b31m", "esc\x1b/below"} {
		files[name] = ""
	}
	dir := tree(t, files)
	// Some file systems refuse a name that is not UTF-8.
	_ = os.WriteFile(filepath.Join(dir, "bytes\xff\xfe"), nil, 0o600)
	want := []string{"a\u00a0b", "grüße.md", "क्\u200dष.md"}
	if diff := cmp.Diff(want, names(t, dir, usual)); diff != "" {
		t.Error(diff)
	}
}
