//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// operation is one kind of attempt, with its number of arguments.
type operation struct {
	args int
	do   func(args []string) error
}

// find finds an operation.
func find(name string) (operation, bool) {
	for _, table := range []map[string]operation{fileOperations, processOperations, scheduleOperations, networkOperations, machineOperations} {
		if op, ok := table[name]; ok {
			return op, true
		}
	}
	return operation{}, false
}

var fileOperations = map[string]operation{
	"sh":       {1, shell},
	"read":     {1, func(a []string) error { return read(a[0]) }},
	"write":    {2, func(a []string) error { return write(a[0], a[1]) }},
	"rename":   {2, func(a []string) error { return renameOver(a[0], a[1]) }},
	"remove":   {1, func(a []string) error { return os.Remove(a[0]) }},
	"truncate": {1, func(a []string) error { return os.Truncate(a[0], 0) }},
	"chmod":    {1, func(a []string) error { return os.Chmod(a[0], 0o777) }},
	"utimes":   {1, func(a []string) error { return os.Chtimes(a[0], time.Unix(0, 0), time.Unix(0, 0)) }},
	"setxattr": {1, func(a []string) error { return unix.Setxattr(a[0], "user.attempt", []byte("x"), 0) }},
	"link":     {2, func(a []string) error { return errors.Join(os.Link(a[0], a[1]), read(a[1])) }},
	"through":  {1, func(a []string) error { return through(a[0]) }},
	"handle":   {1, func(a []string) error { return byHandle(a[0]) }},
	"plant":    {2, func(a []string) error { return os.WriteFile(a[0], []byte(a[1]), 0o600) }},
}

func read(path string) error {
	data, err := os.ReadFile(path)
	fmt.Print(string(data))
	return err
}

// write adds to a file, whose directory is made if there is none.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// renameOver puts a new file in the place of another one.
func renameOver(path, text string) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	from := path + ".new"
	if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(from, path)
}

// inherited are the descriptors above 2 that this process did not open itself: they
// are not closed on exec in its parent.
func inherited() []*os.File {
	var files []*os.File
	for fd := 3; fd < 64; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			files = append(files, os.NewFile(uintptr(fd), "inherited"))
		}
	}
	return files
}

// through reads a file relative to every descriptor that this process has.
func through(name string) error {
	for fd := range 64 {
		at, err := unix.Openat(fd, name, unix.O_RDONLY, 0)
		if err != nil {
			continue
		}
		return read(fmt.Sprintf("/proc/self/fd/%d", at))
	}
	return fmt.Errorf("no descriptor leads to it: %w", unix.ENOENT)
}

// byHandle opens a file without its path.
func byHandle(path string) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0)
	if err != nil {
		return err
	}
	root, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(root, handle, unix.O_RDONLY)
	return err
}

// number is an argument that must be one.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err) // a mistake in the table of attempts; the exit code says not made
	}
	return n
}

var processOperations = map[string]operation{
	"environ": {0, environs},
	"own":     {0, func([]string) error { fmt.Println(os.Environ()); return nil }},
	"memory":  {3, func(a []string) error { return memory(number(a[0]), number(a[1]), number(a[2])) }},
	"ptrace":  {1, func(a []string) error { return ptrace(number(a[0])) }},
	"kill":    {1, func(a []string) error { return unix.Kill(number(a[0]), unix.SIGKILL) }},
	"keyring": {1, func(a []string) error { return keyring(a[0]) }},
	"iouring": {0, func([]string) error { return ioUring() }},
	"tiocsti": {0, func([]string) error { return pushInput() }},
	"setuid":  {1, func(a []string) error { return setuid(a[0]) }},
	"euid":    {0, func([]string) error { fmt.Println("euid", os.Geteuid()); return nil }},
	"bpf":     {0, func([]string) error { return bpf() }},
	"perf":    {0, func([]string) error { return perf() }},
	"uffd":    {0, func([]string) error { return call(unix.SYS_USERFAULTFD, uintptr(unix.O_CLOEXEC|1), 0, 0) }},
	"fsopen":  {0, func([]string) error { _, err := unix.Fsopen("tmpfs", 0); return err }},
	"victim":  {0, func([]string) error { return victim() }},
	"daemon":  {1, func(a []string) error { return daemonize(a[0]) }},
	"namespace": {0, func([]string) error {
		cmd := exec.Command("/proc/self/exe", "euid")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
		return started(cmd)
	}},
}

// started runs a program and returns nil if it ran at all.
func started(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	fmt.Print(string(out))
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == worked {
		return nil
	}
	return err
}

// environs prints the environments of all other processes.
func environs([]string) error {
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return err
	}
	for _, path := range paths {
		if strings.HasPrefix(path, fmt.Sprintf("/proc/%d/", os.Getppid())) || strings.HasPrefix(path, fmt.Sprintf("/proc/%d/", os.Getpid())) {
			continue
		}
		if data, err := os.ReadFile(path); err == nil {
			fmt.Println(strings.ReplaceAll(string(data), "\x00", "\n"))
		}
	}
	return nil
}

// victim waits to be attacked. It prints where its secret is.
func victim() error {
	secret := []byte(os.Getenv("OHGW_CANARY"))
	fmt.Println(addressOf(secret), len(secret))
	var end [1]byte
	_, _ = os.Stdin.Read(end[:]) // until the test ends
	fmt.Print(len(secret))
	return nil
}

// daemonize leaves a process behind that has left its session and its parent.
func daemonize(name string) error {
	script := "(setsid bash -c '(exec -a " + name + " sleep 600 >/dev/null 2>&1 </dev/null) &' &)"
	return exec.Command("/bin/bash", "-c", script).Run()
}

func setuid(program string) error {
	out, err := exec.Command(program, "euid").CombinedOutput()
	fmt.Print(string(out))
	if strings.Contains(string(out), "euid 0\n") {
		return nil
	}
	if strings.Contains(string(out), "euid ") || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return errRefused
	}
	return err
}
