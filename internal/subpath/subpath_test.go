package subpath_test

import (
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
