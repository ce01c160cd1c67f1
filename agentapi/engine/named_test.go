package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/uuid"
)

// named are agents by name.
type named map[string]engine.Agent

func (n named) List(context.Context) ([]agentapi.Profile, error) {
	var list []agentapi.Profile
	for name := range n {
		list = append(list, agentapi.Profile{Name: agentapi.AgentProfile(name), Agent: name})
	}
	return list, nil
}

func (n named) Load(_ context.Context, name, _ string) (engine.Agent, error) {
	a, ok := n[name]
	if !ok {
		return a, &agentapi.Error{Kind: agentapi.ErrProfileNotFound}
	}
	a.Name = name
	return a, nil
}

const reviewer = `{
	"tools": [{"name": "task_tracker"}],
	"agent_context": {"system_message_suffix": "You are strict."},
	"condenser": {"enabled": false},
	"mcp_config": {"own": {"command": "own-server"}}
}`

// agentWorld is a world with the agent reviewer, on the profile other.
func agentWorld(t *testing.T, change ...func(*engine.Config)) (*world, named) {
	t.Helper()
	agents := named{"reviewer": {Profile: "other", Settings: json.RawMessage(reviewer)}}
	return newWorld(t, append(change, func(c *engine.Config) { c.Agents = agents })...), agents
}

func (w *world) begin(profile string) {
	w.t.Helper()
	c, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: w.id, Profile: profile, Workspace: w.workspace, System: "Be brief."})
	if err != nil {
		w.t.Fatal(err)
	}
	w.conv = c
}

func TestAnAgentIsAModelBesideTheProfiles(t *testing.T) {
	t.Parallel()
	w, agents := agentWorld(t)
	agents["main"] = engine.Agent{}
	w.profiles.Set("agent_main", "test") // takes the place of the agent
	list, err := w.backend.Profiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		got = append(got, p.Name+" "+p.Agent)
	}
	if diff := cmp.Diff([]string{"agent_main ", "agent_reviewer reviewer", "main ", "other "}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnAgentHasItsOwnModelToolsAndInstructions(t *testing.T) {
	t.Parallel()
	w, _ := agentWorld(t, realTools, func(c *engine.Config) {
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{
			"tools": [{"name": "terminal"}], "mcp_config": {"users": {"command": "users-server"}},
			"agent_context": {"system_message_suffix": "Speak Latin.", "secrets": {"TOKEN": "t0k3n"}}
		}`)})
	})
	w.begin("agent_reviewer")
	if p := w.conv.Info().Profile; p != "agent_reviewer" {
		t.Errorf("profile %q", p)
	}
	data, err := os.ReadFile(filepath.Join(w.dir(), "base_state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Agent struct {
			LLM     struct{ Model string }
			Tools   []struct{ Name string }
			MCP     map[string]any `json:"mcp_config"`
			Context struct {
				Suffix string `json:"system_message_suffix"`
			} `json:"agent_context"`
			Condenser any
		}
		Secrets json.RawMessage `json:"secret_registry"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	a := s.Agent
	if !strings.HasSuffix(a.LLM.Model, "other") || len(a.Tools) != 1 || a.Tools[0].Name != "task_tracker" || a.Condenser != nil {
		t.Errorf("agent %+v", a)
	}
	if len(a.MCP) != 1 || a.MCP["own"] == nil || a.Context.Suffix != "You are strict.\n\nBe brief." {
		t.Errorf("agent %+v", a)
	}
	if !strings.Contains(string(s.Secrets), "TOKEN") {
		t.Error("the user's secrets are not the agent's")
	}
}

// An agent that names its secrets has those of the user's that it names.
func TestAnAgentHasTheSecretsThatItNames(t *testing.T) {
	t.Parallel()
	for _, refs := range []*[]string{nil, {}, {"TOKEN", "MISSING"}} {
		w, agents := agentWorld(t, realTools, func(c *engine.Config) {
			c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"agent_context": {"secrets": {"TOKEN": "t0k3n-value", "OTHER": "oth3r-value"}}}`)})
		})
		agent := agents["reviewer"]
		agent.Secrets = refs
		agents["reviewer"] = agent
		w.begin("agent_reviewer")
		data, err := os.ReadFile(filepath.Join(w.dir(), "base_state.json"))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"TOKEN": refs == nil || len(*refs) > 0, "OTHER": refs == nil} {
			if got := strings.Contains(string(data), `"`+name+`"`); got != want {
				t.Errorf("with the secrets %v: %s is there: %t", refs, name, got)
			}
		}
	}
}

func TestAConversationStaysWithItsAgent(t *testing.T) {
	t.Parallel()
	w, agents := agentWorld(t)
	w.begin("agent_reviewer")
	w.say("hello")
	for _, other := range []string{"main", "agent_other"} {
		if err := w.conv.Switch(w.ctx(), other); !errors.Is(err, agentapi.ErrUnsupported) {
			t.Errorf("%s: %v", other, err)
		}
	}
	delete(agents, "reviewer") // the file is gone
	w.close()
	w.start()
	w.begin("agent_reviewer") // its own model goes on
	w.begin("main")
	if p := w.conv.Info().Profile; p != "agent_reviewer" {
		t.Errorf("profile %q", p)
	}
	w.say("again")
	w.expect("SP U M U M")

	w.id = uuid.New()
	w.begin("main")
	if err := w.conv.Switch(w.ctx(), "agent_reviewer"); !errors.Is(err, agentapi.ErrUnsupported) {
		t.Error(err)
	}
	if err := w.conv.Switch(w.ctx(), "other"); err != nil {
		t.Error(err)
	}
	_, err := w.backend.Open(w.ctx(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "agent_none", Workspace: w.workspace})
	if !errors.Is(err, agentapi.ErrProfileNotFound) {
		t.Error(err)
	}
}

func TestAnAgentAsksForMoreConfirmationsButNeverForFewer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ chosen, settings, agent, want agentapi.Confirmation }{
		"agent asks":     {"", "", agentapi.ConfirmAlways, agentapi.ConfirmAlways},
		"agent is lower": {"", agentapi.ConfirmAlways, agentapi.ConfirmNever, agentapi.ConfirmAlways},
		"chosen":         {agentapi.ConfirmRisky, "", agentapi.ConfirmNever, agentapi.ConfirmRisky},
		"chosen less":    {agentapi.ConfirmNever, "", agentapi.ConfirmRisky, agentapi.ConfirmRisky},
		"nobody":         {"", "", "", agentapi.ConfirmNever},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, agents := agentWorld(t, func(cfg *engine.Config) {
				cfg.Confirm, cfg.Settings = c.chosen, settings(engine.Settings{Confirm: c.settings})
			})
			agents["reviewer"] = engine.Agent{Profile: "main", Confirm: c.agent}
			w.begin("agent_reviewer")
			s, err := w.conv.State(w.ctx())
			if err != nil || agentapi.ConfirmationOf(s.ConfirmationPolicy) != c.want {
				t.Errorf("policy = %s, %v, want that of %q", s.ConfirmationPolicy, err, c.want)
			}
		})
	}
}

func TestTheBudgetOfAnAgentIsThatOfEachRun(t *testing.T) {
	t.Parallel()
	w, agents := agentWorld(t, func(c *engine.Config) { withModel(c, func(m llm.Model) llm.Model { return priced{m} }) })
	agents["reviewer"] = engine.Agent{Profile: "main", MaxRun: budget.Amount{Cost: 1}, MaxIterations: 7}
	w.begin("agent_reviewer")
	for range 2 { // each run may spend it
		w.llm.Reply(terminal("echo 1"), terminal("echo 2"))
		if res := w.say("go"); res.Outcome != turn.Failed || res.Cause.Code != "MaxBudgetReached" || res.Usage.Cost != 1.2 {
			t.Errorf("result %+v", res)
		}
	}
	w.status(event.Failed)
	data, err := os.ReadFile(filepath.Join(w.dir(), "base_state.json"))
	if err != nil || !strings.Contains(string(data), `"max_iterations":7`) {
		t.Errorf("base_state.json = %s, %v, want 7 iterations at most", data, err)
	}
}
