package completions

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
)

// WholeWriter writes an answer in one piece.
type WholeWriter struct {
	*Answer
	lines   strings.Builder
	actions actions
}

// whole waits for the end of the run. Clients and proxies give up on silence,
// so after a while white space goes ahead of the body; from then on the status
// is 200, and a failure is a connection that breaks.
func (a *Answer) whole(ctx context.Context) error {
	a.X.Seen.Answer = gate.AnswerWhole
	p := &WholeWriter{Answer: a}
	if err := a.Updates(ctx, a.api.WholeHeartbeat, p.show, p.Beat); err != nil {
		return err
	}
	e := a.End(ctx)
	if e.Problem != nil {
		return p.Failed(ctx, e)
	}
	e.actions = p.actions.encode()
	return p.write(ctx, openai.Completion{Content: e.text(), Function: e.function, Refusal: e.Refusal(), Finish: e.Finish, Usage: e.Usage, Extension: e.Extension(0)}, e.Status)
}

func (p *WholeWriter) show(u turn.Update) error {
	if u.Kind == turn.Progress || u.Kind == turn.Queue {
		p.lines.WriteString(p.reasoning(u))
		if u.Call != nil && p.call.Options.Details {
			p.actions.add(u.Call)
		}
	}
	return nil
}

// Beat sends white space, so that the client goes on waiting.
func (p *WholeWriter) Beat() error {
	if !p.X.Started() {
		p.X.Header().Set("Content-Type", "application/json")
		p.X.WriteHeader(http.StatusOK)
	}
	if _, err := p.X.Write([]byte(" \n")); err != nil {
		return err
	}
	return p.X.FlushNow()
}

// Failed reports that the run failed, in the status if that is still open.
func (p *WholeWriter) Failed(ctx context.Context, e Ending) error {
	p.X.Seen.Code = e.Problem.Wire.Code
	if p.X.Started() {
		return p.breakOff(e)
	}
	if e.Status != "" {
		p.X.Header().Set(gate.HeaderRunStatus, e.Status)
	}
	return p.Deliver(ctx, func() error { return p.X.WriteProblem(e.Problem) })
}

// breakOff reports that the run failed where the status is 200 already: no client
// may take the body for an answer. It has the error for people, no choices, and
// no end: most libraries send the request again when a body breaks off, which
// joins this job and gets the failure with its own status (docs/adr/0005).
func (p *WholeWriter) breakOff(e Ending) error {
	c := openai.Completion{
		ID: p.id, Model: p.model, Created: p.created, Usage: e.Usage,
		Extension: &openai.Extension{RunStatus: statusOr(e.Status), Message: e.Problem.Wire.Message, Code: e.Problem.Wire.Code},
	}
	_, err := p.X.Write(append(c.AppendFailure(nil, e.Problem.Wire), '\n'))
	if err == nil {
		err = p.X.FlushNow()
	}
	if err != nil {
		return fmt.Errorf("client disconnected: %w", err)
	}
	panic(http.ErrAbortHandler) // as net/http wants it; outermost logs the request
}

func (p *WholeWriter) write(ctx context.Context, c openai.Completion, status string) error {
	c.ID, c.Model, c.Created, c.Conversation = p.id, p.model, p.created, p.Attachment.ConversationID()
	c.Reasoning = p.lines.String()
	p.NoteSent(c.Content)
	body := append(c.Append(nil), '\n')
	return p.Deliver(ctx, func() error {
		if p.X.Started() {
			_, err := p.X.Write(body)
			return err
		}
		p.X.Header().Set(gate.HeaderRunStatus, status)
		return p.X.WriteJSON(http.StatusOK, body)
	})
}

// statusOr is the run's status, error where it has none.
func statusOr(status string) string {
	if status == "" {
		return statusError
	}
	return status
}
