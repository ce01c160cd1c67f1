package forbidtest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Main runs the program of the arguments, without the parts that the first one
// names. It returns only if it cannot.
func Main(args []string) int {
	if len(args) < 2 {
		return 2
	}
	// The filter is for this thread, which becomes the program.
	runtime.LockOSThread()
	err := Forbid(strings.Split(args[0], ",")...)
	if err == nil {
		var path string
		if path, err = exec.LookPath(args[1]); err == nil {
			err = unix.Exec(path, args[1:], os.Environ())
		}
	}
	fmt.Fprintln(os.Stderr, "forbid:", err)
	return 1
}

// rule refuses a system call with an error. With a mask, it is refused if the
// argument has one of these bits.
type rule struct {
	number, argument, mask uint32
	err                    unix.Errno
}

var rules = map[string][]rule{
	Namespaces: {
		{unix.SYS_CLONE, 0, unix.CLONE_NEWUSER, unix.EPERM},
		{unix.SYS_UNSHARE, 0, unix.CLONE_NEWUSER, unix.EPERM},
		{unix.SYS_CLONE3, 0, 0, unix.ENOSYS}, // its flags are in memory
	},
	Landlock: {
		{unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.ENOSYS},
		{unix.SYS_LANDLOCK_ADD_RULE, 0, 0, unix.ENOSYS},
		{unix.SYS_LANDLOCK_RESTRICT_SELF, 0, 0, unix.ENOSYS},
	},
	Listener:    {{unix.SYS_SECCOMP, 1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, unix.EBUSY}},
	Unit:        append(refused(unix.EPERM, unix.SYS_SETNS), restricted(anyNamespace)...),
	UnitNetwork: append([]rule{{unix.SYS_SETNS, 1, unix.CLONE_NEWNET, unix.EPERM}}, restricted(unix.CLONE_NEWNET)...),
	Docker: append(append(restricted(anyNamespace), refused(unix.EPERM, mounting...)...), refused(unix.EPERM,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP)...),
	Snap: append(refused(unix.EPERM, mounting...), refused(unix.EPERM,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_VM_READV,
		unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF)...),
}

// anyNamespace are the flags of all namespaces that clone can make.
const anyNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// mounting are the calls that change mounts.
var mounting = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
}

// restricted forbids namespaces as systemd and Docker do. The flags of clone3 are in
// memory, so it is absent: a program then uses clone.
func restricted(flags uint32) []rule {
	return []rule{{unix.SYS_CLONE, 0, flags, unix.EPERM}, {unix.SYS_UNSHARE, 0, flags, unix.EPERM}, {unix.SYS_CLONE3, 0, 0, unix.ENOSYS}}
}

// refused forbids calls whatever their arguments are.
func refused(err unix.Errno, calls ...uint32) []rule {
	all := make([]rule, 0, len(calls))
	for _, number := range calls {
		all = append(all, rule{number, 0, 0, err})
	}
	return all
}

// Forbid takes parts of the kernel from the calling thread, and from what it starts.
func Forbid(parts ...string) error {
	var code []unix.SockFilter
	add := func(op uint16, k uint32, yes, no uint8) {
		code = append(code, unix.SockFilter{Code: op, Jt: yes, Jf: no, K: k})
	}
	for _, part := range parts {
		found, ok := rules[part]
		if !ok {
			return fmt.Errorf("%q is no part of a kernel", part)
		}
		for _, r := range found {
			add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, 0) // the number
			if r.mask == 0 {
				add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, r.number, 0, 1)
			} else {
				add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, r.number, 0, 3)
				add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 16+8*r.argument, 0, 0)
				add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, r.mask, 0, 1)
			}
			add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(r.err), 0, 0)
		}
	}
	add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW, 0, 0)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return errno
	}
	return nil
}
