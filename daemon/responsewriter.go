package daemon

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/responses"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/sse"
)

// responder writes an answer as a response.
type responder struct {
	*answer
	live *responses.Live
}

// concludeResponse says how a run ends as a response. Codex sends a failed turn
// again, except with a code that says that its request is wrong. Form is
// the format of the answer; nil: it has none.
func concludeResponse(codex bool, form *openai.Format) func(turn.Result, error) responses.Ending {
	return func(res turn.Result, err error) responses.Ending {
		e := endingOf(res, err)
		if form != nil {
			e = e.formed(form)
		}
		e = e.tellBlocked()
		end := responses.Ending{
			Status: openai.ResponseCompleted, Answer: e.answer, Notice: e.added(), Usage: e.usage, Extension: e.extension(0),
		}
		if form != nil {
			end.Notice, end.Refusal = "", e.refusal()
		}
		for _, a := range res.Waiting {
			input := a.Detail
			if input == "" {
				input = a.Line
			}
			end.Waiting = append(end.Waiting, openai.OutputItem{Tool: a.Tool, Arguments: string(oneLine(map[string]string{"action": a.Line, "input": input}))})
		}
		switch {
		case errors.Is(err, run.ErrStopped), e.problem == nil && e.status == statusCancelled:
			end.Status, end.Code, end.Message = openai.ResponseCancelled, failedServer, "The response was cancelled."
		case e.problem != nil:
			end.Status, end.Code, end.Message = openai.ResponseFailed, responseCode(e.problem, codex), e.problem.wire.Message
		case e.finish == openai.FinishLength:
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

func responseCode(p *problem, codex bool) string {
	switch {
	case codex, p.wire.Code == codeContextLength:
		return failedInvalid
	case p.wire.Code == codeQueueFull:
		return failedLimit
	}
	return failedServer
}

// background answers before the run has ended, and lets it go on.
func (r *responder) background(ctx context.Context, d *Daemon) error {
	if err := d.responses.Save(r.live); err != nil {
		return r.unsaved(ctx, err)
	}
	r.x.seen.answer = answerWhole
	r.att.Delivered()
	return r.x.writeJSON(http.StatusOK, append(r.live.Object(), '\n'))
}

// unsaved answers for a response in the background that is not stored: its run must
// not go on, because nobody could ask for what becomes of it.
func (r *responder) unsaved(ctx context.Context, err error) error {
	if !errors.Is(err, responses.ErrUnsaved) {
		r.x.d.runs.StopAnswer(r.att.ConversationID(), r.att.AnswerID())
		return explain(errors.Join(run.ErrState, err))
	}
	r.settle(ctx)
	if e := r.end(ctx); e.problem != nil {
		return e.problem
	}
	return explain(errors.Join(run.ErrState, err))
}

// stream sends the events of the response.
func (r *responder) stream(ctx context.Context) error {
	r.x.seen.answer = answerStream
	r.x.streamHeaders()
	defer r.x.d.metrics.StreamOpens()()
	events := sse.NewWriter(r.x, r.x.flush)
	for n := 0; ; n++ {
		e, err := r.x.nextEvent(ctx, r.live, n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Type == "response.output_text.delta" || e.Type == "response.function_call_arguments.delta" {
			r.x.firstText()
		}
		if !e.Ends() {
			if err := events.Event(e.Type, e.Data); err != nil {
				return err
			}
			continue
		}
		r.settle(ctx)
		return r.deliver(ctx, func() error { return events.Event(e.Type, e.Data) })
	}
}

// settle does what belongs to the end of an answer: the books.
func (r *responder) settle(ctx context.Context) {
	for { // the job ends right after its response
		if _, err := r.att.Next(ctx); isGap(err) {
			r.att.Skip()
		} else if err != nil {
			break
		}
	}
	r.noteSent(r.end(ctx).answer)
}

// nextEvent waits for an event of a response, and adds one if none comes for a
// while: clients give up on silence.
func (x *exchange) nextEvent(ctx context.Context, live *responses.Live, n int) (openai.StreamEvent, error) {
	for {
		limited, cancel := ctx, context.CancelFunc(func() {})
		if every := x.d.cfg.Heartbeat; every > 0 {
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
func (x *exchange) writeEvents(ctx context.Context, live *responses.Live, from int) error {
	if err := x.flush(); err != nil { // the next event may be long in coming
		return err
	}
	events := sse.NewWriter(x, x.flush)
	for n := from; ; n++ {
		e, err := x.nextEvent(ctx, live, n)
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
	r.x.seen.answer = answerWhole
	p := &wholeWriter{answer: r.answer}
	if err := r.updates(ctx, r.x.d.cfg.WholeHeartbeat, func(turn.Update) error { return nil }, p.beat); err != nil {
		return err
	}
	e := r.end(ctx)
	if e.problem != nil {
		return p.failed(ctx, e)
	}
	r.noteSent(e.answer)
	body := append(r.live.Object(), '\n')
	return r.deliver(ctx, func() error {
		if r.x.started() {
			_, err := r.x.Write(body)
			return err
		}
		r.x.Header().Set(headerRunStatus, e.status)
		return r.x.writeJSON(http.StatusOK, body)
	})
}
