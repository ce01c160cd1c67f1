//go:build e2e && soak

package soak_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

// gatewayKey is the key of every daemon here.
const gatewayKey = "sk-gateway-soak-0123456789"

// patience bounds every wait for a process.
const patience = 90 * time.Second

// daemon is a running `ohgw serve`, started again by its restarts.
type daemon struct {
	URL   string
	State string // its state directory

	program, home string
	args, env     []string

	mu      sync.Mutex
	process *processtest.Server // nil: not started, or ended for good
	starts  int
}

// newDaemon prepares a daemon whose state is below disk. start starts it.
func newDaemon(t *testing.T, program, disk, clock, llmURL, name string, args ...string) *daemon {
	t.Helper()
	home := t.TempDir()
	for profile, model := range map[string]string{"scripted": "openai/test", "seeing": "openai/gpt-4o"} {
		path := filepath.Join(home, ".openhands", "profiles", profile+".json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"model":%q,"base_url":%q,"num_retries":2,"retry_min_wait":1,"retry_max_wait":2}`, model, llmURL)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := processtest.FreeAddress(t)
	state := filepath.Join(disk, name)
	d := &daemon{URL: "http://" + address, State: filepath.Join(state, "ohgw"), program: program, home: home}
	d.args = append([]string{
		"serve", "--addr", address, "--log-format", "json", "--backend", "embedded", "--key-store", "file",
		"--one-shot-ttl", "3s", "--idle-time", "5s", "--max-idle", "20", "--drain", "2s", "--max-runs", "12", "--max-queue", "200",
	}, args...)
	d.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OPENAI_API_KEY=sk-llm-test", "OHGW_API_KEYS=" + gatewayKey,
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_STATE_HOME=" + state,
		"XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), "OHGW_SOAK_CLOCK=" + clock,
	}
	if err := os.Mkdir(filepath.Join(home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.end(t) })
	return d
}

// start starts the program and waits until it answers.
func (d *daemon) start(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.startLocked(t)
}

func (d *daemon) startLocked(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), d.program, d.args...)
	cmd.Env = d.env
	process, err := processtest.Start(cmd, d.log())
	if err != nil {
		t.Error(err)
		return
	}
	d.process = process
	d.starts++
	if err := process.Await(t.Context(), d.URL+"/healthz", patience); err != nil {
		t.Error(err)
	}
}

// restart ends the process with a signal and starts it again.
func (d *daemon) restart(t *testing.T, signal syscall.Signal) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kill(t, signal)
	d.startLocked(t)
}

func (d *daemon) end(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process != nil {
		d.kill(t, syscall.SIGTERM)
		d.process = nil
	}
	log, err := os.ReadFile(d.log())
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{gatewayKey, "sk-llm-test", "<soak-", "DATA RACE", "panic"} {
		if at := bytes.Index(log, []byte(bad)); at >= 0 {
			t.Errorf("the log has %q: %s", bad, log[max(0, at-1000):min(len(log), at+3000)])
		}
	}
}

// kill ends the process; d.mu is held.
func (d *daemon) kill(t *testing.T, signal syscall.Signal) {
	t.Helper()
	// A process that SIGKILL has ended says so.
	if err := d.process.End(signal, patience); err != nil && signal != syscall.SIGKILL {
		t.Errorf("after %v: %v\n%s", signal, err, d.process.Tail())
	}
}

func (d *daemon) log() string { return filepath.Join(d.home, "log") }

// usage is what a daemon holds of the machine.
type usage struct {
	descriptors, goroutines, processes int
	resident                           int      // bytes
	conversations, workspaces          int      // directories
	partial                            []string // files of an interrupted write, below the state directory
}

func (u usage) String() string {
	return fmt.Sprintf("%d descriptors, %d goroutines, %d processes, %.1f MB, %d conversations, %d workspaces, partial files %q",
		u.descriptors, u.goroutines, u.processes, float64(u.resident)/1e6, u.conversations, u.workspaces, u.partial)
}

// usage measures the daemon from outside, and its goroutines by its metrics.
func (d *daemon) usage(t *testing.T) usage {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	pid := d.process.Cmd.Process.Pid
	var u usage
	u.goroutines = d.metric(t, "go_goroutines")
	fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	u.descriptors = len(fds)
	u.processes = descendants(pid)
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, _ := strconv.Atoi(strings.Fields(rest)[0])
			u.resident = kilobytes << 10
		}
	}
	u.conversations = entries(filepath.Join(d.State, "conversations"))
	u.workspaces = entries(filepath.Join(d.State, "workspaces"))
	_ = filepath.WalkDir(d.State, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), ".ohgw-") && strings.HasSuffix(e.Name(), ".tmp") {
			u.partial = append(u.partial, strings.TrimPrefix(path, d.State))
		}
		return nil // files come and go meanwhile
	})
	return u
}

func entries(dir string) (n int) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if e.IsDir() {
			n++
		}
	}
	return n
}

func (d *daemon) metric(t *testing.T, name string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+gatewayKey)
	res, err := client.Do(req)
	if err != nil {
		t.Errorf("metrics: %v", err)
		return 0
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			f, _ := strconv.ParseFloat(value, 64)
			return int(f)
		}
	}
	t.Errorf("/metrics has no %s", name)
	return 0
}

// descendants is how many processes a process has started, and they in turn.
func descendants(pid int) int {
	parents := map[int]int{}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		of, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		_, rest, _ := bytes.Cut(data, []byte(") ")) // a name may hold anything but this
		if fields := strings.Fields(string(rest)); len(fields) > 1 {
			parents[of], _ = strconv.Atoi(fields[1])
		}
	}
	n := 0
	for child := range parents {
		for p, steps := parents[child], 0; p > 1 && steps < 64; p, steps = parents[p], steps+1 {
			if p == pid {
				n++
				break
			}
		}
	}
	return n
}
