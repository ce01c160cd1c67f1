package completions

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
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/daemon/openai"
	"github.com/ohgw/ohgw/daemon/run"
	"github.com/ohgw/ohgw/internal/id"
)

// maxProgress bounds the progress of one answer, in bytes.
const maxProgress = 64 << 10

// Answer writes what a job produces to one client.
type Answer struct {
	api        *API
	X          *gate.Exchange
	call       *Call
	at         Place
	model      string // as the client knows it
	Attachment *run.Attachment

	id       string
	created  int64
	progress int        // bytes shown
	thought  bool       // the last of them were a text without a line end
	text     chats.Text // told, where there is no chat
	note     string     // what the user must know besides the answer
}

func newAnswer(api *API, x *gate.Exchange, s *Started) *Answer {
	return &Answer{
		api: api, X: x, call: s.call, at: s.at, model: s.model(), Attachment: s.Attachment,
		id: openai.CompletionPrefix + s.AnswerID(), created: s.Created().Unix(),
	}
}

// newCompletionID returns the id of an answer without a run.
func newCompletionID() string {
	return id.New(openai.CompletionPrefix)
}

// Updates calls show with every update of the job, and beat whenever the client
// was sent nothing for a while, until the job has ended. What show leaves out is
// silence to a client, however much the agent says. The error is one of show or
// beat, the client's going, or a gap in what a client sees as text.
func (a *Answer) Updates(ctx context.Context, every time.Duration, show func(turn.Update) error, beat func() error) error {
	quiet := gate.Deadline(every)
	for {
		sent := a.X.Written
		err, failed := a.next(ctx, every, quiet, show)
		switch {
		case err == nil:
			err = failed
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			err = nil
		case IsGap(err) && !a.showsText():
			a.Attachment.Skip()
			continue
		}
		if err == nil && every > 0 && a.X.Written == sent && !gate.Deadline(0).Before(quiet) {
			err = beat()
		}
		if err != nil {
			return err
		}
		if a.X.Written != sent {
			quiet = gate.Deadline(every)
		}
	}
}

// IsGap reports whether a part of what the job said is not kept any more.
func IsGap(err error) bool { return errors.Is(err, run.ErrBehind) || errors.Is(err, run.ErrTrimmed) }

// showsText reports whether the client is shown text while it is made. All others
// get the answer from the end of the job, and miss nothing where there is a gap.
func (a *Answer) showsText() bool {
	return a.call.Stream && !a.api.AnswerOnly && a.call.Schema == nil
}

// next waits for the next update, no longer than until quiet if there is a limit, and shows
// it. It has apart why there is none, and why it could not be shown.
func (a *Answer) next(ctx context.Context, every time.Duration, quiet time.Time, show func(turn.Update) error) (none, failed error) {
	if every > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, quiet)
		defer cancel()
	}
	u, err := a.Attachment.Next(ctx)
	if err != nil {
		return err, nil
	}
	return nil, show(u)
}

// reasoning returns a line of progress as it is shown, or nothing once there was too
// much of it.
func (a *Answer) reasoning(u turn.Update) string {
	line := u.Text + "\n"
	if a.thought && u.Text != "" {
		line = "\n" + line
	}
	if u.Text == "" || a.api.HideProgress || a.progress+len(line) > maxProgress {
		return ""
	}
	a.progress += len(line)
	a.thought = false
	return line
}

// thoughts returns a piece of text as it is shown where the answer has a format:
// what the agent says before its answer does not belong to the document.
func (a *Answer) thoughts(u turn.Update) string {
	text := u.Text
	if !a.thought { // it begins a line
		text = strings.TrimLeft(text, "\n")
	}
	if text == "" || a.api.HideProgress || a.progress+len(text) > maxProgress {
		return ""
	}
	a.progress += len(text)
	a.thought = true
	return text
}

// End reads how the job ended.
func (a *Answer) End(ctx context.Context) Ending {
	res, err := a.Attachment.Result()
	e := EndingOf(res, err)
	if a.call.Schema != nil {
		e = e.Formed(a.call.Format)
	}
	e.context = a.contextOf(res.Context)
	if e.Status != "" {
		a.X.Note(slog.String("run_status", e.Status))
	}
	e = e.TellBlocked()
	if n := len(e.blocked); n > 0 && !a.X.Started() {
		a.X.Header().Set(gate.HeaderBlocked, strconv.Itoa(n))
	}
	if e.Problem == nil {
		e.notice = strings.Trim(a.note+"\n\n"+e.notice, "\n")
		return e
	}
	e.Problem = a.call.explain(e.Problem)
	if a.at.visit != nil {
		e.Problem = goesOn(e.Problem)
	}
	a.X.Failure, a.X.Seen.Code = e.Problem, e.Problem.Wire.Code
	a.api.models.doubt(ctx, e.Problem)
	// A failure that reached a client before is repeated; its time begins again
	// with this repetition, so it is counted before it is written.
	if a.Attachment.Replayed() && !a.Attachment.RepeatsUntil().IsZero() {
		a.Attachment.Delivered()
		e.Problem = again(e.Problem, a.Attachment.RepeatsUntil().Sub(a.api.core.Now()))
	}
	return e
}

// goesOn says in a chat that it is not over: the person who reads it has no
// other place to look.
func goesOn(p *gate.Problem) *gate.Problem {
	switch p.Wire.Code {
	case gate.CodeRunError, gate.CodeLLM, gate.CodeServerLost, gate.CodeAgentLost, gate.CodeRunTimeout, gate.CodeRunInterrupted:
		said := *p
		said.Wire.Message = strings.TrimRight(said.Wire.Message, ". ") + ". Send another message to continue in this chat."
		return &said
	}
	return p
}

// again says that a failure is an old one, and when a new run is possible.
func again(p *gate.Problem, left time.Duration) *gate.Problem {
	repeated := *p
	repeated.Wire.Message += fmt.Sprintf(" (This run failed before. The same request starts a new run after %s s, or at once with the header %s: run.)",
		strconv.Itoa(int(math.Ceil(left.Seconds()))), gate.HeaderRepeat)
	return &repeated
}

// Deliver writes the last frame of the answer. The client has its answer when
// that was written without an error: what it does then, and how fast, says
// nothing about it.
func (a *Answer) Deliver(ctx context.Context, write func() error) error {
	err := ctx.Err()
	if err == nil {
		a.Attachment.Delivered()
		err = write()
	}
	if err == nil {
		err = a.X.FlushNow()
	}
	if err != nil {
		a.Attachment.Undelivered()
		return fmt.Errorf("client disconnected: %w", err)
	}
	a.noteShown()
	return nil
}
