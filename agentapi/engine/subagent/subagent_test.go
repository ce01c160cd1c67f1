package subagent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/subagent"
)

// TestTheTextOfTheToolIsBounded has a workspace with definitions that would make each request
// of the agent 2 MB.
func TestTheTextOfTheToolIsBounded(t *testing.T) {
	t.Parallel()
	var agents []definition.Definition
	for i := range 100 {
		agents = append(agents, definition.Definition{Name: fmt.Sprintf("a%d", i), Description: strings.Repeat("long ", 4000), Tools: []string{"terminal"}})
	}
	text := (&subagent.Task{Agents: agents}).Definition().Description
	if len(text) > 48<<10 {
		t.Errorf("the text has %d bytes", len(text))
	}
	for _, d := range agents {
		if !strings.Contains(text, "\n- "+d.Name+": long ") {
			t.Errorf("the text lacks %s", d.Name)
		}
	}
	if got := (&subagent.Task{Agents: agents[:1]}).Definition().Description; len(got) < 1000 {
		t.Errorf("the text of one agent has only %d bytes", len(got))
	}
}
