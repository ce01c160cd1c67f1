package critic_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/critic"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestCriticsScoreAsOpenHandsDoes(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]event.CriticResult{
		"PassCritic":          {Score: 1, Message: "PassCritic always succeeds"},
		"EmptyPatchCritic":    {Score: 0, Message: "Git patch is empty or missing"},
		"AgentFinishedCritic": {Score: 0, Message: "Agent did not produce a non-empty git patch. Empty git patch"},
	} {
		c, err := critic.Of(json.RawMessage(`{"kind":"`+kind+`"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Evaluate(t.Context(), critic.Trace{}); err != nil || got.Score != want.Score || got.Message != want.Message {
			t.Errorf("%s: result = %+v, want %+v", kind, got, want)
		}
	}
}

func TestCriticsLookWhenTheirModeSaysSo(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][3]bool{
		"":                             {false, true, true},
		`,"mode":"finish_and_message"`: {false, true, true},
		`,"mode":"all_actions"`:        {true, true, false},
	} {
		c, err := critic.Of(json.RawMessage(`{"kind":"PassCritic"`+mode+`}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{c.Wants(critic.Action), c.Wants(critic.Finish), c.Wants(critic.Message)}; got != want {
			t.Errorf("%s: it looks at %v, want %v", mode, got, want)
		}
	}
	var none *critic.Critic
	if none.Asks() || none.Wants(critic.Finish) || none.Refine(&event.CriticResult{}, 0) != "" {
		t.Error("a critic that is not there looks at something")
	}
}

func TestRefinementHasLimits(t *testing.T) {
	t.Parallel()
	c, err := critic.Of(json.RawMessage(`{"kind":"PassCritic","iterative_refinement":{}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "The task appears incomplete (iteration 3, predicted success likelihood: 59.0%).\n\n" +
		"Please review what you've done and verify each requirement is met.\nList what's working and what needs fixing, then complete the task.\n"
	if got := c.Refine(&event.CriticResult{Score: 0.59}, 2); got != want {
		t.Errorf("the agent is told %q, want %q", got, want)
	}
	if c.Refine(&event.CriticResult{Score: 0.6}, 0) != "" || c.Refine(&event.CriticResult{}, 3) != "" || c.Refine(nil, 0) != "" {
		t.Error("the agent has to continue at the threshold, after the last round, or without a result")
	}
}

func TestWrongCriticsAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[]`, `{}`, `{"kind":"OtherCritic"}`, `{"kind":"PassCritic","mode":"never"}`, `{"kind":"PassCritic","iterative_refinement":1}`,
		`{"kind":"PassCritic","iterative_refinement":{"success_threshold":1.1}}`, `{"kind":"PassCritic","iterative_refinement":{"success_threshold":-1}}`,
		`{"kind":"PassCritic","iterative_refinement":{"max_iterations":0}}`, `{"kind":"PassCritic","iterative_refinement":{"max_iterations":1e999}}`,
	} {
		if _, err := critic.Of(json.RawMessage(text), nil); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	if c, err := critic.Of(json.RawMessage(`null`), nil); c != nil || err != nil {
		t.Errorf("null: critic = %+v, %v, want none", c, err)
	}
}
