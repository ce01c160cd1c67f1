// Package llm is the model behind the embedded engine: one neutral, streaming
// call, whatever the provider.
//
// A [Model] is made from an LLM profile as OpenHands stores it. It owns the
// rules that belong to a call: which dialect, which parameters the model
// takes, retries and fallback, the class of an error, what a call cost. It
// knows nothing of conversations. No type of a provider's library is seen
// outside this package.
package llm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Model is one LLM, ready to be called. Its methods may be called at the same
// time.
type Model interface {
	// Info is what is known about the model before it is called.
	Info() Info

	// Generate makes one call and returns the whole answer. While it is
	// written, each piece is handed to onDelta (which may be nil) by the
	// goroutine that called Generate. When a call fails half way and is tried
	// again, onDelta gets a piece with Retry set at once, and one with Restart
	// set if it had text before. The error is an [*Error],
	// or ctx's own. With CodeCallValidation comes the Response too, without a
	// call: it has been paid for.
	Generate(ctx context.Context, req Request, onDelta func(Delta)) (Response, error)
}

// Info describes a model. Zero values mean unknown.
type Info struct {
	Model         string // as in the profile
	UsageID       string // the key of its numbers in the conversation's statistics
	ContextWindow int64  // tokens
	Served        bool   // ContextWindow is what the server gives the model, not what the model could have
	MaxOutput     int64  // tokens
	Vision        bool   // it is shown images
	ImageTokens   int64  // what an image counts in a request, about
	NativeTools   bool   // false: tools are offered in the text protocol
	Streams       bool
}

// Request is one call: the history in OpenHands' form and the tools.
type Request struct {
	// Messages is a history that every provider accepts: a system message
	// first, each assistant tool call followed by exactly one result.
	Messages []event.LLMMessage
	Tools    []Tool
	// CacheKey groups calls with a common beginning; the conversation's id.
	CacheKey string
	// MaxOutput bounds the answer, in tokens, where the profile allows more. 0: it is
	// the profile's.
	MaxOutput int64
	// Answers is the id of the message of the user that a step of an agent is about; empty
	// for every other request.
	Answers string
}

// Tool is a tool as the model is told of it.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of an object; the order of its properties is kept
}

// Delta is a piece of an answer. At most one field is set.
type Delta struct {
	Text      string
	Reasoning string
	ToolCall  *ToolDelta
	Restart   bool // what came before belongs to an attempt that failed
	Retry     *Retry
	Phase     *event.Phase
}

// ToolDelta is a piece of a tool call.
type ToolDelta struct {
	Index     int    // of the call in the answer
	ID, Name  string // in the first piece
	Arguments string // JSON text, cut anywhere
}

// Response is a whole answer.
type Response struct {
	ID      string           // the provider's, or made here; never empty
	Message event.LLMMessage // role assistant
	Usage   event.TokenUsage
	Cost    float64 // US dollars; 0 if unknown
	Latency time.Duration
	// Model is the one that answered: another than asked after a fallback.
	Model string
	// Length says that the answer was cut at the output limit.
	Length bool
	// Empty are the attempts before it that gave no answer and cost all the same. They
	// come with an error, too.
	Empty []Response
}

// Error is a call that failed for good.
type Error struct {
	// Code is OpenHands' class name, e.g. "LLMAuthenticationError".
	Code   string
	Detail string // for people; no key in it
	Status int    // of the provider's answer, or that its frame names; 0 if it gave none
	// Prompt and Window are the tokens of a request that was too long, and of the
	// context, where the provider has named them.
	Prompt, Window int64
	Classification event.Classification
	Err            error // the cause, for logs

	budget bool // a limit for all models is reached
}

// Error is the code with the detail.
func (e *Error) Error() string { return e.Code + ": " + e.Detail }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
