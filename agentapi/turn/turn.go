// Package turn turns the events of one user message into an answer. It is the
// one place that knows which text is the answer, what the turn cost, when it
// is over, why it failed, and how it is stopped.
//
// [Run] drives a conversation through one turn; [Follow] joins a turn that is
// going on, or reads one that has ended. Both feed a [Reader], a machine
// without IO that holds all the rules.
package turn

import (
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Update is something to show while a turn runs.
type Update struct {
	Kind UpdateKind
	Text string
	// Call is the tool call that a Progress is about: when it begins, and when it has its
	// result. Nil unless details are wanted. With it Text may be empty: a result has a
	// line only if the call failed.
	Call *Call
	// Retry is the attempt that a Progress announces, or nil.
	Retry *Retry
	// Block is what the sandbox refused, of which a Progress tells, or nil.
	Block *agentapi.Block
	// Phase is where the call of the model stands, with [Phase] only.
	Phase *event.Phase
}

// UpdateKind is the kind of an update.
type UpdateKind int

const (
	// Text is a piece of assistant text as it is generated. The pieces of a
	// turn, joined, end with the answer; each step's text is a paragraph.
	Text UpdateKind = iota
	// Progress is a line about one action of the agent, without a line end, at
	// most maxLine runes, without anything that looks like a key.
	Progress
	// Queue is a line about what the message waits for before its turn begins;
	// empty when it waits no more. A turn has one where its backend has no room for
	// the run; its gateway adds others.
	Queue
	// Phase is what the call of the model waits for, or what it took. It has no line.
	Phase
)

// Outcome is how a turn ended.
type Outcome int

// The outcomes.
const (
	// Finished: the agent gave its answer.
	Finished Outcome = iota
	// Failed: the run ended in an error; the result has a Cause.
	Failed
	// Stuck: the agent repeated itself and was stopped.
	Stuck
	// Paused: a user paused the run.
	Paused
	// Interrupted: a user, or ohgw itself, interrupted the run.
	Interrupted
	// Waiting: actions wait for a confirmation; the result has them.
	Waiting
	// Refused: a hook refused the message; the result has the reason.
	Refused
)

// Result is a turn that is over. It is stored with idempotency keys, numbers of
// outcomes and causes included: add to those lists at their ends.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Answer is the finish action's message, else the last text of the agent
	// in this turn, whatever the outcome. Never a text of an earlier turn.
	Answer string `json:"answer"`
	// Cut says that the model reached its length limit within the answer.
	Cut bool `json:"cut,omitempty"`
	// Cause is why the outcome is Failed; nil otherwise.
	Cause *Cause `json:"cause,omitempty"`
	// Refusal is why a hook refused the message; shortened and redacted. Empty for
	// other outcomes.
	Refusal string `json:"refusal,omitempty"`
	// Waiting are the actions that wait for confirmation.
	Waiting []Action `json:"waiting,omitempty"`
	// Actions is the number of tool calls in this turn, finish not counted.
	Actions int `json:"actions"`
	// Usage is what this turn took, over all models of the conversation.
	Usage Usage `json:"usage"`
	// Context is how full the agent's model is after the turn.
	Context Context `json:"context,omitzero"`
	// Blocked is what the sandbox refused meanwhile, each target once. What was held
	// and then granted is not among it.
	Blocked []agentapi.Block `json:"blocked,omitempty"`
	// Goal is what has become of the goal of the turn; nil: it has none.
	Goal *Goal `json:"goal,omitempty"`
	// Last is the last event of the turn: where a copy of the conversation as it
	// was then ends. Empty where the backend does not tell.
	Last string `json:"last,omitempty"`
}

// Context is how much of a model's context the last request took, in tokens.
// Zero where unknown.
type Context struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window,omitempty"`
}

// Retry is a repeated request to the model's provider that is about to be sent.
type Retry struct {
	Attempt int     `json:"attempt"` // from 2
	Of      int     `json:"of"`
	Seconds float64 `json:"seconds"` // until it is sent
	Cause   string  `json:"cause"`   // why the last one failed; shortened and redacted
}

// Action is a tool call in a few words.
type Action struct {
	Tool string `json:"tool"`
	Line string `json:"line"` // as in a Progress update
	// Detail is all of what the tool was told, on several lines, where Line is only a part
	// of it. It has at most 64 KiB, and says so if there was more. Like Line, it has
	// nothing that looks like a key.
	Detail string `json:"detail,omitempty"`
}

// Cause is why a run failed.
type Cause struct {
	Kind CauseKind `json:"kind"`
	// Code is OpenHands' name for it, e.g. "LLMAuthenticationError".
	Code string `json:"code,omitempty"`
	// Detail is for people: shortened, without anything that looks like a key.
	Detail string `json:"detail,omitempty"`
	// Retryable reports whether the same request may work later without a change.
	Retryable bool `json:"retryable,omitempty"`
}

// CauseKind is the side that failed.
type CauseKind int

const (
	// CauseAgent is a failure of the run itself: a limit, a broken tool.
	CauseAgent CauseKind = iota
	// CauseLLM is a refusal or failure of the model's provider.
	CauseLLM
	// CauseLost is a run that ended because its server did.
	CauseLost
)

// Usage is what a turn took. Zero where unknown, never negative.
type Usage struct {
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	CachedTokens     int64   `json:"cached_tokens"`
	CacheWriteTokens int64   `json:"cache_write_tokens"`
	ReasoningTokens  int64   `json:"reasoning_tokens"`
	Cost             float64 `json:"cost"` // US dollars
}

// UsageOf adds up the usage of s over all usage ids.
func UsageOf(s event.Stats) Usage {
	var u Usage
	for _, m := range s.UsageToMetrics {
		u.Cost += m.AccumulatedCost
		if m.Usage == nil {
			continue
		}
		u.PromptTokens += m.Usage.PromptTokens
		u.CompletionTokens += m.Usage.CompletionTokens
		u.CachedTokens += m.Usage.CacheReadTokens
		u.CacheWriteTokens += m.Usage.CacheWriteTokens
		u.ReasoningTokens += m.Usage.ReasoningTokens
	}
	return u
}

// Plus is u and v together.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		PromptTokens:     u.PromptTokens + v.PromptTokens,
		CompletionTokens: u.CompletionTokens + v.CompletionTokens,
		CachedTokens:     u.CachedTokens + v.CachedTokens,
		CacheWriteTokens: u.CacheWriteTokens + v.CacheWriteTokens,
		ReasoningTokens:  u.ReasoningTokens + v.ReasoningTokens,
		Cost:             u.Cost + v.Cost,
	}
}

// Since returns u - base, each number at least 0: totals can shrink when a
// conversation was forked or its statistics were reset.
func (u Usage) Since(base Usage) Usage {
	return Usage{
		PromptTokens:     max(0, u.PromptTokens-base.PromptTokens),
		CompletionTokens: max(0, u.CompletionTokens-base.CompletionTokens),
		CachedTokens:     max(0, u.CachedTokens-base.CachedTokens),
		CacheWriteTokens: max(0, u.CacheWriteTokens-base.CacheWriteTokens),
		ReasoningTokens:  max(0, u.ReasoningTokens-base.ReasoningTokens),
		Cost:             max(0, u.Cost-base.Cost),
	}
}

// stopTimeout is how long an interrupted run may take to end. An agent-server
// waits 5 s for its own run before it gives up.
const stopTimeout = 10 * time.Second

// doubtTimeout is how long a run may take to show itself after a start of
// unknown outcome. The backend has looked for it before it said so.
const doubtTimeout = 15 * time.Second
