//go:build linux || darwin

package process

import "golang.org/x/sys/unix"

func (s *system) readRlimits() {
	var files, virtual unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil && unix.Getrlimit(unix.RLIMIT_AS, &virtual) == nil {
		s.limits(files.Cur, virtual.Cur)
	}
}
