//go:build e2e && linux

package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lentRust is where the user of the tests finds Rust, below the directory of the tests.
const lentRust = "rust"

// lend makes the Rust of the user who starts the tests one of the other user, who
// cannot see that home directory. Files are linked, and not copied: there is more than
// a gigabyte. Without a Rust, or on another disk, its workflow is skipped.
func lend(root string) error {
	out, err := exec.Command("rustc", "--print", "sysroot").Output()
	if err != nil {
		return nil //nolint:nilerr // There is none.
	}
	from, to := strings.TrimSpace(string(out)), filepath.Join(root, lentRust)
	if visible(from) {
		return nil
	}
	for _, part := range []string{"bin", "lib", "libexec"} {
		err := link(filepath.Join(from, part), filepath.Join(to, part))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return errors.Join(os.RemoveAll(to), ignoreForeign(err))
		}
	}
	return os.Setenv("PATH", filepath.Join(to, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// ignoreForeign is nil for an error that another disk or another owner explains.
func ignoreForeign(err error) error {
	if _, ok := errors.AsType[*os.LinkError](err); ok {
		return nil
	}
	return err
}

// visible says that every user can enter a directory.
func visible(dir string) bool {
	for ; dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
	}
	return true
}

// link makes a tree of links to the files of another one.
func link(from, to string) error {
	return filepath.WalkDir(from, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, at)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		return os.Link(at, filepath.Join(to, rel))
	})
}

// showLent has sandboxes show what was lent: at level reduced they read no more than
// the trees of the system.
func showLent(t *testing.T, root string) {
	t.Helper()
	at := filepath.Join(root, lentRust)
	if _, err := os.Stat(at); err == nil {
		t.Setenv("OHGW_SANDBOX_READ", at)
	}
}
