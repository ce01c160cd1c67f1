package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

func TestAPersonaOfTheSettingsIsTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *engine.Config) {
		c.Settings = settings(engine.Settings{Agent: json.RawMessage(`{"persona":"You review code."}`)})
	})
	w.llm.Reply(llmtest.Text("hello"))
	w.say("hi")
	told := w.llm.Await(t, 1).Messages[0]
	if told.Role != "system" || !strings.HasPrefix(told.Text, "You review code.") || strings.Contains(told.Text, "<ROLE>") || !strings.Contains(told.Text, "<SECURITY>") {
		t.Errorf("the model is told %.200q", told.Text)
	}
}
