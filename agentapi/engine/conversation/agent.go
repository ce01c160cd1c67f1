package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/masked"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/toolbox"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/truncate"
)

// agent is what answers in a conversation: the choice of a model, the tools, the
// prompt, and how much of the model's context a request takes. It makes requests from
// the branch and sends none.
type agent struct {
	cfg    *Config
	live   *live
	branch *branch
	vision atomic.Bool                 // of the model
	mcp    atomic.Pointer[[]tool.Tool] // that replace others with the next step

	// What follows belongs to the conversation's goroutine.

	choice  Choice
	tools   *toolbox.Box // nil: to be made
	density float64      // tokens of a request by those that were estimated; 0: unknown
}

// toolMemory is what the tools hold in memory, in bytes.
func (a *agent) toolMemory() int64 {
	return a.tools.Held()
}

// use makes another profile answer from now on.
func (a *agent) use(choice Choice, agent json.RawMessage, model llm.Model) error {
	if err := a.branch.answerWith(choice, agent); err != nil {
		return err
	}
	a.choice = choice
	a.setModel(model)
	return nil
}

func (a *agent) setModel(m llm.Model) {
	a.vision.Store(m.Info().Vision)
	a.branch.showTo(m)
}

// equip gives the agent its tools.
func (a *agent) equip(tools *toolbox.Box) { a.tools = tools }

// refreshTools takes what MCP servers have said since the last step, and
// describes the tools again when another model answers that can see, or cannot.
func (a *agent) refreshTools() {
	if err := a.tools.Refresh(a.mcp.Swap(nil), a.vision.Load()); err != nil {
		a.cfg.Log.Warn("the current tool definitions cannot be encoded", "conversation", a.branch.id, "err", err)
	}
}

// offers are the tools of a request.
func (a *agent) offers() []llm.Tool {
	if a.small() {
		return a.tools.Brief()
	}
	return a.tools.Offers()
}

// imagesUnseen reports whether the newest message of the user has images that
// the model would not be shown.
func (a *agent) imagesUnseen() bool {
	if a.branch.model.Info().Vision {
		return false
	}
	last := a.branch.view.Len() - 1
	if _, to := a.branch.view.Asked(); last < 0 || to != last+1 {
		return false
	}
	m := a.branch.view.Event(last).Body.(*event.Message)
	return slices.ContainsFunc(m.LLMMessage.Content, func(item event.Content) bool { return item.Type == event.TypeImage })
}

// counted notes what a call of the model has cost.
func (a *agent) counted(model llm.Model, req *llm.Request, resp *llm.Response) {
	estimate := a.estimate(*req)
	if a.branch.counted(model, resp, estimate) {
		a.calibrate(estimate, resp.Usage.PromptTokens)
	}
}

// introduce writes the system prompt, if the log has none yet.
func (a *agent) introduce() error {
	if a.branch.introduced {
		return nil
	}
	p := a.systemPrompt()
	defs := a.tools.Definitions()
	p.Tools = make([]json.RawMessage, len(defs))
	for i, d := range defs {
		p.Tools[i] = a.cfg.Schemas.Stored(d)
	}
	_, err := a.branch.append(event.SourceAgent, p, lazily)
	return err
}

// history is what the model is shown of the conversation, with a system prompt
// also where the log has none yet.
func (a *agent) history() []event.LLMMessage {
	if a.branch.introduced {
		return a.branch.view.Messages()
	}
	prompt := event.New("prompt", a.cfg.stamp(), event.SourceAgent, "", masked.Body(a.cfg.Secrets, a.systemPrompt()))
	return append(view.New(render, []event.Event{prompt}).Messages(), a.branch.view.Messages()...)
}

// maxTranscript is the largest size of a transcript, in bytes, for a model with an unknown
// context.
const maxTranscript = 400_000

// transcript writes down what was said and done, as text. Of what would be too much for
// the model, the end stays.
func (a *agent) transcript(info llm.Info) string {
	var b strings.Builder
	for _, m := range a.branch.view.Messages() {
		if m.Role == "system" {
			continue
		}
		if text := strings.TrimSpace(plainText(m.Content)); text != "" {
			fmt.Fprintf(&b, "%s: %s\n\n", m.Role, text)
		}
		for _, call := range m.ToolCalls {
			fmt.Fprintf(&b, "%s calls the tool %s: %s\n\n", m.Role, call.Name, call.Arguments)
		}
	}
	limit := maxTranscript
	if tokens := inputLimit(info); tokens > 0 {
		limit = int(tokens) * 2 // with three to four bytes a token, that leaves room
	}
	return truncate.LastBytes(b.String(), limit, "[...]")
}
