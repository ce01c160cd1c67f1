package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

const ownKey = "sk-own-0123456789"

// inlineAgent is an agent with its own model, as programs of OpenHands send it.
const inlineAgent = `{"kind":"Agent","llm":{"model":"openai/inline","api_key":"` + ownKey + `","base_url":"http://x","usage_id":"mine"},` +
	`"tools":[{"name":"terminal"}],"condenser":{"kind":"LLMSummarizingCondenser","llm":{"model":"openai/small","api_key":"sk-small","usage_id":"condenser"}}}`

// sealed has conversations store secrets, in a form that only looks encrypted.
func sealed(c *engine.Config) {
	c.Seal = func(v string) (string, error) { return "gAAAAA" + base64.StdEncoding.EncodeToString([]byte(v)), nil }
	c.Unseal = func(v string) (string, error) {
		plain, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(v, "gAAAAA"))
		return string(plain), err
	}
}

// asked notes the models that were made, as "profile model usage key".
type asked struct {
	mu   sync.Mutex
	list []string
}

func (a *asked) watch(c *engine.Config) {
	inner := c.NewModel
	c.NewModel = func(p engine.Profile, usage string) (llm.Model, error) {
		key, err := p.Key(context.Background(), "api_key")
		var stored struct{ Model string }
		err = errors.Join(err, json.Unmarshal(p.LLM, &stored))
		a.mu.Lock()
		a.list = append(a.list, strings.Join([]string{p.Name, stored.Model, usage, key}, " "))
		a.mu.Unlock()
		m, failed := inner(p, usage)
		return m, errors.Join(err, failed)
	}
}

func (a *asked) has(t *testing.T, want string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.list, want) {
		t.Errorf("models %q, want %q", a.list, want)
	}
}

// startIt makes the world's conversation through the control of its engine.
func (w *world) startIt(s control.Start) control.Conversation {
	w.t.Helper()
	s.ID = w.id
	if s.Workspace == "" {
		s.Workspace = w.workspace
	}
	c, created, err := w.backend.Control().Start(w.ctx(), s)
	if err != nil || !created {
		w.t.Fatalf("Start: created %v, %v", created, err)
	}
	w.conv = c
	return c
}

// reopened is the world's conversation after a restart of its engine.
func (w *world) reopened() control.Conversation {
	w.t.Helper()
	w.start()
	c, err := w.backend.Control().Open(w.ctx(), w.id)
	if err != nil {
		w.t.Fatalf("Open: %v", err)
	}
	w.conv = c
	return c
}

func (w *world) stored(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir(), name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func TestStartedConversationAnswersWithItsOwnModel(t *testing.T) {
	t.Parallel()
	var models asked
	w := newWorld(t, sealed, models.watch)
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
	c := w.startIt(control.Start{Agent: json.RawMessage(inlineAgent), Secrets: map[string]json.RawMessage{
		"TOKEN": json.RawMessage(`{"kind":"StaticSecret","value":"a long secret"}`),
	}})
	if info := c.Info(); !info.OwnModel || info.Profile != "" {
		t.Errorf("info %+v", info)
	}
	if res := w.say("hello"); res.Answer != "one" {
		t.Errorf("result %+v", res)
	}
	models.has(t, " openai/inline mine "+ownKey)
	for _, name := range []string{"base_state.json", "meta.json"} {
		for _, secret := range []string{ownKey, "sk-small", "a long secret"} {
			if strings.Contains(w.stored(name), secret) {
				t.Errorf("%s has %q", name, secret)
			}
		}
	}
	if !strings.Contains(w.stored("base_state.json"), `"api_key":"gAAAAA`) {
		t.Error("no sealed key")
	}
	models.list = nil
	w.reopened()
	if res := w.say("again"); res.Answer != "two" || res.Usage.PromptTokens == 0 {
		t.Errorf("result %+v", res)
	}
	models.has(t, " openai/inline mine "+ownKey)
}

func TestOwnKeyWithoutSealLivesAsLongAsTheProcess(t *testing.T) {
	t.Parallel()
	var models asked
	w := newWorld(t, models.watch)
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("two"))
	w.startIt(control.Start{Agent: json.RawMessage(inlineAgent)})
	w.say("hello")
	models.has(t, " openai/inline mine "+ownKey)
	if strings.Contains(w.stored("base_state.json"), ownKey) {
		t.Error("the key is stored")
	}
	w.start()
	c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: "main", Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	w.conv = c
	w.say("again")
	models.has(t, "main openai/test mine sk-test-0123456789")
}

func TestStartOfSettingsAndProfiles(t *testing.T) {
	t.Parallel()
	settings := json.RawMessage(`{"agent_kind":"openhands","llm":{"model":"openai/set","api_key":"gAAAAAc2stc2V0","base_url":"http://x"},"agent_context":{"secrets":{"A":"value of A"}}}`)
	for name, test := range map[string]struct {
		start control.Start
		model string
	}{
		"settings":         {control.Start{Settings: settings}, " openai/set default sk-set"},
		"profile":          {control.Start{Profile: "other"}, "other openai/other agent sk-test-0123456789"},
		"profile settings": {control.Start{Profile: "other", Settings: settings}, "other openai/other agent sk-test-0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var models asked
			w := newWorld(t, sealed, models.watch)
			w.llm.Reply(llmtest.Text("one"))
			w.startIt(test.start)
			w.say("hello")
			models.has(t, test.model)
			if strings.Contains(w.stored("base_state.json"), "sk-set") {
				t.Error("the key is stored")
			}
		})
	}
}

// In settings since OpenHands 1.51 the list of tools says which there are; older ones have
// switches.
func TestToolsOfSettingsOfAllVersions(t *testing.T) {
	t.Parallel()
	const none = `["FinishTool","ThinkTool"]`
	const switches = `["FinishTool","ThinkTool","SwitchLLMTool"]`
	const standard = `[{"name":"terminal","params":{}},{"name":"file_editor","params":{}},{"name":"task_tracker","params":{}}`
	for members, want := range map[string][2]string{
		``:              {standard + `]`, switches},
		`,"tools":null`: {standard + `]`, switches},
		`,"tools":[]`:   {`[]`, none},
		`,"tools":[{"name":"switch_llm"},{"name":"terminal"}]`:                       {`[{"name":"terminal"}]`, switches},
		`,"tools":[{"name":"SwitchLLMTool"}]`:                                        {`[]`, switches},
		`,"schema_version":5,"enable_switch_llm_tool":false`:                         {standard + `]`, none},
		`,"schema_version":5,"enable_switch_llm_tool":true,"enable_sub_agents":true`: {standard + `,{"name":"task_tool_set","params":{}}]`, switches},
		`,"schema_version":9,"tools":[{"name":"task_tool_set","params":{}}]`:         {`[{"name":"task_tool_set","params":{}}]`, none},
	} {
		w := newWorld(t)
		w.startIt(control.Start{Settings: json.RawMessage(`{"llm":{"model":"openai/set","api_key":"k","base_url":"http://x"}` + members + `}`)})
		var state struct {
			Agent struct {
				Tools   json.RawMessage
				Builtin json.RawMessage `json:"include_default_tools"`
			}
		}
		if err := json.Unmarshal([]byte(w.stored("base_state.json")), &state); err != nil {
			t.Fatal(err)
		}
		if tools, builtin := string(state.Agent.Tools), string(state.Agent.Builtin); tools != want[0] || builtin != want[1] {
			t.Errorf("%s: tools = %s, default tools = %s, want %s and %s", members, tools, builtin, want[0], want[1])
		}
	}
}

func TestStartKeepsWhatTheRequestSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sealed)
	w.startIt(control.Start{
		Agent: json.RawMessage(inlineAgent), Suffix: "Be brief.", Workspace: filepath.Join(w.workspace, "new"),
		Policy: json.RawMessage(`{"kind":"AlwaysConfirm"}`), Analyzer: json.RawMessage(`{"kind":"LLMSecurityAnalyzer"}`),
		MaxIterations: 7, NoStuck: true, Tags: map[string]string{"color": "red"},
		Request: json.RawMessage(`{"user_id":"u","agent":{"llm":{}},"plugins":null}`),
	})
	state, meta := w.stored("base_state.json"), w.stored("meta.json")
	for _, part := range []string{
		`"max_iterations":7`, `"stuck_detection":false`, `"AlwaysConfirm"`, `"LLMSecurityAnalyzer"`, `"color":"red"`, "Be brief.",
	} {
		if !strings.Contains(state, part) {
			t.Errorf("the state has no %s: %s", part, state)
		}
	}
	for _, part := range []string{`"user_id":"u"`, `"color":"red"`, `"autotitle":false`} {
		if !strings.Contains(meta, part) {
			t.Errorf("meta.json has no %s: %s", part, meta)
		}
	}
	if strings.Contains(meta, `"agent"`) {
		t.Errorf("meta.json has the agent: %s", meta)
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inline := json.RawMessage(inlineAgent)
	for name, s := range map[string]control.Start{
		"no model":      {Agent: json.RawMessage(`{"kind":"Agent","llm":{}}`)},
		"other kind":    {Agent: json.RawMessage(`{"kind":"ACPAgent"}`)},
		"tag":           {Agent: inline, Tags: map[string]string{"A": ""}},
		"long tag":      {Agent: inline, Tags: map[string]string{"a": strings.Repeat("x", 257)}},
		"own tag":       {Agent: inline, Tags: map[string]string{"ohgwprofile": "x"}},
		"parent":        {Agent: inline, Parent: uuid.New()},
		"encrypted key": {Agent: json.RawMessage(`{"llm":{"model":"m","api_key":"gAAAAAxx"}}`)},
		"analyzer":      {Agent: inline, Analyzer: json.RawMessage(`{"kind":"EnsembleSecurityAnalyzer","analyzers":[]}`)},
		"client tools":  {Agent: inline, Request: json.RawMessage(`{"client_tools":"x"}`)},
		"pattern":       {Agent: inline, Analyzer: json.RawMessage(`{"kind":"PatternSecurityAnalyzer","high_patterns":[["(?=a)","",""]]}`)},
	} {
		s.Workspace = filepath.Join(w.workspace, "never")
		s.Prepare = func(context.Context, *control.Start) error {
			t.Errorf("%s: the workspace is prepared", name)
			return nil
		}
		if _, _, err := w.backend.Control().Start(w.ctx(), s); !errors.Is(err, agentapi.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(w.workspace, "never")); err == nil {
		t.Error("a refused request has made a workspace")
	}
}

// A parent shares the workspace that the request names, also where a worktree of it is made.
func TestAPartMayHaveAWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	whole := w.startIt(control.Start{Agent: json.RawMessage(inlineAgent)}).Info()
	worktree, prepared := filepath.Join(t.TempDir(), "tree"), 0
	part := control.Start{Agent: json.RawMessage(inlineAgent), Parent: whole.ID, Prepare: func(_ context.Context, s *control.Start) error {
		prepared++
		s.Workspace, s.Suffix = worktree, "In a worktree."
		return nil
	}}
	part.Workspace = t.TempDir()
	if _, _, err := w.backend.Control().Start(w.ctx(), part); !errors.Is(err, control.ErrParent) || prepared != 0 {
		t.Errorf("elsewhere: %v, prepared %d times", err, prepared)
	}
	part.Workspace = whole.Workspace
	c, created, err := w.backend.Control().Start(w.ctx(), part)
	if err != nil || !created || prepared != 1 {
		t.Fatalf("created %v, %v, prepared %d times", created, err, prepared)
	}
	defer func() { _ = c.Close() }() // The conversation stays.
	if got := c.Info().Workspace; got != worktree {
		t.Errorf("it works in %s, want %s", got, worktree)
	}
	record, err := c.Record(t.Context())
	if err != nil || !strings.Contains(string(record.State), "In a worktree.") {
		t.Errorf("the state is %s, %v", record.State, err)
	}
}

func TestStartOfAConversationThatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startIt(control.Start{Agent: json.RawMessage(inlineAgent)})
	before := w.stored("base_state.json")
	for range 2 {
		c, created, err := w.backend.Control().Start(w.ctx(), control.Start{ID: w.id, Profile: "other", Workspace: w.workspace})
		if err != nil || created || c.Info().ID != w.id {
			t.Fatalf("created %v, %v", created, err)
		}
		if w.stored("base_state.json") != before {
			t.Error("the state has changed")
		}
		w.start()
	}
}

func TestTitleOfAStartedConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sealed)
	w.llm.Reply(llmtest.Text("one"), llmtest.Text("one"))
	w.startIt(control.Start{Agent: json.RawMessage(inlineAgent), Title: true})
	w.play(turn.Input{Message: agentapi.Message{Text: "hello"}, Emit: func(turn.Update) {}})
	var meta struct{ Title string }
	for ctx := w.ctx(); meta.Title == "" && ctx.Err() == nil; {
		if err := json.Unmarshal([]byte(w.stored("meta.json")), &meta); err != nil {
			t.Fatal(err)
		}
	}
	if meta.Title != "one" {
		t.Errorf("title %q", meta.Title)
	}
}

func TestUnknownToolFailsTheFirstMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, realTools)
	c := w.startIt(control.Start{Agent: json.RawMessage(strings.Replace(inlineAgent, `{"name":"terminal"}`, `{"name":"browser_tool_set"},{"name":"no_such_tool"}`, 1))})
	err := c.Send(w.ctx(), agentapi.Message{Text: "hello"})
	if !errors.Is(err, agentapi.ErrUnavailable) || !strings.Contains(err.Error(), "no_such_tool") {
		t.Errorf("Send: %v", err)
	}
	w.expect("")
}
