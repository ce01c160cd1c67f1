package boxes_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

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
		t.Errorf("%v, %v", left, err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("what a link points at is %v, %v", info.Mode(), err)
	}
	if err := boxes.ResetHome(filepath.Join(w.root, "none")); err != nil {
		t.Error(err)
	}
}
