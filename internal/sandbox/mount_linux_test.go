package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// mounts, given to the test binary, says that it may mount.
const mounts = "SANDBOX_TEST_MOUNTS"

// A container often has a file of its host as a mount of its own, which nothing can be
// renamed over.
func TestAMountedFileIsReplacedInPlace(t *testing.T) {
	t.Parallel()
	if os.Getenv(mounts) == "" {
		apart := []string{"--user", "--map-root-user", "--mount"}
		if err := exec.CommandContext(t.Context(), "unshare", append(apart, "true")...).Run(); err != nil {
			t.Skipf("no mount namespace: %v", err)
		}
		cmd := exec.CommandContext(t.Context(), "unshare", append(apart, os.Args[0], "-test.run=^TestAMountedFileIsReplacedInPlace$", "-test.v")...)
		cmd.Env = append(os.Environ(), mounts+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("running the program: %v\n%s", err, out)
		}
		return
	}
	for name, open := range allFiles() {
		t.Run(name, func(t *testing.T) { replaceMounted(t, open) })
	}
}

func replaceMounted(t *testing.T, open opener) {
	dir, file := tree(t)
	if err := syscall.Mount(file, file, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(file, syscall.MNT_DETACH) })
	if err := os.Rename(file, file+".x"); err == nil {
		t.Fatal("the mount can be renamed")
	}
	files := open(t, dir)
	_, info, err := files.Read(file, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"a longer content", "", "new"} {
		if err := files.Replace(file, []byte(data), info); err != nil || content(t, file) != data {
			t.Errorf("replaced by %q: %v; it has %q", data, err, content(t, file))
		}
	}
	if streams, ok := files.(sandbox.Streams); ok {
		w, err := streams.Put(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("put")); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil || content(t, file) != "put" {
			t.Errorf("put: %v; it has %q", err, content(t, file))
		}
	}
	if now, err := os.Stat(file); err != nil || now.Mode() != info.Mode() {
		t.Errorf("mode %v, %v", now.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
