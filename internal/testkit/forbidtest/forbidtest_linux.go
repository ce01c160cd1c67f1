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
	Listener: {{unix.SYS_SECCOMP, 1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, unix.EBUSY}},
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
