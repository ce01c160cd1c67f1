// Package agentservertest runs a real OpenHands agent-server for tests, in a
// directory of its own and with nothing of the machine's settings. It installs
// nothing: that is what scripts/agent-server is for. A test that finds no
// installation is skipped, except where the environment has CI=true: there it
// fails, so that a skipped test does not count as passed.
//
// A server takes five seconds and 400 MB, so a package starts one and shares it
// between subtests. What it started itself is gone when the test ends.
package agentservertest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/processtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// Server is a running agent-server. Its methods are for one goroutine.
type Server struct {
	URL string // http://127.0.0.1:PORT, the same after a Restart
	Key string // its session key
	Dir string // everything it keeps; see scripts/agent-server

	command []string // scripts/agent-server with its version
	port    string
	env     []string
	client  *http.Client
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has ended
	waiter  sync.WaitGroup

	scratch []string // directories outside of Dir
}

// The versions that tests run: the newest, whose agent the embedded one is, one without the
// session socket, and those that OpenHands Cloud and OpenHands' CLI pin.
const (
	Newest  = "1.58.2"
	Earlier = "1.43.1"
	Cloud   = "1.34.0"
	CLI     = "1.21.0"
)

// Wanted is the version that OHGW_TEST_AGENT_SERVER_VERSION names, or the newest.
func Wanted() string { return cmp.Or(os.Getenv("OHGW_TEST_AGENT_SERVER_VERSION"), Newest) }

// Start starts a server of the version Newest and waits until it is ready. It
// lives until the test ends. env has further variables for it, such as
// OH_CONVERSATION_IDLE_TTL_SECONDS=5.
func Start(t testing.TB, env ...string) *Server {
	t.Helper()
	return StartVersion(t, Newest, env...)
}

// StartVersion starts a server of another version.
func StartVersion(t testing.TB, version string, env ...string) *Server {
	t.Helper()
	command := installed(t, version)
	dir, err := os.MkdirTemp("", "agent-server-")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(processtest.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		URL: "http://127.0.0.1:" + port, Key: "sk-session-test", Dir: dir,
		command: command, port: port, env: env,
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("the agent-server's last words:\n%s", s.log())
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the agent-server's files: %v", err)
		}
	})
	s.Restart(t)
	return s
}

// LLM is a profile's LLM at an OpenAI-compatible base URL, such as the one of
// an llmtest server. It is not retried by the agent; callers may change it.
func LLM(baseURL string) map[string]any {
	return map[string]any{
		"model": "openai/test", "api_key": "sk-llm-test", "base_url": baseURL,
		"stream": true, "num_retries": 0, "retry_min_wait": 0, "retry_max_wait": 0,
	}
}

// PID is the process of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// SaveProfile saves an LLM profile with its key through the server's API.
func (s *Server) SaveProfile(t testing.TB, name string, llm map[string]any) {
	t.Helper()
	s.Call(t, http.MethodPost, "/api/profiles/"+name, map[string]any{"llm": llm, "include_secrets": true}, nil)
}

// Call makes a request of the server's native API with its key: in is sent as
// JSON unless it is nil, the answer is decoded into out unless that is nil. Any
// status but 2xx fails the test; a GET that meets a torn file is made again.
func (s *Server) Call(t testing.TB, method, path string, in, out any) {
	t.Helper()
	var status int
	var answer []byte
	waittest.Poll(tornFor, func() bool {
		status, answer = s.do(t, method, path, in)
		return method != http.MethodGet || status != http.StatusInternalServerError || !bytes.Contains(answer, []byte(torn))
	})
	if status/100 != 2 {
		t.Fatalf("agentservertest: %s %s: %d: %s", method, path, status, answer)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		t.Fatalf("agentservertest: %s %s: %v: %s", method, path, err, answer)
	}
}

// torn is in the answer when the server has read a file of its own that it was
// writing, which it does in place. The file is whole a moment later.
const (
	torn    = "json_invalid"
	tornFor = 500 * time.Millisecond
)

// do returns the status and the body of an answer.
func (s *Server) do(t testing.TB, method, path string, in any) (int, []byte) {
	t.Helper()
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Session-API-Key", s.Key)
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatalf("agentservertest: %v", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("agentservertest: %s %s: %s, %v: %s", method, path, res.Status, err, answer)
	}
	return res.StatusCode, answer
}

// Kill kills the server as a crash would: at once, and without a word to the
// commands that its tools run. Restart brings it back.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatalf("agentservertest: kill: %v", err)
	}
	<-s.exited
}

// patience bounds the start of a server on a busy machine.
const patience = 5 * time.Minute

// Restart starts the server that was killed, at the same address and with the
// same files, and waits until it is ready.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	args := append(slices.Clone(s.command[1:]), "start", "--port", s.port, "--dir", s.Dir)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), s.command[0], args...)
	cmd.Env = append(append(os.Environ(), "OH_SESSION_API_KEYS_0="+s.Key), s.env...)
	cmd.Stdout, cmd.Stderr = log, log
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatalf("agentservertest: %v", err)
	}
	exited := make(chan struct{})
	s.cmd, s.exited = cmd, exited
	s.scratch = append(s.scratch, scratch(cmd.Process))
	s.waiter.Go(func() {
		_ = cmd.Wait() // how it ended is of no interest: mostly by a signal
		close(exited)
	})
	s.awaitReady(t)
}

func (s *Server) awaitReady(t testing.TB) {
	t.Helper()
	ready := waittest.Poll(patience, func() bool {
		select {
		case <-s.exited:
			t.Fatalf("agentservertest: the server ended before it was ready:\n%s", s.log())
		default:
		}
		return s.isReady(t)
	})
	if !ready {
		t.Fatalf("agentservertest: the server is not ready after %v:\n%s", patience, s.log())
	}
}

func (s *Server) isReady(t testing.TB) bool {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/ready", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (s *Server) logFile() string { return filepath.Join(s.Dir, "server.log") }

// log is the end of what the server printed.
func (s *Server) log() []byte {
	const most = 4000
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	return log[max(0, len(log)-most):]
}

// installed returns the command that starts a server of a version, and skips the test if it
// is not installed.
func installed(t testing.TB, version string) []string {
	t.Helper()
	script := filepath.Join(moduleRoot(t), "scripts", "agent-server")
	command := []string{script, "--version", version}
	var stderr strings.Builder
	probe := exec.CommandContext(t.Context(), script, "--version", version, "python", "-c", "")
	probe.Stderr = &stderr
	err := probe.Run()
	if err == nil {
		return command
	}
	message := fmt.Sprintf("%s runs WITHOUT the real agent-server, so it checks nothing: %v\n%s", t.Name(), err, stderr.String())
	if os.Getenv("CI") == "true" {
		t.Fatal(message)
	}
	fmt.Fprintln(os.Stderr, message) // a skip alone is silent without -v
	t.Skip(message)
	return nil
}

// moduleRoot finds the directory of go.mod, above the package under test.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("agentservertest: there is no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}
