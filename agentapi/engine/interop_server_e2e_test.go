//go:build e2e

package engine_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
)

// TestEngineContinuesWhatAServerWrote lets a real agent-server write
// conversations, continues each here, and has the SDK load them again.
func TestEngineContinuesWhatAServerWrote(t *testing.T) {
	t.Parallel()
	server := agentservertest.Start(t)
	model := llmtest.New(t)
	root, err := os.MkdirTemp("/tmp", "ohgw-interop-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	listed := map[string][][2]string{}
	for name, script := range map[string]string{
		"text":    "[[say hello]]",
		"finish":  `[[say Looking.]] [[tool terminal {"command":"echo hi"}]] then [[finish there]]`,
		"batch":   `[[tool terminal {"command":"echo 1"}]] [[tool terminal {"command":"echo 2"}]] [[tool nope {}]] then [[finish both]]`,
		"trapped": `[[finish first]] [[tool terminal {"command":"echo never"}]]`,
		"error":   "[[fail 400 nonsense]]",
		// Ids of calls and of answers that are the same each time.
		"repeated": `[[tool terminal {"command":"echo 1"}]] [[callid terminal:0]] [[id r]] then [[tool terminal {"command":"echo 2"}]] [[callid terminal:0]] [[id r]] then [[finish both]]`,
		"stuck":    `[[tool terminal {"command":"echo 1"}]]` + strings.Repeat(` then [[tool terminal {"command":"echo 1"}]]`, 4),
	} {
		t.Run(name, func(t *testing.T) {
			id, theirs := serverConversation(t, server, model.URL, script)
			w := newWorld(t)
			w.id = id
			hex := strings.ReplaceAll(id, "-", "")
			copyDir(t, w.dir(), filepath.Join(server.Dir, "conversations", hex))
			var lease struct {
				Host string `json:"owner_host"`
			}
			data, err := os.ReadFile(filepath.Join(w.dir(), "owner_lease.json"))
			if err != nil || json.Unmarshal(data, &lease) != nil {
				t.Fatalf("lease %s, %v", data, err)
			}
			w.refuses(agentapi.ErrBusy, lease.Host)
			w.cfg.Holder.Host, w.cfg.Holder.Alive = lease.Host, func(int) bool { return false }
			w.start()
			var ours []string
			for _, e := range w.log() {
				ours = append(ours, e.ID)
			}
			if name != "trapped" { // where the engine answers the call that will not be made
				if diff := cmp.Diff(theirs, ours); diff != "" {
					t.Errorf("events (-server +ours):\n%s", diff)
				}
			}
			w.llm.Reply(terminal("echo ours"), llmtest.Finish("went on"))
			if res := w.say("go on"); res.Answer != "went on" || res.Usage.PromptTokens != 200 {
				t.Errorf("our turn: %+v", res)
			}
			if name == "repeated" {
				last := w.llm.Await(t, 2)
				if bad := unpaired(last); bad != nil || strings.Count(shown(last), `"command":"echo`) != 3 {
					t.Errorf("calls without their results: %v in\n%s", bad, shown(last))
				}
			}
			listed[hex] = w.listed()
			w.close()
			copyDir(t, filepath.Join(root, hex), w.dir())
		})
	}
	results := continuedByPython(t, root, model)
	for id, r := range results {
		if r.Ended != "finished" {
			t.Errorf("%s: ended %q\n%s", id, r.Ended, r.Error)
		}
		if diff := cmp.Diff(listed[id], r.Before); diff != "" {
			t.Errorf("%s: events after our turn (-ours +python):\n%s", id, diff)
		}
	}
	if len(results) == 0 || len(results) != len(listed) {
		t.Errorf("python has found %d conversations of %d", len(results), len(listed))
	}
}

// serverConversation is a conversation that a real server has written, and the
// ids of its events.
func serverConversation(t *testing.T, s *agentservertest.Server, model, script string) (id string, events []string) {
	t.Helper()
	var c struct {
		ID     string `json:"id"`
		Status string `json:"execution_status"`
	}
	s.Call(t, http.MethodPost, "/api/conversations", map[string]any{
		"agent": map[string]any{"kind": "Agent", "llm": agentservertest.LLM(model), "tools": []any{map[string]any{"name": "terminal"}}},
		// The workspace has to be there when the engine goes on.
		"workspace": map[string]any{"working_dir": t.TempDir()}, "autotitle": false,
	}, &c)
	s.Call(t, http.MethodPost, "/api/conversations/"+c.ID+"/events", map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": script}}, "run": true,
	}, nil)
	waittest.Until(t, waittest.Patience, "the server's run ends", func() (any, bool) {
		s.Call(t, http.MethodGet, "/api/conversations/"+c.ID, nil, &c)
		return c.Status, c.Status != "idle" && c.Status != "running"
	})
	// The last state updates come a little after the status.
	for range 20 {
		var page struct {
			Items []struct {
				ID string `json:"id"`
			} `json:"items"`
		}
		s.Call(t, http.MethodGet, "/api/conversations/"+c.ID+"/events/search?limit=100", nil, &page)
		n := len(events)
		events = events[:0]
		for _, e := range page.Items {
			events = append(events, e.ID)
		}
		if n > 0 && n == len(events) {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	return c.ID, events
}
