package conversation

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/condenser"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// errUnusable is a summary that cannot take the place of what it is to replace.
var errUnusable = errors.New("the summary cannot be used")

// summarize replaces events of the view by a summary of them. With an error the view is
// as it was.
func (r *run) summarize(ctx context.Context, cut condenser.Cut, preview int, space room) (done bool, err error) {
	req, err := r.agent.summaryRequest(cut, preview, space)
	if err != nil {
		return false, err
	}
	limited, cancel := context.WithTimeout(ctx, space.summaryTime())
	defer cancel()
	choice := Choice{Profile: r.agent.choice.Profile, Usage: condenserUsage}
	var model llm.Model
	var resp llm.Response
	broke := r.await(limited, func(j *job) {
		if model, err = r.cfg.Models.Model(j.ctx, choice); err == nil {
			resp, err = call(j.ctx, model, req, r.announcing(j, nil))
		}
	})
	late := limited.Err() != nil && ctx.Err() == nil && r.phase != stopping
	switch {
	case late && (broke != nil || err != nil):
		return false, fmt.Errorf("%w: it took longer than %v", errUnusable, space.summaryTime())
	case broke != nil:
		return false, broke
	case err != nil:
		return false, err
	}
	r.branch.received(model, &resp)
	replaced := 0
	for _, i := range cut.Gone {
		replaced += r.branch.view.Weight(i).Bytes
	}
	text := strings.TrimSpace(event.PlainText(resp.Message.Content))
	if flaw := condenser.Flaw(text, replaced); flaw != "" {
		return false, fmt.Errorf("%w: %s", errUnusable, flaw)
	}
	if err := r.branch.forgetEvents(cut, &text, resp.ID); err != nil {
		return false, err
	}
	return true, nil
}

// summaryRequest asks for a summary that fits, in a request that fits. It shows less of
// each event where that is needed.
func (a *agent) summaryRequest(cut condenser.Cut, preview int, r room) (llm.Request, error) {
	limit, ok := r.summaryLimit()
	if !ok || !condenser.Tells(a.branch.view, cut) {
		return llm.Request{}, fmt.Errorf("%w: there is no room or no need for one", errUnusable)
	}
	brief := r.hard > 0 && r.window <= smallContext
	const least = 40 // characters of an event that say what it was
	for {
		messages := condenser.Request(a.branch.view, cut, preview, brief)
		var w view.Weight
		for _, m := range messages {
			w.Bytes += len(event.PlainText(m.Content))
		}
		if r.hard == 0 || a.scaled(w.Tokens(0))+limit+int64(len(messages))*perMessage < r.hard {
			return llm.Request{Messages: messages, CacheKey: a.branch.id, MaxOutput: limit}, nil
		}
		if preview = int(float64(preview) * resetScaling); preview < least {
			return llm.Request{}, fmt.Errorf("%w: what it is to replace does not fit into the context", errUnusable)
		}
	}
}

// leaveOut takes events out of the view without a summary, with a line in their place
// if there is room for that.
func (a *agent) leaveOut(cut condenser.Cut, r room) error {
	line := condenser.LeftOut
	text := &line
	fits := r.hard == 0 || r.fixed+a.scaled(view.Weight{Bytes: 2 * len(line)}.Tokens(0)) < r.hard // with its header
	if !fits || !condenser.Tells(a.branch.view, cut) {
		text = nil
	}
	return a.branch.forgetEvents(cut, text, a.cfg.NewID())
}

// forgetEvents stores that events leave the view.
func (b *branch) forgetEvents(cut condenser.Cut, summary *string, responseID string) error {
	body := &event.Condensation{LLMResponseID: responseID, SummaryOffset: &cut.Offset, Summary: summary}
	for _, i := range cut.Gone {
		body.ForgottenEventIDs = append(body.ForgottenEventIDs, b.view.Event(i).ID)
	}
	b.tokens = 0 // not known before the next answer
	if _, err := b.append(event.SourceEnvironment, body, durable); err != nil {
		return errors.Join(errStorage, err)
	}
	return nil
}

var errStorage = errors.New("store the summary")

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
