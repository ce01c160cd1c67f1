package terminal

import (
	"time"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB of <sys/proc.h>

// scanProcesses lists the processes that are not dead.
func scanProcesses() []process {
	kernel, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	var all []process
	for _, k := range kernel {
		if k.Proc.P_stat == zombie {
			continue
		}
		pid := int(k.Proc.P_pid)
		session, err := unix.Getsid(pid)
		if err != nil {
			session = 0
		}
		all = append(all, process{pid, int(k.Eproc.Ppid), session})
	}
	return all
}

// scanTags would be the processes with a tag in their environment, which this system
// does not tell.
func scanTags() map[int]string { return nil }

// endsByItself would tell that a process takes a signal with it; this system does not
// tell why a process ends.
func endsByItself(int) bool { return false }

// activity would tell how long a process has had the processor, and whether it waits for
// it; this system does not tell.
func activity(int) (used time.Duration, held bool) { return 0, false }
