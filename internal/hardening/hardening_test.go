//go:build linux

package hardening_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ohgw/ohgw/internal/hardening"
	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

// TestMain is also the program that the tests start: it closes itself, says
// so, and waits.
func TestMain(m *testing.M) {
	switch os.Getenv("CLOSED_TEST") {
	case "":
		os.Exit(m.Run())
	case "open":
	default:
		hardening.Process()
	}
	out, err := exec.Command("ls", "/proc/self/fd").Output()
	fmt.Printf("%s%v\n", bytes.ReplaceAll(out, []byte("\n"), []byte(" ")), err)
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// start runs this program as a user without privileges, with a descriptor that
// it is not meant to pass on, and gives the first line of its output.
func start(t *testing.T, mode string) (pid int, line string) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "closed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Dir, cmd.Env = "/", []string{"CLOSED_TEST=" + mode, "SECRET=s3cr3t", "PATH=" + os.Getenv("PATH")}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd.ExtraFiles = []*os.File{null, null}
	line = processtest.Hold(t, cmd)
	return cmd.Process.Pid, line
}

// environment is what another program of the same user reads.
func environment(t *testing.T, pid int) string {
	t.Helper()
	cat := exec.CommandContext(t.Context(), "cat", fmt.Sprintf("/proc/%d/environ", pid))
	if os.Getuid() == 0 {
		cat.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, _ := cat.CombinedOutput()
	return string(out)
}

func TestProcessKeepsItsEnvironmentAndDescriptors(t *testing.T) {
	t.Parallel()
	pid, fds := start(t, "open")
	if env := environment(t, pid); !strings.Contains(env, "SECRET=s3cr3t") || !strings.Contains(fds, " 3 4 ") {
		t.Skipf("this system shows nothing anyway: %q, descriptors %q", env, fds)
	}
	pid, fds = start(t, "closed")
	if env := environment(t, pid); strings.Contains(env, "s3cr3t") {
		t.Errorf("another program reads the environment: %q", env)
	}
	// ls itself has one for the directory.
	if fds != "0 1 2 3 <nil>\n" {
		t.Errorf("a program that it starts has the descriptors %s", fds)
	}
}
