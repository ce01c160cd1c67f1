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
// ends nothing: a hook may still veto it. What follows in the log ends the turn,
// too: the next message of the user behind such a status, and the run behind one
// that no hook vetoes. A turn with a goal has several runs, and is over with the goal.
type Reader struct {
	baseline Baseline
	fixed    bool // the baseline was given, not read from the stream
	past     bool // what is read was left by another process, which may have died

	began   bool // the user's message was seen
	active  bool // the run was seen to run, or to fail before it did
	done    bool
	status  event.Status
	ends    ends
	hook    *event.HookExecution // that refused the message
	text    text
	answer  string
	cut     bool // the answer is not whole
	actions int
	open    []openCall // calls without a result, in order
	details func() bool
	blocks  []agentapi.Block
	failure *event.ConversationError
	stopped bool        // an interrupt was seen
	halting bool        // whoever reads has stopped the turn
	goal    *event.Goal // of the turn, as it was told last; nil: it has none
	told    *event.Goal // before the turn began
	live    bool        // a run of the turn goes on now, not only in the log
	usage   Usage
	leaf    string              // of the log, when the turn last told its state
	page    string              // the title of the browser's page, as it was told last
	asked   []event.AskedAction // of sub-agents, when it last did
	context Context
}

// NewReader reads a turn that begins with a message of the user. With a
// baseline the turn may lie in the past.
func NewReader(baseline *Baseline) *Reader {
	r := &Reader{}
	if baseline != nil {
		r.baseline, r.fixed, r.past = *baseline, true, true
	}
	return r
}

// Begin lets the turn begin with the next event: there is no message in a
// turn that accepts what waits for confirmation.
func (r *Reader) Begin() { r.began = true }

// Details lets the reader describe each tool call (see [Update]) while wanted
// returns true.
func (r *Reader) Details(wanted func() bool) { r.details = wanted }

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
		if err != nil {
			return nil, err
		}
		return r.fullState(s), nil
	}
	if g, ok := e.Goal(); ok {
		return r.pursued(e, g), nil
	}
	if s, ok := e.StatusUpdate(); ok {
		if r.pursues() && s == event.Running {
			r.ends.again()
		}
		if r.began && r.ends.announce(s) {
			return r.end(), nil
		}
		r.status = s
		r.active = r.active || (r.began && s == event.Running)
		return nil, nil
	}
	if s, ok := e.StatsUpdate(); ok {
		if r.began {
			r.usage, r.context = UsageOf(s), contextOf(s)
		}
		return nil, nil
	}
	if updates, ok := r.passing(e); ok {
		return updates, nil
	}
	return r.logged(e), nil
}

// passing reads an event that has no place in the log; ok is false for others.
func (r *Reader) passing(e event.Event) (updates []Update, ok bool) {
	if next, ok := e.Retry(); ok {
		return retried(next), true
	}
	if text, ok := e.Progress(); ok {
		return []Update{{Kind: Progress, Text: text}}, true
	}
	if b, ok := e.Block(); ok {
		return r.blocked(b), true
	}
	if p, ok := e.Phase(); ok {
		return []Update{{Kind: Phase, Phase: &p}}, true
	}
	return nil, false
}

// logged reads any other event.
func (r *Reader) logged(e event.Event) []Update {
	m, _ := e.Body.(*event.Message)
	question := m != nil && isQuestion(e, m)
	switch {
	case !r.began && !question:
		r.hooked(e)
		return nil
	case !r.began && !r.baseline.has(m):
		return nil
	case !r.began:
		r.began = true
		r.hook = refusing(r.hook, e.ID)
		r.ends.place(e)
		return append(notices(m), r.adopted(e, m)...)
	case question && r.pursues():
		r.ends.again()
		r.ends.place(e)
	case question && r.ends.ask(e, r.past && !r.again(m)), !question && r.ends.see(e):
		return r.end()
	}
	return r.readOwn(e)
}

// again reports whether a message can be the turn's once more.
func (r *Reader) again(m *event.Message) bool { return r.baseline.Twice && r.baseline.has(m) }

// end ends a turn of which only the log tells.
func (r *Reader) end() []Update {
	r.done, r.status, r.leaf = true, r.ends.outcome(), r.ends.last
	return append(r.left(), r.unexplained()...)
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
			return r.message(e)
		}
		r.text.boundary()
	case *event.Action:
		return r.action(e, b)
	case *event.Observation:
		return r.result(e, b.ToolCallID)
	case *event.AgentError:
		return r.result(e, b.ToolCallID)
	case *event.UserReject:
		return r.result(e, b.ToolCallID)
	case *event.ConversationError:
		r.failure, r.active = b, true
		return r.judgeless(b)
	case *event.Interrupt:
		r.stopped = true
	}
	return nil
}

// say takes in the texts of an event.
func (r *Reader) say(e event.Event) (updates []Update) {
	for _, s := range sayings(e) {
		if s.final && strings.TrimSpace(s.text) != "" {
			r.answer, r.cut = s.text, false
		}
		updates = append(updates, r.text.whole(s.text)...)
	}
	return updates
}

func (r *Reader) message(e event.Event) []Update {
	updates := r.say(e)
	r.cut = e.Body.(*event.Message).IsCut()
	r.text.boundary()
	return updates
}

func (r *Reader) action(e event.Event, a *event.Action) []Update {
	updates := r.say(e)
	if _, ok := finishMessage(a); ok {
		return updates
	}
	r.actions++
	r.open = append(r.open, openCall{id: e.ID, began: e.Timestamp, action: a})
	u := Update{Kind: Progress, Text: line(a)}
	if r.wantsDetails() {
		u.Call = begun(e.ID, a)
	}
	return append(updates, u)
}

func (r *Reader) wantsDetails() bool { return r.details != nil && r.details() }

// result takes a call that has its result from the open ones. One that failed
// is a line of progress of its own: it must not look as if it was done.
func (r *Reader) result(e event.Event, callID string) []Update {
	r.text.boundary()
	var of openCall
	for i, c := range r.open {
		if c.action.ToolCallID == callID {
			of = c
			r.open = append(r.open[:i], r.open[i+1:]...)
			break
		}
	}
	res := resultOf(e, of)
	if res.tool == "finish" && res.state == CallDone {
		return nil
	}
	u := Update{Kind: Progress, Text: res.failureLine()}
	if r.wantsDetails() {
		u.Call = res.call()
	}
	r.onPage(&res, u.Call)
	if u.Text == "" && u.Call == nil {
		return nil
	}
	return []Update{u}
}

// left reports what is still open when the turn is over: it waits for a
// confirmation, or never got a result.
func (r *Reader) left() []Update {
	if !r.wantsDetails() {
		return nil
	}
	if r.status == event.Waiting && len(r.asked) > 0 {
		return r.leftAsked()
	}
	state := CallInterrupted
	if r.status == event.Waiting {
		state = CallWaiting
	}
	var updates []Update
	for _, c := range r.open {
		call := begun(c.id, c.action)
		call.State, call.Input = state, ""
		updates = append(updates, Update{Kind: Progress, Call: call})
	}
	return updates
}

func (r *Reader) fullState(s event.State) []Update {
	r.status, r.context = s.Status, contextOf(s.Stats)
	if !r.began {
		if !r.fixed {
			r.baseline = Baseline{After: anchor(s), Usage: UsageOf(s.Stats)}
		}
		return nil
	}
	r.usage, r.leaf, r.asked = UsageOf(s.Stats), s.LeafEventID, s.Asked
	r.live = r.live || s.Status == event.Running
	// Between two runs for a goal the judge is asked. In the past there is no judge.
	past := r.fixed && !r.live
	r.done = r.active && s.Status != event.Running && (past || s.Status == event.Waiting || !r.pursues())
	if !r.done {
		return nil
	}
	if r.fixed && (r.ends.status != "" || s.Status == event.Idle) { // the state may be of a later turn
		r.status = r.ends.outcome()
	}
	return append(r.left(), r.unexplained()...)
}

// conclude ends a turn whose log holds no statuses, and reports whether the log says
// that the run has begun and ended. The log was read as far as it goes.
func (r *Reader) conclude() bool {
	ended := r.ends.said != "" || r.status != "" && r.status != event.Idle && r.status != event.Finished
	if !r.began || !r.ends.ran || !ended {
		return false
	}
	r.done = true
	if r.ends.said != "" {
		r.status = r.ends.said
	}
	return true
}

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

// Usage is what the turn took so far.
func (r *Reader) Usage() Usage { return r.usage.Since(r.baseline.Usage) }

// Result sums up the events so far. Before the turn is over it says what is known:
// the text, the usage.
func (r *Reader) Result() Result {
	res := Result{Answer: r.answer, Cut: r.cut, Actions: r.actions, Usage: r.Usage(), Context: r.context, Last: r.leaf, Blocked: r.refusedBlocks(), Goal: r.goalEnd()}
	switch r.status {
	case event.Failed:
		res.Outcome, res.Cause = Failed, causeOf(r.failure)
	case event.Stuck:
		res.Outcome = Stuck
	case event.Waiting:
		res.Outcome, res.Waiting = Waiting, r.waiting()
	case event.Finished:
		switch {
		case r.hook != nil && r.answer == "":
			res.Outcome, res.Refusal = Refused, refusalOf(r.hook)
		case r.leftForBudget():
			res.Outcome, res.Cause = Failed, causeOf(r.failure)
		case r.halting && r.goal != nil && r.goal.Status == event.GoalInterrupted && r.failure == nil:
			res.Outcome = Interrupted // while it was judged
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
