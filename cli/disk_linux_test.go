package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The full disk is one of the test's own namespace: no other process sees it.
func TestAFullDiskIsToldAsOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	probe := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "-o", "size=64k", "none", disk)
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("no namespaces here: %v %s", err, out)
	}
	program, err := exec.LookPath("ohgw") // that of the scripts
	if err != nil {
		program = filepath.Join(dir, "ohgw")
		if err := os.Symlink(os.Args[0], program); err != nil {
			t.Fatal(err)
		}
	}
	script := `
mount -t tmpfs -o size=64k none "$DISK"
mkdir "$DISK/run"
head -c 100k /dev/zero > "$DISK/fill" 2>/dev/null
for command in "tokens create x" "serve --addr 127.0.0.1:0 --demo" "doctor --bundle $DISK/report"; do
	echo "== $command"
	"$OHGW" $command
	echo "exit $?"
done
ls -A "$DISK" "$DISK"/ohgw`
	cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script)
	cmd.Env = append(os.Environ(), "OHGW="+program, "DISK="+disk, "HOME="+dir, "XDG_STATE_HOME="+disk, "XDG_RUNTIME_DIR="+filepath.Join(disk, "run"), "XDG_CONFIG_HOME="+dir, fakeKeyringDir+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("running the program: %v\n%s", err, out)
	}
	shown := string(out)
	if n := strings.Count(shown, "\n  hint:  the disk is full: free space, or use directories on another disk"); n != 3 {
		t.Errorf("%d of 3 commands say so", n)
	}
	for _, want := range []string{"failed\tpaths\tthe disk of " + disk, "no space left on device"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(shown, ".tmp\n") || strings.Contains(shown, "\nreport") || strings.Contains(shown, "panic") {
		t.Error("something half is left behind")
	}
	if t.Failed() {
		t.Log(shown)
	}
}
