//go:build unix

package usershell_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/usershell"
)

func TestACommandRunsInItsDirectory(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	dir := t.TempDir()
	code, err := usershell.Run(t.Context(), usershell.Command{Line: "pwd; echo $X >&2; exit 3", Dir: dir, Env: []string{"X=given"}}, &out)
	if code != 3 || err != nil || !strings.HasSuffix(out.String(), "given\n") || !strings.Contains(out.String(), dir) {
		t.Errorf("exit code = %d, error %v, output %q", code, err, out.String())
	}
}

func TestACommandHasNoTerminalAndNoStdin(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	code, err := usershell.Run(t.Context(), usershell.Command{Line: "cat; if (: < /dev/tty) 2>/dev/null; then echo tty; fi", Dir: t.TempDir()}, &out)
	if code != 0 || err != nil || out.String() != "" {
		t.Errorf("exit code = %d, error %v, output %q", code, err, out.String())
	}
}

func TestAShellThatIsNotThereIsSaid(t *testing.T) {
	t.Parallel()
	_, err := usershell.Run(t.Context(), usershell.Command{Line: "ls", Dir: t.TempDir(), Shell: "/nonexistent/sh"}, &bytes.Buffer{})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Run: %v", err)
	}
}

// signalled closes a channel when something is written.
type signalled struct {
	once sync.Once
	ch   chan struct{}
}

func (s *signalled) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.ch) })
	return len(p), nil
}

func TestTheEndOfTheContextEndsTheCommandAndItsChildren(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &signalled{ch: make(chan struct{})}
	go func() {
		<-out.ch
		cancel()
	}()
	begun := time.Now()
	code, err := usershell.Run(ctx, usershell.Command{Line: "trap '' INT; sleep 300 & echo started; sleep 300; wait", Dir: t.TempDir()}, out)
	if code != -1 || !errors.Is(err, context.Canceled) {
		t.Errorf("exit code = %d, error %v", code, err)
	}
	if time.Since(begun) > time.Minute {
		t.Error("the command was not ended")
	}
}

func TestAProcessInTheBackgroundHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := time.Now()
	code, err := usershell.Run(ctx, usershell.Command{Line: "sleep 100 & echo started $!", Dir: t.TempDir()}, &out)
	if code != 0 || err != nil || !strings.HasPrefix(out.String(), "started") || time.Since(begun) > time.Minute {
		t.Errorf("exit code = %d, error %v, output %q", code, err, out.String())
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(out.String(), "started"))); err == nil && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
