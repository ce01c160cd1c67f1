//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call makes a system call by its number.
func call(number, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall(number, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

func addressOf(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// memory reads the memory of another process, in two ways.
func memory(pid, address, size int) error {
	data := make([]byte, size)
	local := []unix.Iovec{{Base: unsafe.SliceData(data)}}
	local[0].SetLen(size)
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: size}}, 0)
	fmt.Println(string(data))
	if err == nil {
		return nil
	}
	f, fileErr := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if fileErr != nil {
		return errors.Join(err, fileErr)
	}
	defer func() { _ = f.Close() }()
	_, fileErr = f.ReadAt(data, int64(address))
	fmt.Println(string(data))
	return fileErr
}

// ptrace attaches to a process, and ends it.
func ptrace(pid int) error {
	runtime.LockOSThread()
	if err := unix.PtraceAttach(pid); err != nil {
		return err
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != nil {
		return err
	}
	return unix.Kill(pid, unix.SIGKILL)
}

// keyring reads a key of the user's keyring, which no namespace separates.
func keyring(description string) error {
	id, err := unix.KeyctlSearch(unix.KEY_SPEC_USER_KEYRING, "user", description, 0)
	if err != nil {
		return err
	}
	data := make([]byte, 256)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, data, 0)
	fmt.Println(string(data[:max(n, 0)]))
	return err
}

// ioUring makes a ring, by which files and sockets are opened without their system
// calls.
func ioUring() error {
	var params [120]byte
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// bpf makes an array of one number in the kernel.
func bpf() error {
	attr := struct{ kind, key, value, entries uint32 }{kind: unix.BPF_MAP_TYPE_ARRAY, key: 4, value: 4, entries: 1}
	return call(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
}

func perf() error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK, Bits: unix.PerfBitExcludeKernel}
	_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
	return err
}

// pushInput makes a terminal of its own and types into it, as TIOCSTI allows.
func pushInput() error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	slave, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	if _, err := unix.Setsid(); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	_ = unix.IoctlSetInt(slave, unix.TIOCSCTTY, 0)
	letter := byte('x')
	return call(unix.SYS_IOCTL, uintptr(slave), unix.TIOCSTI, uintptr(unsafe.Pointer(&letter)))
}
