package paths_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/paths"
)

func TestNew(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the paths of this table are those of Unix")
	}
	tests := []struct {
		name string
		goos string
		env  map[string]string
		want paths.Set
		err  error
	}{
		{
			name: "home alone", goos: "linux", env: map[string]string{"HOME": "/home/a"},
			want: paths.Set{Home: "/home/a", Config: "/home/a/.config/ohgw", State: "/home/a/.local/state/ohgw", Runtime: "/home/a/.local/state/ohgw/run"},
		},
		{
			name: "macOS has the same places", goos: "darwin", env: map[string]string{"HOME": "/Users/a"},
			want: paths.Set{Home: "/Users/a", Config: "/Users/a/.config/ohgw", State: "/Users/a/.local/state/ohgw", Runtime: "/Users/a/.local/state/ohgw/run"},
		},
		{
			name: "XDG wins", goos: "linux",
			env: map[string]string{
				"HOME": "/home/a", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/run/user/1",
			},
			want: paths.Set{Home: "/home/a", Config: "/c/ohgw", State: "/s/ohgw", Runtime: "/run/user/1/ohgw"},
		},
		{
			name: "XDG needs no home", goos: "linux",
			env:  map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"},
			want: paths.Set{Config: "/c/ohgw", State: "/s/ohgw", Runtime: "/s/ohgw/run"},
		},
		{
			name: "a relative XDG path is ignored", goos: "linux", env: map[string]string{"HOME": "/home/a", "XDG_STATE_HOME": "s"},
			want: paths.Set{Home: "/home/a", Config: "/home/a/.config/ohgw", State: "/home/a/.local/state/ohgw", Runtime: "/home/a/.local/state/ohgw/run"},
		},
		{
			name: "Windows", goos: "windows", env: map[string]string{"USERPROFILE": "/u", "APPDATA": "/u/roaming", "LOCALAPPDATA": "/u/local"},
			want: paths.Set{Home: "/u", Config: "/u/roaming/ohgw", State: "/u/local/ohgw", Runtime: "/u/local/ohgw/run"},
		},
		{name: "nothing", goos: "linux", err: paths.ErrNoHome},
		{name: "half of it", goos: "linux", env: map[string]string{"XDG_CONFIG_HOME": "/c"}, err: paths.ErrNoHome},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := paths.New(func(k string) string { return tt.env[k] }, tt.goos)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error = %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestConfigFileIsInTheConfigDirectory(t *testing.T) {
	t.Parallel()
	if got, want := (paths.Set{Config: "c"}).ConfigFile(), filepath.Join("c", "config.toml"); got != want {
		t.Errorf("ConfigFile() = %q, want %q", got, want)
	}
}

func TestMakePrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := paths.MakePrivate(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Stat(d)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("mode of %s = %o, want 700", d, got)
		}
	}

	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	if err := paths.MakePrivate(dir); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a directory that the group may write to: error = %v, want a permission error", err)
	}

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := paths.MakePrivate(file); err == nil {
		t.Error("a file passed for a directory")
	}
}
