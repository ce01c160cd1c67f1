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
	there := t.TempDir()
	at := func(elements ...string) string { return filepath.Join(append([]string{there}, elements...)...) }
	file := at("file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	base := paths.Base{Home: at(), Config: at("c"), State: at("s")}
	tests := []struct {
		name string
		edit func(*paths.Base)
		want string // the runtime directory
		err  error
	}{
		{name: "no runtime directory", edit: func(*paths.Base) {}, want: at("s", "ohgw", "run")},
		{name: "a guess that is there", edit: func(b *paths.Base) { b.Runtime = there }, want: at("ohgw")},
		{name: "a guess that is not there", edit: func(b *paths.Base) { b.Runtime = at("r") }, want: at("s", "ohgw", "run")},
		{name: "a guess that is a file", edit: func(b *paths.Base) { b.Runtime = file }, want: at("s", "ohgw", "run")},
		{name: "a choice is made later", edit: func(b *paths.Base) { b.Runtime, b.RuntimeChosen = at("r"), true }, want: at("r", "ohgw")},
		{name: "a relative choice is ignored", edit: func(b *paths.Base) { b.Runtime, b.RuntimeChosen = "r", true }, want: at("s", "ohgw", "run")},
		{
			name: "the same as the state directory", // two locks of one name would exclude each other
			edit: func(b *paths.Base) { b.Runtime, b.RuntimeChosen = at("s"), true }, want: at("s", "ohgw", "run"),
		},
		{name: "no home is needed", edit: func(b *paths.Base) { b.Home = "" }, want: at("s", "ohgw", "run")},
		{name: "no config", edit: func(b *paths.Base) { b.Config = "" }, err: paths.ErrNoHome},
		{name: "a relative state", edit: func(b *paths.Base) { b.State = "s" }, err: paths.ErrNoHome},
		{name: "nothing", edit: func(b *paths.Base) { *b = paths.Base{} }, err: paths.ErrNoHome},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := base
			tt.edit(&b)
			got, err := paths.New(b)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error = %v, want %v", err, tt.err)
			}
			want := paths.Set{}
			if tt.err == nil {
				want = paths.Set{Home: b.Home, Config: at("c", "ohgw"), State: at("s", "ohgw"), Runtime: tt.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
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
