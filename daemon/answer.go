package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/id"
)

// maxProgress bounds the progress of one answer, in bytes.
const maxProgress = 64 << 10

// answer writes what a job produces to one client.
type answer struct {
	x    *exchange
	call *call
	att  *run.Attachment

	id       string
	created  int64
	progress int        // bytes shown
	thought  bool       // the last of them were a text without a line end
	text     chats.Text // told, where there is no chat
	note     string     // what the user must know besides the answer
}

func newAnswer(x *exchange, c *call, att *run.Attachment) *answer {
	return &answer{x: x, call: c, att: att, id: completionPrefix + att.AnswerID(), created: att.Created().Unix()}
}

// completionPrefix begins the id of every completion.
const completionPrefix = "chatcmpl-"

// newCompletionID returns the id of an answer without a run.
func newCompletionID() string {
	return id.New(completionPrefix)
}

// updates calls show with every update of the job, and beat whenever the client
// was sent nothing for a while, until the job has ended. What show leaves out is
// silence to a client, however much the agent says. The error is one of show or
// beat, the client's going, or a gap in what a client sees as text.
func (a *answer) updates(ctx context.Context, every time.Duration, show func(turn.Update) error, beat func() error) error {
	quiet := in(every)
	for {
		sent := a.x.written
		u, err := a.next(ctx, every, quiet)
		switch {
		case err == nil:
			err = show(u)
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			err = nil
		case isGap(err) && !a.showsText():
			a.att.Skip()
			continue
		}
		if err == nil && every > 0 && a.x.written == sent && !in(0).Before(quiet) {
			err = beat()
		}
		if err != nil {
			return err
		}
		if a.x.written != sent {
			quiet = in(every)
		}
	}
}

// isGap reports whether a part of what the job said is not kept any more.
func isGap(err error) bool { return errors.Is(err, run.ErrBehind) || errors.Is(err, run.ErrTrimmed) }

// showsText reports whether the client is shown text while it is made. All others
// get the answer from the end of the job, and miss nothing where there is a gap.
func (a *answer) showsText() bool {
	return a.call.Stream && !a.x.d.cfg.AnswerOnly && a.call.schema == nil
}

// next waits for the next update, no longer than until quiet if there is a limit.
func (a *answer) next(ctx context.Context, every time.Duration, quiet time.Time) (turn.Update, error) {
	if every > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, quiet)
		defer cancel()
	}
	return a.att.Next(ctx)
}

// reasoning is a line of progress as it is shown, or nothing.
func (a *answer) reasoning(u turn.Update) string {
	line := u.Text + "\n"
	if a.thought && u.Text != "" {
		line = "\n" + line
	}
	if u.Text == "" || a.x.d.cfg.HideProgress || a.progress+len(line) > maxProgress {
		return ""
	}
	a.progress += len(line)
	a.thought = false
	return line
}

// thoughts is a piece of text as it is shown where the answer has a format: what
// the agent says on the way is no part of the document.
func (a *answer) thoughts(u turn.Update) string {
	text := u.Text
	if !a.thought { // it begins a line
		text = strings.TrimLeft(text, "\n")
	}
	if text == "" || a.x.d.cfg.HideProgress || a.progress+len(text) > maxProgress {
		return ""
	}
	a.progress += len(text)
	a.thought = true
	return text
}

// end reads how the job ended.
func (a *answer) end(ctx context.Context) ending {
	res, err := a.att.Result()
	e := endingOf(res, err)
	if a.call.schema != nil {
		e = e.formed(a.call.Format)
	}
	e.context = a.contextOf(res.Context)
	if e.status != "" {
		a.x.note(slog.String("run_status", e.status))
	}
	e = e.tellBlocked()
	if n := len(e.blocked); n > 0 && !a.x.started() {
		a.x.Header().Set(headerBlocked, strconv.Itoa(n))
	}
	if e.problem == nil {
		e.notice = strings.Trim(a.note+"\n\n"+e.notice, "\n")
		return e
	}
	e.problem = a.call.explain(e.problem)
	if a.call.visit != nil {
		e.problem = goesOn(e.problem)
	}
	a.x.failure, a.x.seen.code = e.problem, e.problem.wire.Code
	a.x.d.models.doubt(ctx, e.problem)
	// A failure that reached a client before is repeated; its time begins again
	// with this repetition, so it is counted before it is written.
	if a.att.Replayed() && !a.att.RepeatsUntil().IsZero() {
		a.att.Delivered()
		e.problem = again(e.problem, a.att.RepeatsUntil().Sub(a.x.d.cfg.Now()))
	}
	return e
}

// goesOn says in a chat that it is not over: the person who reads it has no
// other place to look.
func goesOn(p *problem) *problem {
	switch p.wire.Code {
	case codeRunError, codeLLM, codeServerLost, codeAgentLost, codeRunTimeout, codeRunInterrupted:
		said := *p
		said.wire.Message = strings.TrimRight(said.wire.Message, ". ") + ". Send another message to continue in this chat."
		return &said
	}
	return p
}

// again says that a failure is an old one, and when a new run is possible.
func again(p *problem, left time.Duration) *problem {
	repeated := *p
	repeated.wire.Message += fmt.Sprintf(" (This run failed before. The same request starts a new run after %s s, or at once with the header %s: run.)",
		strconv.Itoa(int(math.Ceil(left.Seconds()))), headerRepeat)
	return &repeated
}

// deliver writes the last frame of the answer. The client has its answer when
// that was written without an error: what it does then, and how fast, says
// nothing about it.
func (a *answer) deliver(ctx context.Context, write func() error) error {
	err := ctx.Err()
	if err == nil {
		a.att.Delivered()
		err = write()
	}
	if err == nil {
		err = a.x.flush()
	}
	if err != nil {
		a.att.Undelivered()
		return fmt.Errorf("client disconnected: %w", err)
	}
	a.noteShown()
	return nil
}
