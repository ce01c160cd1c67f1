//go:build e2e

package engine_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestServerHasTheMCPServersOfOurConversation lets a real agent-server go on
// with a conversation that began here with an MCP server, whose environment
// holds a secret.
func TestServerHasTheMCPServersOfOurConversation(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const key = "key-of-this-test"
	server := agentservertest.Start(t, "OH_SECRET_KEY="+key)
	heard := filepath.Join(t.TempDir(), "heard")
	ciphers := profile.FindCiphers(profile.CipherSources{LookupEnv: func(name string) (string, bool) { return key, name == "OH_SECRET_KEY" }})
	w := newWorld(t, func(c *engine.Config) {
		agent := fmt.Sprintf(`{"mcp_config":{"one":{"command":%q,"args":[%q],"env":{%q:%q}}}}`, self, mcpArgument, mcpVariable, heard)
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(agent)})
		c.NewTools = toolset.New(toolset.Config{Environ: os.Environ(), User: "me", Host: "here"})
		c.Seal = func(value string) (string, error) {
			k, _ := ciphers.From("OH_SECRET_KEY")
			return k.Encrypt([]byte(value), time.Now().Truncate(time.Second), rand.Reader)
		}
	})
	w.llm.Reply(llmtest.Tool("echo", `{"text":"ours"}`), llmtest.Finish("ok"))
	w.say("hi")
	w.close()
	if text := string(mustRead(t, filepath.Join(w.dir(), "base_state.json"))); strings.Contains(text, heard) || !strings.Contains(text, "gAAAAA") {
		t.Fatalf("the environment of the server is not encrypted: %s", text)
	}
	server.Kill(t)
	copyDir(t, filepath.Join(server.Dir, "conversations", filepath.Base(w.dir())), w.dir())
	server.Restart(t)

	path := "/api/conversations/" + w.id
	model := llmtest.New(t)
	model.On(llmtest.Says("go on"), llmtest.Tool("echo", `{"text":"theirs"}`), llmtest.Finish("done"))
	llm := agentservertest.LLM(model.URL)
	llm["usage_id"] = "server"
	server.Call(t, http.MethodPost, path+"/switch_llm", map[string]any{"llm": llm}, nil)
	server.Call(t, http.MethodPost, path+"/events", map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": "go on"}}, "run": true,
	}, nil)
	messages := model.Await(t, 2).Messages
	if last := messages[len(messages)-1].Text; !strings.Contains(last, "you said theirs") {
		t.Errorf("the tool's result is %q", last)
	}
	if got := string(mustRead(t, heard)); got != "theirs" {
		t.Errorf("the server heard %q", got)
	}
}
