package subpath_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/internal/subpath"
)

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir, at string
		want    bool
	}{
		{"/w", "/w", true},
		{"/w", "/w/", true},
		{"/w/", "/w/a", true},
		{"/w", "/w/a/b", true},
		{"/w", "/w/..a", true},
		{"/w", "/w/...", true},
		{"/w", "/w/a/..", true},
		{"/w", "/w/.", true},
		{"/", "/w", true},
		{"/", "/", true},
		{".", "a", true},
		{".", ".", true},
		{"hooks", "hooks/a", true},
		{"/w", "/", false},
		{"/w", "/wa", false},
		{"/w", "/w/..", false},
		{"/w", "/w/a/../../x", false},
		{"/w/a", "/w", false},
		{"/w", "w", false},
		{"w", "/w", false},
		{"hooks", "hooksa", false},
		{"hooks", "../hooks", false},
		{".", "..", false},
		{".", "../a", false},
		{"", "/w", false},
		{"", "a", false},
		{"/", "", false},
		{"/w", "", false},
		{"", "", false},
		{"/w", "/W/a", runtime.GOOS == "windows"},
		{"/w", "/ww/a", false},
		{"/w/a", "/w/ab/c", false},
		{"/w//a", "/w/a/b", true},
	} {
		dir, at := filepath.FromSlash(c.dir), filepath.FromSlash(c.at)
		if got := subpath.Within(dir, at); got != c.want {
			t.Errorf("Within(%q, %q) = %t", c.dir, c.at, got)
		}
		if rel, ok := subpath.Rel(dir, at); ok != c.want || ok && filepath.Join(dir, rel) != filepath.Clean(at) || !ok && rel != "" {
			t.Errorf("Rel(%q, %q) = %q, %t", c.dir, c.at, rel, ok)
		}
	}
}

func TestUp(t *testing.T) {
	t.Parallel()
	for at, want := range map[string][]string{
		"/a/b": {"/a/b", "/a", "/"}, "/": {"/"}, "a/b": {"a/b", "a", "."}, ".": {"."}, "": {"", "."},
	} {
		var got []string
		for dir := range subpath.Up(filepath.FromSlash(at)) {
			got = append(got, filepath.ToSlash(dir))
		}
		if !slices.Equal(got, want) {
			t.Errorf("Up(%q) = %q, want %q", at, got, want)
		}
	}
	for dir := range subpath.Up("/a/b") {
		if dir != "/a/b" {
			t.Error("it goes on")
		}
		break
	}
}

// TestExisting splits paths that exist in part, also by links and below a file.
func TestExisting(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
	if err := errors.Join(os.MkdirAll(at("work", "sub"), 0o700), os.WriteFile(at("work", "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		path, real, rest string
		inside           bool // of work
	}{
		{at("work"), at("work"), ".", true},
		{at("work", "new", "deep"), at("work"), filepath.Join("new", "deep"), true},
		{at("work", "file", "x"), at("work", "file"), "x", true},
		{at("work2"), dir, "work2", false},
		{at("work") + "/sub/../../new", dir, "new", false},
	}
	if os.Symlink(dir, at("work", "out")) == nil { // not every Windows has links
		cases = append(cases, cases[0], cases[0])
		cases[5].path, cases[5].real, cases[5].rest, cases[5].inside = at("work", "out", "new"), dir, "new", false
		cases[6].path = at("work", "out", "work")
	}
	for _, c := range cases {
		real, rest, err := subpath.Existing(c.path)
		if err != nil || real != c.real || rest != c.rest {
			t.Errorf("Existing(%q) = %q, %q, %v, want %q, %q", c.path, real, rest, err, c.real, c.rest)
		}
		if got := subpath.Inside(at("work"), c.path); got != c.inside {
			t.Errorf("Inside of work: %q is %t", c.path, got)
		}
	}
	if subpath.Inside(dir, "work") || subpath.Inside("", dir) {
		t.Error("a relative path is inside, or an empty directory has something")
	}
}

func TestARealPathHasNoLinks(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link, missing := filepath.Join(dir, "link"), filepath.Join(dir, "missing")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("this system makes no links here")
	}
	for path, want := range map[string]string{link: dir, dir + "/./": dir, missing: missing} {
		if got := subpath.Real(path); got != want {
			t.Errorf("the real path of %s: %s, want %s", path, got, want)
		}
	}
}
