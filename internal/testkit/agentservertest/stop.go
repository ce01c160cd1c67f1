package agentservertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// stop ends the server and everything that it started.
func (s *Server) stop() {
	if s.cmd == nil {
		return
	}
	terminate(s.cmd.Process)
	select {
	case <-s.exited:
	case <-time.After(10 * time.Second):
		killGroup(s.cmd.Process)
	}
	s.waiter.Wait()
	s.killLeftovers()
	for _, dir := range s.scratch {
		_ = os.RemoveAll(dir)
	}
}

// killLeftovers kills the commands of the terminal tool. They live in a tmux
// that is not a child of the server and in no group of it; what they have in
// common is the environment that scripts/agent-server gave the server. Where
// there is no /proc they stay.
func (s *Server) killLeftovers() {
	mark := []byte("OH_PERSISTENCE_DIR=" + filepath.Join(s.Dir, "persist") + "\x00")
	// Killing may free a process to start another one: look until none is left.
	for range 10 {
		found := false
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			env, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(append(env, 0), mark) {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				continue
			}
			if process, err := os.FindProcess(pid); err == nil {
				found = process.Kill() == nil || found
			}
		}
		if !found {
			return
		}
	}
}

// scratch is the directory that a server makes for tmux and leaves behind.
func scratch(server *os.Process) string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("openhands-agent-server-%d", server.Pid))
}
