package completions

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/turn"
)

// CompleteFunc asks the LLM of a profile once: no agent, no tools, no
// conversation, no second attempt. The error is an [agentapi.Error] of the
// kinds ErrProfileNotFound, ErrUnsupported where the profile cannot be called
// from here, ErrRefused where its provider said no; or ctx's. Its private cause
// has no word of the prompt.
type CompleteFunc func(ctx context.Context, p Prompt) (Completion, error)

// Prompt is what an LLM is asked.
type Prompt struct {
	Profile  string
	Messages []PromptMessage // at most one system message, the first
	// MaxTokens bounds the answer, what the model thinks included.
	MaxTokens int64
}

// PromptMessage is a message of a prompt.
type PromptMessage struct {
	Role string // "system", "user" or "assistant"
	Text string
}

// Completion is the answer to a prompt.
type Completion struct {
	Text  string
	Usage turn.Usage
}
