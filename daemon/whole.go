package daemon

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
)

// wholeWriter writes an answer in one piece.
type wholeWriter struct {
	*answer
	lines   strings.Builder
	actions actions
}

// whole waits for the end of the run. Clients and proxies give up on silence,
// so after a while white space goes ahead of the body; from then on the status
// is 200, and a failure is a connection that breaks.
func (a *answer) whole(ctx context.Context) error {
	a.x.seen.answer = answerWhole
	p := &wholeWriter{answer: a}
	if err := a.updates(ctx, a.x.d.cfg.WholeHeartbeat, p.show, p.beat); err != nil {
		return err
	}
	e := a.end(ctx)
	if e.problem != nil {
		return p.failed(ctx, e)
	}
	e.actions = p.actions.encode()
	return p.write(ctx, openai.Completion{Content: e.text(), Function: e.function, Refusal: e.refusal(), Finish: e.finish, Usage: e.usage, Extension: e.extension(0)}, e.status)
}

func (p *wholeWriter) show(u turn.Update) error {
	if u.Kind == turn.Progress || u.Kind == turn.Queue {
		p.lines.WriteString(p.reasoning(u))
		if u.Call != nil && p.call.options.details {
			p.actions.add(u.Call)
		}
	}
	return nil
}

func (p *wholeWriter) beat() error {
	if !p.x.started() {
		p.x.Header().Set("Content-Type", "application/json")
		p.x.WriteHeader(http.StatusOK)
	}
	if _, err := p.x.Write([]byte(" \n")); err != nil {
		return err
	}
	return p.x.flush()
}

// failed reports that the run failed, in the status if that is still open.
func (p *wholeWriter) failed(ctx context.Context, e ending) error {
	p.x.seen.code = e.problem.wire.Code
	if p.x.started() {
		return p.breakOff(e)
	}
	if e.status != "" {
		p.x.Header().Set(headerRunStatus, e.status)
	}
	return p.deliver(ctx, func() error { return p.x.writeProblem(e.problem) })
}

// breakOff reports that the run failed where the status is 200 already: no client
// may take the body for an answer. It has the error for people, no choices, and
// no end: most libraries send the request again when a body breaks off, which
// joins this job and gets the failure with its own status (docs/adr/0005).
func (p *wholeWriter) breakOff(e ending) error {
	c := openai.Completion{
		ID: p.id, Model: p.call.Model, Created: p.created, Usage: e.usage,
		Extension: &openai.Extension{RunStatus: statusOr(e.status), Message: e.problem.wire.Message, Code: e.problem.wire.Code},
	}
	_, err := p.x.Write(append(c.AppendFailure(nil, e.problem.wire), '\n'))
	if err == nil {
		err = p.x.flush()
	}
	if err != nil {
		return fmt.Errorf("client disconnected: %w", err)
	}
	panic(http.ErrAbortHandler) // as net/http wants it; outermost logs the request
}

func (p *wholeWriter) write(ctx context.Context, c openai.Completion, status string) error {
	c.ID, c.Model, c.Created, c.Conversation = p.id, p.call.Model, p.created, p.att.ConversationID()
	c.Reasoning = p.lines.String()
	p.noteSent(c.Content)
	body := append(c.Append(nil), '\n')
	return p.deliver(ctx, func() error {
		if p.x.started() {
			_, err := p.x.Write(body)
			return err
		}
		p.x.Header().Set(headerRunStatus, status)
		return p.x.writeJSON(http.StatusOK, body)
	})
}

// statusOr is the run's status, error where it has none.
func statusOr(status string) string {
	if status == "" {
		return statusError
	}
	return status
}
