package instance_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

var info = instance.Info{URL: "http://127.0.0.1:6449", PID: 4711, Version: "1.2.3", Started: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}

// heldDir is the variable that makes TestMain play a daemon that is killed.
const heldDir = "INSTANCE_TEST_DIR"

// ownPID is the variable that makes it publish its own process.
const ownPID = "INSTANCE_TEST_OWN_PID"

func TestMain(m *testing.M) {
	dir := os.Getenv(heldDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	info := info
	claim, err := instance.Acquire(context.Background(), dir, dir+"-state")
	if err == nil {
		if os.Getenv(ownPID) != "" {
			info.PID = os.Getpid()
		}
		err = claim.Publish(info)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.Stdout.WriteString("ready\n")
	_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed, or the test is over
	runtime.KeepAlive(claim)
}

func acquire(t *testing.T, dir string) *instance.Claim {
	t.Helper()
	c, err := instance.Acquire(t.Context(), dir, dir+"-state")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestADaemonIsFoundWhileItRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	notRunning := func(when string) {
		t.Helper()
		if _, err := instance.Find(dir); !errors.Is(err, instance.ErrNotRunning) {
			t.Errorf("%s: error = %v, want ErrNotRunning", when, err)
		}
	}
	notRunning("before")
	claim := acquire(t, dir)
	notRunning("while it starts")
	if err := claim.Publish(info); err != nil {
		t.Fatal(err)
	}
	got, err := instance.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(info, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	notRunning("after")
	if err := acquire(t, dir).Release(); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

func TestASecondDaemonIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	claim := acquire(t, dir)
	_, err := instance.Acquire(t.Context(), dir, dir+"-state")
	if running, ok := errors.AsType[*instance.RunningError](err); !ok || running.Info.URL != "" || !strings.Contains(err.Error(), dir+" is in use by ") {
		t.Errorf("while the first one starts: %v", err)
	}
	if err := claim.Publish(info); err != nil {
		t.Fatal(err)
	}
	_, err = instance.Acquire(t.Context(), dir, dir+"-state")
	if running, ok := errors.AsType[*instance.RunningError](err); !ok || !cmp.Equal(running.Info, info) ||
		err.Error() != "a daemon of yours runs at http://127.0.0.1:6449 (process 4711)" {
		t.Errorf("error = %v", err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestTwoDaemonsDoNotShareTheirRecords(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	state := filepath.Join(top, "state")
	first, err := instance.Acquire(t.Context(), filepath.Join(top, "run1"), state)
	if err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(top, "run2")
	_, err = instance.Acquire(t.Context(), second, state)
	if running, ok := errors.AsType[*instance.RunningError](err); !ok || running.Dir != state {
		t.Errorf("a second one with the same state: error = %v", err)
	}
	// The refused one holds nothing.
	other, err := instance.Acquire(t.Context(), second, filepath.Join(top, "state2"))
	if err != nil {
		t.Fatalf("a second one with its own state: %v", err)
	}
	if err := errors.Join(first.Release(), other.Release()); err != nil {
		t.Fatal(err)
	}
}

func TestDaemonsWithoutRecordsOfTheirOwnLockNoState(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, dir := range []string{"run1", "run2"} {
		claim, err := instance.Acquire(t.Context(), filepath.Join(top, dir), "")
		if err != nil {
			t.Fatalf("%s: error = %v", dir, err)
		}
		defer func() { _ = claim.Release() }()
	}
	if _, err := instance.Acquire(t.Context(), filepath.Join(top, "run1"), ""); err == nil {
		t.Error("a second daemon with the same runtime directory: no error")
	}
}

func TestAKilledDaemonIsNotFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), heldDir+"="+dir)
	if said := processtest.Hold(t, cmd); said != "ready\n" {
		t.Fatalf("it says %q", said)
	}
	if _, err := instance.Find(dir); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // says that it was killed
	if _, err := os.Stat(filepath.Join(dir, "daemon.json")); err != nil {
		t.Fatalf("the address it left behind: %v", err)
	}
	if _, err := instance.Find(dir); !errors.Is(err, instance.ErrNotRunning) {
		t.Errorf("after: error = %v, want ErrNotRunning", err)
	}
	claim := acquire(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "daemon.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the next daemon leaves the old address: %v", err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestManyMayLookAndOneMayStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// A stale address, so that everybody looks at the lock.
	claim := acquire(t, dir)
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte(`{"url":"http://127.0.0.1:1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var looking sync.WaitGroup
	for range 8 {
		looking.Go(func() {
			for range 200 {
				if _, err := instance.Find(dir); !errors.Is(err, instance.ErrNotRunning) {
					t.Errorf("a stale address: error = %v, want ErrNotRunning", err)
					return
				}
			}
		})
	}
	looking.Wait()
	for range 4 {
		looking.Go(func() {
			for range 200 {
				_, _ = instance.Find(dir)
			}
		})
	}
	claim, err := instance.Acquire(t.Context(), dir, dir+"-state")
	looking.Wait()
	if err != nil {
		t.Fatalf("start while others look: %v", err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
}

// What holds the lock from its first moment on is the daemon that starts, and the
// address is that of the one before it.
func TestTheAddressOfADeadDaemonIsNotThatOfTheNext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var over atomic.Bool
	var looking sync.WaitGroup
	var dead sync.RWMutex // held while the address is written: no goroutine looks meanwhile
	look := func() (instance.Info, error) {
		dead.RLock()
		defer dead.RUnlock()
		return instance.Find(dir)
	}
	for range 4 {
		looking.Go(func() {
			for !over.Load() {
				if got, err := look(); !errors.Is(err, instance.ErrNotRunning) {
					t.Errorf("while the next one starts: %+v, %v, want ErrNotRunning", got, err)
					return
				}
			}
		})
	}
	for range 200 {
		dead.Lock()
		err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte(`{"url":"http://127.0.0.1:1"}`), 0o600)
		dead.Unlock()
		if err != nil {
			t.Error(err)
		}
		claim, err := instance.Acquire(t.Context(), dir, dir+"-state")
		if err != nil {
			t.Errorf("start while others look: %v", err)
			break
		}
		if err := claim.Release(); err != nil {
			t.Error(err)
		}
	}
	over.Store(true)
	looking.Wait()
}

func TestABrokenAddressIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte(`{"url`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.Find(dir); !errors.Is(err, instance.ErrNotRunning) {
		t.Errorf("without a daemon: error = %v, want ErrNotRunning", err)
	}
	claim := acquire(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte(`{"url`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.Find(dir); err == nil || errors.Is(err, instance.ErrNotRunning) {
		t.Errorf("with a daemon: error = %v", err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestTheAddressIsPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	claim := acquire(t, dir)
	if err := claim.Publish(info); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(dir, "daemon.json"))
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("mode = %o", st.Mode().Perm())
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestADaemonIsEndedAndWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := instance.Open(dir); !errors.Is(err, instance.ErrNotRunning) {
		t.Errorf("without a daemon: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), heldDir+"="+dir, ownPID+"=1")
	if said := processtest.Hold(t, cmd); said != "ready\n" {
		t.Fatalf("it says %q", said)
	}
	p, err := instance.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.Info.PID != cmd.Process.Pid {
		t.Errorf("process %d, want %d", p.Info.PID, cmd.Process.Pid)
	}
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if p.Wait(soon) {
		t.Error("it has ended by itself")
	}
	err = p.End()
	if errors.Is(err, errors.ErrUnsupported) {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	if !p.Wait(t.Context()) {
		t.Error("it was not waited for")
	}
	_ = cmd.Wait() // says that it was ended
	if err := errors.Join(p.End(), p.Kill()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("what has ended: %v", err)
	}
}

func TestAnotherProcessIsNotTakenForTheDaemon(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who holds a lock")
	}
	dir := t.TempDir()
	claim := acquire(t, dir)
	other := info
	other.PID = os.Getppid() // not the one that holds the lock
	if err := claim.Publish(other); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.Open(dir); !errors.Is(err, instance.ErrStranger) {
		t.Errorf("error = %v, want ErrStranger", err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
}
