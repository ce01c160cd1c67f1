package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// read asks the system. The size of the memory needs Mach's interface, which
// needs cgo.
func (s *system) read() {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err == nil {
		s.cpu(float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9)
	}
	if info, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getpid()); err == nil {
		s.start(float64(info.Proc.P_starttime.Nano()) / 1e9)
	}
	if names, err := os.ReadDir("/dev/fd"); err == nil {
		s.openFiles(len(names) - 1) // without the directory that is being read
	}
	s.readRlimits()
}
