package agentserver_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/internal/uuid"
)

func agentProfile(llm string) map[string]any {
	return map[string]any{"agent_kind": "openhands", "llm_profile_ref": llm, "system_message_suffix": "Be an agent."}
}

// names are the profiles of a world, in their order.
func (w *world) names(t *testing.T) (names []string) {
	t.Helper()
	list, err := w.backend.Profiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names
}

func TestAgentProfilesAreModels(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.SaveProfile("agent_taken", fakeserver.Profile{Model: "openai/test"})
		acp := agentProfile("fast")
		acp["agent_kind"] = "acp"
		for name, fields := range map[string]map[string]any{
			"reviewer": agentProfile("fast"), "acp": acp, "ohgw.fast": agentProfile("fast"), "dangling": agentProfile("gone"),
			"taken": agentProfile("fast"),
		} {
			w.SaveAgent(name, fields)
		}
		if diff := cmp.Diff([]string{"agent_reviewer", "agent_taken", "fast"}, w.names(t)); diff != "" {
			t.Errorf("models, -want +got:\n%s", diff)
		}
		start := startOf(t, w, agentapi.OpenRequest{Profile: "agent_reviewer", System: "Be brief."})
		if start["agent_profile_id"] == nil || start["agent_settings"] != nil || at(start, "agent_launch_additions", "system_message_suffix_append") != "Be brief." {
			t.Errorf("the start request is %v", start)
		}
		if at(start, "tags", "ohgwprofile") != "agent_reviewer" || at(start, "max_iterations") != 500.0 || at(start, "confirmation_policy", "kind") != "NeverConfirm" {
			t.Errorf("the start request is %v", start)
		}
		start = startOf(t, w, agentapi.OpenRequest{Profile: "agent_taken"})
		if start["agent_profile_id"] != nil || at(start, "agent_settings", "llm", "model") != "openai/test" {
			t.Errorf("an LLM profile with the name of an agent: %v", start)
		}
	})
}

// TestAListOfModelsMakesNoAgentProfile has a server that would make one when it is
// asked for its list.
func TestAListOfModelsMakesNoAgentProfile(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		if diff := cmp.Diff([]string{"fast"}, w.names(t)); diff != "" {
			t.Errorf("models, -want +got:\n%s", diff)
		}
		if n := len(w.Calls("GET", "/api/agent-profiles")); n > 0 {
			t.Errorf("the list was asked for %d times", n)
		}
	})
}

// TestAServerThatCannotListItsAgentsHasItsProfiles has one whose agent profiles are broken
// for a moment.
func TestAServerThatCannotListItsAgentsHasItsProfiles(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.SaveAgent("reviewer", agentProfile("fast"))
		w.Fail("GET", "/api/agent-profiles", 1, 500, `{"detail":"Internal Server Error"}`)
		for _, want := range [][]string{{"fast"}, {"agent_reviewer", "fast"}} {
			if diff := cmp.Diff(want, w.names(t)); diff != "" {
				t.Errorf("models, -want +got:\n%s", diff)
			}
		}
	})
}

func TestACopyOfAConversationWithAnAgentKeepsIt(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.SaveAgent("reviewer", agentProfile("fast"))
		c, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "agent_reviewer", Workspace: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		run(t, c)
		copied, err := c.Fork(t.Context(), agentapi.ForkRequest{ID: uuid.New()})
		if err != nil {
			t.Fatal(err)
		}
		if o := run(t, copied); o.err != nil || o.Answer != "ok" || copied.Info().Profile != "agent_reviewer" {
			t.Errorf("outcome of the copy: %+v, %+v", o, copied.Info())
		}
		again, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: copied.Info().ID})
		if err != nil || again.Info().Profile != "agent_reviewer" {
			t.Errorf("the copy is %+v, %v", again, err)
		}
	})
}

func TestADirectCallOfAnAgentIsOneOfItsLLM(t *testing.T) {
	t.Parallel()
	inBubble(t, fakeserver.Options{}, func(t *testing.T, w *world) {
		w.SaveAgent("reviewer", agentProfile("fast"))
		if _, err := w.backend.DirectLLM(t.Context(), "agent_reviewer"); err != nil {
			t.Errorf("error of a direct call: %v", err)
		}
		if calls := w.Calls("GET", "/api/profiles/fast"); !slices.ContainsFunc(calls, func(c fakeserver.Call) bool { return c.Header.Get("X-Expose-Secrets") == "plaintext" }) {
			t.Errorf("calls: %+v", calls)
		}
	})
}

// TestAnAgentHasOurOwnSecrets has an LLM profile whose key only ohgw has. The server
// counts what the agent takes all the same.
func TestAnAgentHasOurOwnSecrets(t *testing.T) {
	t.Parallel()
	var keys []string
	opts := fakeserver.Options{Model: func(_ context.Context, p fakeserver.Prompt, _ func(string)) (fakeserver.Reply, error) {
		keys = append(keys, p.Key)
		return fakeserver.Reply{Text: "ok"}, nil
	}}
	inBubble(t, opts, func(t *testing.T, w *world) {
		var asked []agentserver.LLMProfile
		equipped(t, w, &asked)
		w.SaveProfile("other", fakeserver.Profile{Model: "openai/other", Key: "sk-other"})
		w.SaveAgent("reviewer", agentProfile("fast"))
		w.SaveAgent("writer", agentProfile("other"))
		for _, name := range []string{"agent_reviewer", "agent_writer"} {
			c, err := w.backend.Open(t.Context(), agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: name, Workspace: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			if o := run(t, c); o.err != nil || o.Answer != "ok" || c.Info().Profile != name {
				t.Errorf("outcome of %s: %+v, %+v", name, o, c.Info())
			}
		}
		if diff := cmp.Diff([]string{"sk-stored", "sk-other"}, keys); diff != "" {
			t.Errorf("keys of the model, -want +got:\n%s", diff)
		}
		for _, call := range w.Calls("POST", "") {
			if strings.Contains(call.Body, "sk-stored") && !strings.HasSuffix(call.Path, "/switch_llm") {
				t.Errorf("%s got the key", call.Path)
			}
		}
	})
}
