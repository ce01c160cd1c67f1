//go:build unix

package daemon

import "golang.org/x/sys/unix"

// connLimit is how many connections there may be: half of the descriptors that
// this process may have. The rest is for the agents.
func connLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return mostConns
	}
	return int(max(1, min(uint64(limit.Cur)/2, mostConns))) //nolint:unconvert // Cur is signed on some systems
}
