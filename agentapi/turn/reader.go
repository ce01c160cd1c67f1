package turn

import (
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Reader reads the events of one turn, in the order of the log.
//
// The turn begins with the user's message (with the first event, where the
// turn answers a confirmation) and is over with the first full_state update
// that follows a running one and is not running itself. A status on its own
// ends nothing: a hook may still veto it.
type Reader struct {
	baseline Baseline
	fixed    bool // the baseline was given, not read from the stream

	began  bool // the user's message was seen
	active bool // the run was seen to run, or to fail before it did
	done   bool
	status event.Status

	text    text
	answer  string
	actions int
	open    []*event.Action // calls without a result, in order
	failure *event.ConversationError
	stopped bool // an interrupt was seen
	usage   Usage
}

// NewReader reads a turn that begins with a message of the user. With a
// baseline the turn may lie in the past.
func NewReader(baseline *Baseline) *Reader {
	r := &Reader{}
	if baseline != nil {
		r.baseline, r.fixed = *baseline, true
	}
	return r
}

// Begin lets the turn begin with the next event: there is no message in a
// turn that accepts what waits for confirmation.
func (r *Reader) Begin() { r.began = true }

// Baseline is where the turn starts. It is complete once the first full_state
// was added.
func (r *Reader) Baseline() Baseline { return r.baseline }

// Status is the status the conversation last announced.
func (r *Reader) Status() event.Status { return r.status }

// Began reports whether the turn's own events have begun.
func (r *Reader) Began() bool { return r.began }

// Active reports whether the run was seen.
func (r *Reader) Active() bool { return r.active }

// Done reports whether the turn is over.
func (r *Reader) Done() bool { return r.done }

// Add reads one event and returns what there is to show. Events after the end
// are ignored.
func (r *Reader) Add(e event.Event) ([]Update, error) {
	if r.done {
		return nil, nil
	}
	if s, ok, err := e.FullState(); ok {
		if err == nil {
			r.fullState(s)
		}
		return nil, err
	}
	if s, ok := e.StatusUpdate(); ok {
		r.status = s
		r.active = r.active || (r.began && s == event.Running)
		return nil, nil
	}
	if !r.began {
		m, ok := e.Body.(*event.Message)
		r.began = ok && e.Source == event.SourceUser && m.LLMMessage.Role == "user"
		if !r.began {
			return nil, nil
		}
		return notices(m), nil
	}
	return r.readOwn(e), nil
}

// notices are what the person is told of what the message was given on its way.
func notices(m *event.Message) (updates []Update) {
	for _, item := range m.ExtendedContent {
		if text, ok := event.NoticeOf(item); ok {
			updates = append(updates, Update{Kind: Progress, Text: text})
		}
	}
	return updates
}

// readOwn reads an event of the turn itself.
func (r *Reader) readOwn(e event.Event) []Update {
	switch b := e.Body.(type) {
	case *event.Delta:
		if b.Content != nil {
			return r.text.delta(*b.Content)
		}
	case *event.Message:
		if e.Source == event.SourceAgent {
			return r.message(event.PlainText(b.LLMMessage.Content))
		}
		r.text.boundary()
	case *event.Action:
		return r.action(b)
	case *event.Observation:
		r.result(b.ToolCallID)
	case *event.AgentError:
		r.result(b.ToolCallID)
	case *event.UserReject:
		r.result(b.ToolCallID)
	case *event.ConversationError:
		r.failure, r.active = b, true
	case *event.Interrupt:
		r.stopped = true
	}
	return nil
}

func (r *Reader) message(t string) []Update {
	if strings.TrimSpace(t) != "" {
		r.answer = t
	}
	updates := r.text.whole(t)
	r.text.boundary()
	return updates
}

func (r *Reader) action(a *event.Action) []Update {
	thought := event.PlainText(a.Thought)
	updates := r.text.whole(thought)
	if m, ok := finishMessage(a); ok {
		if strings.TrimSpace(m) == "" {
			m = thought
		}
		if strings.TrimSpace(m) != "" {
			r.answer = m
		}
		if m == thought {
			return updates // said once already
		}
		return append(updates, r.text.whole(m)...)
	}
	r.actions++
	r.open = append(r.open, a)
	return append(updates, Update{Kind: Progress, Text: line(a)})
}

// result takes a call that has its result from the open ones.
func (r *Reader) result(callID string) {
	for i, a := range r.open {
		if a.ToolCallID == callID {
			r.open = append(r.open[:i], r.open[i+1:]...)
			break
		}
	}
	r.text.boundary()
}

func (r *Reader) fullState(s event.State) {
	r.status = s.Status
	if !r.began {
		if !r.fixed {
			r.baseline = Baseline{After: anchor(s), Usage: usageOf(s.Stats)}
		}
		return
	}
	r.usage = usageOf(s.Stats)
	r.done = r.active && s.Status != event.Running
}

// conclude ends a turn that was read from a log which holds no statuses.
func (r *Reader) conclude() { r.done = true }

// anchor is an event that is certainly before everything that follows s.
func anchor(s event.State) string {
	switch {
	case s.LeafEventID != "":
		return s.LeafEventID
	case s.LastUserMessageID != "":
		return s.LastUserMessageID
	default:
		return agentapi.FromStart
	}
}

// Result is what the events so far amount to. Before the turn is over it says
// what is known: the text, the usage.
func (r *Reader) Result() Result {
	res := Result{Answer: r.answer, Actions: r.actions, Usage: r.usage.since(r.baseline.Usage)}
	switch r.status {
	case event.Failed:
		res.Outcome, res.Cause = Failed, causeOf(r.failure)
	case event.Stuck:
		res.Outcome = Stuck
	case event.Waiting:
		res.Outcome = Waiting
		for _, a := range r.open {
			res.Waiting = append(res.Waiting, Action{Tool: a.ToolName, Line: line(a), Detail: detail(a)})
		}
	case event.Paused:
		res.Outcome = Paused
		if r.stopped {
			res.Outcome = Interrupted
		}
	}
	return res
}

// causeOf says why a run failed. A server that restarts marks its running
// conversations as failed and writes no error event: no event, no server.
func causeOf(e *event.ConversationError) *Cause {
	if e == nil {
		return &Cause{Kind: CauseLost, Detail: "the server that ran the agent was restarted during the run"}
	}
	c := &Cause{Kind: CauseAgent, Code: e.Code, Detail: shorten(e.Detail, maxDetail)}
	// Old servers name LiteLLM's errors, which have its name in the detail.
	if strings.HasPrefix(e.Code, "LLM") || e.Code == "NotFoundError" || strings.HasPrefix(e.Detail, "litellm.") {
		c.Kind = CauseLLM
	}
	if e.Classification != nil {
		c.Retryable = e.Classification.Retryable
		switch e.Classification.Kind {
		case "auth", "quota", "rate_limit":
			c.Kind = CauseLLM
		}
	}
	return c
}
