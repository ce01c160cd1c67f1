//go:build e2e

package agentservertest_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversation is a conversation of the native API, as these tests use it.
type conversation struct {
	ID     string `json:"id"`
	Status string `json:"execution_status"`
}

// begin starts a conversation and sends it one message.
func begin(t *testing.T, s *agentservertest.Server, llm map[string]any, text string) conversation {
	t.Helper()
	var c conversation
	s.Call(t, http.MethodPost, "/api/conversations", map[string]any{
		"agent":     map[string]any{"kind": "Agent", "llm": llm, "tools": []any{map[string]any{"name": "terminal"}}},
		"workspace": map[string]any{"working_dir": t.TempDir()},
		"autotitle": false,
	}, &c)
	s.Call(t, http.MethodPost, "/api/conversations/"+c.ID+"/events", map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": text}}, "run": true,
	}, nil)
	return c
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	waittest.Until(t, waittest.Patience, what, func() (any, bool) { return nil, done() })
}

func (c *conversation) awaitStatus(t *testing.T, s *agentservertest.Server, want string) {
	t.Helper()
	await(t, "status "+want, func() bool {
		s.Call(t, http.MethodGet, "/api/conversations/"+c.ID, nil, c)
		return c.Status == want
	})
}

func TestARealServerRunsAScriptAndSurvivesACrash(t *testing.T) {
	t.Parallel()
	llm := llmtest.New(t)
	// The server belongs to a test of its own, so that its end can be looked at.
	var dir string
	t.Run("server", func(t *testing.T) {
		s := agentservertest.Start(t)
		dir = s.Dir
		s.SaveProfile(t, "scripted", agentservertest.LLM(llm.URL))
		var profile struct {
			KeySet bool `json:"api_key_set"`
		}
		s.Call(t, http.MethodGet, "/api/profiles/scripted", nil, &profile)
		if !profile.KeySet {
			t.Error("the profile has no key")
		}

		c := begin(t, s, agentservertest.LLM(llm.URL), "[[finish done]]")
		c.awaitStatus(t, s, "finished")

		pidFile := filepath.Join(t.TempDir(), "pid")
		script := fmt.Sprintf(`[[tool terminal {"command":"echo $$ > %s; sleep 600"}]]`, pidFile)
		c = begin(t, s, agentservertest.LLM(llm.URL), script)
		await(t, "command that runs", func() bool {
			pid, _ := os.ReadFile(pidFile)
			return len(pid) > 0
		})
		s.Kill(t)
		// A process that the server was forking has its socket until it runs its program.
		await(t, "end of the listening", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err == nil {
				conn.Close()
			}
			return err != nil
		})
		s.Restart(t)
		c.awaitStatus(t, s, "error")
	})
	if t.Failed() || dir == "" {
		return
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the server's directory is still there: %v", err)
	}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environs {
		if env, _ := os.ReadFile(file); strings.Contains(string(env), dir) {
			t.Errorf("a process that the server started still runs: %s", file)
		}
	}
}
