package stuck_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/stuck"
	"github.com/ohgw/ohgw/agentapi/event"
)

// history is a log that is told step by step.
type history []event.Event

func (h history) add(source string, b event.Body) history {
	return append(h, event.New(fmt.Sprint("id", len(h)), "", source, "", b))
}

// call is a call and its result; an error where the result begins with "!".
func (h history) call(tool, args, result string) history {
	id := fmt.Sprint("call", len(h))
	h = h.add(event.SourceAgent, &event.Action{ToolName: tool, ToolCallID: id, Action: json.RawMessage(args)})
	if result[0] == '!' {
		return h.add(event.SourceAgent, &event.AgentError{ToolName: tool, ToolCallID: id, Error: result})
	}
	return h.add(event.SourceEnvironment, &event.Observation{ToolName: tool, ToolCallID: id, Observation: json.RawMessage(result)})
}

func (h history) say(source string) history { return h.add(source, &event.Message{}) }

func (h history) times(n int, f func(history, int) history) history {
	for i := range n {
		h = f(h, i)
	}
	return h
}

func verdict(h history) (stuck.Verdict, string) {
	var t stuck.Trace
	for _, e := range h {
		t.Add(e)
	}
	return t.Verdict()
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	same := func(h history, _ int) history { return h.call("a", `{"x":1}`, `{"y":1}`) }
	fails := func(h history, _ int) history { return h.call("a", `{"x":1}`, `!no`) }
	other := func(h history, i int) history { return h.call("a", fmt.Sprintf(`{"x":%d}`, i), `{"y":1}`) }
	turns := func(h history, i int) history { return h.call("a", fmt.Sprintf(`{"x":%d}`, i%2), `{"y":1}`) }
	talk := func(h history, _ int) history { return h.say(event.SourceAgent).say(event.SourceEnvironment) }
	for name, tt := range map[string]struct {
		log  history
		want stuck.Verdict
	}{
		"nothing":                     {nil, stuck.Fine},
		"three of the same":           {history{}.times(3, same), stuck.Fine},
		"four of the same":            {history{}.times(4, same), stuck.Stuck},
		"four with another before":    {history{}.times(1, other).times(4, same), stuck.Stuck},
		"another in between":          {history{}.times(3, same).times(1, other).times(1, same), stuck.Fine},
		"same call, other results":    {history{}.times(4, func(h history, i int) history { return h.call("a", `{}`, strconv.Itoa(i)) }), stuck.Fine},
		"fifty, the first one new":    {counting(50), stuck.Fine},
		"fifty that are not new":      {counting(51), stuck.Repeat},
		"a hundred":                   {counting(101), stuck.Stuck},
		"ninety-nine, and a new one":  {counting(100).call("a", `{"new":1}`, `{}`), stuck.Fine},
		"three in turn without end":   {history{}.times(110, func(h history, i int) history { return h.call("a", fmt.Sprintf(`{"x":%d}`, i%3), fmt.Sprint(i)) }), stuck.Stuck},
		"two failures":                {history{}.times(2, fails), stuck.Fine},
		"three failures":              {history{}.times(3, fails), stuck.Nudge},
		"four failures":               {history{}.times(3, fails).say(event.SourceEnvironment).times(1, fails), stuck.Stuck},
		"failures of other calls":     {history{}.times(4, func(h history, i int) history { return h.call("a", strconv.Itoa(i), "!no") }), stuck.Fine},
		"malformed calls are alike":   {history{}.times(3, func(h history, _ int) history { return h.call("a", "null", "!no") }), stuck.Nudge},
		"three messages":              {history{}.times(3, talk), stuck.Stuck},
		"two messages":                {history{}.times(2, talk), stuck.Fine},
		"an action between messages":  {history{}.times(2, talk).times(1, other).times(1, talk), stuck.Fine},
		"summaries between messages":  {history{}.times(2, talk).add(event.SourceEnvironment, &event.Condensation{}).times(1, talk), stuck.Stuck},
		"five in turn":                {history{}.times(5, turns), stuck.Fine},
		"six in turn":                 {history{}.times(6, turns), stuck.Stuck},
		"six different ones":          {history{}.times(6, other), stuck.Fine},
		"an open call at the end":     {history{}.times(4, same).add(event.SourceAgent, &event.Action{ToolName: "a", ToolCallID: "open"}), stuck.Stuck},
		"a batch of four of the same": {batch(4), stuck.Stuck},
	} {
		if got, _ := verdict(tt.log); got != tt.want {
			t.Errorf("%s: verdict = %v, want %v", name, got, tt.want)
		}
	}
}

// counting is n equal calls, each with another result and another thought.
func counting(n int) history {
	return history{}.times(n, func(h history, i int) history {
		h = h.call("a", `{"x":1}`, strconv.Itoa(i))
		h[len(h)-2].Body.(*event.Action).Thought = []event.Content{event.Text(strconv.Itoa(i))}
		return h
	})
}

// batch is n equal calls of one answer, then their results.
func batch(n int) history {
	var h history
	for i := range n {
		h = h.add(event.SourceAgent, &event.Action{ToolName: "a", ToolCallID: strconv.Itoa(i), Action: json.RawMessage(`{}`)})
	}
	for i := range n {
		h = h.add(event.SourceEnvironment, &event.Observation{ToolName: "a", ToolCallID: strconv.Itoa(i), Observation: json.RawMessage(`{}`)})
	}
	return h
}

func TestNudgeNamesItsError(t *testing.T) {
	t.Parallel()
	h := history{}.times(3, func(h history, _ int) history { return h.call("a", `{}`, `!no`) })
	if _, cause := verdict(h); cause != h[len(h)-1].ID {
		t.Errorf("cause %q", cause)
	}
}
