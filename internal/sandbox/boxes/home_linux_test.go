package boxes_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
)

// What programs leave can be removed, but not while there is a box.
func TestResetHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outside := filepath.Join(w.root, "outside")
	if err := os.MkdirAll(outside, 0o500); err != nil {
		t.Fatal(err)
	}
	if out, code := w.sh("cd; mkdir -p mod/cache; echo x > mod/cache/x; chmod -R a-w mod; ln -s '" + outside + "' link; touch .hidden $'\\xff'"); code != 0 {
		t.Fatal(out)
	}
	if err := boxes.ResetHome(w.own); !errors.Is(err, boxes.ErrHomeInUse) {
		t.Errorf("while there is a box: %v", err)
	}
	if err := w.box.Close(); err != nil {
		t.Fatal(err)
	}
	if err := boxes.ResetHome(w.own); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(w.own); err != nil || len(left) > 0 {
		t.Errorf("what is left: %v, %v", left, err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("what a link points at is %v, %v", info.Mode(), err)
	}
	if err := boxes.ResetHome(filepath.Join(w.root, "none")); err != nil {
		t.Error(err)
	}
}

// A home directory is made with the first box, and goes with its workspace.
func TestHomesOfWorkspaces(t *testing.T) {
	t.Parallel()
	needBox(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(root, "state")
	home := func(workspace string) string { return boxes.HomeOf(state, workspace) }
	open := func(name string) sandbox.Box {
		t.Helper()
		at := filepath.Join(root, name)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := boxes.Plan(boxes.User{State: state}, at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(home(at)); err == nil {
			t.Error("a plan has made a home directory")
		}
		box, err := boxes.New(boxes.Config{Policy: p})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = box.Close() })
		run, err := box.Start(t.Context(), sandbox.Program{Args: []string{"/bin/sh", "-c", "cd /run/home && mkdir -p a/b && echo x > a/b/c && chmod -w a/b"}, Dir: at})
		if err != nil {
			t.Fatal(err)
		}
		if code, err := run.Wait(); code != 0 || err != nil {
			t.Fatal(code, err)
		}
		return box
	}
	left := func(want ...string) {
		t.Helper()
		for _, name := range []string{"kept", "gone", "running", "removed"} {
			_, err := os.Lstat(filepath.Join(home(filepath.Join(root, name)), "a", "b", "c"))
			if (err == nil) != slices.Contains(want, name) {
				t.Errorf("the home of %s: %v", name, err)
			}
		}
	}
	for _, name := range []string{"kept", "gone", "removed"} {
		if err := open(name).Close(); err != nil {
			t.Fatal(err)
		}
	}
	running := open("running")
	removed := filepath.Join(root, "removed")
	if err := boxes.RemoveHome(state, removed); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(home(removed))); err == nil {
		t.Error("the directory of the home directory is there")
	}
	if err := boxes.RemoveHome(state, removed); err != nil {
		t.Errorf("a second time: %v", err)
	}
	left("kept", "gone", "running")

	// What is not surely the home directory of a workspace stays.
	foreign := filepath.Join(state, "sandbox", "0123456789abcdef")
	moved := filepath.Join(state, "sandbox", "fedcba9876543210")
	for dir, owner := range map[string]string{foreign: "", moved: filepath.Join(root, "gone")} {
		if err := os.MkdirAll(filepath.Join(dir, "home"), 0o700); err != nil {
			t.Fatal(err)
		}
		if owner != "" {
			if err := os.WriteFile(filepath.Join(dir, "workspace"), []byte(owner), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := func(workspace string) bool { return workspace != filepath.Join(root, "kept") }
	sweep := func(gone func(string) bool) (int, error) {
		return boxes.SweepHomes(t.Context(), state, boxes.LeftOver{Gone: gone})
	}
	if n, err := sweep(gone); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	left("kept", "running")
	for _, dir := range []string{foreign, moved} {
		if _, err := os.Lstat(filepath.Join(dir, "home")); err != nil {
			t.Error(err)
		}
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := sweep(gone); n != 1 || err != nil {
		t.Errorf("after the end of the sandbox: removed %d, %v", n, err)
	}
	left("kept")
	if n, err := sweep(func(string) bool { return true }); n != 1 || err != nil {
		t.Errorf("when all are gone: removed %d, %v", n, err)
	}
	left()
}
