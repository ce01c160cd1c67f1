package critic_test

import (
	"encoding/json"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/critic"
)

func TestCriticsScore(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][4]float64{ // nothing, changed, finished, both
		"PassCritic":          {1, 1, 1, 1},
		"EmptyPatchCritic":    {0, 1, 0, 1},
		"AgentFinishedCritic": {0, 0, 0, 1},
	} {
		c, err := critic.Of(json.RawMessage(`{"kind":"` + kind + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range []critic.Work{{}, {Changed: true}, {Finished: true}, {Finished: true, Changed: true}} {
			if score, why := c.Evaluate(w); score != want[i] || why == "" {
				t.Errorf("%s says %v (%s) of %+v", kind, score, why, w)
			}
		}
	}
}

func TestCriticsLookWhenTheirModeSaysSo(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][3]bool{"": {false, true, true}, "finish_and_message": {false, true, true}, "all_actions": {true, true, false}} {
		c, err := critic.Of(json.RawMessage(`{"kind":"PassCritic","mode":"` + mode + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := [3]bool{c.Wants(critic.Action), c.Wants(critic.Finish), c.Wants(critic.Message)}; got != want {
			t.Errorf("%q: %v", mode, got)
		}
	}
	var none *critic.Critic
	if none.Wants(critic.Finish) || none.Refines(0, 0) {
		t.Error("without a critic something is looked at")
	}
}

func TestRefinementHasLimits(t *testing.T) {
	t.Parallel()
	c, err := critic.Of(json.RawMessage(`{"kind":"PassCritic","iterative_refinement":{}}`))
	if err != nil || !c.Refines(0.59, 2) || c.Refines(0.6, 0) || c.Refines(0, 3) {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{`[]`, `{"kind":"APIBasedCritic"}`, `{"kind":"PassCritic","iterative_refinement":1}`} {
		if c, err := critic.Of(json.RawMessage(text)); c != nil || err == nil {
			t.Errorf("%s: %+v", text, c)
		}
	}
	if c, err := critic.Of(json.RawMessage(`null`)); c != nil || err != nil {
		t.Error(c, err)
	}
}
