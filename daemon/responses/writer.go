package responses

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/sse"
)

// responder writes an answer as a response.
type responder struct {
	*completions.Answer
	live *Live
	api  *API
}

// concludeResponse says how a run ends as a response. Codex sends a failed turn
// again, except with a code that says that its request is wrong. Form is
// the format of the answer; nil: it has none.
func concludeResponse(codex bool, form *openai.Format) func(turn.Result, error) Ending {
	return func(res turn.Result, err error) Ending {
		e := completions.EndingOf(res, err)
		if form != nil {
			e = e.Formed(form)
		}
		e = e.TellBlocked()
		end := Ending{
			Status: openai.ResponseCompleted, Answer: e.Answer, Notice: e.Added(), Usage: e.Usage, Extension: e.Extension(0),
		}
		if form != nil {
			end.Notice, end.Refusal = "", e.Refusal()
		}
		for _, a := range res.Waiting {
			input := a.Detail
			if input == "" {
				input = a.Line
			}
			end.Waiting = append(end.Waiting, openai.OutputItem{Tool: a.Tool, Arguments: string(openai.OneLine(map[string]string{"action": a.Line, "input": input}))})
		}
		switch {
		case errors.Is(err, run.ErrStopped), e.Problem == nil && e.Status == completions.StatusCancelled:
			end.Status, end.Code, end.Message = openai.ResponseCancelled, failedServer, "The response was cancelled."
		case e.Problem != nil:
			end.Status, end.Code, end.Message = openai.ResponseFailed, responseCode(e.Problem, codex), e.Problem.Wire.Message
		case e.Finish == openai.FinishLength:
			end.Status, end.Incomplete = openai.ResponseIncomplete, "max_output_tokens"
		}
		return end
	}
}

// The codes that a failed response may have, by OpenAI's schema.
const (
	failedServer  = "server_error"
	failedLimit   = "rate_limit_exceeded"
	failedInvalid = "invalid_prompt"
)

func responseCode(p *gate.Problem, codex bool) string {
	switch {
	case codex, p.Wire.Code == gate.CodeContextLength:
		return failedInvalid
	case p.Wire.Code == gate.CodeQueueFull:
		return failedLimit
	}
	return failedServer
}

// background answers before the run has ended, and lets it go on.
func (r *responder) background(ctx context.Context) error {
	if err := r.api.Store.Save(r.live); err != nil {
		return r.unsaved(ctx, err)
	}
	r.X.Seen.Answer = gate.AnswerWhole
	r.Attachment.Delivered()
	return r.X.WriteJSON(http.StatusOK, append(r.live.Object(), '\n'))
}

// unsaved answers for a response in the background that is not stored: its run must
// not continue, because no client could ask for its result.
func (r *responder) unsaved(ctx context.Context, err error) error {
	if !errors.Is(err, ErrUnsaved) {
		r.api.core.Runs.StopAnswer(r.Attachment.ConversationID(), r.Attachment.AnswerID())
		return gate.Explain(errors.Join(run.ErrState, err))
	}
	r.settle(ctx)
	if e := r.End(ctx); e.Problem != nil {
		return e.Problem
	}
	return gate.Explain(errors.Join(run.ErrState, err))
}

// stream sends the events of the response.
func (r *responder) stream(ctx context.Context) error {
	r.X.Seen.Answer = gate.AnswerStream
	r.X.StreamHeaders()
	defer r.api.core.Metrics.StreamOpens()()
	events := sse.NewWriter(r.X, r.X.FlushNow)
	for n := 0; ; n++ {
		e, err := r.api.nextEvent(ctx, r.live, n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Type == "response.output_text.delta" || e.Type == "response.function_call_arguments.delta" {
			r.X.FirstText()
		}
		if !e.Ends() {
			if err := events.Event(e.Type, e.Data); err != nil {
				return err
			}
			continue
		}
		r.settle(ctx)
		return r.Deliver(ctx, func() error { return events.Event(e.Type, e.Data) })
	}
}

// settle does what belongs to the end of an answer: the books.
func (r *responder) settle(ctx context.Context) {
	for { // the job ends right after its response
		if _, err := r.Attachment.Next(ctx); completions.IsGap(err) {
			r.Attachment.Skip()
		} else if err != nil {
			break
		}
	}
	r.NoteSent(r.End(ctx).Answer)
}

// nextEvent waits for an event of a response, and adds one if none comes for a
// while: clients give up on silence.
func (api *API) nextEvent(ctx context.Context, live *Live, n int) (openai.StreamEvent, error) {
	for {
		limited, cancel := ctx, context.CancelFunc(func() {})
		if every := api.completions.Heartbeat; every > 0 {
			limited, cancel = context.WithTimeout(ctx, every)
		}
		e, err := live.Event(limited, n)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return e, err
		}
		live.Beat(n)
	}
}

// writeEvents sends the events of a response from one on, to a client that did
// not ask for the run.
func (api *API) writeEvents(ctx context.Context, x *gate.Exchange, live *Live, from int) error {
	if err := x.FlushNow(); err != nil { // the next event may be long in coming
		return err
	}
	events := sse.NewWriter(x, x.FlushNow)
	for n := from; ; n++ {
		e, err := api.nextEvent(ctx, live, n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := events.Event(e.Type, e.Data); err != nil {
			return err
		}
	}
}

// whole waits for the end of the run, with white space ahead of the body as for a
// chat completion.
func (r *responder) whole(ctx context.Context) error {
	r.X.Seen.Answer = gate.AnswerWhole
	p := &completions.WholeWriter{Answer: r.Answer}
	if err := r.Updates(ctx, r.api.completions.WholeHeartbeat, func(turn.Update) error { return nil }, p.Beat); err != nil {
		return err
	}
	e := r.End(ctx)
	if e.Problem != nil {
		return p.Failed(ctx, e)
	}
	r.NoteSent(e.Answer)
	body := append(r.live.Object(), '\n')
	return r.Deliver(ctx, func() error {
		if r.X.Started() {
			_, err := r.X.Write(body)
			return err
		}
		r.X.Header().Set(gate.HeaderRunStatus, e.Status)
		return r.X.WriteJSON(http.StatusOK, body)
	})
}
