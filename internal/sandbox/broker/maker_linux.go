package broker

import (
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maker is a thread of this process that can make sockets in some trees only. It is
// made when it is first needed.
type maker struct {
	mu     sync.Mutex
	calls  chan func()
	err    error // of making it
	closed bool
}

// do has the thread do something, while it does nothing else.
func (m *maker) do(trees []string, f func() error) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return unix.EACCES
	}
	if m.calls == nil && m.err == nil {
		m.start(trees)
	}
	if m.err != nil {
		return m.err
	}
	done := make(chan struct{})
	m.calls <- func() { err = f(); close(done) }
	<-done
	return err
}

func (m *maker) start(trees []string) {
	ready := make(chan error)
	calls := make(chan func())
	go func() {
		runtime.LockOSThread() // It ends with the goroutine.
		err := confine(trees)
		ready <- err
		if err != nil {
			return
		}
		for f := range calls {
			f()
		}
	}()
	if m.err = <-ready; m.err == nil {
		m.calls = calls
	}
}

func (m *maker) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls != nil && !m.closed {
		close(m.calls)
	}
	m.closed = true
}

// confine leaves the calling thread the making of sockets in the trees alone, and
// gives it a directory and a umask of its own.
func confine(trees []string) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SOCK}
	rules, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 8, 0)
	if errno != 0 {
		return errno
	}
	defer func() { _ = unix.Close(int(rules)) }()
	for _, tree := range trees {
		if err := allowIn(rules, tree); err != nil {
			return err
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allowIn allows to make sockets in a tree.
func allowIn(rules uintptr, tree string) error {
	fd, err := unix.Open(tree, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	rule := unix.LandlockPathBeneathAttr{Allowed_access: unix.LANDLOCK_ACCESS_FS_MAKE_SOCK, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
