package gateway

import (
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/pause"
)

const (
	firstPause = 250 * time.Millisecond
	maxPause   = 5 * time.Second
	// stopTimeout bounds the word that a run shall stop.
	stopTimeout = 2 * time.Second
)

// Ask implements [Endpoint].
func (c *Client) Ask(ctx context.Context, q Question) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		a, err := c.newAsking(q)
		if err != nil {
			yield(nil, err)
			return
		}
		err = a.run(ctx, func(p Piece) bool { return yield(p, nil) })
		if err != nil && !a.settled {
			a.stop(ctx)
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// errLeft says that whoever iterated has left.
var errLeft = errors.New("the reader stopped")

// asking is a question on its way to an answer.
type asking struct {
	c            *Client
	q            Question
	body         []byte
	conversation string    // once the gateway has named it
	answered     bool      // the gateway has taken the question
	settled      bool      // nothing is left that could be stopped
	heard        time.Time // when something last came
	attempt      int       // how often the answer was lost
}

func (c *Client) newAsking(q Question) (*asking, error) {
	if q.Key == "" {
		q.Key = c.cfg.NewKey()
	}
	if q.Decision != "" && strings.TrimSpace(q.Text) == "" {
		q.Text = string(q.Decision) // a question must have a text
	}
	body, err := encode(q)
	if err != nil {
		return nil, &Error{Kind: Refused, Message: "The question cannot be encoded.", Err: err}
	}
	return &asking{c: c, q: q, body: body, conversation: q.Conversation}, nil
}

// run sends the question until it is answered, or nothing more can be hoped
// for. The same request with the same key never runs twice.
func (a *asking) run(ctx context.Context, show func(Piece) bool) error {
	a.heard = a.c.cfg.Now()
	for {
		began := a.c.cfg.Now()
		err := a.once(ctx, show)
		lost, again := errors.AsType[*lostError](err)
		switch {
		case err == nil || errors.Is(err, errLeft):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !again:
			return err
		}
		if a.heard.Sub(began) >= a.c.cfg.Patience {
			a.attempt = 0 // that one was well for long
		}
		a.attempt++
		if a.attempt >= maxAttempts || a.c.cfg.Now().Sub(a.heard) >= a.c.cfg.Patience {
			return a.gone(lost.err)
		}
		if !show(Lost{Attempt: a.attempt, Err: lost.err}) {
			return errLeft
		}
		if err := wait(ctx, a.attempt); err != nil {
			return err
		}
	}
}

// gone returns the error that ends all attempts: the gateway cannot be reached again.
func (a *asking) gone(err error) error {
	a.settled = true // the gateway is lost: nothing can be stopped
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Kind: Unreachable, Message: "The connection to the gateway at " + a.c.place() + " was lost and could not be restored.", Err: err}
	}
	e.Conversation = a.conversation
	return e
}

// wait waits before the next attempt, longer each time.
func wait(ctx context.Context, attempt int) error {
	if pause.For(ctx, min(maxPause, firstPause<<min(attempt-1, 10))) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// once sends the question and reads what comes. The error is a *lostError
// where it is worth to send it again.
func (a *asking) once(ctx context.Context, show func(Piece) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(a.c.cfg.Silence, func() { cancel(errSilent) })
	defer quiet.Stop()

	req, err := a.request(ctx)
	if err != nil {
		return err
	}
	res, err := a.c.cfg.HTTP.Do(req)
	if err != nil {
		return a.noAnswer(ctx, err)
	}
	defer func() { _ = res.Body.Close() }() // It was only read.
	if res.StatusCode != http.StatusOK {
		return a.refusedOnce(res)
	}
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		a.settled = true
		return a.c.stranger(describe(res), nil)
	}
	quiet.Stop()
	a.answered, a.heard = true, a.c.cfg.Now()
	if id := res.Header.Get(headerConversation); id != "" {
		a.conversation = id
	}
	started := Started{
		Conversation: a.conversation, RequestID: res.Header.Get("X-Request-Id"),
		Ignored: names(res.Header.Get(headerIgnored)), Replayed: res.Header.Get(headerReplayed) == "true",
		Workspace: unescape(res.Header.Get(headerWorkspace)),
	}
	if !show(started) {
		return errLeft
	}
	body := heard{r: res.Body, note: func() {
		quiet.Reset(a.c.cfg.Silence)
		a.heard = a.c.cfg.Now()
	}}
	return a.read(ctx, newReader(body), quiet, show)
}

// read shows what a stream brings until it ends. The time that show takes does
// not count as silence of the gateway.
func (a *asking) read(ctx context.Context, r *reader, quiet *time.Timer, show func(Piece) bool) error {
	for {
		quiet.Reset(a.c.cfg.Silence)
		pieces, err := r.next()
		quiet.Stop()
		a.settled = errors.Is(err, io.EOF)
		for _, p := range pieces {
			if !show(p) {
				return errLeft
			}
		}
		if a.settled {
			return nil
		}
		if err != nil {
			return a.broken(ctx, err)
		}
	}
}

// noAnswer returns the error for a request without an answer. If no gateway ever
// listened at the address, the error is final: ohgw does not ask again.
func (a *asking) noAnswer(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return &lostError{errSilent}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && !a.answered {
		a.settled = true
		return a.c.unreachable(ctx, err)
	}
	return &lostError{err}
}

// refusedOnce returns the error for an answer that is not 200. One that only says
// that the gateway is not back yet is worth another try.
func (a *asking) refusedOnce(res *http.Response) error {
	e := a.c.refused(res)
	if e.Kind == Unreachable && a.answered {
		return &lostError{e}
	}
	a.settled = true
	return e
}

// broken returns the error for a stream that did not come to its end. A lost
// connection is worth another try.
func (a *asking) broken(ctx context.Context, err error) error {
	if f, ok := errors.AsType[*frameError](err); ok {
		a.settled = true
		return &Error{Kind: Failed, Status: http.StatusOK, Code: f.code, Message: f.message, Conversation: a.conversation}
	}
	if errors.Is(err, errMalformed) {
		return a.c.stranger("a malformed stream", err)
	}
	if errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	return &lostError{err}
}

// stop tells the gateway that no client waits for the answer. Where it
// cannot be told, its grace ends the run.
func (a *asking) stop(ctx context.Context) {
	if a.conversation == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	req, err := a.c.request(ctx, http.MethodPost, "/v1/conversations/"+a.conversation+"/interrupt", http.NoBody)
	if err != nil {
		return
	}
	req.Header.Set(headerKey, a.q.Key)
	res, err := a.c.cfg.HTTP.Do(req)
	if err == nil {
		_ = res.Body.Close() // The answer changes nothing.
	}
}

// heard notes each sign of life.
type heard struct {
	r    io.Reader
	note func()
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	if n > 0 {
		h.note()
	}
	return n, err
}
