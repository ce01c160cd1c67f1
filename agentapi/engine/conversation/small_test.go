package conversation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestAModelWithASmallContextIsToldTheLeast(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		info  llm.Info
		size  conversation.PromptSize
		small bool
	}{
		"small":                            {llm.Info{ContextWindow: 4096, Served: true}, conversation.AutoPrompt, true},
		"just small":                       {llm.Info{ContextWindow: 15_999, Served: true}, conversation.AutoPrompt, true},
		"large enough":                     {llm.Info{ContextWindow: 16_000, Served: true}, conversation.AutoPrompt, false},
		"small by a catalogue only":        {llm.Info{ContextWindow: 8192}, conversation.AutoPrompt, false},
		"unknown":                          {llm.Info{}, conversation.AutoPrompt, false},
		"large, and small is wanted":       {llm.Info{ContextWindow: 200_000, Served: true}, conversation.SmallPrompt, true},
		"small, and the whole is wanted":   {llm.Info{ContextWindow: 4096, Served: true}, conversation.FullPrompt, false},
		"nothing known, small is wanted":   {llm.Info{}, conversation.SmallPrompt, true},
		"nothing known, whole is demanded": {llm.Info{}, conversation.FullPrompt, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model{info: tt.info, todo: []reply{answer("r", "Paris.")}}
			w := open(t, m, func(c *conversation.Config, _ *store.State) { c.PromptSize = tt.size })
			w.play("capital of France?")
			req := m.requests()[0]
			system := event.PlainText(req.Messages[0].Content)
			if got := system == "You are a small test."; got != tt.small {
				t.Errorf("the prompt is %q", system)
			}
			finish := req.Tools[slices.IndexFunc(req.Tools, func(t llm.Tool) bool { return t.Name == "finish" })]
			if got := !strings.Contains(string(finish.Parameters), `"summary"`); got != tt.small {
				t.Errorf("finish is offered with %s", finish.Parameters)
			}
		})
	}
}

// The tools are those for the model that is asked now; the prompt stays as it began.
func TestToolsAreBriefForTheModelThatIsAsked(t *testing.T) {
	t.Parallel()
	m := &model{info: llm.Info{ContextWindow: 4096, Served: true}, todo: []reply{answer("r", "Paris."), answer("s", "Rome.")}}
	w := open(t, m, nil)
	w.play("capital of France?")
	m.info = llm.Info{ContextWindow: 128_000, Served: true}
	w.reopen()
	w.play("and of Italy?")
	first, second := m.requests()[0], m.requests()[1]
	if len(first.Tools) != 2 || len(second.Tools) != 2 || len(second.Tools[0].Parameters) <= len(first.Tools[0].Parameters) {
		t.Errorf("%+v, then %+v", first.Tools, second.Tools)
	}
	if got := event.PlainText(second.Messages[0].Content); got != "You are a small test." {
		t.Errorf("the prompt became %q", got)
	}
}
