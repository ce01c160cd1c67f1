package sandbox

import (
	"path/filepath"
	"strconv"
	"time"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every architecture
// that Go supports.
const tick = time.Second / 100

// activity says whether a process of a group works, or waits for a processor or a
// disk, and how much of the processor's time the group has used. The first thread of a
// process can be idle while others work.
func activity(group int) (busy bool, used time.Duration) {
	for _, pid := range numbers() {
		p, ok := readProcess(pid)
		if !ok || p.group != group {
			continue
		}
		used += p.used
		threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
		for _, at := range threads {
			if thread, ok := readStat(at); ok && (thread.state == 'R' || thread.state == 'D') {
				busy = true
			}
		}
	}
	return busy, used
}
