package completions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/housekeeping"
	"github.com/ohgw/ohgw/daemon/metrics"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/structured"
	"github.com/ohgw/ohgw/internal/sse"
)

// Housekeeping selects what answers the requests that chat UIs send without their user.
type Housekeeping string

// The choices. The zero value is HousekeepingLLM.
const (
	HousekeepingLLM   Housekeeping = "llm"   // the profile's LLM, by rule where that does not answer
	HousekeepingRule  Housekeeping = "rule"  // a fixed rule, without an LLM
	HousekeepingAgent Housekeeping = "agent" // the agent, as if a person had asked
)

const (
	// housekeepingWait is how long the LLM may take where a rule can answer.
	housekeepingWait = 5 * time.Second
	// directWait is how long it may take where none can.
	directWait = time.Minute
	// housekeepingTokens bounds its answer, what it thinks included.
	housekeepingTokens = 2048
	// maxDirect is how many such calls are made at the same time.
	maxDirect = 32
)

// Who answered a task, for the metrics.
const (
	byLLM  = "llm"
	byRule = "rule"
)

// taskOf is the task that a call is, if it is one.
func taskOf(c *Call, h http.Header, utility bool) (housekeeping.Task, bool) {
	task, ok := housekeeping.ByHeader(h)
	if !ok {
		task, ok = housekeeping.Recognize(housekeeping.Request{ChatRequest: c.ChatRequest, Tools: c.tools()})
	}
	if utility && !ok {
		return housekeeping.Other, true
	}
	return task, ok
}

// housekeep answers a task: with a direct call of the LLM, or by rule. It makes
// no conversation and takes no place among the runs.
func (api *API) housekeep(ctx context.Context, x *gate.Exchange, c *Call, profile agentapi.Profile, task housekeeping.Task) error {
	x.Header().Set(gate.HeaderTask, string(task))
	ignored := slices.Clone(c.Ignored)
	if c.Options.Workspace != "" {
		ignored = append(ignored, gate.HeaderWorkspace)
	}
	if c.Options.Confirmation != "" {
		ignored = append(ignored, gate.HeaderConfirmation)
	}
	if c.Options.Budget > 0 {
		ignored = append(ignored, gate.HeaderBudget)
	}
	if len(c.Images) > 0 {
		ignored = append(ignored, "images")
		slices.Sort(ignored)
	}
	if len(ignored) > 0 {
		x.Header().Set(gate.HeaderIgnored, strings.Join(ignored, ", "))
	}
	x.Note(slog.String("task", string(task)))
	began := api.core.Now()
	answer, by, err := api.directAnswer(ctx, c, profile.Name, task)
	if err != nil {
		return err
	}
	u := answer.Usage
	api.core.Metrics.Housekeeping(metrics.Housekeeping{
		Profile: profile.Name, Task: string(task), By: by, Took: api.core.Now().Sub(began),
		Prompt: u.PromptTokens, Completion: u.CompletionTokens, Cached: u.CachedTokens, CacheWrite: u.CacheWriteTokens, Reasoning: u.ReasoningTokens, Cost: u.Cost,
	})
	x.Note(slog.String("by", by))
	return c.Route.Write(x, c, answer)
}

// directAnswer asks the LLM, and falls back to the rule.
func (api *API) directAnswer(ctx context.Context, c *Call, profile string, task housekeeping.Task) (answer Completion, by string, err error) {
	ruled, hasRule := task.ByRule(c.Text)
	hasRule = hasRule && c.Schema == nil // a rule knows no format
	switch {
	case api.Housekeeping == HousekeepingRule && hasRule, api.Complete == nil && hasRule:
		return Completion{Text: ruled}, byRule, nil
	case api.Housekeeping == HousekeepingRule:
		return answer, "", gate.NewProblem(openai.CodeUnsupportedValue, "This task needs a model; start ohgw serve with --housekeeping llm.", nil)
	case api.Complete == nil:
		return answer, "", gate.NewProblem(openai.CodeUnsupportedValue, "This gateway has no model without an agent; use a model from GET /v1/models that runs an agent.", nil).About("model")
	}
	select {
	case api.directCalls <- struct{}{}:
		defer func() { <-api.directCalls }()
	default:
		if hasRule {
			return Completion{Text: ruled}, byRule, nil
		}
		return answer, "", gate.NewProblem(gate.CodeQueueFull, "Too many requests are waiting for the plain model; try again in a few seconds.", nil)
	}
	wait := directWait
	if hasRule {
		wait = housekeepingWait
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer context.AfterFunc(api.core.Life(), cancel)()
	answer, err = api.completion(limited, c, profile, task)
	if err == nil {
		return answer, byLLM, nil
	}
	if ctx.Err() != nil {
		return answer, "", ctx.Err()
	}
	if api.core.Life().Err() != nil && !hasRule {
		return answer, "", gate.NewProblem(gate.CodeNotReady, "ohgw is shutting down; try again in a moment.", nil)
	}
	if !hasRule {
		return answer, "", api.cannotAnswer(err)
	}
	api.core.Logger.WarnContext(ctx, "housekeeping answered by rule; the model failed", "task", string(task), "profile", profile, "err", withoutWords(err))
	return Completion{Text: ruled, Usage: answer.Usage}, byRule, nil
}

// completion asks the LLM for an answer in the format of the task, or of the call.
func (api *API) completion(ctx context.Context, c *Call, profile string, task housekeeping.Task) (answer Completion, err error) {
	p := prompt(c, profile)
	if c.Schema == nil {
		if answer, err = api.ask(ctx, c.Pays, p); err != nil {
			return answer, err
		}
		var ok bool
		if answer.Text, ok = task.Shaped(answer.Text); !ok {
			err = errors.New("the answer is not in the format that the task requires")
		}
		return answer, err
	}
	f := former{api: api, profile: profile, pays: c.Pays}
	asked := make([]structured.Message, 0, len(p.Messages))
	for _, m := range p.Messages {
		asked = append(asked, structured.Message(m))
	}
	asked[len(asked)-1].Text += "\n\n" + c.Schema.Instruction()
	answer.Text, err = c.Schema.Converse(ctx, asked, func(ctx context.Context, asked []structured.Message) (string, error) {
		return f.ask(ctx, asked, &answer.Usage)
	})
	return answer, err
}

// cannotAnswer returns the problem of a direct call that failed.
func (api *API) cannotAnswer(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return gate.NewProblem(gate.CodeLLM, "The model did not answer within "+directWait.String()+"; try again later.", err)
	case isFlaw(err):
		return gate.NewProblem(gate.CodeUnstructured, "The model's answer does not satisfy the schema, not even after a correction: "+err.Error()+".", cause(err))
	case errors.Is(err, agentapi.ErrRefused), errors.Is(err, agentapi.ErrUnsupported):
		return gate.NewProblem(gate.CodeLLM, agentapi.PublicMessage(err, "The model cannot be called."), withoutWords(err))
	}
	if _, told := errors.AsType[*agentapi.Error](err); told {
		return gate.Explain(err)
	}
	return gate.NewProblem(gate.CodeLLM, "The model sent no answer; try again.", err)
}

// withoutWords returns err for the log: the sentence for the client may quote the
// prompt.
func withoutWords(err error) error {
	e, ok := errors.AsType[*agentapi.Error](err)
	switch {
	case !ok:
		return err
	case e.Err == nil:
		return e.Kind
	default:
		return fmt.Errorf("%w: %w", e.Kind, e.Err)
	}
}

// prompt is the call as it is asked of an LLM.
func prompt(c *Call, profile string) Prompt {
	p := Prompt{Profile: profile, MaxTokens: housekeepingTokens}
	if c.System != "" {
		p.Messages = append(p.Messages, PromptMessage{Role: "system", Text: c.System})
	}
	for _, t := range c.History {
		p.Messages = append(p.Messages, PromptMessage{Role: t.Role, Text: t.Text})
	}
	p.Messages = append(p.Messages, PromptMessage{Role: "user", Text: c.Text})
	return p
}

// writeAnswer writes an answer that is whole, in the form that was asked for.
func (api *API) writeAnswer(x *gate.Exchange, c *Call, answer Completion) error {
	id, created, usage := newCompletionID(), api.core.Now().Unix(), UsageOf(answer.Usage)
	function, finish := c.Function(), openai.FinishStop
	if function != "" {
		finish = c.Format.Finish
	}
	if !c.Stream {
		whole := openai.Completion{ID: id, Model: c.Model, Created: created, Content: answer.Text, Function: function, Finish: finish, Usage: usage}
		return x.WriteJSON(http.StatusOK, append(whole.Append(nil), '\n'))
	}
	x.StreamHeaders()
	events := sse.NewWriter(x, x.FlushNow)
	chunks := openai.NewChunks(id, c.Model, created, c.IncludeUsage)
	frames := [][]byte{chunks.Role(nil)}
	if function != "" {
		frames = append(frames, chunks.CallOf(openai.CallID(id, ""), function, answer.Text)...)
	} else {
		for text := answer.Text; text != ""; {
			var piece string
			piece, text = openai.Piece(text)
			frames = append(frames, chunks.Content(nil, piece))
		}
	}
	frames = append(frames, chunks.Finish(nil, finish, nil))
	if c.IncludeUsage {
		frames = append(frames, chunks.Usage(nil, usage))
	}
	for _, frame := range append(frames, []byte(openai.Done)) {
		if err := events.Data(frame); err != nil {
			return err
		}
	}
	return nil
}

// UsageOf is a usage in OpenAI's form.
func UsageOf(u turn.Usage) openai.Usage {
	return openai.NewUsage(u.PromptTokens, u.CompletionTokens, u.CachedTokens, u.ReasoningTokens)
}
