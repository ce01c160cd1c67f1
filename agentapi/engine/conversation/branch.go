package conversation

import (
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/asks"
	"github.com/ohgw/ohgw/agentapi/engine/callids"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/spending"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/stuck"
	"github.com/ohgw/ohgw/agentapi/engine/view"
	"github.com/ohgw/ohgw/agentapi/event"
)

// branch is the log and what follows from it: the path from the first event to the
// head, what a model is shown of it, and the state beside it. Every event is written
// here, and then watchers get it.
//
// It knows the door, and neither a run nor why an event is appended.
type branch struct {
	cfg  *Config
	id   string // of the conversation
	door *door
	held func() int64 // what the tools hold in memory, in bytes

	dir       *store.Dir
	settle    *time.Timer // when the disk is asked to keep the state
	unsettled bool        // something has changed since the disk was asked
	stats     spending.Sums
	live      *live
	notices   *notices
	asks      *asks.Set

	// What follows is of the path to the head, and goTo starts it again. So these booleans
	// are facts about a path, and not phases of what goes on.

	head       string
	view       *view.View
	open       []event.Event   // actions that have no result
	concealed  map[string]bool // open actions that were read without the secrets in their arguments
	trace      stuck.Trace
	known      callids.Known
	introduced bool      // it has a system prompt
	replied    bool      // the agent had answered when the run was paused
	model      llm.Model // that is shown the view; nil: to be asked for
	tokens     int64     // of the next request, as far as known; 0: unknown
	fitted     bool      // the system prompt in the view is small, or cannot be
	condenseAt int       // the size of the view at which a summary is tried again
}

func newBranch(cfg *Config, d *door, l *live, n *notices, waits *asks.Set, held func() int64) *branch {
	stopped := time.NewTimer(0)
	stopped.Stop()
	id := cfg.Dir.State.ID
	return &branch{
		cfg: cfg, id: id, door: d, held: held, dir: cfg.Dir, known: callids.New(), settle: stopped,
		live: l, notices: n, asks: waits,
	}
}

// What a conversation holds besides what the model is shown: its goroutine,
// prompt and tools, and an index of its log.
const (
	baseMemory = 64 << 10
	perEvent   = 512
)

func (b *branch) weigh() {
	b.cfg.Memory.Store(baseMemory + perEvent*int64(b.dir.Len()) + b.view.Memory() + b.held())
}

// showTo has another model answer: what its provider has refused is hidden.
func (b *branch) showTo(m llm.Model) {
	b.model = m
	b.hidePictures(nil)
}

// finishReplied ends a run whose agent had answered when the last one was paused.
func (b *branch) finishReplied() (bool, error) {
	if !b.replied {
		return false, nil
	}
	b.replied = false
	return true, b.setStatus(event.Finished)
}

// reread makes the view of the log again.
func (b *branch) reread() error {
	events, err := b.dir.Branch(b.head)
	if err != nil {
		return err
	}
	b.view, b.fitted = view.New(render, events), false
	return nil
}

// postponeSummary says that a summary of the view was not possible, and is tried again when
// it has grown.
func (b *branch) postponeSummary() { b.condenseAt = b.view.Len() + retryAfter }

// spent counts what a call of a model has cost. One that failed may have had attempts that gave
// no answer, and without a model there was none.
func (b *branch) spent(m llm.Model, resp *llm.Response, failed error) {
	switch {
	case m == nil:
	case failed != nil:
		b.stats.AddEmpty(m.Info(), *resp, b.cfg.Now())
	default:
		b.stats.Add(m.Info(), *resp, b.cfg.Now())
	}
}

// spentElsewhere makes the sum of statistics those of a key.
func (b *branch) spentElsewhere(key string, sums ...event.Stats) { b.stats.Replace(key, sums...) }

// received takes up an answer of a model: what it has cost, and ids of its own.
func (b *branch) received(m llm.Model, resp *llm.Response) {
	b.spent(m, resp, nil)
	b.known.MakeUnique(resp)
}

// counted takes up the agent's next answer, and how long the next request is, which was
// estimated before. It reports whether the provider has counted that.
func (b *branch) counted(m llm.Model, resp *llm.Response, estimate int64) (byProvider bool) {
	b.received(m, resp)
	b.tokens = resp.Usage.PromptTokens
	if b.tokens == 0 {
		b.tokens = estimate
		return false
	}
	return true
}

// goTo makes the path to an event the branch at hand.
func (b *branch) goTo(head string) error {
	events, err := b.dir.Branch(head)
	if err != nil {
		return err
	}
	b.head, b.view, b.fitted = head, view.New(render, events), false
	b.hidePictures(nil)
	b.open, b.trace, b.known = nil, stuck.Trace{}, callids.New()
	b.introduced, b.replied, b.tokens, b.condenseAt = false, false, 0, 0
	for _, e := range events {
		b.follow(e)
	}
	b.concealed = concealed(b.open)
	return nil
}

// follow keeps what is to be known of the branch at hand.
func (b *branch) follow(e event.Event) {
	switch body := e.Body.(type) {
	case *event.Action:
		b.known.Remember(body)
		if executable(body) {
			b.open = append(b.open, e)
		}
	case *event.Observation:
		b.answered(body.ActionID, body.ToolCallID)
	case *event.UserReject:
		b.answered(body.ActionID, body.ToolCallID)
	case *event.AgentError:
		b.answered("", body.ToolCallID)
	case *event.SystemPrompt:
		b.introduced = true
	case *event.Condensation:
		b.known.Answered(body.LLMResponseID)
	case *event.Message:
		b.known.Answered(body.LLMResponseID)
		if e.Source == event.SourceUser {
			b.trace.Reset()
			return
		}
	}
	b.trace.Add(e)
}

// concealed are the open actions whose arguments held a secret. What is stored
// has a mark in its place, with which the call would do something else.
func concealed(open []event.Event) map[string]bool {
	ids := make(map[string]bool)
	for _, e := range open {
		if strings.Contains(e.Body.(*event.Action).ToolCall.Arguments, secretenv.Mark) {
			ids[e.ID] = true
		}
	}
	return ids
}

func executable(a *event.Action) bool { return len(a.Action) > 0 && string(a.Action) != "null" }

// answered takes an action from the open ones: the one that the result names,
// or else the first with that call. A result that comes too late for its action
// answers no other one.
func (b *branch) answered(actionID, callID string) {
	i := slices.IndexFunc(b.open, func(e event.Event) bool { return e.ID == actionID })
	if i < 0 && !b.dir.Has(actionID) {
		i = slices.IndexFunc(b.open, func(e event.Event) bool { return e.Body.(*event.Action).ToolCallID == callID })
	}
	if i >= 0 {
		b.asks.Drop(b.open[i].ID)
		b.open = slices.Delete(b.open, i, i+1)
	}
}
