package completions

import (
	"context"
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/daemon/structured"
)

const (
	codeInvalidSchema = "invalid_json_schema"

	// formWait is how long the LLM may take to put an answer into its format.
	formWait = 3 * time.Minute
	// formTokens bounds what it writes. All models can write as much.
	formTokens = 8192
)

// SchemaOf is what the answer to a request has to satisfy; nil: it may be any text.
func SchemaOf(f *openai.Format) (*structured.Schema, error) {
	if f == nil {
		return nil, nil
	}
	if f.Schema == nil {
		return structured.Any(), nil
	}
	s, err := structured.Compile(f.Schema)
	if err != nil {
		return nil, gate.NewProblem(codeInvalidSchema, "Invalid schema for '"+f.Param+"': "+err.Error()+".", nil).About(f.Param)
	}
	return s, nil
}

// FunctionOf is the client's function whose arguments an answer is; empty: it is
// not a call.
func FunctionOf(f *openai.Format) string {
	if f == nil {
		return ""
	}
	return f.Function
}

// Function is the client's function whose arguments the answer has to be.
func (c *Call) Function() string { return FunctionOf(c.Format) }

// former puts the answer of an agent into the format that its client asked for.
type former struct {
	api      *API
	schema   *structured.Schema
	profile  string
	question string
	pays     *gate.Purse // nil in a run, which counts what that takes
}

// FormOf is the Form of a [run.Request] whose answer has to satisfy a schema; nil: it may
// be any text.
func (api *API) FormOf(schema *structured.Schema, profile, question string) func(context.Context, *turn.Result, func(turn.Update)) error {
	if schema == nil {
		return nil
	}
	return (&former{api: api, schema: schema, profile: profile, question: question}).form
}

// form implements the Form of a [run.Request]: it converts the answer of the agent to a
// document, and reports each attempt as progress.
func (f *former) form(ctx context.Context, res *turn.Result, emit func(turn.Update)) error {
	calls := 0
	doc, err := f.schema.Form(ctx, f.question, res.Answer, func(ctx context.Context, prompt []structured.Message) (string, error) {
		line := "Converting the answer to JSON"
		if calls++; calls > 1 {
			line = "Correcting the JSON"
		}
		emit(turn.Update{Kind: turn.Progress, Text: line})
		return f.ask(ctx, prompt, &res.Usage)
	})
	if err != nil {
		return formError(err)
	}
	res.Answer, res.Cut = doc, false // a document is whole
	return nil
}

// ask asks the LLM of the profile once, and adds what that took to spent.
func (f *former) ask(ctx context.Context, prompt []structured.Message, spent *turn.Usage) (string, error) {
	if f.api.Complete == nil {
		return "", errNoPlainLLM
	}
	ctx, cancel := context.WithTimeout(ctx, formWait)
	defer cancel()
	p := Prompt{Profile: f.profile, MaxTokens: formTokens}
	for _, m := range prompt {
		p.Messages = append(p.Messages, PromptMessage(m))
	}
	answer, err := f.api.ask(ctx, f.pays, p)
	*spent = spent.Plus(answer.Usage)
	return answer.Text, err
}

// errNoPlainLLM says that there is no way to ask an LLM without an agent.
var errNoPlainLLM = &agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: "This backend cannot ask the model without an agent."}

// formError explains why an answer is not in its format, as the end of a run.
func formError(err error) error {
	failed := &agentapi.Error{Kind: run.ErrForm, Err: cause(err)}
	flaw, _ := errors.AsType[*structured.Flaw](err)
	switch {
	case errors.Is(err, structured.ErrBlank):
		failed.Msg = "The agent ended without an answer, so there is nothing to convert to JSON."
	case isFlaw(err):
		failed.Msg = "The answer does not satisfy the schema, not even after the model corrected it: " + flaw.Error() + ". The conversation has the answer of the agent."
	default:
		failed.Msg = "The agent's answer is not in the JSON format that was asked for, and the model could not convert it. The conversation has the answer. " +
			agentapi.PublicMessage(err, "The model sent no answer.")
	}
	return failed
}

// isFlaw reports whether err says that a document does not satisfy its schema.
func isFlaw(err error) bool {
	_, ok := errors.AsType[*structured.Flaw](err)
	return ok
}

// cause returns err for the log: a flaw and the sentence for the client may quote the
// answer. It is of no kind of the seam, because the run itself has not failed.
func cause(err error) error {
	if isFlaw(err) {
		return errors.New("the last document does not satisfy the schema")
	}
	return errors.New(withoutWords(err).Error())
}

// Formed makes e the end of an answer that has a format: its text is the document,
// or there is none.
func (e Ending) Formed(f *openai.Format) Ending {
	e.form = true
	if e.Problem != nil || e.Status != statusFinished {
		e.Answer = ""
	}
	if f.Function != "" && e.Answer != "" {
		e.function, e.Finish = f.Function, f.Finish
	}
	return e
}

// Refusal returns why an answer that has a format is not a document; empty: it
// is one.
func (e Ending) Refusal() string {
	if !e.form || e.Answer != "" {
		return ""
	}
	return e.Added()
}
