package conversation

import (
	"context"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
)

// room is what the next request takes of the model's context, in tokens. Zero values
// are unknown.
type room struct {
	window int64
	tokens int64 // of the next request
	fixed  int64 // of what can never leave: the system prompt, the tools, the question
	soft   int64 // the history is shortened above it
	hard   int64 // no request is made above it; known where the server has named its context
}

const (
	answerPart   = 4    // of a context that the answer is left, without a limit of its own
	answerMost   = 4096 // tokens of that
	answerLeast  = 8    // tokens without which no request is made
	perMessage   = 6    // tokens that a template adds to a message
	countAbove   = 2    // the server counts what fills more than such a part of the limit
	smallContext = 8192 // tokens; up to it the request for a summary is brief
)

// measure finds out how much room there is. Where the server counts tokens, it is asked
// for what may come near the limit.
func (r *run) measure() room {
	info := r.branch.model.Info()
	space := room{window: info.ContextWindow, tokens: r.branch.tokens, soft: inputLimit(info)}
	if !info.Served {
		return space
	}
	space.hard = max(1, space.window-answerLeast)
	req := llm.Request{Tools: r.agent.offers()}
	if space.tokens == 0 {
		space.tokens = r.agent.scaled(r.agent.estimate(req)) + perMessage*int64(r.branch.view.Len())
	}
	if space.tokens > space.soft/countAbove {
		req.Messages = r.branch.view.Messages()
		if tokens, ok := r.count(req); ok {
			space.tokens = tokens
		}
	}
	space.fixed = max(r.agent.question(), space.tokens-r.agent.earlier()) // a template may leave out the tools
	space.soft = min(space.hard, max(space.soft, space.fixed+(space.hard-space.fixed)/2))
	return space
}

// count has the server count the tokens of a request of the history at hand; ok is false
// where it does not.
func (r *run) count(req llm.Request) (tokens int64, ok bool) {
	s, can := r.branch.model.(llm.Sizer)
	if !can {
		return 0, false
	}
	broke := r.await(context.Background(), func(j *job) { tokens, ok = s.Count(j.ctx, req) })
	if broke != nil || !ok {
		return 0, false
	}
	r.agent.calibrate(r.agent.estimate(req), tokens)
	return tokens, true
}

// plan is the cut for a need.
func (a *agent) plan(need condenser.Need, r room) (condenser.Cut, bool) {
	if r.hard > 0 && need.Hard() {
		return condenser.Oldest(a.branch.view, (r.soft-r.fixed)/2, a.weighEvent)
	}
	return a.cfg.Condenser.Plan(a.branch.view, need, perImage(a.branch.model))
}

// tooLarge refuses a message that does not fit into the model's context even with
// nothing before it. It is not stored: every later request would have it. What was
// accepted before stays accepted.
func (r *run) tooLarge(d *delivery) error {
	if d.kept || r.branch.model == nil || !r.branch.model.Info().Served {
		return nil
	}
	window := r.branch.model.Info().ContextWindow
	question := r.agent.scaled(weightOf(d.content).Tokens(perImage(r.branch.model))) + perMessage
	tokens, hard := r.agent.fixed(question), window-answerLeast
	const certain = 2 // an estimate is not as wrong as that
	if tokens*certain <= hard {
		return nil
	}
	if s, ok := r.branch.model.(llm.Sizer); ok {
		messages := r.branch.view.Messages()
		messages = append(messages[:min(1, len(messages)):1], message("user", d.content))
		req := llm.Request{Messages: messages, Tools: r.agent.offers()}
		var counted bool
		if broke := r.await(d.ctx, func(j *job) { tokens, counted = s.Count(j.ctx, req) }); broke != nil || !counted {
			tokens = 0
		}
	}
	switch {
	case tokens == 0 && r.agent.fixed(question) <= certain*hard, tokens > 0 && tokens <= hard:
		return nil
	case tokens == 0:
		tokens = r.agent.fixed(question)
	}
	return &agentapi.Error{
		Kind: agentapi.ErrTooLong, InProcess: true,
		Msg: fmt.Sprintf("The message is too long: with the agent's instructions it has about %d tokens, and the model's context has %d. "+
			"Send a shorter message, put the text into a file for the agent to read, or start the model's server with a larger context.", tokens, window),
	}
}
