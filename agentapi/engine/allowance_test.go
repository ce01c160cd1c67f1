//go:build unix

package engine_test

import (
	"encoding/json"
	"math"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// limitedWorld has an agent with sub-agents, whose runs may take an amount. A call costs 60
// cents, and has 110 tokens.
func limitedWorld(t *testing.T, limit budget.Amount) *world {
	t.Helper()
	w, agents := agentWorld(t, realTools, func(c *engine.Config) { withModel(c, func(m llm.Model) llm.Model { return priced{m} }) })
	agents["reviewer"] = engine.Agent{
		Profile: "main", MaxRun: limit,
		Settings: json.RawMessage(`{"enable_sub_agents":true,"tool_concurrency_limit":4}`),
	}
	w.begin("agent_reviewer")
	return w
}

// endless are a task and more steps than any limit of these tests allows.
func endless(w *world) {
	w.llm.Reply(task(`{"prompt":"go on"}`))
	w.llm.On(llmtest.Says("go on"), steps()...)
}

// steps are those of tasks.
func steps() (list []llmtest.Reply) {
	for range 40 {
		list = append(list, terminal("true"))
	}
	return list
}

func TestASubAgentHasWhatIsLeftOfItsParentsLimits(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]budget.Amount{"money": {Cost: 2.4}, "tokens": {Tokens: 440}, "both": {Cost: 100, Tokens: 400}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := limitedWorld(t, limit)
			endless(w)
			res := w.say("go")
			if res.Outcome != turn.Failed || res.Cause.Code != agentapi.CodeBudget || math.Abs(res.Usage.Cost-2.4) > 1e-9 {
				t.Errorf("result = %+v, want the end of the budget after four calls", res)
			}
			if o := lastTask(t, w); !o.IsError {
				t.Errorf("the task = %+v, want that it reached the limit", o)
			}
			if n := len(w.llm.Requests()); n != 4 {
				t.Errorf("the LLM was asked %d times, want 4: a task has what is left", n)
			}
		})
	}
}

func TestSubAgentsAtTheSameTimeShareWhatIsLeft(t *testing.T) {
	t.Parallel()
	w := limitedWorld(t, budget.Amount{Cost: 3})
	four := make([]llmtest.Call, 4)
	for i := range four {
		four[i] = llmtest.Call{Name: "task", Args: `{"prompt":"go on"}`}
	}
	w.llm.Reply(llmtest.Reply{Calls: four})
	w.llm.On(llmtest.Says("go on"), steps()...)
	res := w.say("go")
	if most := 3 + 4*0.6; res.Usage.Cost < 3 || res.Usage.Cost > most+1e-9 {
		t.Errorf("the run has cost %g, want from 3 to %g: one step of each task above the budget", res.Usage.Cost, most)
	}
	if paid := 0.6 * float64(len(w.llm.Requests())); math.Abs(paid-res.Usage.Cost) > 1e-9 {
		t.Errorf("the LLM was paid %g, and the usage is %g", paid, res.Usage.Cost)
	}
}

// meter allows a number of US dollars.
type meter struct {
	allows float64

	mu   sync.Mutex
	cost float64
}

func (m *meter) Took(cost float64, _ int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cost = max(m.cost, cost); m.cost >= m.allows {
		return "The meter says so."
	}
	return ""
}

func TestTheMeterOfAMessageEndsItsRun(t *testing.T) {
	t.Parallel()
	w := limitedWorld(t, budget.Amount{})
	m := &meter{allows: 1.7}
	endless(w)
	res := w.play(turn.Input{Message: agentapi.Message{Text: "go", Meter: m}})
	if res.Outcome != turn.Failed || res.Cause.Code != agentapi.CodeBudget || res.Cause.Detail != "The meter says so." {
		t.Errorf("result = %+v, want what the meter says", res)
	}
	if n := len(w.llm.Requests()); n != 3 || math.Abs(m.cost-1.8) > 1e-9 {
		t.Errorf("the LLM was asked %d times, and the meter learned of %g; want 3 and 1.8", n, m.cost)
	}
	w.llm.Reply(llmtest.Text("ok")) // the next message has no meter
	if res := w.say("more"); res.Outcome != turn.Finished || math.Abs(m.cost-1.8) > 1e-9 {
		t.Errorf("result = %+v, and the meter has %g", res, m.cost)
	}
	m = &meter{allows: 100} // it learns of the last step, too
	w.llm.Reply(llmtest.Text("ok"))
	w.play(turn.Input{Message: agentapi.Message{Text: "go", Meter: m}})
	if math.Abs(m.cost-0.6) > 1e-9 {
		t.Errorf("the meter learned of %g, want 0.6", m.cost)
	}
	m = &meter{} // nothing is left
	n := len(w.llm.Requests())
	if res := w.play(turn.Input{Message: agentapi.Message{Text: "go", Meter: m}}); res.Outcome != turn.Failed || len(w.llm.Requests()) != n {
		t.Errorf("result = %+v after %d calls, want none", res, len(w.llm.Requests())-n)
	}
}
