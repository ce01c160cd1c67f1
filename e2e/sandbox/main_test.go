//go:build e2e && linux

package sandbox_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/testkit/forbidtest"
)

// The environment of the process that runs the tests.
const (
	stageVar = "OHGW_SANDBOX_STAGE" // how far this process is; see below
	rootVar  = "OHGW_SANDBOX_ROOT"  // the directory with everything
)

// The stages, each a process that the one before has started.
const (
	stageNamespace = "namespace" // root, in a network namespace: prepares it
	stageTests     = "tests"     // an ordinary user: runs the tests
)

// The ordinary user that root becomes.
const nobody = 65534

// TestMain builds the programs, and starts this one again as an ordinary user: once
// for the attempts, in a network namespace if root allows it, and once for the
// everyday work.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == forbidtest.Name {
		os.Exit(forbidtest.Main(os.Args[1:]))
	}
	switch os.Getenv(stageVar) {
	case stageTests:
		os.Exit(m.Run())
	case stageNamespace:
		os.Exit(report(enter(os.Getenv(rootVar))))
	}
	code := report(prepare())
	os.Exit(code)
}

// report is the exit code for an error.
func report(err error) int {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return 0
	case ok:
		return max(exit.ExitCode(), 1)
	}
	fmt.Fprintln(os.Stderr, "e2e/sandbox:", err)
	return 1
}

// prepare makes the directory of the tests and starts them.
func prepare() (err error) {
	root, err := makeRoot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	if err := errors.Join(build(root), lend(root)); err != nil {
		return err
	}
	again := func(flags uintptr, stage string, args ...string) error {
		cmd := exec.Command(filepath.Join(root, "bin", "tests"), append(slices.Clone(os.Args[1:]), args...)...)
		cmd.Env = append(os.Environ(), rootVar+"="+root, stageVar+"="+stage)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
		if stage == stageTests {
			ordinary(cmd, root)
		}
		return cmd.Run()
	}
	if os.Getuid() != 0 {
		return again(0, stageTests)
	}
	return errors.Join(
		again(syscall.CLONE_NEWNET|syscall.CLONE_NEWNS, stageNamespace, "-test.skip=^TestWork"),
		again(0, stageTests, "-test.skip=^TestAttempt"))
}

// makeRoot makes the directory that has the home directory and all programs. It is
// not in /tmp, which a sandbox has for itself.
func makeRoot() (string, error) {
	base := "/srv"
	if os.Getuid() != 0 {
		base = os.Getenv("HOME")
	}
	root, err := os.MkdirTemp(base, "box-") // short, for the paths of sockets
	if err != nil {
		return "", err
	}
	for _, dir := range []string{"bin", "home", "w", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return "", err
		}
		if dir == "bin" {
			continue // the attempts of the ordinary user do not change what they run
		}
		if err := os.Chown(filepath.Join(root, dir), uid(), uid()); os.Getuid() == 0 && err != nil {
			return "", err
		}
	}
	return root, os.Chmod(root, 0o755)
}

func uid() int {
	if os.Getuid() == 0 {
		return nobody
	}
	return os.Getuid()
}

// build makes the programs: that of this test is the one that runs.
func build(root string) error {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "tests"), self, 0o755); err != nil {
		return err
	}
	for name, from := range map[string]string{"ohgw": "../../cmd/ohgw", "attempt": "./attempt"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(root, "bin", name), from)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	if os.Getuid() != 0 {
		return nil
	}
	// A program that makes root of everybody, as far as the system lets it.
	data, err := os.ReadFile(filepath.Join(root, "bin", "attempt"))
	if err != nil {
		return err
	}
	setuid := filepath.Join(root, "bin", "setuid")
	return errors.Join(os.WriteFile(setuid, data, 0o755), os.Chmod(setuid, 0o755|os.ModeSetuid))
}

// ordinary makes a command that of an ordinary user, whose home directory is there.
func ordinary(cmd *exec.Cmd, root string) {
	env := slices.DeleteFunc(cmd.Env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "XDG_") || name == "HOME" || name == "TMPDIR" || name == "DBUS_SESSION_BUS_ADDRESS"
	})
	cmd.Env = append(env, "HOME="+filepath.Join(root, "home"), "TMPDIR="+filepath.Join(root, "tmp"))
	if os.Getuid() == 0 {
		cmd.Env = append(cmd.Env, "USER=nobody", "LOGNAME=nobody")
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}

// The addresses of the network namespace. To a sandbox they are those of the
// outside: one that could be public, a private one, and that of a cloud's metadata.
const (
	publicAddress   = "11.22.33.44"
	privateAddress  = "10.98.76.54"
	metadataAddress = "169.254.169.254"
)

// A machine that /etc/hosts of the namespace names. There is no way to it.
const elsewhereName, elsewhereAddress = "elsewhere.example", "203.0.113.9"

// enter prepares the namespace, and starts the tests in it.
func enter(root string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	for i, address := range []string{"", publicAddress, privateAddress, metadataAddress} {
		if err := addAddress(i, address); err != nil {
			return err
		}
	}
	// The user may listen on every port, also that of names.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("0"), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte("0 2147483647"), 0o600); err != nil {
		return err
	}
	resolver := filepath.Join(root, "resolv.conf")
	if err := os.WriteFile(resolver, []byte("nameserver "+publicAddress+"\n"), 0o644); err != nil {
		return err
	}
	at, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return err
	}
	if err := unix.Mount(resolver, at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	hosts := filepath.Join(root, "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"+elsewhereAddress+" "+elsewhereName+"\n"), 0o644); err != nil {
		return err
	}
	if at, err = filepath.EvalSymlinks("/etc/hosts"); err != nil {
		return err
	}
	if err := unix.Mount(hosts, at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), stageVar+"="+stageTests)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
		cmd.Env = append(cmd.Env, name+"=", strings.ToLower(name)+"=")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ordinary(cmd, root)
	return cmd.Run()
}

// addAddress gives the loopback interface one more address; the first is there, and
// only switched on.
func addAddress(i int, address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	name := "lo"
	if i > 0 {
		name = fmt.Sprintf("lo:%d", i)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if i > 0 {
		if err := request.SetInet4Addr(net.ParseIP(address).To4()); err != nil {
			return err
		}
		return wrap("add "+address, unix.IoctlIfreq(fd, unix.SIOCSIFADDR, request))
	}
	request.SetUint16(unix.IFF_UP)
	return wrap("switch lo on", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request))
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// inNamespace says that this process has the addresses of the namespace.
func inNamespace() bool {
	addresses, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addresses, func(a net.Addr) bool {
		return strings.HasPrefix(a.String(), publicAddress+"/")
	})
}
