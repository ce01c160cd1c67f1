//go:build e2e && linux

package providers_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// insideVar names the directory with the files of the namespace, in the
// environment of the process that runs in it.
const insideVar = "OHGW_PROVIDERS_INSIDE"

// TestMain runs the tests in a network namespace, where the names of all
// providers lead to this machine, with a mount namespace for the file that says
// so.
func TestMain(m *testing.M) {
	if os.Getenv(insideVar) == "" {
		os.Exit(outside())
	}
	if err := enter(os.Getenv(insideVar)); err != nil {
		fmt.Fprintln(os.Stderr, "providers:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// outside starts this program again in the namespaces, and returns its exit
// code.
func outside() int {
	dir, err := os.MkdirTemp("", "ohgw-providers-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "providers:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideVar+"="+dir)
	// Nothing of the machine's own way to the network counts inside.
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		cmd.Env = append(cmd.Env, name+"=", strings.ToLower(name)+"=")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
	}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	err = cmd.Run()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		return max(failed.ExitCode(), 1)
	case os.Getenv("CI") == "true":
		fmt.Fprintln(os.Stderr, "providers: make a network namespace:", err)
		return 1
	}
	fmt.Fprintln(os.Stderr, "e2e/providers checks NOTHING: this user may not make a network namespace:", err)
	return 0
}

// enter prepares the namespaces that this process was started in.
func enter(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "hosts"), []byte(hostsFile()), 0o644); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	for _, path := range []string{"/etc/hosts", filepath.Join(agentServerRoot(), "os/etc/hosts")} {
		if _, err := os.Stat(path); err != nil {
			continue // there is no small Debian
		}
		if err := syscall.Mount(filepath.Join(dir, "hosts"), path, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
	}
	if err := loopbackUp(); err != nil {
		return err
	}
	return trust(filepath.Join(dir, "authority.pem"))
}

// hostsFile leads every host of the cases to this machine.
func hostsFile() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for _, host := range hosts() {
		fmt.Fprintf(&b, "127.0.0.1 %s\n", host)
	}
	return b.String()
}

// agentServerRoot is where scripts/agent-server has installed the SDK.
func agentServerRoot() string {
	if root := os.Getenv("OHGW_AGENT_SERVER_ROOT"); root != "" {
		return root
	}
	return "/var/lib/ohgw-agent-server"
}

// loopbackUp switches the one interface of a new network namespace on.
func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(fd) }()
	var request struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte // the rest of the kernel's struct ifreq
	}
	copy(request.name[:], "lo")
	request.flags = uint16(net.FlagUp)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS,
		uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return fmt.Errorf("switch lo on: %w", errno)
	}
	return nil
}
