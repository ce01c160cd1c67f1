package subpath_test

import (
	"path/filepath"
	"runtime"
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
	} {
		if got := subpath.Within(filepath.FromSlash(c.dir), filepath.FromSlash(c.at)); got != c.want {
			t.Errorf("Within(%q, %q) = %t", c.dir, c.at, got)
		}
	}
}
