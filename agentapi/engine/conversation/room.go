package conversation

import (
	"context"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
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
	req := llm.Request{Tools: c.offers()}
	if r.tokens == 0 {
		r.tokens = c.scaled(c.estimate(req)) + perMessage*int64(c.branch.view.Len())
	}
	if r.tokens > r.soft/countAbove {
		req.Messages = c.branch.view.Messages()
		if tokens, ok := c.count(req); ok {
			r.tokens = tokens
		}
	}
	r.fixed = max(c.question(), r.tokens-c.earlier()) // a template may leave out the tools
	r.soft = min(r.hard, max(r.soft, r.fixed+(r.hard-r.fixed)/2))
	return r
}

// offers are the tools of a request.
func (c *Conversation) offers() []llm.Tool {
	if c.tools == nil {
		return nil
	}
	if c.small() {
		return c.tools.brief()
	}
	return c.tools.offers
}

// small reports whether the model is told the least.
func (c *Conversation) small() bool {
	if c.cfg.PromptSize != AutoPrompt || c.branch.model == nil {
		return c.cfg.PromptSize == SmallPrompt
	}
	info := c.branch.model.Info()
	return info.Served && info.ContextWindow < llm.SmallContext
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
	c.calibrate(c.estimate(req), tokens)
	return tokens, true
}

// calibrate notes what a request that was estimated at so many tokens has, besides what a
// template adds to each message. A server may leave out what it has cached, so an
// estimate is lowered little.
func (c *Conversation) calibrate(estimate, tokens int64) {
	const least, most = 0.8, 4
	tokens -= perMessage * int64(c.branch.view.Len())
	if estimate > 0 && tokens > 0 {
		c.density = min(most, max(least, float64(tokens)/float64(estimate)))
	}
}

// scaled is an estimate as far as earlier ones were wrong.
func (c *Conversation) scaled(estimate int64) int64 {
	if c.density == 0 {
		return estimate
	}
	return int64(float64(estimate) * c.density)
}

// weighEvent is what an event of the view takes of a request.
func (c *Conversation) weighEvent(i int) int64 {
	return c.scaled(c.branch.view.Weight(i).Tokens(c.branch.perImage())) + perMessage
}

// earlier is what a request has besides what can never leave.
func (c *Conversation) earlier() (tokens int64) {
	_, to := c.branch.view.Asked()
	for i := range c.branch.view.Len() {
		if _, system := c.branch.view.Event(i).Body.(*event.SystemPrompt); !system && i != to-1 {
			tokens += c.weighEvent(i)
		}
	}
	return tokens
}

// question is what the message that is to be answered takes of a request.
func (c *Conversation) question() (tokens int64) {
	if _, to := c.branch.view.Asked(); to > 0 {
		return c.weighEvent(to - 1)
	}
	return 0
}

// fixed is what a request has that can never leave, with a question of so many tokens.
func (c *Conversation) fixed(question int64) int64 {
	tools := 0
	for _, t := range c.offers() {
		tools += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	n := c.scaled(view.Weight{Bytes: tools}.Tokens(0)) + question
	if c.branch.view.Len() > 0 {
		if _, ok := c.branch.view.Event(0).Body.(*event.SystemPrompt); ok {
			n += c.weighEvent(0)
		}
	}
	return n
}

// What a summary may take.
const (
	summaryPart  = 3  // of the room for the history
	summaryLeast = 64 // tokens; a shorter one says nothing
	windowPart   = 8  // of the context, whatever room there is
	perToken     = 30 * time.Millisecond
	leastTime    = time.Minute
	mostTime     = 10 * time.Minute
)

// summaryLimit is how many tokens a summary may have; 0: as many as the model writes.
// It is false where there is no room for one.
func (r room) summaryLimit() (tokens int64, ok bool) {
	if r.window == 0 {
		return 0, true
	}
	tokens = r.window / windowPart
	if r.hard > 0 {
		tokens = min(tokens, (r.soft-r.fixed)/summaryPart)
	}
	return tokens, tokens >= summaryLeast
}

// summaryTime is how long a summary may take: a model without a graphics card reads its
// context in minutes.
func (r room) summaryTime() time.Duration {
	if r.window == 0 {
		return mostTime
	}
	return min(mostTime, max(leastTime, time.Duration(r.window)*perToken))
}

// plan is the cut for a need.
func (c *Conversation) plan(need condenser.Need, r room) (condenser.Cut, bool) {
	if r.hard > 0 && need.Hard() {
		return condenser.Oldest(c.branch.view, (r.soft-r.fixed)/2, c.weighEvent)
	}
	return c.cfg.Condenser.Plan(c.branch.view, need, c.branch.perImage())
}

// tooLarge is the error for a message that fits into the model's context on no account,
// with nothing before it. It is not stored: every later request would have it. What was
// accepted before stays accepted.
func (c *Conversation) tooLarge(d *delivery) error {
	if d.kept || c.branch.model == nil || !c.branch.model.Info().Served {
		return nil
	}
	window := c.branch.model.Info().ContextWindow
	question := c.scaled(weightOf(d.content).Tokens(c.branch.perImage())) + perMessage
	tokens, hard := c.fixed(question), window-answerLeast
	const certain = 2 // an estimate is not as wrong as that
	if tokens*certain <= hard {
		return nil
	}
	if s, ok := c.branch.model.(llm.Sizer); ok {
		messages := c.branch.view.Messages()
		messages = append(messages[:min(1, len(messages)):1], message("user", d.content))
		req := llm.Request{Messages: messages, Tools: c.offers()}
		var counted bool
		if broke := c.await(d.ctx, func(j *job) { tokens, counted = s.Count(j.ctx, req) }); broke != nil || !counted {
			tokens = 0
		}
	}
	switch {
	case tokens == 0 && c.fixed(question) <= certain*hard, tokens > 0 && tokens <= hard:
		return nil
	case tokens == 0:
		tokens = c.fixed(question)
	}
	return &agentapi.Error{
		Kind: agentapi.ErrTooLong, InProcess: true,
		Msg: fmt.Sprintf("The message is too long: with the agent's instructions it has about %d tokens, and the model's context has %d. "+
			"Send a shorter message, put the text into a file for the agent to read, or start the model's server with a larger context.", tokens, window),
	}
}

func weightOf(content []event.Content) (w view.Weight) {
	for _, item := range content {
		w.Bytes += len(item.Text)
		w.Images += len(item.ImageURLs)
	}
	return w
}
