package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processes lists the processes that are not dead.
func processes() []process {
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
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		// pid (name) state parent group session ...; the name can hold anything.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 4 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parent, _ := strconv.Atoi(fields[1])
		session, _ := strconv.Atoi(fields[3])
		all = append(all, process{pid, parent, session})
	}
	return all
}

// tagged are the processes with a variable in the environment they were started
// with that begins so. That finds those that left their parents and sessions.
func tagged(variable string) []int {
	var found []int
	for _, p := range processes() {
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "environ"))
		if err != nil {
			continue
		}
		if slices.ContainsFunc(strings.Split(string(environ), "\x00"), func(entry string) bool { return strings.HasPrefix(entry, variable) }) {
			found = append(found, p.pid)
		}
	}
	return found
}
