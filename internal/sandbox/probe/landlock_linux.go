package probe

import "golang.org/x/sys/unix"

// landlockABI is the version of Landlock in the kernel; 0 if it has none.
func landlockABI() int {
	version, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}
