package terminal

import (
	"strconv"

	"github.com/ohgw/ohgw/internal/procenv"
)

// exiting is PF_EXITING of the kernel's <linux/sched.h>.
const exiting = 0x4

// processes lists the processes that are not dead.
func processes() []process {
	var all []process
	for _, pid := range procenv.Numbers() {
		// state parent group session terminal foreground flags ...
		fields := procenv.Stat(pid)
		if len(fields) < 7 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		group, _ := strconv.Atoi(fields[2])
		session, _ := strconv.Atoi(fields[3])
		flags, _ := strconv.ParseUint(fields[6], 10, 64)
		all = append(all, process{pid, parent, group, session, flags&exiting != 0})
	}
	return all
}

// tagged are the processes with a variable in the environment they were started
// with that begins so. That finds those that left their parents and sessions.
func tagged(variable string) []int {
	var found []int
	for pid, environ := range procenv.All() {
		if procenv.Find(environ, variable) != "" {
			found = append(found, pid)
		}
	}
	return found
}
