//go:build e2e && unix

package scale_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

const (
	gatewayKey = "sk-gateway-scale-0123456789"
	agentKey   = "sk-session-test"
	llmKey     = "sk-llm-test"
	// patience bounds every wait for a process; nothing should come near it.
	patience = 2 * time.Minute
)

// gateway is one `ohgw serve` after another at one address, each with the directories
// of the last. It reaches the database and the agent-server through taps of its own.
type gateway struct {
	URL string

	address, home, program string
	args, env              []string
	wire                   *wire
	road                   *road // to the agent-server; nil where there are several
	traps

	mu      sync.Mutex
	process *processtest.Server // nil: it is dead
	deaths  int
}

// start starts the process and waits until it is ready.
func (g *gateway) start(tb testing.TB) {
	tb.Helper()
	if err := g.launch(tb); err != nil {
		tb.Fatal(err)
	}
}

// launch starts the process, if there is none, as often as a service manager does: it
// ends at once while the database starts.
func (g *gateway) launch(tb testing.TB) error {
	tb.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for until := time.Now().Add(patience); g.process == nil; {
		cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), g.program, append([]string{"serve", "--addr", g.address}, g.args...)...)
		cmd.Env, cmd.Dir = g.env, g.home
		p, err := processtest.Start(cmd, g.log())
		if err == nil {
			err = p.Await(context.WithoutCancel(tb.Context()), g.URL+"/healthz", patience)
		}
		switch {
		case err == nil:
			g.process = p
		case time.Now().After(until) || p == nil:
			return err
		default:
			_ = p.End(syscall.SIGKILL, patience) // it has ended
			wait(context.WithoutCancel(tb.Context()), 200*time.Millisecond)
		}
	}
	return nil
}

func (g *gateway) log() string { return filepath.Join(g.home, "log") }

// end ends the process and waits for its end.
func (g *gateway) end(signal syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process == nil {
		return nil
	}
	err := g.process.End(signal, patience)
	g.process = nil
	if signal == syscall.SIGKILL {
		g.deaths++
		return nil
	}
	return err
}

func (g *gateway) kill() { _ = g.end(syscall.SIGKILL) }

// dies is kill for a trap.
func (g *gateway) dies() bool {
	g.kill()
	return true
}

// signal sends a signal to the process, if there is one.
func (g *gateway) signal(s os.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.process != nil {
		_ = g.process.Cmd.Process.Signal(s) // it may have ended
	}
}

func (g *gateway) isUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.process != nil
}

func (g *gateway) pid() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.process.Cmd.Process.Pid
}

// isReady asks the gateway as a balancer does.
func (g *gateway) isReady(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	res, err := plain.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// inspect looks for what no log may have.
func (g *gateway) inspect(tb testing.TB) {
	tb.Helper()
	log, err := os.ReadFile(g.log())
	if err != nil {
		tb.Error(err)
	}
	for _, bad := range []string{gatewayKey, agentKey, llmKey, "DATA RACE", "panic", mark} {
		if at := bytes.Index(log, []byte(bad)); at >= 0 {
			tb.Errorf("the log has %q: %s", bad, log[max(0, at-500):min(len(log), at+2000)])
		}
	}
	if tb.Failed() {
		tb.Logf("last words of %s:\n%s", g.address, log[max(0, len(log)-2500):])
	}
}

// traps are what is to happen when the gateway comes to a point.
type traps struct {
	trapMu sync.Mutex
	point  string
	do     func() (drop bool)
	sprung chan struct{}
}

// arm lets do happen once when the gateway comes to a point; sprung is closed then.
// do says whether what passes there is lost.
func (t *traps) arm(point string, do func() (drop bool)) (sprung <-chan struct{}) {
	t.trapMu.Lock()
	defer t.trapMu.Unlock()
	t.point, t.do, t.sprung = point, do, make(chan struct{})
	return t.sprung
}

func (t *traps) disarm() {
	t.trapMu.Lock()
	defer t.trapMu.Unlock()
	t.point, t.do = "", nil
}

// at is called at a point, and reports whether what passes there is lost.
func (t *traps) at(point string) bool {
	t.trapMu.Lock()
	if t.do == nil || t.point != point {
		t.trapMu.Unlock()
		return false
	}
	do, sprung := t.do, t.sprung
	t.point, t.do = "", nil
	t.trapMu.Unlock()
	defer close(sprung)
	return do()
}
