package atomicfile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/atomicfile"
)

// mounted, given to the test binary, is a file to mount on itself and to write, and
// what the kernel shall allow.
const mounted = "ATOMICFILE_TEST_MOUNTED"

func TestAMountedFileIsWrittenInPlace(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(mounted); path != "" {
		writeMounted(t, path)
		return
	}
	for name, tc := range map[string]struct{ old, data string }{
		"longer": {"old", "a longer content"}, "shorter": {"a longer content", "new"}, "empty": {"old", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "settings.json")
			put(t, path, tc.old, 0o644)
			cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", os.Args[0], "-test.run=^TestAMountedFileIsWrittenInPlace$", "-test.v")
			if err := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "true").Run(); err != nil {
				t.Skipf("no mount namespace: %v", err)
			}
			cmd.Env = append(os.Environ(), mounted+"="+path, mounted+"_DATA="+tc.data)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("running the program: %v\n%s", err, out)
			}
			if got := read(t, path); got != tc.data {
				t.Errorf("content = %q", got)
			}
			if got := mode(t, path); got != 0o600 {
				t.Errorf("mode = %o", got)
			}
			onlyEntries(t, dir, "settings.json")
		})
	}
}

func writeMounted(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mount(path, path, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".x"); err == nil {
		t.Fatal("the mount can be renamed")
	}
	mustWrite(t, path, os.Getenv(mounted+"_DATA"), atomicfile.Options{MaxMode: 0o600})
}
