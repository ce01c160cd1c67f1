package agentserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/id"
)

// A connection that broke after a message was written leaves open whether it
// arrived: the log is asked for that long, that often.
const (
	askFor   = 8 * time.Second
	askEvery = 250 * time.Millisecond
)

// Send appends the message and starts a run. It may take as long as a tool
// that still runs, or as the first message takes to set up tools.
func (c *conversation) Send(ctx context.Context, m agentapi.Message) error {
	if c.uncounted.Swap(false) {
		return c.sendCounted(ctx, m)
	}
	return c.say(ctx, m, true)
}

// say appends the message, with a run or without. A server that is full appends it
// all the same and starts no run.
func (c *conversation) say(ctx context.Context, m agentapi.Message, run bool) error {
	content := m.Content()
	in := struct {
		Role    string          `json:"role"`
		Content []event.Content `json:"content"`
		Run     bool            `json:"run"`
	}{"user", content, run}
	arrived := func(e event.Event) verdict {
		own, ok := e.Body.(*event.Message)
		return yes(ok && e.Source == event.SourceUser && reflect.DeepEqual(own.LLMMessage.Content, content))
	}
	call := call{"accept the message", request{method: http.MethodPost, path: c.path() + "/events", in: in}, arrived}
	anchor, err := c.anchor(ctx)
	if err != nil {
		return c.fault(ctx, call.what, err)
	}
	if !run {
		return c.once(ctx, anchor, call)
	}
	err = c.take(func() error { return c.once(ctx, anchor, call) })
	if !isFull(err) {
		return err
	}
	// A proxy may have said so, too.
	switch stored, lookErr := c.has(ctx, anchor, arrived); {
	case lookErr != nil:
		return uncertain(errors.Join(err, lookErr))
	case !stored:
		return err
	}
	return c.full(true, err, c.tryRun)
}

// run starts the run of a message that was said without one.
func (c *conversation) run(ctx context.Context) error {
	if err := c.tryRun(ctx); isFull(err) {
		return c.full(true, err, c.tryRun)
	} else if err != nil {
		return err
	}
	return nil
}

// tryRun starts a run. Whoever starts the next one: it answers the message too, which
// is in the log.
func (c *conversation) tryRun(ctx context.Context) error {
	running := func(e event.Event) verdict { return yes(runs(e)) }
	return c.starts(ctx, call{"run the agent", request{method: http.MethodPost, path: c.path() + "/run"}, running})
}

// Decide answers actions that wait for confirmation.
func (c *conversation) Decide(ctx context.Context, d agentapi.Decision) error {
	in := struct {
		Accept bool   `json:"accept"`
		Reason string `json:"reason,omitempty"`
	}{d.Accept, d.Reason}
	// What waits is decided once, by a rejection or a run, whoever came first. What
	// follows is about other actions.
	arrived := func(e event.Event) verdict {
		_, rejected := e.Body.(*event.UserReject)
		switch {
		case rejected && !d.Accept, !rejected && runs(e) && d.Accept:
			return itCame
		case rejected, runs(e):
			return otherCame
		}
		return unknown
	}
	call := call{"apply the decision", request{method: http.MethodPost, path: c.path() + "/events/respond_to_confirmation", in: in}, arrived}
	try := func(ctx context.Context) error { return c.starts(ctx, call) }
	if err := try(ctx); isFull(err) {
		return c.full(false, err, try)
	} else if err != nil {
		return err
	}
	return nil
}

// call is a request that must not be made twice. arrived knows the event that it
// leaves in the log.
type call struct {
	what    string // is asked for, for a person
	request request
	arrived func(event.Event) verdict
}

// verdict is what an event says of a call: nothing, that it has arrived, or that
// something else came in its place.
type verdict int

const (
	unknown verdict = iota
	itCame
	otherCame
)

func yes(arrived bool) verdict {
	if arrived {
		return itCame
	}
	return unknown
}

// runs reports whether a run begins with e.
func runs(e event.Event) bool {
	status, ok := e.StatusUpdate()
	return ok && status == event.Running
}

// starts makes a call that starts a run. Any run looks like its own, so the log is
// asked for its end: a stream may not have come as far, and a run of before would be
// taken for this one.
func (c *conversation) starts(ctx context.Context, call call) error {
	anchor, err := c.last(ctx)
	if err != nil {
		return c.fault(ctx, call.what, err)
	}
	return c.take(func() error { return c.once(ctx, anchor, call) })
}

// fault returns the error of a call of the conversation; if the server does not know
// the conversation, it says so.
func (c *conversation) fault(ctx context.Context, what string, err error) error {
	if gone(err) {
		return conversationNotFound(c.info.ID, err)
	}
	return c.backend.fault(ctx, what, err)
}

// once makes a call once. The event with the id anchor is in the log before.
func (c *conversation) once(ctx context.Context, anchor string, call call) error {
	b, r := c.backend, call.request
	var written atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { written.Store(w.Err == nil) },
	})
	r.fresh = true
	_, err := b.client.do(traced, r)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil, !written.Load(), answered(err) != 0 && !lostByProxy(err):
		return c.fault(ctx, call.what, err)
	}
	return c.resolve(ctx, anchor, call.arrived, err)
}

// lostByProxy reports whether a proxy says that it got no answer itself.
func lostByProxy(err error) bool {
	e, ok := errors.AsType[*answerError](err)
	return ok && !e.native && (e.status == http.StatusBadGateway || e.status == http.StatusGatewayTimeout)
}

// anchor is an event that is in the log before what is sent next.
func (c *conversation) anchor(ctx context.Context) (string, error) {
	if id := c.newest.Load(); id != nil && c.streams.Load() > 0 {
		return *id, nil
	}
	return c.last(ctx)
}

// resolve finds out whether a call whose answer was lost has arrived.
func (c *conversation) resolve(ctx context.Context, anchor string, arrived func(event.Event) verdict, lost error) error {
	b := c.backend
	sent := b.now()
	limited, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		restarted := c.restartedSince(limited, sent)
		found, err := c.has(limited, anchor, arrived)
		if found {
			return nil
		}
		if err == nil && restarted {
			return b.unreachable(lost)
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return uncertain(lost)
		}
	}
}

// has reports whether the first event after the one with the id anchor of which
// arrived says anything is that of the call.
func (c *conversation) has(ctx context.Context, anchor string, arrived func(event.Event) verdict) (bool, error) {
	found := unknown
	err := c.after(ctx, []string{anchor}, func(e event.Event) error {
		if found == unknown {
			found = arrived(e)
		}
		return nil
	})
	return found == itCame, err
}

func uncertain(cause error) error {
	return &agentapi.Error{
		Kind: agentapi.ErrUncertain, Err: cause,
		Msg: "The connection to the agent-server broke, and the message may or may not have arrived. Check the conversation before you send the message again.",
	}
}

// restartedSince reports whether the server surely started after t: then it has
// forgotten what was not in its log by then.
func (c *conversation) restartedSince(ctx context.Context, t time.Time) bool {
	info, err := c.backend.askInfo(ctx)
	return err == nil && info.startedAfter(c.backend.now(), t)
}

// newUsage makes a usage id that no conversation has yet.
func newUsage() string {
	return id.New(agentUsage + "-")
}

// SendFirst sends the first message of a conversation whose LLM the caller sets. It calls
// set between the message and its run, where a server begins to count what an LLM takes.
// If set returns an error, nothing runs. With a goal the message is pursued; g may be nil.
func (b *Backend) SendFirst(ctx context.Context, id string, m agentapi.Message, g *agentapi.Goal, set func(context.Context) error) error {
	info, err := b.info(ctx)
	if err != nil {
		return err
	}
	c := &conversation{backend: b, version: info.version, info: agentapi.Info{ID: id}}
	if err := c.say(ctx, m, false); err != nil {
		return err
	}
	if err := set(ctx); err != nil {
		return err
	}
	if g != nil {
		return c.striveAfter(ctx, *g, true)
	}
	return c.run(ctx)
}
