package event

import (
	"encoding/json"
	"fmt"
)

// The keys of a [StateUpdate] that ohgw reads.
const (
	// KeyFullState marks a snapshot of the whole state: the first frame of a
	// subscription, and the frame that closes a run.
	KeyFullState = "full_state"
	// KeyStatus marks a new execution status.
	KeyStatus = "execution_status"
	// KeyRetry marks a [Retry] of the embedded engine. It is published and never
	// stored: no other program reads it.
	KeyRetry = "ohgw.retry"
	// KeyProgress marks a line about what a tool of the embedded engine is doing. It
	// is published and never stored.
	KeyProgress = "ohgw.progress"
	// KeyPhase marks a [Phase] of a call of the model. It is published and never stored.
	KeyPhase = "ohgw.phase"
	// KeyBlock marks a [Block] of the embedded engine. Like a retry it is published
	// and never stored.
	KeyBlock = "ohgw.sandbox"
	// KeyTags marks new tags, which are all of them.
	KeyTags = "tags"
	// KeyStats marks new statistics, after each call of an LLM.
	KeyStats = "stats"
	// KeyGoal marks what has become of a [Goal].
	KeyGoal = "goal"
)

// Status is where a conversation stands.
type Status string

// The statuses of a conversation.
const (
	Idle     Status = "idle"
	Running  Status = "running"
	Paused   Status = "paused"
	Waiting  Status = "waiting_for_confirmation"
	Finished Status = "finished"
	Failed   Status = "error"
	Stuck    Status = "stuck"
)

// State is the part of a conversation's state that ohgw reads. Absent and null
// fields are zero.
type State struct {
	ID                string            `json:"id"`
	Status            Status            `json:"execution_status"`
	LastUserMessageID string            `json:"last_user_message_id,omitempty"`
	LeafEventID       string            `json:"leaf_event_id,omitempty"` // since server 1.31
	Stats             Stats             `json:"stats"`
	Workspace         Workspace         `json:"workspace"`
	Tags              map[string]string `json:"tags,omitempty"`

	// ConfirmationPolicy says which actions wait for a person, SecurityAnalyzer
	// who rates their risk. Absent where not known.
	ConfirmationPolicy json.RawMessage `json:"confirmation_policy,omitempty"`
	SecurityAnalyzer   json.RawMessage `json:"security_analyzer,omitempty"`

	// Asked are the actions of sub-agents that wait for a person: these are what has to be
	// confirmed, not the calls of the agent that are open meanwhile. Only the embedded
	// engine has them.
	Asked []AskedAction `json:"ohgw_waiting,omitempty"`
}

// AskedAction is an action of a sub-agent that waits for a person.
type AskedAction struct {
	Label  string `json:"label"` // the name of the sub-agent
	Action Event  `json:"action"`
}

// Workspace is where the agent works.
type Workspace struct {
	WorkingDir string `json:"working_dir"`
	Kind       string `json:"kind,omitempty"`
}

// Stats are the totals of a conversation since it began, by usage id: the
// agent's model, the condenser's, and so on.
type Stats struct {
	UsageToMetrics map[string]Metrics `json:"usage_to_metrics"`
}

// Metrics are the totals of one usage id.
type Metrics struct {
	ModelName       string      `json:"model_name,omitempty"`
	AccumulatedCost float64     `json:"accumulated_cost"` // US dollars
	Usage           *TokenUsage `json:"accumulated_token_usage,omitempty"`
}

// TokenUsage are numbers of tokens.
type TokenUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	CacheReadTokens  int64 `json:"cache_read_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens"`
	// ContextWindow is that of the model, PerTurnToken what the last request and
	// its answer took of it. Zero where unknown.
	ContextWindow int64 `json:"context_window"`
	PerTurnToken  int64 `json:"per_turn_token"`
}

// FullState decodes the snapshot of a full_state update; ok is false for every
// other event.
func (e Event) FullState() (s State, ok bool, err error) {
	s, ok, err = valueOf[State](e, KeyFullState)
	if err != nil {
		return State{}, true, fmt.Errorf("decode full_state: %w", err)
	}
	return s, ok, nil
}

// IsFullState reports whether the event is a snapshot.
func (e Event) IsFullState() bool {
	u, is := e.Body.(*StateUpdate)
	return is && u.Key == KeyFullState
}

// valueOf decodes the value of an update with that key; ok is false for every other event.
// It makes a value only for one: each piece of an answer passes here several times.
func valueOf[T any](e Event, key string) (value T, ok bool, err error) {
	u, is := e.Body.(*StateUpdate)
	if !is || u.Key != key {
		return value, false, nil
	}
	decoded := new(T)
	err = json.Unmarshal(u.Value, decoded)
	return *decoded, true, err
}

// announced is valueOf for updates that are left out where they cannot be read.
func announced[T any](e Event, key string) (value T, ok bool) {
	value, ok, err := valueOf[T](e, key)
	if err != nil {
		return *new(T), false
	}
	return value, ok
}

// StatusUpdate is the status that an execution_status update announces; ok is
// false for every other event.
func (e Event) StatusUpdate() (s Status, ok bool) { return announced[Status](e, KeyStatus) }

// Retry is a request to the model's provider that failed and is about to be
// sent again.
type Retry struct {
	Attempt int     `json:"attempt"` // the next one, from 2; 1 with a fallback profile
	Of      int     `json:"of"`
	Seconds float64 `json:"seconds"` // until it is sent
	Cause   string  `json:"cause"`   // why the last one failed, in one line, without keys
}

// Retry is the repeat that a state update announces; ok is false for every
// other event.
func (e Event) Retry() (r Retry, ok bool) { return announced[Retry](e, KeyRetry) }

// The names of phases.
const (
	PhaseLoading = "loading" // the server loads the model
	PhaseReading = "reading" // it reads the prompt
	PhaseWriting = "writing" // the model has begun to write
	PhaseDone    = "done"    // the answer is there: what it took
)

// Phase is where a call of a model stands, as far as its server reports it. Zero values
// are unknown.
type Phase struct {
	Name   string `json:"name"`
	Prompt int64  `json:"prompt_tokens,omitempty"` // of the prompt
	Read   int64  `json:"read_tokens,omitempty"`   // of the prompt: read, or known from before
	// What a call took, with PhaseDone: tokens that were read, and not known from before,
	// and that were written.
	Written      int64   `json:"written_tokens,omitempty"`
	ReadSeconds  float64 `json:"read_seconds,omitempty"`
	WriteSeconds float64 `json:"write_seconds,omitempty"`
}

// Phase is the phase that a state update announces; ok is false for every other event.
func (e Event) Phase() (p Phase, ok bool) { return announced[Phase](e, KeyPhase) }

// StatsUpdate are the statistics that a stats update announces; ok is false for
// every other event.
func (e Event) StatsUpdate() (s Stats, ok bool) { return announced[Stats](e, KeyStats) }

// Progress is the line of a [KeyProgress] update.
func (e Event) Progress() (line string, ok bool) { return announced[string](e, KeyProgress) }
