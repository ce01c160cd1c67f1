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
func (c *Conversation) measure() room {
	info := c.branch.model.Info()
	r := room{window: info.ContextWindow, tokens: c.branch.tokens, soft: inputLimit(info)}
	if !info.Served {
		return r
	}
	r.hard = max(1, r.window-answerLeast)
	req := llm.Request{Tools: c.agent.offers()}
	if r.tokens == 0 {
		r.tokens = c.agent.scaled(c.agent.estimate(req)) + perMessage*int64(c.branch.view.Len())
	}
	if r.tokens > r.soft/countAbove {
		req.Messages = c.branch.view.Messages()
		if tokens, ok := c.count(req); ok {
			r.tokens = tokens
		}
	}
	r.fixed = max(c.agent.question(), r.tokens-c.agent.earlier()) // a template may leave out the tools
	r.soft = min(r.hard, max(r.soft, r.fixed+(r.hard-r.fixed)/2))
	return r
}

// count has the server count the tokens of a request of the history at hand; ok is false
// where it does not.
func (c *Conversation) count(req llm.Request) (tokens int64, ok bool) {
	s, can := c.branch.model.(llm.Sizer)
	if !can {
		return 0, false
	}
	broke := c.await(context.Background(), func(j *job) { tokens, ok = s.Count(j.ctx, req) })
	if broke != nil || !ok {
		return 0, false
	}
	c.agent.calibrate(c.agent.estimate(req), tokens)
	return tokens, true
}

// plan is the cut for a need.
func (a *agent) plan(need condenser.Need, r room) (condenser.Cut, bool) {
	if r.hard > 0 && need.Hard() {
		return condenser.Oldest(a.branch.view, (r.soft-r.fixed)/2, a.weighEvent)
	}
	return a.cfg.Condenser.Plan(a.branch.view, need, a.branch.perImage())
}

// tooLarge is the error for a message that fits into the model's context on no account,
// with nothing before it. It is not stored: every later request would have it. What was
// accepted before stays accepted.
func (c *Conversation) tooLarge(d *delivery) error {
	if d.kept || c.branch.model == nil || !c.branch.model.Info().Served {
		return nil
	}
	window := c.branch.model.Info().ContextWindow
	question := c.agent.scaled(weightOf(d.content).Tokens(c.branch.perImage())) + perMessage
	tokens, hard := c.agent.fixed(question), window-answerLeast
	const certain = 2 // an estimate is not as wrong as that
	if tokens*certain <= hard {
		return nil
	}
	if s, ok := c.branch.model.(llm.Sizer); ok {
		messages := c.branch.view.Messages()
		messages = append(messages[:min(1, len(messages)):1], message("user", d.content))
		req := llm.Request{Messages: messages, Tools: c.agent.offers()}
		var counted bool
		if broke := c.await(d.ctx, func(j *job) { tokens, counted = s.Count(j.ctx, req) }); broke != nil || !counted {
			tokens = 0
		}
	}
	switch {
	case tokens == 0 && c.agent.fixed(question) <= certain*hard, tokens > 0 && tokens <= hard:
		return nil
	case tokens == 0:
		tokens = c.agent.fixed(question)
	}
	return &agentapi.Error{
		Kind: agentapi.ErrTooLong, InProcess: true,
		Msg: fmt.Sprintf("The message is too long: with the agent's instructions it has about %d tokens, and the model's context has %d. "+
			"Send a shorter message, put the text into a file for the agent to read, or start the model's server with a larger context.", tokens, window),
	}
}
