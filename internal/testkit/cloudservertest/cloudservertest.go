// Package cloudservertest runs a real app-server of OpenHands for tests, in a
// directory of its own. It installs nothing: that is what scripts/cloud-server and
// scripts/cloud-server-v0 are for. A test that finds no installation fails.
//
// A server takes 20 seconds and 400 MB, and so does each sandbox. Sandboxes that
// start at one moment can take each other's port: tests start one after the other.
package cloudservertest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

// Key is the API key of every server.
const Key = "sk-cloud-of-the-tests"

// Server is a running app-server.
type Server struct {
	processtest.API

	Dir  string // everything it keeps
	mark string // a variable that it and its sandboxes have in common
}

// The scripts that start the two kinds of server.
const (
	V1 = "cloud-server"
	V0 = "cloud-server-v0" // the last release with V0
)

// patience bounds the start of a server on a busy machine.
const patience = 5 * time.Minute

// Start starts a server and waits until it answers. It lives until the test ends,
// and its sandboxes do not outlive it.
func Start(t testing.TB, script string, args ...string) *Server {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(moduleRoot(t), "scripts", script))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "cloud-") //nolint:usetesting // short: tmux makes a socket below it
	if err != nil {
		t.Fatal(err)
	}
	address := processtest.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{API: processtest.API{URL: "http://" + address, Key: Key}, Dir: dir, mark: "OH_PERSISTENCE_DIR=" + filepath.Join(dir, "persist")}
	if script == V1 {
		s.mark = "OH_WEBHOOKS_0_BASE_URL=" + s.URL + "/api/v1/webhooks"
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path, append([]string{"start", "--port", port, "--dir", dir, "--key", Key}, args...)...)
	process, err := processtest.Start(cmd, filepath.Join(dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.End(syscall.SIGKILL, time.Minute) // It was killed.
		processtest.KillMarked(s.mark)
		if t.Failed() {
			t.Logf("the app-server's last words:\n%s", process.Tail())
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the app-server's files: %v", err)
		}
	})
	if err := process.Await(t.Context(), s.URL+"/alive", patience); err != nil {
		t.Fatal(err)
	}
	return s
}

// Call is API.Call, and waits where the server has got too many requests.
func (s *Server) Call(t testing.TB, method, path string, in, out any) {
	t.Helper()
	status, answer := s.Do(t, method, path, in)
	for range 20 {
		if status != http.StatusTooManyRequests {
			break
		}
		time.Sleep(time.Second)
		status, answer = s.Do(t, method, path, in)
	}
	s.Decode(t, method+" "+path, status, answer, out)
}

// LLM is an LLM at an OpenAI-compatible base URL. It is not retried by the agent.
func LLM(model, baseURL string) map[string]any {
	return map[string]any{"model": model, "api_key": "sk-llm-test", "base_url": baseURL, "num_retries": 0, "retry_min_wait": 0, "retry_max_wait": 0}
}

// Settings stores settings of the account, such as agent_settings_diff.
func (s *Server) Settings(t testing.TB, settings map[string]any) {
	t.Helper()
	s.Call(t, http.MethodPost, "/api/v1/settings", settings, nil)
}

// SaveProfile stores an LLM profile of the account.
func (s *Server) SaveProfile(t testing.TB, name string, llm map[string]any) {
	t.Helper()
	s.Call(t, http.MethodPost, "/api/v1/settings/profiles/"+name, map[string]any{"llm": llm, "include_secrets": true}, nil)
}

// KillSandbox kills the agent-server of a sandbox, as the machine it is on would by
// failing, with all that it has started.
func (s *Server) KillSandbox(t testing.TB, conversation string) {
	t.Helper()
	var found []struct {
		URL string `json:"conversation_url"`
	}
	s.Call(t, http.MethodGet, "/api/v1/app-conversations?ids="+conversation, nil, &found)
	if len(found) != 1 || found[0].URL == "" {
		t.Fatalf("the conversation %s has no sandbox that runs: %+v", conversation, found)
	}
	var port int
	if _, err := fmt.Sscanf(found[0].URL, "http://127.0.0.1:%d/", &port); err != nil {
		if _, err := fmt.Sscanf(found[0].URL, "http://localhost:%d/", &port); err != nil {
			t.Fatalf("the sandbox is at %s: %v", found[0].URL, err)
		}
	}
	killed := 0
	for _, pid := range processtest.Marked(s.mark) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !bytes.Contains(line, fmt.Appendf(nil, "\x00--port\x00%d\x00", port)) {
			continue
		}
		if process, err := os.FindProcess(pid); err == nil && process.Kill() == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatalf("no process of the sandbox at port %d was found", port)
	}
}

// moduleRoot is the directory of go.mod, above the package under test.
func moduleRoot(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(string(bytes.TrimSpace(out)))
}
