package terminal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// scanProcesses lists the processes that are not dead.
func scanProcesses() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fields := stat(pid)
		if fields == nil || fields[statState] == "Z" || fields[statState] == "X" {
			continue
		}
		parent, _ := strconv.Atoi(fields[statParent])
		session, _ := strconv.Atoi(fields[statSession])
		all = append(all, process{pid, parent, session})
	}
	return all
}

// Fields of /proc/PID/stat behind the name (proc_pid_stat(5)).
const (
	statState = iota
	statParent
	_
	statSession
	statFlags    = 6
	statUser     = 11
	statSystem   = 12
	statExitCode = 49

	exiting = 0x4 // PF_EXITING of the flags
)

// stat is what the system says of a process; nil: there is no such process.
func stat(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	// pid (name) state parent group session ...; the name can hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statExitCode {
		return nil
	}
	return fields
}

// endsByItself tells whether a process is about to end, or has ended, and no signal is
// the cause.
func endsByItself(pid int) bool {
	fields := stat(pid)
	if fields == nil {
		return false
	}
	flags, _ := strconv.Atoi(fields[statFlags])
	code, _ := strconv.Atoi(fields[statExitCode])
	return flags&exiting != 0 && syscall.WaitStatus(code).Exited()
}

// activity is how long a process has had the processor, and whether it is held up now: it
// has something to do, and waits for the processor, or is stopped.
func activity(pid int) (used time.Duration, held bool) {
	fields := stat(pid)
	if fields == nil {
		return 0, false
	}
	for _, field := range []int{statUser, statSystem} {
		ticks, _ := strconv.Atoi(fields[field])
		used += time.Duration(ticks) * (10 * time.Millisecond) // USER_HZ is 100 on every machine
	}
	return used, fields[statState] == "R" || fields[statState] == "T"
}

// scanTags finds the processes with a tag in the environment they were started with.
func scanTags() map[int]string {
	found := make(map[int]string)
	for _, p := range scanProcesses() {
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "environ"))
		if err != nil {
			continue
		}
		for entry := range bytes.SplitSeq(environ, []byte{0}) {
			if tag, ok := bytes.CutPrefix(entry, []byte(variable+"=")); ok {
				found[p.pid] = string(tag)
				break
			}
		}
	}
	return found
}
