package agentservertest

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/processtest"
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
// common is the environment that scripts/agent-server gave the server.
func (s *Server) killLeftovers() {
	processtest.KillMarked("OH_PERSISTENCE_DIR=" + filepath.Join(s.Dir, "persist"))
}

// scratch is the directory that a server makes for tmux and leaves behind.
func scratch(server *os.Process) string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("openhands-agent-server-%d", server.Pid))
}
