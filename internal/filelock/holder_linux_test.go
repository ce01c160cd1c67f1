package filelock_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

// flock(1) of util-linux is a second implementation of the same lock.
func TestTheBusyErrorNamesTheHolder(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("flock")
	if err != nil {
		t.Skip("no flock(1) on this machine")
	}
	path := filepath.Join(t.TempDir(), ".lock")
	// The holder says that it holds the lock by closing its standard output.
	cmd := exec.CommandContext(t.Context(), tool, "--no-fork", path, "sh", "-c", "exec >&-; read line")
	if said := processtest.Hold(t, cmd); said != "" {
		t.Fatalf("unexpected output: %q", said)
	}

	_, err = filelock.Acquire(t.Context(), path, filelock.Options{Timeout: -1})
	busy, ok := errors.AsType[*filelock.BusyError](err)
	if !ok {
		t.Fatalf("error = %v, want a BusyError", err)
	}
	if busy.Holder.PID != cmd.Process.Pid || busy.Holder.Command != "sh" {
		t.Errorf("holder = %+v, want sh (process %d)", busy.Holder, cmd.Process.Pid)
	}
}

func TestOurselvesAreNamedToo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".lock")
	hold(t, path)
	_, err := filelock.Acquire(t.Context(), path, filelock.Options{Timeout: -1})
	busy, ok := errors.AsType[*filelock.BusyError](err)
	if !ok || busy.Holder.PID != os.Getpid() {
		t.Errorf("error = %v, want us (%d)", err, os.Getpid())
	}
}
