package terminal

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// scanTags are the processes with a tag in the environment they were started with.
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
