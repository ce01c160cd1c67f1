package conversation_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
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
		t.Errorf("tools = %+v, then %+v, want two each, described at length the second time", first.Tools, second.Tools)
	}
	if got := event.PlainText(second.Messages[0].Content); got != "You are a small test." {
		t.Errorf("the prompt became %q", got)
	}
}

// cold is a model whose server reports its context only after it has loaded the model.
type cold struct {
	*model
	wait func(context.Context)
}

func (c *cold) Model(context.Context, conversation.Choice) (llm.Model, error) { return c, nil }
func (c *cold) FindSize(context.Context)                                      {}
func (c *cold) Count(context.Context, llm.Request) (int64, bool)              { return 0, false }

func (c *cold) AwaitLoaded(ctx context.Context, _ func(llm.Delta)) {
	c.wait(ctx)
	c.info = llm.Info{ContextWindow: 4096, Served: true}
}

func TestAModelThatIsLoadedFirstIsToldTheLeast(t *testing.T) {
	t.Parallel()
	m := &cold{&model{todo: []reply{answer("r", "Paris."), answer("s", "Rome.")}}, func(context.Context) {}}
	w := open(t, m.model, func(c *conversation.Config, _ *store.State) { c.Models = m })
	w.play("capital of France?")
	w.reopen()
	w.play("and of Italy?")
	for i, req := range m.requests() {
		if got := event.PlainText(req.Messages[0].Content); got != "You are a small test." {
			t.Errorf("request %d: the prompt is %q", i, got)
		}
	}
}

func TestAConversationThatComesToASmallModelIsToldTheLeast(t *testing.T) {
	t.Parallel()
	m := &model{todo: []reply{answer("r", "Paris."), answer("s", "Rome.")}}
	w := open(t, m, nil)
	w.play("capital of France?")
	m.info = llm.Info{ContextWindow: 4096, Served: true}
	w.play("and of Italy?")
	if got := event.PlainText(m.requests()[1].Messages[0].Content); got != "You are a small test." {
		t.Errorf("the prompt is %q", got)
	}
}

func TestThePromptOfAnotherProgramStays(t *testing.T) {
	t.Parallel()
	m := &model{todo: []reply{answer("r", "Paris."), answer("s", "Rome.")}}
	w := open(t, m, func(c *conversation.Config, _ *store.State) { c.Prompt = foreign{} })
	w.play("capital of France?")
	m.info, w.cfg.Prompt = llm.Info{ContextWindow: 4096, Served: true}, silent{}
	w.reopen()
	w.play("and of Italy?")
	if got := event.PlainText(m.requests()[1].Messages[0].Content); got != "You belong to somebody else." {
		t.Errorf("the prompt is %q", got)
	}
}

// foreign is the prompt of another program.
type foreign struct{ silent }

func (foreign) System([]tool.Definition, string) (static, dynamic string) {
	return "You belong to somebody else.", ""
}

func TestWaitingForAModelToBeLoadedIsInterrupted(t *testing.T) {
	t.Parallel()
	waits := make(chan struct{})
	m := &cold{&model{todo: []reply{answer("r", "Paris.")}}, func(ctx context.Context) { close(waits); <-ctx.Done() }}
	w := open(t, m.model, func(c *conversation.Config, _ *store.State) { c.Models = m })
	w.send("capital of France?")
	<-waits
	if err := w.conv.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.rest()
	if got := w.status(); got != event.Paused || len(m.requests()) > 0 {
		t.Errorf("%s after %d requests", got, len(m.requests()))
	}
}
