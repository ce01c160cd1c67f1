// Package wire holds what the dialects of LLM providers have in common: a call
// in neutral form, an answer as it grows, a refusal.
//
// Each dialect is a package below this one: how a call looks as a request's
// body, and how the answer is read from a stream. A dialect does no network,
// knows no profile and no key, keeps nothing between two calls, and decides
// nothing about models: what may be sent to one is in the [Options].
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// Dialect is one provider's way to write calls and answers.
type Dialect interface {
	// Body is the body of the request for a call whose answer is streamed. The caller may
	// [Release] it.
	Body(c *Call) ([]byte, error)

	// Read reads an answer into b until its end mark, and no further. whole
	// says that it comes as one JSON object instead of a stream. The error is
	// a [*Failure] that the provider sent instead of an answer, ErrCut, or
	// ErrTooLong.
	Read(r io.Reader, whole bool, b *Builder) error
}

// Call is one call, ready to be written down.
type Call struct {
	Model    string // as the provider calls it
	Messages []event.LLMMessage
	Tools    []Tool
	Options  Options
}

// Tool is a tool that is offered.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of an object
}

// Options is what goes with a call beside messages and tools. What is zero is
// not sent; a dialect that has no word for an option leaves it out.
type Options struct {
	MaxOutput   int64 // tokens
	Temperature *float64
	TopP        *float64
	TopK        *float64
	Seed        *int64
	Stop        []string

	// Effort is how much a reasoning model thinks: low, medium, high, ...
	Effort string
	// Thinking is the budget, in tokens, of a model whose thinking is switched
	// on by a budget.
	Thinking int64
	// Interleaved asks for thinking between the calls of tools.
	Interleaved bool
	// Adaptive is for models that think as much as Effort makes them.
	Adaptive bool

	// CacheMarks marks where the common beginning of calls ends.
	CacheMarks bool
	// CacheKey groups calls with a common beginning. It is empty for providers that
	// do not take it.
	CacheKey string
	// Session is the conversation, for those that route the calls of one to the
	// same cache.
	Session string
	// CacheRetention is how long the provider should keep the beginning.
	CacheRetention string

	// PlainText sends contents without an image as strings, not as lists of parts,
	// PlainAnswers the assistant's own. PlainContent does so for all, and sends no
	// cache marks and no thinking.
	PlainContent, PlainText, PlainAnswers bool
	// FillReasoning puts a blank reasoning where a model that wants its own
	// back has none: another model wrote the answer.
	FillReasoning Fill
	// SendReasoning returns reasoning texts to the model that wrote them,
	// SendThinking its signed thinking blocks.
	SendReasoning, SendThinking bool
	// EncryptedReasoning asks for reasoning items that can be returned.
	EncryptedReasoning bool
	// ReasoningSummary is auto, concise or detailed.
	ReasoningSummary string

	// Progress asks llama.cpp to tell how much of the prompt it has read.
	Progress bool

	// Extra are members of the body that the user asked for; they win.
	Extra map[string]json.RawMessage
}

// Fill says which answers get a blank reasoning.
type Fill int

// The ways to fill; the zero Fill fills nothing.
const (
	FillCalls Fill = iota + 1 // answers with tool calls
	FillAll
)

// Marshal is JSON without the escapes that only HTML needs: what a model wrote
// goes back as it was.
func Marshal(v any) ([]byte, error) {
	body, err := plainjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return body, nil
}

// bodies are buffers of requests that were sent.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxBody is the largest body whose memory is used again.
const maxBody = 1 << 20

// Release gives the memory of a body back. The body must not be read any more.
func Release(body []byte) {
	if cap(body) > 0 && cap(body) <= maxBody {
		bodies.Put(bytes.NewBuffer(body[:0]))
	}
}

// Body encodes v with extra members, which replace those of v. The body may be given to
// [Release] when it is not needed any more.
func Body(v any, extra map[string]json.RawMessage) ([]byte, error) {
	b := bodies.Get().(*bytes.Buffer)
	if err := plainjson.Append(b, v); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	body := b.Bytes()
	if len(extra) == 0 {
		return body, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, fmt.Errorf("add to request: %w", err)
	}
	for name, value := range extra {
		members[name] = value
	}
	return Marshal(members)
}

// Arguments is the text of a call's arguments as an object, for dialects that
// send no text. What is not an object is wrapped into one.
func Arguments(text string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return json.RawMessage(text)
	}
	if text == "" {
		return json.RawMessage("{}")
	}
	wrapped, err := Marshal(map[string]string{"arguments": text})
	if err != nil { // cannot be: it is a text
		return json.RawMessage("{}")
	}
	return wrapped
}

// Budget returns the tokens of thinking that an effort stands for, where a provider
// counts tokens: LiteLLM's figures.
func Budget(effort string) int64 {
	switch effort {
	case "none", "":
		return 0
	case "minimal":
		return 128
	case "low":
		return 1024
	case "medium":
		return 2048
	case "xhigh":
		return 8192
	case "max":
		return 16384
	}
	return 4096
}
