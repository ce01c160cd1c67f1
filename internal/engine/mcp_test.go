package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/engine"
	"github.com/ohgw/ohgw/internal/engine/toolset"
	"github.com/ohgw/ohgw/internal/llmtest"
)

// mcpVariable makes the test binary an MCP server. It writes what it is told
// into the file that the variable names.
const mcpVariable = "ECHO_SERVER_FILE"

func mcpServer() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says it again."},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Text string `json:"text"`
		},
		) (*mcp.CallToolResult, any, error) {
			err := os.WriteFile(os.Getenv(mcpVariable), []byte(in.Text), 0o600)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you said " + in.Text}}}, nil, err
		})
	mcp.AddTool(s, &mcp.Tool{Name: "grow", Description: "Adds a tool."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			mcp.AddTool(s, &mcp.Tool{Name: "grown", Description: "Is new."}, grown)
			return &mcp.CallToolResult{}, nil, nil
		})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func grown(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "I am new"}}}, nil, nil
}

// withServer gives new conversations an MCP server and a secret.
func withServer(command, heard, secret string) func(*engine.Config) {
	return func(c *engine.Config) {
		agent := fmt.Sprintf(`{"agent_context":{"secrets":{"API_TOKEN":%q}},"mcp_config":{"one":{"command":%q,"env":{%q:%q}}}}`,
			secret, command, mcpVariable, heard)
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(agent)})
		c.NewTools = toolset.New(toolset.Config{Environ: os.Environ()})
	}
}

func TestScenario36MCPServerGetsTheSecret(t *testing.T) {
	t.Parallel()
	const value = "tok-4711-do-not-show"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	heard := filepath.Join(t.TempDir(), "heard")
	w := newWorld(t, withServer(self, heard, value))
	w.llm.Reply(llmtest.Tool("echo", `{"text":"it is ${API_TOKEN}"}`), llmtest.Finish("ok"))
	w.say("go")
	w.expect("SP U A(echo) O A(finish) O")
	if got, err := os.ReadFile(heard); err != nil || string(got) != "it is "+value {
		t.Errorf("the server heard %q, %v", got, err)
	}
	for _, e := range w.log() {
		data, err := json.Marshal(e)
		if err != nil || strings.Contains(string(data), value) {
			t.Errorf("%s holds the secret, %v", e.Kind(), err)
		}
		if a, ok := e.Body.(*event.Action); ok && a.ToolName == "echo" && !strings.Contains(string(a.Action), `"kind":"MCPToolAction"`) {
			t.Errorf("action %s", a.Action)
		}
	}
}

func TestToolsThatAServerAddsAreOffered(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, withServer(self, filepath.Join(t.TempDir(), "heard"), "x"))
	w.llm.Reply(llmtest.Tool("grow", `{}`), llmtest.Finish("ok"))
	w.say("go")
	offered := false
	for n := 3; !offered && n < 200; n++ { // the server says it when it likes
		w.llm.Reply(llmtest.Finish("look"))
		w.say("look")
		offered = slices.Contains(w.llm.Await(t, n).Tools, "grown")
	}
	if !offered {
		t.Fatal("the new tool is never offered")
	}
	w.llm.Reply(llmtest.Tool("grown", `{}`), llmtest.Finish("ok"))
	w.say("use it")
	if o := lastOf[*event.Observation](t, w.log()); o.ToolName != "finish" {
		t.Errorf("observation %+v", o)
	}
	found := false
	for _, e := range w.log() {
		o, ok := e.Body.(*event.Observation)
		found = found || ok && o.ToolName == "grown" && strings.Contains(string(o.Observation), "I am new")
	}
	if !found {
		t.Error("the new tool was not called")
	}
}

func TestMCPServerThatDoesNotStartIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withServer("/no/such/program", "x", "y"))
	wantError(t, w.open().Send(w.ctx(), agentapi.Message{Text: "hi"}), agentapi.ErrUnavailable, `MCP server "one"`)
	w.expect("")
}
