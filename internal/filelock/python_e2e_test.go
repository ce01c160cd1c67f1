//go:build e2e

package filelock_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/filelock"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// pythonHolder takes the lock as the profile store does, says so, and keeps it
// until its standard input ends.
const pythonHolder = `
import sys
from filelock import FileLock
with FileLock(sys.argv[1]).acquire(timeout=30):
    print("held", flush=True)
    sys.stdin.read()
`

// settingsHolder is the same for the settings store, which calls flock itself.
const settingsHolder = `
import sys
from pathlib import Path
from openhands.agent_server.persistence.store import _file_lock
with _file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
`

// pythonTrier reports whether Python gets the lock within half a second.
const pythonTrier = `
import sys
from filelock import FileLock, Timeout
try:
    with FileLock(sys.argv[1]).acquire(timeout=0.5):
        print("got it")
except Timeout:
    print("timeout")
`

func TestOpenHandsKeepsUsOut(t *testing.T) {
	for name, script := range map[string]string{"profiles": pythonHolder, "settings": settingsHolder} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, ".lock")
			holder, letGo := startHolder(t, dir, script, path)

			_, err := filelock.Acquire(t.Context(), path, filelock.Options{Timeout: 300 * time.Millisecond})
			busy, ok := errors.AsType[*filelock.BusyError](err)
			if !ok {
				t.Fatalf("error = %v, want a BusyError", err)
			}
			if busy.Holder.PID != holder.Process.Pid {
				t.Errorf("holder = %+v, want process %d", busy.Holder, holder.Process.Pid)
			}

			letGo()
			lock, err := filelock.Acquire(t.Context(), path, filelock.Options{})
			if err != nil {
				t.Fatalf("after it let go: %v", err)
			}
			release(t, lock)
		})
	}
}

func TestWeKeepOpenHandsOut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".lock")
	lock := hold(t, path)
	if got := string(sdktest.Run(t, dir, pythonTrier, path)); got != "timeout\n" {
		t.Errorf("while we hold it, Python says %q", got)
	}
	release(t, lock)
	if got := string(sdktest.Run(t, dir, pythonTrier, path)); got != "got it\n" {
		t.Errorf("after we let go, Python says %q", got)
	}
}

// Two writers that read, add one and write back lose no update.
func TestCountersOfBothSidesAddUp(t *testing.T) {
	const ours, theirs = 200, 3000
	const counter = `
import json, sys
from pathlib import Path
from filelock import FileLock
lock, path, rounds = FileLock(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
for i in range(rounds):
    with lock.acquire(timeout=30):
        path.write_text(json.dumps(json.loads(path.read_text()) + 1))
    if i == 0:
        print("started", flush=True)
`
	dir := t.TempDir()
	lockPath, path := filepath.Join(dir, ".lock"), filepath.Join(dir, "counter")
	if err := os.WriteFile(path, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	python := sdktest.Command(t, dir, counter, lockPath, path, strconv.Itoa(theirs))
	stdout, err := python.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := python.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("python says %q, %v", line, err)
	}
	for range ours {
		lock, err := filelock.Acquire(t.Context(), lockPath, filelock.Options{Timeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		addOne(t, path)
		release(t, lock)
	}
	if err := python.Wait(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil || string(content) != strconv.Itoa(ours+theirs) {
		t.Errorf("counter = %s, %v; want %d", content, err, ours+theirs)
	}
}

func addOne(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := json.Unmarshal(content, &n); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(n + 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// startHolder waits until the script holds the lock. The function that it
// returns makes the script let go and end.
func startHolder(t *testing.T, dir, script, path string) (holder *exec.Cmd, letGo func()) {
	t.Helper()
	cmd := sdktest.Command(t, dir, script, path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	if line, err := lines.ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("holder says %q, %v", line, err)
	}
	ended := false
	letGo = func() {
		if ended {
			return
		}
		ended = true
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, lines)
		if err := cmd.Wait(); err != nil {
			t.Errorf("holder: %v", err)
		}
	}
	t.Cleanup(letGo)
	return cmd, letGo
}
