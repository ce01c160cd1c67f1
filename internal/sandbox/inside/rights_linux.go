package inside

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox/seccomp"
)

// restrict takes all rights from the calling thread, and from what it starts. It
// returns the ABI of Landlock that is enforced; 0 if the kernel has none that is of
// use.
func restrict(rules ruleset) (abi int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, step("set no_new_privs", err)
	}
	if err := dropCapabilities(); err != nil {
		return 0, step("drop the capabilities", err)
	}
	if abi, err = landlockABI(); err != nil {
		return 0, err
	}
	if abi < 2 { // ABI 1 refuses every rename across directories.
		return 0, seccomp.Install()
	}
	if err := landlock(abi, unix.LandlockRulesetAttr{}, rules); err != nil {
		return 0, err
	}
	return abi, seccomp.Install()
}

// lockedBits make root an ordinary user for ever: SECBIT_NOROOT,
// SECBIT_NO_SETUID_FIXUP and SECBIT_NO_CAP_AMBIENT_RAISE, each with its lock
// (linux/securebits.h).
const lockedBits = 0x3 | 0x3<<2 | 0x3<<6

func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, lockedBits, 0, 0, 0); err != nil {
		return err
	}
	for capability := range uintptr(64) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // The kernel has no more.
		}
		if err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// What Landlock's ABIs 1, 2, 3, 5 and 9 know of files.
const (
	accessRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessV1   = 1<<13 - 1
	// accessDevice is the use of a device that is there.
	accessDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// handled returns the rights that an ABI can take away.
func handled(abi int) uint64 {
	rights := uint64(accessV1)
	for _, added := range []struct {
		abi   int
		right uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if abi >= added.abi {
			rights |= added.right
		}
	}
	return rights
}

// ruleset says what can be done with which files, and below which directories.
type ruleset []struct {
	paths  []string
	rights uint64 // as far as the ABI knows them
}

// landlockABI is the version of Landlock in the kernel; 0 if it has none.
func landlockABI() (int, error) {
	version, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno == unix.ENOSYS || errno == unix.EOPNOTSUPP {
		return 0, nil
	}
	if errno != 0 {
		return 0, step("ask for Landlock", errno)
	}
	return int(version), nil
}

// landlock enforces one set of rules for files and for scopes, and for what else
// attr has. With two sets, every rename across directories would fail. The rules
// also allow the use of the terminals.
func landlock(abi int, attr unix.LandlockRulesetAttr, rules ruleset, terminals ...int) error {
	attr.Handled_access_fs = handled(abi)
	size := uintptr(8)
	if abi >= 4 {
		size = 16
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = 24
	}
	made, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return step("make the rules of Landlock", errno)
	}
	defer func() { _ = unix.Close(int(made)) }()
	for _, rule := range rules {
		for _, at := range rule.paths {
			err := allow(made, at, rule.rights&handled(abi))
			// What has gone since the list was made needs no rule to be read.
			if rule.rights&^accessRead == 0 && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP)) {
				continue
			}
			if err != nil {
				return step("allow the use of "+at, err)
			}
		}
	}
	for _, fd := range terminals {
		if err := allowFile(made, fd, accessDevice&handled(abi)); err != nil {
			return step("allow the use of the terminal", err)
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, made, 0, 0); errno != 0 {
		return step("enforce Landlock", errno)
	}
	return nil
}

// fileRights are those that a rule for a file can have.
const fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
	unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

func allow(rules uintptr, at string, rights uint64) error {
	fd, err := open(at)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return allowFile(rules, fd, rights)
}

// allowFile allows the use of what a descriptor is for.
func allowFile(rules uintptr, fd int, rights uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	// The kernel's struct has no padding at its end; it reads 12 bytes.
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
