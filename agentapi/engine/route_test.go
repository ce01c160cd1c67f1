//go:build unix

package engine_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// routes gives conversations the real tools, and the meta-profiles of a directory without
// any.
func routes(t *testing.T) func(*engine.Config) {
	files := profile.Open(profile.Config{Base: t.TempDir()})
	return func(c *engine.Config) {
		c.NewTools = toolset.New(toolset.Config{Environ: os.Environ(), HTTP: http.DefaultTransport, Router: files.Router})
	}
}

type routeObservation struct {
	IsError bool   `json:"is_error"`
	Class   string `json:"chosen_class"`
	Profile string `json:"model"`
	Model   string `json:"active_model"`
}

const routeCall = "route_task_to_model"

// routedSettings are settings whose agent has a meta-profile; llms are of its own.
func routedSettings(llms string) json.RawMessage {
	return json.RawMessage(`{"agent_kind":"openhands","llm":{"model":"openai/inline","api_key":"` + ownKey + `","base_url":"http://x","usage_id":"mine"},
		"tools":[],"condenser":{"enabled":false},"enable_classify_and_switch_llm_tool":true,
		"meta_profile":{"classifier_model":"main","classes":[{"description":"easy","model":"main"},{"description":"hard","model":"other"}]}` + llms + `}`)
}

// classifies has requests without tools, which are those of classifiers, answered so.
func (w *world) classifies(answer string) {
	w.llm.On(func(r *llmtest.Request) bool { return len(r.Tools) == 0 }, llmtest.Text(answer))
}

func TestAnAgentRoutesItsTaskToAnotherProfile(t *testing.T) {
	t.Parallel()
	var models asked
	w := newWorld(t, sealed, models.watch, routes(t))
	w.classifies("2")
	w.llm.Reply(llmtest.Tool(routeCall, "{}"), llmtest.Finish("done"))
	c := w.startIt(control.Start{Settings: routedSettings("")})
	if res := w.say("a hard one"); res.Answer != "done" {
		t.Fatalf("result = %+v, want the answer %q", res, "done")
	}
	w.expect("SP U A(route_task_to_model) O A(finish) O")
	var got routeObservation
	w.observation(0, &got)
	if diff := cmp.Diff(routeObservation{false, "hard", "other", "openai/other"}, got); diff != "" {
		t.Error(diff)
	}
	requests := w.llm.Requests()
	if len(requests) != 3 || requests[1].Model != "test" || requests[2].Model != "other" {
		t.Fatalf("%d requests", len(requests))
	}
	if text := requests[1].Messages[1].Text; !strings.Contains(text, "user: a hard one") {
		t.Errorf("the classifier was shown %q", text)
	}
	models.has(t, "main openai/test classifier:main sk-test-0123456789")
	record := w.record(c.Info().ID)
	if !strings.Contains(string(record.State), `"classifier:main":`) {
		t.Errorf("no numbers of the classifier in %s", record.State)
	}
	// The model stays, also after a restart.
	w.llm.Reply(llmtest.Text("still"))
	if w.reopened(); w.say("go on").Answer != "still" {
		t.Error("no answer")
	}
	if last := w.llm.Requests(); last[len(last)-1].Model != "other" {
		t.Errorf("%s answered", last[len(last)-1].Model)
	}
}

// The LLMs of a meta-profile that came with the agent are used in place of profiles. Their
// keys are stored as that of the agent's own LLM, and not told.
func TestAnAgentRoutesItsTaskToAnLLMOfItsOwn(t *testing.T) {
	t.Parallel()
	const key = "sk-routed-0123456789"
	var models asked
	w := newWorld(t, sealed, models.watch, routes(t))
	w.classifies("2")
	w.llm.Reply(llmtest.Tool(routeCall, "{}"), llmtest.Finish("done"))
	llm := func(model string) string {
		return fmt.Sprintf(`{"model":%q,"api_key":%q,"base_url":"http://x"}`, model, key)
	}
	c := w.startIt(control.Start{Settings: routedSettings(`,"meta_profile_llms":{"main":` + llm("openai/sorts") + `,"other":` + llm("openai/works") + `}`)})
	if res := w.say("a hard one"); res.Answer != "done" {
		t.Fatalf("result = %+v, want the answer %q", res, "done")
	}
	var got routeObservation
	w.observation(0, &got)
	if diff := cmp.Diff(routeObservation{false, "hard", "other", "openai/works"}, got); diff != "" {
		t.Error(diff)
	}
	models.has(t, " openai/sorts classifier:main "+key)
	models.has(t, " openai/works profile:other "+key)
	if text := w.stored("base_state.json") + string(w.record(c.Info().ID).State); strings.Contains(text, key) {
		t.Error("a key is told, or stored in the clear")
	}
	// After a restart they are the same.
	w.llm.Reply(llmtest.Tool(routeCall, "{}"), llmtest.Text("again"))
	if w.reopened(); w.say("go on").Answer != "again" {
		t.Error("no answer")
	}
	if w.observation(1, &got); got.IsError || got.Profile != "other" {
		t.Errorf("routing = %+v, want the profile %q", got, "other")
	}
}

// What the agent that starts has is what OpenHands 1.58.2 makes of the same settings.
func TestTheToolOfAMetaProfileIsStoredAsInOpenHands(t *testing.T) {
	t.Parallel()
	const llm = `"llm":{"model":"openai/m","api_key":"k"},"condenser":{"enabled":false}`
	for name, tt := range map[string]struct{ settings, tools, builtin string }{
		"off":                 {`{"tools":[{"name":"terminal"}],` + llm + `}`, `[{"name":"terminal"}]`, `["FinishTool","ThinkTool"]`},
		"on":                  {`{"tools":[{"name":"terminal"}],"enable_classify_and_switch_llm_tool":true,` + llm + `}`, `[{"name":"terminal"},{"name":"ClassifyAndSwitchLLMTool","params":{}}]`, `["FinishTool","ThinkTool"]`},
		"on, by a name":       {`{"tools":[],"enable_classify_and_switch_llm_tool":true,"active_meta_profile":"r","meta_profile":null,"meta_profile_llms":{},` + llm + `}`, `[{"name":"ClassifyAndSwitchLLMTool","params":{"active_meta_profile":"r"}}]`, `["FinishTool","ThinkTool"]`},
		"listed":              {`{"tools":[{"name":"route_task_to_model"},{"name":"terminal"}],` + llm + `}`, `[{"name":"terminal"}]`, `["FinishTool","ThinkTool","ClassifyAndSwitchLLMTool"]`},
		"listed, with a name": {`{"tools":[{"name":"route_task_to_model","params":{"active_meta_profile":"r"}}],` + llm + `}`, `[{"name":"ClassifyAndSwitchLLMTool","params":{"active_meta_profile":"r"}}]`, `["FinishTool","ThinkTool"]`},
		"on and listed":       {`{"tools":[{"name":"route_task_to_model"}],"enable_classify_and_switch_llm_tool":true,` + llm + `}`, `[{"name":"ClassifyAndSwitchLLMTool","params":{}}]`, `["FinishTool","ThinkTool"]`},
	} {
		w := newWorld(t, sealed, routes(t))
		w.startIt(control.Start{Settings: json.RawMessage(tt.settings)})
		var stored struct {
			Agent struct {
				Tools   json.RawMessage `json:"tools"`
				Builtin json.RawMessage `json:"include_default_tools"`
			} `json:"agent"`
		}
		if err := json.Unmarshal([]byte(w.stored("base_state.json")), &stored); err != nil {
			t.Fatal(err)
		}
		if got := spaceless(t, stored.Agent.Tools); got != tt.tools {
			t.Errorf("%s: tools %s", name, got)
		}
		if got := spaceless(t, stored.Agent.Builtin); got != tt.builtin {
			t.Errorf("%s: built-in tools %s", name, got)
		}
	}
}

// The tool is there by each of its names, without a meta-profile it says so, and the model
// stays the same.
func TestAnAgentWithoutAMetaProfileIsToldSo(t *testing.T) {
	t.Parallel()
	for _, members := range []string{
		`"tools":[{"name":"route_task_to_model"}]`, `"tools":[{"name":"ClassifyAndSwitchLLMTool","params":{}}]`,
		`"tools":[],"include_default_tools":["FinishTool","ClassifyAndSwitchLLMTool"]`,
	} {
		w := newWorld(t, sealed, routes(t))
		w.llm.Reply(llmtest.Tool(routeCall, "{}"), llmtest.Text("done"))
		w.startIt(control.Start{Agent: json.RawMessage(`{"kind":"Agent","llm":{"model":"openai/m","api_key":"k"},` + members + `}`)})
		if res := w.say("go"); res.Answer != "done" {
			t.Errorf("%s: result = %+v, want the answer %q", members, res, "done")
		}
		var got terminalObservation
		if w.observation(0, &got); !got.IsError || !strings.Contains(got.Content[0].Text, "there is none") {
			t.Errorf("%s: observation = %+v, want an error about the missing meta-profile", members, got)
		}
	}
}

func spaceless(t *testing.T, data json.RawMessage) string {
	t.Helper()
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
