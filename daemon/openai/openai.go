// Package openai is OpenAI's wire as a server needs it: it reads requests the
// way clients really write them and writes answers the way the strictest of
// them want to read them.
//
// It is pure: no HTTP, no clock, no agent. A request is read strictly where it
// reaches the agent (the last user message, the system text, every option that
// would change the answer) and leniently where it is only past or of no
// effect, because a chat window sends its whole past again and again, the
// parts that were refused before included. Structure is always read strictly.
//
// Objects that are written contain every key that some client needs and none
// that breaks one; the tests check each against OpenAI's own schemas.
package openai

import (
	"encoding/json"

	"github.com/ohgw/ohgw/internal/plainjson"
)

const (
	// CompletionPrefix begins the id of every completion.
	CompletionPrefix = "chatcmpl-"
	// ResponsePrefix begins the id of every response.
	ResponsePrefix = "resp_"
	// ModelPrefix makes a model id of a profile's name.
	ModelPrefix = "openhands_"
	// ModelActive is the model id of the active profile, whichever that is.
	ModelActive = "openhands"
)

// OneLine is v as JSON without escapes that only browsers need. There is nothing in v
// that JSON cannot have.
func OneLine(v any) []byte {
	line, err := plainjson.Marshal(v)
	if err != nil {
		return nil
	}
	return line
}

// Model is one entry of the list of models.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"` // "model"
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	// Name and Description are for the model pickers of UIs.
	Name        string `json:"name"`
	Description string `json:"description"`
	// Info is read by Open WebUI as if an administrator had typed it.
	Info ModelInfo `json:"info"`
	// Extension is what only ohgw knows.
	Extension ModelExtension `json:"ohgw"`
}

// ModelInfo wraps ModelMeta.
type ModelInfo struct {
	Meta ModelMeta `json:"meta"`
}

// ModelMeta is shown by Open WebUI on the start page of a chat.
type ModelMeta struct {
	Description  string       `json:"description"`
	Capabilities Capabilities `json:"capabilities"`
	// Suggestions are messages to begin with.
	Suggestions []Suggestion `json:"suggestion_prompts,omitempty"`
	// Hidden takes the model out of the picker of chats.
	Hidden bool `json:"hidden,omitempty"`
}

// Suggestion is a message that a person can begin a chat with.
type Suggestion struct {
	Title   [2]string `json:"title"` // two lines
	Content string    `json:"content"`
}

// Capabilities switches features of Open WebUI: usage is asked for and shown,
// its own tools are left out of every request, images may be attached.
type Capabilities struct {
	Usage        bool `json:"usage"`
	BuiltinTools bool `json:"builtin_tools"`
	Vision       bool `json:"vision"`
}

// ModelExtension says what stands behind a model.
type ModelExtension struct {
	Kind    string `json:"kind"` // "agent"
	Profile string `json:"profile"`
	Agent   string `json:"agent,omitempty"` // its own name, of a named agent
	LLM     string `json:"llm"`
}

// ModelList is the answer of GET /v1/models.
type ModelList struct {
	Object string  `json:"object"` // "list"
	Data   []Model `json:"data"`
}

// Usage is the tokens of one answer.
type Usage struct {
	PromptTokens      int64             `json:"prompt_tokens"`
	CompletionTokens  int64             `json:"completion_tokens"`
	TotalTokens       int64             `json:"total_tokens"`
	PromptDetails     PromptDetails     `json:"prompt_tokens_details"`
	CompletionDetails CompletionDetails `json:"completion_tokens_details"`
}

// PromptDetails are parts of Usage.PromptTokens.
type PromptDetails struct {
	CachedTokens int64 `json:"cached_tokens"`
	AudioTokens  int64 `json:"audio_tokens"`
}

// CompletionDetails are parts of Usage.CompletionTokens.
type CompletionDetails struct {
	ReasoningTokens          int64 `json:"reasoning_tokens"`
	AudioTokens              int64 `json:"audio_tokens"`
	AcceptedPredictionTokens int64 `json:"accepted_prediction_tokens"`
	RejectedPredictionTokens int64 `json:"rejected_prediction_tokens"`
}

// NewUsage is the usage of an answer of which these numbers are known.
func NewUsage(prompt, completion, cached, reasoning int64) Usage {
	return Usage{
		PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion,
		PromptDetails:     PromptDetails{CachedTokens: cached},
		CompletionDetails: CompletionDetails{ReasoningTokens: reasoning},
	}
}

// The reasons why an answer ended.
const (
	FinishStop   = "stop"
	FinishLength = "length" // the model cut the answer off, or the agent's budget of steps or money was used up
	// FinishToolCalls ends an answer that calls a function because the request
	// requires some call. One that names the function ends with FinishStop.
	FinishToolCalls = "tool_calls"
)

// What every answer of ours says about who made it.
const (
	serviceTier       = "default"
	systemFingerprint = "fp_ohgw_1"
)

// Extension is what ohgw adds to the end of an answer, under the key "ohgw".
type Extension struct {
	// RunStatus is the value of the header X-OpenHands-Run-Status.
	RunStatus string `json:"run_status"`
	// Message explains a status other than finished.
	Message string `json:"message,omitempty"`
	// Code is the error code that the failure would have had, had its status
	// still been open.
	Code string `json:"code,omitempty"`
	// TextBefore is how many bytes of the streamed text came before the final
	// answer; the rest of the text is the answer and the message.
	TextBefore int `json:"text_before,omitempty"`
	// Cost of the turn in US dollars; left out where it is not known.
	Cost float64 `json:"cost,omitempty"`
	// Waiting are the actions that wait for a confirmation.
	Waiting []WaitingAction `json:"waiting,omitempty"`
	// Context is how full the model's context is; left out where unknown.
	Context Context `json:"context,omitzero"`
	// Goal is what has become of the goal of the message; nil: it has none.
	Goal *GoalEnd `json:"goal,omitempty"`
	// Actions are what the agent did, each a JSON object in one line.
	Actions []json.RawMessage `json:"actions,omitempty"`
	// Blocked are what the sandbox refused, likewise.
	Blocked []json.RawMessage `json:"sandbox_blocked,omitempty"`
}

// GoalEnd is what has become of a goal.
type GoalEnd struct {
	Status    string `json:"status"`            // complete, capped, interrupted; running while the agent waits for a person
	Rounds    int    `json:"rounds"`            // how often it was judged
	MaxRounds int    `json:"max_rounds"`        // how often it may be
	Missing   string `json:"missing,omitempty"` // what the judge said last, or why it could not
}

// Context is how much of a model's context is used, in tokens.
type Context struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window,omitempty"` // left out where unknown
}

// WaitingAction is an action that waits for a confirmation.
type WaitingAction struct {
	Tool string `json:"tool"`
	Line string `json:"line"` // what it would do, for people, in one line
}
