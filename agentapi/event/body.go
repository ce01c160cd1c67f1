package event

import (
	"bytes"
	"encoding/json"
)

// Message is a message of the user, the agent or the environment.
type Message struct {
	LLMMessage      LLMMessage `json:"llm_message"`
	LLMResponseID   string     `json:"llm_response_id,omitempty"`
	ActivatedSkills []string   `json:"activated_skills"`
	ExtendedContent []Content  `json:"extended_content"`
	Sender          string     `json:"sender,omitempty"`
	// CriticResult is what a critic says of the work so far; nil: nothing.
	CriticResult *CriticResult `json:"critic_result,omitempty"`
}

// Action is one tool call of the agent.
type Action struct {
	Thought                []Content         `json:"thought"`
	ReasoningContent       string            `json:"reasoning_content,omitempty"`
	ThinkingBlocks         []json.RawMessage `json:"thinking_blocks"`
	ResponsesReasoningItem json.RawMessage   `json:"responses_reasoning_item,omitempty"`
	// Action is the parsed call, an object with a kind; absent or null when the
	// call could not be parsed or executed.
	Action        json.RawMessage `json:"action,omitempty"`
	ToolName      string          `json:"tool_name"`
	ToolCallID    string          `json:"tool_call_id"`
	ToolCall      ToolCall        `json:"tool_call"`
	LLMResponseID string          `json:"llm_response_id"`
	// SecurityRisk is UNKNOWN, LOW, MEDIUM or HIGH.
	SecurityRisk string `json:"security_risk,omitempty"`
	// Summary is the model's own few words for the call.
	Summary string `json:"summary,omitempty"`
	// CriticResult is what a critic says of the work so far; nil: nothing.
	CriticResult *CriticResult `json:"critic_result,omitempty"`
}

// CriticResult is what a critic says of the work of an agent. The model does not see it.
type CriticResult struct {
	Score    float64         `json:"score"` // from 0 to 1
	Message  string          `json:"message"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Observation is the result of a tool call.
type Observation struct {
	ToolName   string `json:"tool_name"`
	ToolCallID string `json:"tool_call_id"`
	// Observation is an object with content, is_error, the tool's own fields
	// and a kind.
	Observation     json.RawMessage `json:"observation"`
	ActionID        string          `json:"action_id"`
	ExtendedContent []Content       `json:"extended_content"`
}

// AgentError is a failure of one tool call that the model is shown; the run
// goes on.
type AgentError struct {
	ToolName       string          `json:"tool_name"`
	ToolCallID     string          `json:"tool_call_id"`
	Error          string          `json:"error"`
	Classification *Classification `json:"classification,omitempty"`
}

// UserReject is a tool call that a person or a hook refused.
type UserReject struct {
	ToolName        string `json:"tool_name"`
	ToolCallID      string `json:"tool_call_id"`
	RejectionReason string `json:"rejection_reason"`
	// RejectionSource is "user" or "hook".
	RejectionSource string `json:"rejection_source,omitempty"`
	ActionID        string `json:"action_id"`
}

// ConversationError is a failure of the run. It is not always fatal: the
// status of the conversation decides.
type ConversationError struct {
	// Code is a class name such as LLMAuthenticationError, or
	// MaxIterationsReached, MaxBudgetReached.
	Code           string          `json:"code"`
	Detail         string          `json:"detail"`
	Classification *Classification `json:"classification,omitempty"`
}

// Classification is the kind of failure. Absent before server 1.40.
type Classification struct {
	// Kind is auth, quota, rate_limit, config, transient, agent_action,
	// internal or unknown.
	Kind      string `json:"kind"`
	Retryable bool   `json:"retryable"`
	// UserAction is "none", "retry" or "settings".
	UserAction string `json:"user_action,omitempty"`
	ErrorID    string `json:"error_id,omitempty"`
}

// StateUpdate carries the new value of a field of the conversation's state.
type StateUpdate struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// Delta is a piece of the assistant text that the model is writing. It is
// published and never stored; it belongs to the next event of the agent.
type Delta struct {
	Content          *string `json:"content,omitempty"`
	ReasoningContent *string `json:"reasoning_content,omitempty"`

	// Item is the id that the event with the whole text gets, Attempt counts from 1 how
	// often the model was asked for it, and Order counts from 0 the deltas of an attempt,
	// whether or not a client watches. Only deltas of this process have them.
	Item    string `json:"-"`
	Attempt int    `json:"-"`
	Order   int    `json:"-"`
}

// ServerError is a failure of the socket, not of the run.
type ServerError struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// SystemPrompt is what the model is told first, and which tools it has.
type SystemPrompt struct {
	SystemPrompt Content `json:"system_prompt"`
	// Tools are written as they are: each is JSON in one line.
	Tools          []json.RawMessage `json:"tools"`
	DynamicContext *Content          `json:"dynamic_context,omitempty"`
}

// encode implements encoder.
func (p *SystemPrompt) encode(b *bytes.Buffer) error {
	b.WriteString(`{"system_prompt":`)
	if err := p.SystemPrompt.encode(b); err != nil {
		return err
	}
	b.WriteString(`,"tools":`)
	p.encodeTools(b)
	if p.DynamicContext != nil {
		b.WriteString(`,"dynamic_context":`)
		if err := p.DynamicContext.encode(b); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func (p *SystemPrompt) encodeTools(b *bytes.Buffer) {
	if p.Tools == nil {
		b.WriteString("null")
		return
	}
	b.WriteByte('[')
	for i, t := range p.Tools {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(t)
	}
	b.WriteByte(']')
}

// Condensation takes events out of what the model sees, and puts a summary in
// their place. The log keeps them.
type Condensation struct {
	ForgottenEventIDs []string `json:"forgotten_event_ids"`
	Summary           *string  `json:"summary,omitempty"`
	// SummaryOffset is where in the remaining view the summary stands.
	SummaryOffset *int   `json:"summary_offset,omitempty"`
	LLMResponseID string `json:"llm_response_id"`
}

// CondensationRequest asks for a condensation at the next step.
type CondensationRequest struct{}

// CondensationSummary is the summary of a [Condensation] as the model sees it.
// It is made, never stored; its id is that of the condensation with "-summary".
type CondensationSummary struct {
	Summary string `json:"summary"`
}

// Pause means that a user paused the run; the current step completes.
type Pause struct{}

// Interrupt means that a user interrupted the run at once.
type Interrupt struct{}

// HookExecution is one hook that ran. The model does not see it.
type HookExecution struct {
	// HookEventType is PreToolUse, PostToolUse, UserPromptSubmit, SessionStart,
	// SessionEnd or Stop.
	HookEventType string `json:"hook_event_type"`
	HookCommand   string `json:"hook_command"`
	ToolName      string `json:"tool_name,omitempty"`
	Success       bool   `json:"success"`
	// Blocked says that the hook refused what it was asked about.
	Blocked           bool   `json:"blocked"`
	ExitCode          int    `json:"exit_code"`
	Stdout            string `json:"stdout"`
	Stderr            string `json:"stderr"`
	Reason            string `json:"reason,omitempty"`
	AdditionalContext string `json:"additional_context,omitempty"`
	Error             string `json:"error,omitempty"`
	ActionID          string `json:"action_id,omitempty"`
	MessageID         string `json:"message_id,omitempty"`
	// HookInput is what the hook was told.
	HookInput json.RawMessage `json:"hook_input,omitempty"`
}

// SecurityAnalysis is what the security analyzer says of the actions of one answer,
// before they run or wait for a person. The model does not see it. OpenHands has it
// since 1.54.
type SecurityAnalysis struct {
	// Analyzer and Policy are the kinds of the analyzer and of the confirmation
	// policy.
	Analyzer string `json:"analyzer"`
	Policy   string `json:"policy"`
	// Risks are UNKNOWN, LOW, MEDIUM or HIGH, by the ids of the actions' events.
	Risks map[string]string `json:"risks"`
	// Details are objects of the analyzer, by the same ids.
	Details map[string]json.RawMessage `json:"details"`
}

// Unknown is the body of a kind that this package does not know. Its fields
// are in the bytes of the event.
type Unknown struct{ kind string }

// Kind names the type on the wire.
func (*Message) Kind() string             { return "MessageEvent" }
func (*Action) Kind() string              { return "ActionEvent" }
func (*Observation) Kind() string         { return "ObservationEvent" }
func (*AgentError) Kind() string          { return "AgentErrorEvent" }
func (*UserReject) Kind() string          { return "UserRejectObservation" }
func (*ConversationError) Kind() string   { return "ConversationErrorEvent" }
func (*StateUpdate) Kind() string         { return "ConversationStateUpdateEvent" }
func (*Delta) Kind() string               { return "StreamingDeltaEvent" }
func (*ServerError) Kind() string         { return "ServerErrorEvent" }
func (*SystemPrompt) Kind() string        { return "SystemPromptEvent" }
func (*Condensation) Kind() string        { return "Condensation" }
func (*CondensationRequest) Kind() string { return "CondensationRequest" }
func (*CondensationSummary) Kind() string { return "CondensationSummaryEvent" }
func (*Pause) Kind() string               { return "PauseEvent" }
func (*Interrupt) Kind() string           { return "InterruptEvent" }
func (*HookExecution) Kind() string       { return "HookExecutionEvent" }
func (*SecurityAnalysis) Kind() string    { return "SecurityAnalysisEvent" }
func (u *Unknown) Kind() string           { return u.kind }

// newBody makes an empty body of a kind. It is called for every token, so it
// makes no other.
func newBody(kind string) Body {
	switch kind {
	case (*Message)(nil).Kind():
		return new(Message)
	case (*Action)(nil).Kind():
		return new(Action)
	case (*Observation)(nil).Kind():
		return new(Observation)
	case (*AgentError)(nil).Kind():
		return new(AgentError)
	case (*UserReject)(nil).Kind():
		return new(UserReject)
	case (*ConversationError)(nil).Kind():
		return new(ConversationError)
	case (*StateUpdate)(nil).Kind():
		return new(StateUpdate)
	case (*Delta)(nil).Kind():
		return new(Delta)
	case (*ServerError)(nil).Kind():
		return new(ServerError)
	case (*SystemPrompt)(nil).Kind():
		return new(SystemPrompt)
	case (*Condensation)(nil).Kind():
		return new(Condensation)
	case (*CondensationRequest)(nil).Kind():
		return new(CondensationRequest)
	case (*CondensationSummary)(nil).Kind():
		return new(CondensationSummary)
	case (*Pause)(nil).Kind():
		return new(Pause)
	case (*Interrupt)(nil).Kind():
		return new(Interrupt)
	case (*HookExecution)(nil).Kind():
		return new(HookExecution)
	case (*SecurityAnalysis)(nil).Kind():
		return new(SecurityAnalysis)
	default:
		return &Unknown{kind: kind}
	}
}
