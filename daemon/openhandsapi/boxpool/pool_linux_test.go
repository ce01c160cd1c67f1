package boxpool

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/escape"
	_ "github.com/ohgw/ohgw/internal/sandbox/helperinit" // the test binary is the helper, too
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// apiWorld is a home directory with a repository and files of ohgw's, and real boxes.
func apiWorld(t *testing.T, only string) (*Pool, string) {
	t.Helper()
	var prober probe.Prober
	found := prober.Ask(t.Context())
	if found.Level != sandbox.Full {
		t.Skip("there is no sandbox here: " + found.Reason)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret", "app/.git/HEAD", "app/src/file", "app2/file", ".local/state/ohgw/token"} {
		at := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(home, ".local/state/ohgw")
	m, err := manager.New(t.Context(), manager.Config{
		Settings: manager.Settings{Mode: manager.On, Network: manager.NoNetwork}, User: boxes.User{Home: home, State: state},
		Ask: func(context.Context) probe.Result { return found }, Test: func(context.Context) ([]escape.Result, error) { return nil, nil }, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	if only != "" {
		only = filepath.Join(home, only)
	}
	b := New(Config{Manager: m, Dir: filepath.Join(state, "native"), Only: only, Home: home, Environ: []string{"PATH=/usr/bin:/bin", "API_KEY=hidden"}})
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), m.Close()); err != nil {
			t.Error(err)
		}
	})
	return b, home
}

// run is what a command prints.
func run(t *testing.T, b *Pool, command, dir string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := b.Start(t.Context(), command, dir, w, w)
	_ = w.Close()
	if err != nil {
		return err.Error()
	}
	out, err := io.ReadAll(r)
	if _, waitErr := p.Wait(); err != nil || waitErr != nil {
		t.Fatal(err, waitErr)
	}
	return strings.TrimSpace(string(out))
}

func TestCommandsOfTheAPIAreInTheBoxOfTheirDirectory(t *testing.T) {
	t.Parallel()
	b, home := apiWorld(t, "")
	if got := run(t, b, "echo $OHGW_SANDBOX$API_KEY; cat "+home+"/secret 2>&1; echo new > ../made; pwd", filepath.Join(home, "app/src")); !strings.HasPrefix(got, "full\n") || strings.Contains(got, "hidden") || strings.HasSuffix(got, "secret\n") || !strings.HasSuffix(got, "/app/src") {
		t.Errorf("in a repository: %s", got)
	}
	if _, err := os.Stat(filepath.Join(home, "app/made")); err != nil {
		t.Errorf("the repository is the workspace: %v", err)
	}
	if got := run(t, b, "cat ../app/src/file", filepath.Join(home, "app2")); strings.Contains(got, "app/src/file\n") || !strings.Contains(got, "o such file") {
		t.Errorf("another workspace: %s", got)
	}
	if got := run(t, b, "cat "+home+"/.local/state/ohgw/token; touch x && echo here", ""); !strings.HasSuffix(got, "here") {
		t.Errorf("a directory of the API's own: %s", got)
	}
	for dir, want := range map[string]string{home: "keeps clients out of your home directory", filepath.Join(home, "app/none"): "there is no directory"} {
		if got := run(t, b, "true", dir); !strings.Contains(got, want) {
			t.Errorf("in %s: %s, want %s", dir, got, want)
		}
	}
	if got := run(t, b, "touch /etc/x", "/etc"); !strings.Contains(got, "ead-only") {
		t.Errorf("in /etc: %s", got)
	}
}

func TestFilesOfTheAPIAreInTheBoxOfTheirDirectory(t *testing.T) {
	t.Parallel()
	b, home := apiWorld(t, "")
	if err := os.Symlink(filepath.Join(home, "secret"), filepath.Join(home, "app2/link")); err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]bool{"app/src/file": true, "app2/file": true, "app2/link": false, ".local/state/ohgw/token": false, "secret": false} {
		files, at, release, err := b.Files(t.Context(), filepath.Join(home, name))
		if err == nil {
			var real string
			if real, err = files.Real(at); err == nil {
				_, _, err = files.Read(real, 100)
			}
			release()
		}
		if (err == nil) != shown {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, made := range map[string]bool{"app/a/b": true, "new/project": true, ".config/new": false, ".local/state/ohgw/new": false} {
		err := b.MakeDir(t.Context(), filepath.Join(home, name))
		if _, statErr := os.Stat(filepath.Join(home, name)); made != (statErr == nil) {
			t.Errorf("make %s: %v, %v", name, err, statErr)
		}
	}
}

func TestTheOneWorkspaceOfTheAPI(t *testing.T) {
	t.Parallel()
	b, home := apiWorld(t, "app")
	if err := os.Symlink(filepath.Join(home, "app2"), filepath.Join(home, "app/out")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"app": true, "app/src": true, "app2": false, "app/out": false, "app/../app2": false} {
		_, _, release, err := b.Files(t.Context(), filepath.Join(home, name))
		if err == nil {
			release()
		}
		if want != (err == nil) || !want && !errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := run(t, b, "pwd", ""); got != filepath.Join(home, "app") {
		t.Errorf("without a directory: %s", got)
	}
}
