package processtest

import (
	"os"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/procenv"
)

// Marked are the processes that were started with this variable, as NAME=VALUE.
// Without /proc there are none.
func Marked(variable string) []int {
	var pids []int
	for pid, environ := range procenv.All() {
		if slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// KillMarked kills the processes that were started with this variable.
func KillMarked(variable string) {
	// Killing may free a process to start another one: look until none is left.
	for range 10 {
		found := false
		for _, pid := range Marked(variable) {
			if process, err := os.FindProcess(pid); err == nil {
				found = process.Kill() == nil || found
			}
		}
		if !found {
			return
		}
	}
}
