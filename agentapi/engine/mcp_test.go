package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/boxtest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// mcpArgument makes the test binary an MCP server. It writes what it is told
// into the file that mcpVariable names. OpenHands starts it without the variable
// where a conversation was stored without a key: its value may be a secret.
const (
	mcpArgument = "serve-mcp"
	mcpVariable = "ECHO_SERVER_FILE"
)

// tooMany is the name of a file whose server has more tools than are used.
const tooMany = "too-many"

func mcpServer() error {
	if file := os.Getenv(mcpVariable); file != "" {
		f, err := os.OpenFile(file+".started", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		fmt.Fprintln(f, os.Getpid())
		if err := f.Close(); err != nil {
			return err
		}
	}
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
	if filepath.Base(os.Getenv(mcpVariable)) == tooMany {
		for i := range 520 {
			mcp.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("more%d", i)}, grown)
		}
	}
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func grown(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "I am new"}}}, nil, nil
}

// withServer gives new conversations an MCP server and a secret. At the server's exit
// the race detector does not wait: it gets nothing of our environment that says so.
func withServer(command, heard, secret string) func(*engine.Config) {
	return func(c *engine.Config) {
		agent := fmt.Sprintf(`{"agent_context":{"secrets":{"API_TOKEN":%q}},"mcp_config":{"one":{"command":%q,"args":[%q],"env":{%q:%q,"GORACE":"atexit_sleep_ms=0"}}}}`,
			secret, command, mcpArgument, mcpVariable, heard)
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

func TestMCPServerThatDoesNotStartIsLeftOut(t *testing.T) {
	t.Parallel()
	const told = `Cannot use the MCP server "one"`
	w := newWorld(t, withServer("/no/such/program", "x", "y"))
	w.llm.On(llmtest.Says("hi"), llmtest.Text("hello"))
	var progress []string
	res := w.play(turn.Input{Message: agentapi.Message{Text: "hi"}, Emit: func(u turn.Update) {
		if u.Kind == turn.Progress {
			progress = append(progress, u.Text)
		}
	}})
	if res.Answer != "hello" || len(progress) != 1 || !strings.Contains(progress[0], told) {
		t.Errorf("result %+v, progress %q", res, progress)
	}
	w.close()
	w.start()
	w.say("hi again")
	w.expect("SP U(ext) M U M")
	var heard strings.Builder
	for _, m := range w.llm.Await(t, 2).Messages {
		heard.WriteString(m.Text)
	}
	if n := strings.Count(heard.String(), told); n != 1 || strings.Contains(heard.String(), "/no/such") {
		t.Errorf("the model is told %d times", n)
	}
}

func TestMCPToolsThatAreLeftOutAreTold(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const told = `Cannot use some tools of the MCP server "one". These tools are missing`
	w := newWorld(t, withServer(self, filepath.Join(t.TempDir(), tooMany), "y"))
	w.llm.On(llmtest.Says("hi"), llmtest.Text("hello"))
	var progress []string
	res := w.play(turn.Input{Message: agentapi.Message{Text: "hi"}, Emit: func(u turn.Update) {
		if u.Kind == turn.Progress {
			progress = append(progress, u.Text)
		}
	}})
	if res.Answer != "hello" || len(progress) != 1 || !strings.Contains(progress[0], told) {
		t.Errorf("result %+v, progress %q", res, progress)
	}
}

// started are the process ids of the servers that were started.
func started(t *testing.T, heard string) []string {
	t.Helper()
	data, err := os.ReadFile(heard + ".started")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

func TestMCPServerIsStartedWhenItIsNeededAndShared(t *testing.T) {
	t.Parallel()
	boxtest.Outside(t, "each box has servers of its own")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	heard := filepath.Join(t.TempDir(), "heard")
	w := newWorld(t, withServer(self, heard, "x"))
	w.llm.On(llmtest.Says("use it"), llmtest.Tool("echo", `{"text":"a"}`), llmtest.Finish("used"), llmtest.Tool("echo", `{"text":"b"}`), llmtest.Finish("used"))
	w.llm.On(llmtest.Says("hi"), llmtest.Text("hello"), llmtest.Text("hello"), llmtest.Text("hello"))
	begin := func(text, workspace string) agentapi.Conversation {
		t.Helper()
		c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "main", Workspace: workspace})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := turn.Run(w.ctx(), c, turn.Input{Message: agentapi.Message{Text: text}, Emit: func(turn.Update) {}}); err != nil || res.Outcome != turn.Finished {
			t.Fatalf("turn %+v, %v", res, err)
		}
		return c
	}
	remove := func(c agentapi.Conversation) {
		t.Helper()
		if err := w.backend.Remove(w.ctx(), c.Info().ID); err != nil {
			t.Fatal(err)
		}
	}
	first := begin("hi", t.TempDir()) // its tools are not known yet
	remove(first)
	for range 2 {
		remove(begin("hi", t.TempDir()))
	}
	if n := len(started(t, heard)); n != 1 {
		t.Fatalf("%d servers were started for three texts, want the one that told its tools", n)
	}
	if offered := w.llm.Await(t, 3).Tools; !slices.Contains(offered, "echo") {
		t.Errorf("the third conversation is offered %v", offered)
	}
	shared := t.TempDir()
	one, two := begin("use it", shared), begin("use it", shared)
	pids := started(t, heard)
	if len(pids) != 2 {
		t.Fatalf("%d servers were started, want one more for two conversations of a workspace", len(pids))
	}
	remove(one)
	if !lives(pids[1]) {
		t.Error("the server ended while somebody uses it")
	}
	remove(two)
	waittest.Until(t, waittest.Patience, "the server without a user ends", func() (any, bool) {
		return "the server runs", !lives(pids[1])
	})
}

// lives reports whether a process runs; it can know that only on Linux.
func lives(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestMCPServersAreStoredWithTheConversation(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const value = "hunter2-hunter2"
	for name, sealed := range map[string]bool{"with a key": true, "without a key": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard := filepath.Join(t.TempDir(), "heard")
			w := newWorld(t, withServer(self, heard, "x"), func(c *engine.Config) {
				agent := fmt.Sprintf(`{"mcp_config":{"mcpServers":{"one":{"type":"stdio","command":%q,"args":[%q],"env":{%q:%q,"TOKEN":%q,"GORACE":"atexit_sleep_ms=0"},"unknown":1,"enabled":true}}}}`,
					self, mcpArgument, mcpVariable, heard, value)
				c.Settings = settings(engine.Settings{Agent: json.RawMessage(agent)})
				if sealed {
					c.Seal = func(v string) (string, error) { return "gAAAAA" + base64.StdEncoding.EncodeToString([]byte(v)), nil }
					c.Unseal = func(v string) (string, error) {
						plain, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(v, "gAAAAA"))
						return string(plain), err
					}
				}
			})
			w.llm.Reply(llmtest.Text("hello"))
			w.say("hi")
			w.close()
			data := mustRead(t, filepath.Join(w.dir(), "base_state.json"))
			var state struct {
				Agent struct {
					Servers map[string]map[string]any `json:"mcp_config"`
				} `json:"agent"`
			}
			if err := json.Unmarshal(data, &state); err != nil || strings.Contains(string(data), value) {
				t.Fatalf("the stored agent: %v\n%s", err, data)
			}
			mark := "**********"
			if sealed {
				mark = "gAAAAA"
			}
			env, _ := state.Agent.Servers["one"]["env"].(map[string]any)
			if got, _ := env["TOKEN"].(string); !strings.HasPrefix(got, mark) || len(state.Agent.Servers["one"]) != 4 {
				t.Errorf("stored %v", state.Agent.Servers)
			}
			w.cfg.Settings = settings(engine.Settings{}) // they have no servers any more
			w.start()
			w.llm.On(llmtest.Says("use it"), llmtest.Tool("echo", `{"text":"a"}`), llmtest.Finish("done"))
			w.say("use it")
			messages := w.llm.Await(t, 3).Messages
			if got := strings.Contains(messages[len(messages)-1].Text, "you said a"); got != sealed {
				t.Errorf("the tool works: %v, %s", got, messages[len(messages)-1].Text)
			}
			if told := strings.Contains(messages[len(messages)-3].Text, "their secrets were not stored"); told == sealed {
				t.Errorf("the model is told of a missing server: %v", told)
			}
		})
	}
}
