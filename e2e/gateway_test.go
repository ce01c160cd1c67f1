//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/processtest"
)

// patience bounds every wait for a process; no test should come near it.
const patience = 60 * time.Second

// The keys of every gateway here. The second one is another user's. Then there are
// ownKeys more, for tests that share a gateway and say the same words to it.
const (
	anyKey     = "sk-gateway-e2e-"
	gatewayKey = anyKey + "0123456789"
	otherKey   = anyKey + "9876543210"
	ownKeys    = 32
)

func keys() string {
	list := []string{gatewayKey, otherKey}
	for i := range ownKeys {
		list = append(list, numberedKey(i))
	}
	return strings.Join(list, ",")
}

func numberedKey(i int) string { return fmt.Sprintf("%sown-%02d-0123456789", anyKey, i) }

// gateway is a running `ohgw serve`.
type gateway struct {
	URL   string // http://127.0.0.1:PORT
	State string // its state directory

	log     string // file
	process *processtest.Server
	stopped bool
	given   atomic.Int64 // of ownKeys
}

// ownKey is a key that no other test has: a conversation that no id names is found by its
// words, among those of its key.
func (g *gateway) ownKey(t testing.TB) string {
	t.Helper()
	i := int(g.given.Add(1)) - 1
	if i >= ownKeys {
		t.Fatal("the gateway has no key left")
	}
	return numberedKey(i)
}

// server is where an agent-server is.
type server struct{ URL, Key string }

// serve starts program in front of an agent-server, with nothing of the user's
// settings, and waits until it is ready. It is stopped with the test, and must
// then end by itself and have logged no secret and no word of a prompt.
func serve(t testing.TB, program string, agents server, args ...string) *gateway {
	t.Helper()
	return start(t, program, t.TempDir(), append([]string{"--agent-server", agents.URL}, args...), "OHGW_AGENT_SERVER_KEY="+agents.Key)
}

// serveEmbedded starts program with the embedded agent and one LLM profile.
func serveEmbedded(t testing.TB, program, llmURL string, args ...string) *gateway {
	t.Helper()
	return serveEmbeddedAt(t, t.TempDir(), program, llmURL, args...)
}

// serveEmbeddedAt is serveEmbedded with a home that may have been another's.
func serveEmbeddedAt(t testing.TB, home, program, llmURL string, args ...string) *gateway {
	t.Helper()
	scriptedProfile(t, home, llmURL)
	return start(t, program, home, append([]string{"--backend", "embedded", "--key-store", "file"}, args...), "OPENAI_API_KEY=sk-llm-test")
}

// scriptedProfile makes the LLM profile of a home.
func scriptedProfile(t testing.TB, home, llmURL string) {
	t.Helper()
	profile := filepath.Join(home, ".openhands", "profiles", "scripted.json")
	if err := os.MkdirAll(filepath.Dir(profile), 0o700); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"model":"openai/test","base_url":%q,"num_retries":1}`, llmURL)
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func start(t testing.TB, program, home string, args []string, env ...string) *gateway {
	t.Helper()
	address := processtest.FreeAddress(t)
	g := &gateway{URL: "http://" + address, State: filepath.Join(home, "state", "ohgw"), log: filepath.Join(home, "log")}
	runtime := filepath.Join(home, "run")
	if err := os.MkdirAll(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program,
		append([]string{"serve", "--addr", address, "--log-format", "json"}, args...)...)
	cmd.Env = append(append(environment(home), "OHGW_API_KEYS="+keys()), env...)
	var err error
	if g.process, err = processtest.Start(cmd, g.log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.stop(t) })
	if err := g.process.Await(t.Context(), g.URL+"/readyz", patience); err != nil {
		t.Fatal(err)
	}
	return g
}

// environment has nothing of the user's settings.
func environment(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_DATA_HOME=" + filepath.Join(home, "data"), "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"XDG_RUNTIME_DIR=" + filepath.Join(home, "run"),
	}
}

// stop ends the gateway as a service manager does.
func (g *gateway) stop(t testing.TB) {
	t.Helper()
	if g.stopped {
		return
	}
	g.stopped = true
	if err := g.process.End(syscall.SIGTERM, patience); err != nil {
		t.Errorf("ohgw serve: %v", err)
	}
	log, err := os.ReadFile(g.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{anyKey, "sk-session-test", "sk-llm-test", promptMark} {
		if bytes.Contains(log, []byte(secret)) {
			t.Errorf("the log contains %q", secret)
		}
	}
	if bytes.Contains(log, []byte("DATA RACE")) || bytes.Contains(log, []byte("panic")) || t.Failed() {
		t.Errorf("the gateway's last words:\n%s", g.process.Tail())
	}
}

// resident is the memory that the gateway holds, in bytes; 0 where the system
// does not tell.
func (g *gateway) resident() int {
	return resident(g.process.Cmd.Process.Pid)
}

// plain is a client for single questions: it keeps no connection.
var plain = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// post sends a body to the gateway with its key.
func (g *gateway) post(t testing.TB, body string, header ...string) *http.Response {
	t.Helper()
	return send(t, http.MethodPost, g.URL+"/v1/chat/completions", body,
		append([]string{"Authorization", "Bearer " + gatewayKey, "Content-Type", "application/json"}, header...)...)
}

// line is the connection of a request, which its context has under lineKey.
type line struct{ conn net.Conn }

type lineKey struct{}

// hangUp ends the connection of an answer. It is over when hangUp returns, and not as
// with Close of the body some time later, behind the next request.
func hangUp(res *http.Response) {
	_ = res.Request.Context().Value(lineKey{}).(*line).conn.Close()
	_ = res.Body.Close()
}

// send makes a request; header is names and values in turn, a later one
// replaces an earlier one, and an empty value removes it.
func send(t testing.TB, method, url, body string, header ...string) *http.Response {
	t.Helper()
	own := &line{}
	ctx := httptrace.WithClientTrace(context.WithValue(t.Context(), lineKey{}, own), &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) { own.conn = got.Conn },
	})
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		switch name, value := header[i], header[i+1]; {
		case value == "":
			req.Header.Del(name)
		case name == "Host":
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	res, err := plain.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func bodyOf(t testing.TB, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("after %q: %v", body, err)
	}
	return string(body)
}
