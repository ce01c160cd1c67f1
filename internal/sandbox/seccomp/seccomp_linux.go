//go:build linux && (amd64 || arm64)

package seccomp

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

const supported = true

// Offsets in struct seccomp_data (linux/seccomp.h). The low half of an argument
// comes first: both architectures are little-endian.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// newNamespaces are the flags of clone and unshare that make a namespace.
const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// missing answer as if the kernel did not have them: programs then take another
// way. The flags of clone3 are in memory, where a filter cannot see them.
var missing = []uint32{
	unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
}

// refused are never permitted.
var refused = []uint32{
	// Other namespaces and mounts.
	unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
	unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	// The keyrings of the user are not in a namespace.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// Parts of the kernel with a long record of holes.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
	// A handle names a file without a path.
	unix.SYS_OPEN_BY_HANDLE_AT,
	// The machine itself.
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF,
}

// families are the sockets that programs may make; netlink only for routes.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// Filter is the program of level full for this architecture.
func Filter() []unix.SockFilter {
	f := newFilter(unix.SECCOMP_RET_ALLOW)
	f.section(unix.SYS_SOCKET, sockets)
	f.ret(unix.SECCOMP_RET_ALLOW)
	return f.code
}

// newFilter begins a filter with what every level refuses. The action is for opening
// the other side of a new terminal.
func newFilter(terminal uint32) *filter {
	f := &filter{}
	f.load(offArch)
	f.unless(arch, deny(unix.ENOSYS))
	f.load(offNumber)
	if foreignBit != 0 {
		f.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, foreignBit, 0, 1)
		f.ret(deny(unix.ENOSYS))
	}
	for _, number := range missing {
		f.when(number, deny(unix.ENOSYS))
	}
	for _, number := range refused {
		f.when(number, deny(unix.EPERM))
	}
	f.section(unix.SYS_CLONE, func(f *filter) { f.flags(0, newNamespaces) })
	f.section(unix.SYS_UNSHARE, func(f *filter) { f.flags(0, newNamespaces) })
	f.section(unix.SYS_IOCTL, func(f *filter) {
		f.load(offArgs + 8) // The kernel reads 32 bits of the command.
		f.when(unix.TIOCSTI, deny(unix.EPERM))
		f.when(unix.TIOCLINUX, deny(unix.EPERM))
		f.when(unix.TIOCGPTPEER, terminal)
		f.ret(unix.SECCOMP_RET_ALLOW)
	})
	return f
}

func sockets(f *filter) {
	f.load(offArgs)
	for _, family := range families[:len(families)-1] {
		f.when(family, unix.SECCOMP_RET_ALLOW)
	}
	f.unless(unix.AF_NETLINK, deny(unix.EAFNOSUPPORT))
	f.load(offArgs + 16)
	f.unless(unix.NETLINK_ROUTE, deny(unix.EAFNOSUPPORT))
	f.ret(unix.SECCOMP_RET_ALLOW)
}

func deny(err unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(err) }

// filter is a program of classic BPF that is being written.
type filter struct{ code []unix.SockFilter }

func (f *filter) add(code uint16, k uint32, yes, no uint8) {
	f.code = append(f.code, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (f *filter) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (f *filter) ret(action uint32)  { f.add(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

// when returns the action if the loaded word is the value.
func (f *filter) when(value, action uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, value, 0, 1)
	f.ret(action)
}

// unless returns the action if the loaded word is another one.
func (f *filter) unless(value, action uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, value, 1, 0)
	f.ret(action)
}

// flags refuses a call with one of the flags in that argument.
func (f *filter) flags(arg, mask uint32) {
	f.load(offArgs + 8*arg)
	f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, mask, 0, 1)
	f.ret(deny(unix.EPERM))
	f.ret(unix.SECCOMP_RET_ALLOW)
}

// section adds the instructions that decide about one call. They must end with a
// return.
func (f *filter) section(number uint32, decide func(*filter)) {
	inner := &filter{}
	decide(inner)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, uint8(len(inner.code)))
	f.code = slices.Concat(f.code, inner.code)
}

// Install restricts the calling thread, which must have no_new_privs, and what it
// starts, with the filter of level full.
func Install() error {
	_, err := install(Filter(), 0)
	return err
}

func install(code []unix.SockFilter, flags uintptr) (uintptr, error) {
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	result, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return 0, fmt.Errorf("install the filter of system calls: %w", errno)
	}
	return result, nil
}
