package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/cli/chat/answer"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/internal/netcause"
	"github.com/ohgw/ohgw/setup/firstrun"
	"github.com/ohgw/ohgw/setup/running"
)

// faultOf turns an error of the gateway into one for a person.
func (c *session) faultOf(err error) error {
	e, ok := errors.AsType[*gateway.Error](err)
	if !ok {
		return err
	}
	f := &fault.Error{Msg: answer.Sentence(e.Message), Code: exitCode(e), Err: e.Err}
	if e.Err != nil {
		f.Err = netcause.Of(e.Err)
	}
	goOn := "send the prompt again"
	if e.Conversation != "" && c.opts.conversation != "" {
		goOn = "the conversation was kept: continue it with --conversation " + e.Conversation
	}
	switch e.Kind {
	case gateway.Failed:
		c.explainFailed(f, e.Code, goOn)
	case gateway.Unreachable:
		f.Hint = "start it with ohgw serve, or leave out --url to run the agent here; ohgw status shows what runs"
		if e.Code != "" {
			f.Hint = "run ohgw status"
		}
	case gateway.Stranger:
		f.Hint = "set the correct address with --url or OHGW_URL"
	case gateway.Locked:
		f.Hint = "use a token of it: " + running.NewKey
	case gateway.Busy:
		f.Hint = "try again"
		if e.RetryAfter > 0 {
			f.Hint = fmt.Sprintf("try again in %s", e.RetryAfter)
		}
	case gateway.Refused:
		f.Hint = refusedHint(e.Code)
	}
	if e.Code == "insufficient_quota" { // as the answer, or at the end of a stream
		f.Hint = "see what is spent: ohgw tokens list; use a token with a higher limit, or wait until this one renews"
	}
	return f
}

// refusedHint is what to do about a question that cannot be asked like this.
func refusedHint(code string) string {
	switch code {
	case "model_not_found":
		return "choose one with --model; ohgw models lists the models"
	case "workspace_mismatch":
		return "continue it in its own directory: add --workspace none"
	case "forbidden_workspace", "workspace_not_found":
		return "let ohgw choose a directory: add --workspace none"
	}
	return "change the setting it names"
}

// explainFailed says what to do about a failed run.
func (c *session) explainFailed(f *fault.Error, code, goOn string) {
	f.Hint = goOn
	switch code {
	case "llm_error":
		f.Hint = "run ohgw doctor, which asks the provider, then " + goOn
	case "agent_error":
		f.Hint = "run ohgw profiles check, then " + goOn
	case "sandbox_unavailable":
		f.Hint = "see why: ohgw sandbox status"
	case "internal_error":
		if c.own != nil { // its log is not kept
			f.Msg, f.Hint = "internal error in ohgw", "run the command again with --debug, which prints the cause"
		}
	}
}

// noModels returns the error for a gateway that has no model at all. A key that is in the
// environment is named, with the command that uses it.
func (c *session) noModels(ctx context.Context) error {
	hint := "create a profile with: ohgw profiles add NAME; or try the demo without a key: ohgw chat --demo"
	if variable, command := c.keyAtHand(ctx); command != "" {
		hint = variable + " has a key; create a profile with it: " + command
	}
	return &fault.Error{
		Msg:  "there is no model: OpenHands has no LLM profile",
		Hint: hint,
		Code: fault.Configuration,
	}
}

// firstModel are the ways to a model where there is none.
func (c *session) firstModel(ctx context.Context) []string {
	add := "ohgw profiles add NAME"
	if _, command := c.keyAtHand(ctx); command != "" {
		add = command
	}
	return []string{add, "ohgw chat --demo"}
}

// keyAtHand is the variable of a provider's key in the environment, and the command
// that adds a profile with it; empty if there is none.
func (c *session) keyAtHand(ctx context.Context) (variable, command string) {
	s, err := c.opts.Settings(c.opts.settings)
	if err != nil {
		return "", ""
	}
	return firstrun.FromEnvironment(ctx, c.opts.Setup(), s)
}
