//go:build e2e

package agentserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/waittest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// TestContractWithTheRealServers has one version after the other: each behaviour that
// kills its server starts one more.
func TestContractWithTheRealServers(t *testing.T) {
	t.Parallel()
	for _, real := range []struct{ name, version string }{
		{"newest", agentservertest.Newest},
		{"earlier", agentservertest.Earlier},
	} {
		t.Run(real.name, func(t *testing.T) {
			t.Parallel() // the tests wait for their servers
			testContract(t, real.version)
		})
	}
}

// TestContractWithAnotherRealServer has the version that OHGW_TEST_AGENT_SERVER_VERSION
// names: scripts/e2e names those that others still start, one after the other.
func TestContractWithAnotherRealServer(t *testing.T) {
	version := os.Getenv("OHGW_TEST_AGENT_SERVER_VERSION")
	if version == "" {
		t.Skip("OHGW_TEST_AGENT_SERVER_VERSION is not set")
	}
	testContract(t, version)
}

func testContract(t *testing.T, version string) {
	t.Helper()
	f := startServers(t, version)
	has, connections := everything(), true
	has.KeyWords, has.Agents = minor(t, version) >= 58, minor(t, version) >= firstWithAgents
	has.Goals = minor(t, version) >= firstWithGoals
	if minor(t, version) < firstWithLimit {
		has.Room = 0
	}
	switch version {
	case agentservertest.Cloud: // a profile cannot say that its model sees images
		has.Blind, connections = true, false
	case agentservertest.CLI:
		// It has the profile of ohgw's config, and no interrupt. A conversation of a
		// server that was killed is away until its lease of 45 s has ended.
		has, connections = backendtest.Features{Deltas: true, Blind: true}, false
	}
	t.Run("contract", func(t *testing.T) {
		backendtest.Run(t, backendtest.Factory{Has: has, New: f.setup})
	})
	t.Run("StandardTools", f.standardTools)
	if minor(t, version) >= firstWithTitles {
		t.Run("ATitleIsFound", f.titled)
	}
	if connections {
		t.Run("AProviderConnectionStartsAnAgent", f.providerConnection)
	}
}

// firstWithAgents is the first version, 1.37, that starts conversations with its agent
// profiles as ohgw needs it.
const firstWithAgents = 37

// firstWithTitles is the first version that was seen to find a title by a streaming LLM.
const firstWithTitles = 34

// firstWithGoals is the first version that was seen to pursue goals.
const firstWithGoals = 43

// firstWithLimit is the first version that was seen to refuse runs above a limit.
const firstWithLimit = 51

// minor is the second number of a version.
func minor(t *testing.T, version string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(version, "1.%d.", &n); err != nil {
		t.Fatalf("version %q: %v", version, err)
	}
	return n
}

// mcpServer is an MCP server with the tool "shout".
const mcpServer = `
import json, sys
for line in sys.stdin:
    ask = json.loads(line)
    if "id" not in ask:
        continue
    if ask["method"] == "initialize":
        result = {"protocolVersion": ask["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "one", "version": "1"}}
    elif ask["method"] == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        result = {"tools": [{"name": "shout", "description": "Says it loudly.", "inputSchema": schema}]}
    elif ask["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": ask["params"]["arguments"]["text"].upper()}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": result}), flush=True)
`

// TestARealServerHasItsMCPServers has a server whose settings name an MCP server: the
// agents that ohgw starts there have its tools.
func TestARealServerHasItsMCPServers(t *testing.T) {
	t.Parallel()
	version := agentservertest.Wanted()
	if minor(t, version) < 22 {
		t.Skip("an older server does not tell its settings with their secrets")
	}
	f := &realServers{version: version, plain: &shared{server: agentservertest.StartVersion(t, version)}}
	program := filepath.Join(t.TempDir(), "mcp.py")
	if err := os.WriteFile(program, []byte(mcpServer), 0o644); err != nil {
		t.Fatal(err)
	}
	f.plain.call(t, http.MethodPatch, "/api/settings",
		map[string]any{"agent_settings_diff": map[string]any{"mcp_config": map[string]any{"one": map[string]any{"command": "python3", "args": []string{program}}}}})
	s := f.setup(t, backendtest.Needs{})
	s.LLM.Reply(llmtest.Tool("shout", `{"text":"tea"}`), llmtest.Text("Done."))
	if res := hello(t, s, s.Profile); res.Outcome != turn.Finished || res.Answer != "Done." {
		t.Errorf("result = %+v", res)
	}
	messages := s.LLM.Await(t, 2).Messages
	if last := messages[len(messages)-1].Text; !strings.Contains(last, "TEA") {
		t.Errorf("the tool's result is %q", last)
	}
}

// realServers are the servers of one version that behaviours share.
type realServers struct {
	version           string
	plain, confirming *shared

	mu   sync.Mutex
	made int
	free []string // names of profiles that no test uses now: a server has room for 50
}

func startServers(t *testing.T, version string) *realServers {
	t.Helper()
	f := realServers{
		version: version,
		plain:   &shared{server: agentservertest.StartVersion(t, version)}, confirming: &shared{server: agentservertest.StartVersion(t, version)},
	}
	f.confirming.server.Call(t, http.MethodPatch, "/api/settings",
		map[string]any{"conversation_settings_diff": map[string]any{"confirmation_mode": true, "security_analyzer": nil}}, nil)
	return &f
}

// standardTools looks at the tools of an agent of a server whose settings name none:
// its standard ones, and no tool that changes the model, which the client chose.
func (f *realServers) standardTools(t *testing.T) {
	s := f.setup(t, backendtest.Needs{})
	s.LLM.Reply(llmtest.Text("Hello."))
	hello(t, s, s.Profile)
	got := s.LLM.Await(t, 1).Tools
	slices.Sort(got)
	if diff := cmp.Diff([]string{"file_editor", "finish", "task_tracker", "terminal", "think"}, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// titled has the server find the title of a conversation.
func (f *realServers) titled(t *testing.T) {
	s := f.setup(t, backendtest.Needs{})
	b, err := agentserver.New(agentserver.Config{URL: f.plain.server.URL, Key: func() string { return f.plain.server.Key }, Titles: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	s.Backend = b
	s.LLM.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text("A Greeting"))
	s.LLM.On(llmtest.Says("hello"), llmtest.Text("Hello."))
	c, err := b.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: s.Profile, Workspace: s.Workspace})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "hello"}, Emit: func(turn.Update) {}}); err != nil {
		t.Error(err)
	}
	waittest.Until(t, waittest.Patience, "the title is found", func() (any, bool) {
		about, err := b.About(t.Context(), c.Info().ID)
		return about, err == nil && about.Title == "A Greeting"
	})
}

// providerConnection starts two agents with an LLM profile whose key only the server
// knows. Both have one agent profile, which is stored once.
func (f *realServers) providerConnection(t *testing.T) {
	s := f.setup(t, backendtest.Needs{})
	var connection struct {
		ID string `json:"id"`
	}
	server := f.plain.server
	server.Call(t, http.MethodPost, "/api/llm/provider-connections", map[string]any{
		"display_name": "a test", "provider": "custom", "api_key": "sk-connected", "base_url": s.LLM.URL,
	}, &connection)
	name := f.name(t)
	config := agentservertest.LLM("")
	delete(config, "api_key")
	delete(config, "base_url")
	config["provider_connection_id"] = connection.ID
	server.SaveProfile(t, name, config)
	s.LLM.Reply(llmtest.Text("one"), llmtest.Text("two"))
	var stored struct {
		Profile struct {
			Revision int `json:"revision"`
		} `json:"profile"`
	}
	revisions := make(map[int]bool)
	for range 2 {
		if got := hello(t, s, name); got.Outcome != turn.Finished {
			t.Errorf("turn %+v", got)
		}
		server.Call(t, http.MethodGet, "/api/agent-profiles/ohgw."+name, nil, &stored)
		revisions[stored.Profile.Revision] = true
	}
	if len(revisions) != 1 {
		t.Errorf("the agent profile has the revisions %v: it was stored again", revisions)
	}
	if got := s.LLM.Await(t, 2).Header.Get("Authorization"); got != "Bearer sk-connected" {
		t.Errorf("the model was asked with %q", got)
	}
}

// TestThirtyTurnsShareTheRoomOfARealServer starts thirty turns on a server that, from
// 1.51 on, runs ten: the others are told that they wait, each message is in its log
// once, and all are answered.
func TestThirtyTurnsShareTheRoomOfARealServer(t *testing.T) {
	t.Parallel()
	const turns = 30
	version, room := agentservertest.Wanted(), turns
	if minor(t, version) >= firstWithLimit {
		room = 10
	}
	f := &realServers{version: version, plain: &shared{server: agentservertest.StartVersion(t, version)}}
	s := f.setup(t, backendtest.Needs{})
	gate := make(chan struct{})
	feeds := make([]chan string, turns)
	for i := range feeds {
		feeds[i] = make(chan string)
		s.LLM.Reply(llmtest.Reply{Feed: feeds[i], Text: "Hello."})
	}
	waiting := make(chan struct{}, turns)
	var wg sync.WaitGroup
	for i := range turns {
		wg.Go(func() {
			tell := sync.OnceFunc(func() { waiting <- struct{}{} })
			id := uuid.New()
			c, err := s.Backend.Open(t.Context(), agentapi.OpenRequest{
				ID: id, New: true, Profile: s.Profile, Workspace: s.Workspace, Progress: func(string) { tell() },
			})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			text := fmt.Sprintf("question %d", i)
			res, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: text}, Emit: func(u turn.Update) {
				if u.Kind == turn.Queue {
					tell()
				}
			}})
			if err = errors.Join(err, c.Close()); err != nil || res.Outcome != turn.Finished || res.Answer != "Hello." {
				t.Errorf("turn %d: %+v, %v", i, res, err)
			}
			page, err := s.Backend.Events(t.Context(), id, agentapi.EventQuery{})
			if err != nil {
				t.Error(err)
			}
			if got := questions(page.Events); !slices.Equal(got, []string{text}) {
				t.Errorf("the log of turn %d has the messages %q", i, got)
			}
		})
	}
	wg.Go(func() {
		for range turns - room {
			<-waiting
		}
		close(gate)
	})
	<-gate
	if n := len(s.LLM.Requests()); n > room {
		t.Errorf("%d agents run at the same time", n)
	}
	began := time.Now()
	for _, feed := range feeds {
		close(feed)
	}
	wg.Wait()
	t.Logf("%d turns ended in %v", turns, time.Since(began).Round(time.Millisecond))
}

// hello is a turn in a new conversation.
func hello(t *testing.T, s *backendtest.Setup, profile string) turn.Result {
	t.Helper()
	c, err := s.Backend.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: profile, Workspace: s.Workspace})
	if err != nil {
		t.Fatal(err)
	}
	result, err := turn.Run(t.Context(), c, turn.Input{Message: agentapi.Message{Text: "hello"}, Emit: func(turn.Update) {}})
	if err := errors.Join(err, c.Close()); err != nil {
		t.Error(err)
	}
	return result
}

// name makes for a test the name of a profile for itself.
func (f *realServers) name(t *testing.T) string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var name string
	if n := len(f.free); n > 0 {
		name, f.free = f.free[n-1], f.free[:n-1]
	} else {
		f.made++
		name = fmt.Sprintf("profile-%d", f.made)
	}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.free = append(f.free, name)
	})
	return name
}

// shared is a server for several tests at once.
type shared struct {
	mu     sync.Mutex
	server *agentservertest.Server
}

func (s *shared) call(t *testing.T, method, path string, in any) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server.Call(t, method, path, in, nil)
}

// activate makes an agent profile the active one.
func (s *shared) activate(t *testing.T, agent string) {
	t.Helper()
	var stored struct {
		Profile struct {
			ID string `json:"id"`
		} `json:"profile"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server.Call(t, http.MethodGet, "/api/agent-profiles/"+agent, nil, &stored)
	s.server.Call(t, http.MethodPost, "/api/agent-profiles/"+stored.Profile.ID+"/activate", nil, nil)
}

func (f *realServers) setup(t *testing.T, needs backendtest.Needs) *backendtest.Setup {
	t.Helper()
	s := f.plain
	switch {
	case needs.Kill, needs.Alone:
		s = &shared{server: agentservertest.StartVersion(t, f.version)}
	case needs.Confirm:
		s = f.confirming
	}
	llm := llmtest.New(t)
	if f.version == agentservertest.CLI {
		b := f.connect(t, s, &agentserver.LLM{Profile: "mine", Model: "openai/test", BaseURL: llm.URL, Key: func() string { return "sk-llm-test" }})
		return f.behaviours(s, &backendtest.Setup{Backend: b, LLM: llm, Profile: "mine", Workspace: t.TempDir()})
	}
	names := map[string]string{"openai/test": "", "openai/other": ""}
	for model := range names {
		name := f.name(t)
		names[model] = name
		config := agentservertest.LLM(llm.URL)
		config["model"] = model
		config["capability_overrides"] = map[string]any{"supports_vision": true} // else the agent itself declines images
		s.call(t, http.MethodPost, "/api/profiles/"+name, map[string]any{"llm": config, "include_secrets": true})
	}
	b := f.connect(t, s, nil)
	setup := &backendtest.Setup{Backend: b, LLM: llm, Profile: names["openai/test"], Other: names["openai/other"], Workspace: t.TempDir()}
	if minor(t, f.version) >= firstWithAgents {
		agent := "of-" + setup.Profile
		s.call(t, http.MethodPost, "/api/agent-profiles/"+agent, map[string]any{
			"agent_kind": "openhands", "llm_profile_ref": setup.Profile, "system_message_suffix": "You are the agent of the contract.",
			"tools": []map[string]any{{"name": "terminal"}},
		})
		s.activate(t, agent)
		setup.Agent = agentapi.AgentPrefix + agent
	}
	return f.behaviours(s, setup)
}

// connect makes a backend that lives until the test ends.
func (*realServers) connect(t *testing.T, s *shared, llm *agentserver.LLM) *agentserver.Backend {
	t.Helper()
	b, err := agentserver.New(agentserver.Config{URL: s.server.URL, Key: func() string { return s.server.Key }, LLM: llm})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// behaviours adds to a setup what others do with the server.
func (*realServers) behaviours(s *shared, setup *backendtest.Setup) *backendtest.Setup {
	setup.Pause = func(t *testing.T, id string) {
		t.Helper()
		s.call(t, http.MethodPost, "/api/conversations/"+id+"/pause", nil)
	}
	setup.Kill = func(t *testing.T) { t.Helper(); s.server.Kill(t) }
	setup.Restart = func(t *testing.T) { t.Helper(); s.server.Restart(t) }
	return setup
}

func TestARealServerOnThisMachineSharesOurFiles(t *testing.T) {
	t.Parallel()
	server := agentservertest.Start(t)
	for dir, want := range map[string]bool{t.TempDir(): true, "": false} {
		b, err := agentserver.New(agentserver.Config{URL: server.URL, Key: func() string { return server.Key }, Scratch: dir})
		if err != nil {
			t.Fatal(err)
		}
		if st := b.Status(t.Context()); st.Err != nil || st.SharesFiles != want {
			t.Errorf("with the scratch directory %q: SharesFiles = %t, %v", dir, st.SharesFiles, st.Err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
