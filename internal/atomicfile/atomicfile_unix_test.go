//go:build unix

package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// smallFiles, given to the test binary, makes it a process whose writes fail
// half way, as on a full disk: the kernel lets no file grow over 64 KiB.
const smallFiles = "ATOMICFILE_TEST_SMALL_FILES"

func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(smallFiles); path != "" {
		writeTooMuch(t, path)
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	put(t, path, "old", 0o600)

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAFullDiskLeavesTheOldFile$", "-test.v")
	cmd.Env = append(os.Environ(), smallFiles+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("running the program: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "write failed half way") {
		t.Fatalf("the write did not fail:\n%s", out)
	}
	if got := read(t, path); got != "old" {
		t.Errorf("content = %q, want the old one", got)
	}
	onlyEntries(t, dir, "file")
}

func writeTooMuch(t *testing.T, path string) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.Write(path, make([]byte, 128<<10), atomicfile.Options{})
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatalf("error = %v, want EFBIG", err)
	}
	t.Log("write failed half way")
}

func TestAnUnwritableDirectoryLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	put(t, path, "old", 0o600)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if err := atomicfile.Write(path, []byte("new"), atomicfile.Options{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error = %v, want ErrPermission", err)
	}
	if got := read(t, path); got != "old" {
		t.Errorf("content = %q", got)
	}
}

func TestWriteRefusesAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, nil, atomicfile.Options{}); !errors.Is(err, atomicfile.ErrNotRegular) {
		t.Errorf("error = %v, want ErrNotRegular", err)
	}
}

func TestRootKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, "old", 0o640)
	if err := os.Chown(path, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, path, "new", atomicfile.Options{})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if st.Uid != 1234 || st.Gid != 2345 || info.Mode().Perm() != 0o640 {
		t.Errorf("owner %d:%d mode %o, want 1234:2345 640", st.Uid, st.Gid, info.Mode().Perm())
	}
}
