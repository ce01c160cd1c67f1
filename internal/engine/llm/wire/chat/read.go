package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/engine/llm/wire"
	"github.com/ohgw/ohgw/internal/sse"
)

// chunk is a chat.completion.chunk, or a chat.completion: a server that was
// asked for a stream may answer whole.
type chunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"`
	FinishReason string          `json:"finish_reason"`
	Error        json.RawMessage `json:"error"` // of OpenRouter
}

type delta struct {
	Content          text            `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent string          `json:"reasoning_content"`
	Reasoning        text            `json:"reasoning"` // OpenRouter's, Groq's, vLLM's name for it
	ThinkingBlocks   []thinkingDelta `json:"thinking_blocks"`
	ToolCalls        []callDelta     `json:"tool_calls"`
}

type thinkingDelta struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
	Data      string `json:"data"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a text; some servers send the object
	} `json:"function"`
}

// usage is what the call took, in the words of several providers.
type usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	PromptDetails    struct {
		Cached   int64 `json:"cached_tokens"`
		Creation int64 `json:"cache_creation_tokens"` // LiteLLM
		Write    int64 `json:"cache_write_tokens"`    // OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheRead     int64   `json:"cache_read_input_tokens"`     // LiteLLM
	CacheCreation int64   `json:"cache_creation_input_tokens"` // LiteLLM
	CacheHit      int64   `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cost          float64 `json:"cost"`                        // OpenRouter
}

// text is a content that is a string, null, or Mistral's list of parts.
type text struct{ said, thought string }

// UnmarshalJSON reads any of the shapes; one that is unknown has no text.
func (t *text) UnmarshalJSON(data []byte) error {
	*t = text{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &t.said)
	}
	var parts []struct {
		Text     string `json:"text"`
		Thinking []struct {
			Text string `json:"text"`
		} `json:"thinking"`
	}
	// Another shape has no text, and is no error.
	_ = json.Unmarshal(data, &parts)
	for _, p := range parts {
		t.said += p.Text
		for _, inner := range p.Thinking {
			t.thought += inner.Text
		}
	}
	return nil
}

const done = "[DONE]" // the end mark

// Read reads an answer until data: [DONE].
func (d Dialect) Read(r io.Reader, whole bool, b *wire.Builder) error {
	if whole {
		return readWhole(r, b)
	}
	return wire.Frames(r, b, func(e sse.Event) (bool, error) {
		if string(bytes.TrimSpace(e.Data)) == done {
			b.Ended = true
			return true, nil
		}
		return false, add(b, e.Data)
	})
}

func readWhole(r io.Reader, b *wire.Builder) error {
	data, err := io.ReadAll(io.LimitReader(r, wire.MaxWhole))
	if err != nil {
		return wire.Broken(err)
	}
	if err := add(b, data); err != nil {
		return err
	}
	b.Ended = true
	return b.Err()
}

// add takes one chunk.
func add(b *wire.Builder, data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return wire.Broken(fmt.Errorf("decode chunk: %w", err))
	}
	if isError(c.Error) {
		return wire.FrameFailure(data)
	}
	if b.ID == "" {
		b.ID = c.ID
	}
	if b.Model == "" {
		b.Model = c.Model
	}
	if c.Usage != nil {
		b.Usage, b.Cost = c.Usage.tokens(), c.Usage.Cost
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // only one was asked for
		}
		if isError(ch.Error) {
			return wire.FrameFailure([]byte(`{"error":` + string(ch.Error) + `}`))
		}
		b.Begun = true
		for _, d := range []*delta{ch.Delta, ch.Message} {
			if d != nil {
				d.add(b)
			}
		}
		if ch.FinishReason != "" {
			b.Ended, b.Finish = true, finish(ch.FinishReason)
		}
	}
	return nil
}

func isError(raw json.RawMessage) bool {
	s := string(raw)
	return s != "" && s != "null" && s != `""`
}

func (d *delta) add(b *wire.Builder) {
	reasoning := d.ReasoningContent
	if reasoning == "" {
		reasoning = d.Reasoning.said
	}
	b.Reasoning(reasoning)
	b.Reasoning(d.Content.thought)
	for _, t := range d.ThinkingBlocks {
		b.Thinking(wire.Thinking{Text: t.Thinking, Signature: t.Signature, Redacted: t.Data})
		if t.Signature != "" {
			b.CloseThinking()
		}
	}
	b.Text(d.Content.said)
	b.Text(d.Refusal)
	for _, c := range d.ToolCalls {
		slot := 0
		switch {
		case c.Index != nil:
			slot = *c.Index
		case c.ID != "" || c.Function.Name != "":
			slot = b.Calls()
		default:
			slot = max(0, b.Calls()-1)
		}
		b.Call(slot, c.ID, c.Function.Name, arguments(c.Function.Arguments))
	}
}

func arguments(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s // a string, or null
	}
	return string(raw)
}

func (u *usage) tokens() event.TokenUsage {
	return event.TokenUsage{
		PromptTokens:     u.PromptTokens,
		CompletionTokens: u.CompletionTokens,
		CacheReadTokens:  max(u.PromptDetails.Cached, u.CacheRead, u.CacheHit),
		CacheWriteTokens: max(u.PromptDetails.Creation, u.PromptDetails.Write, u.CacheCreation),
		ReasoningTokens:  u.CompletionDetails.Reasoning,
	}
}

func finish(reason string) wire.Finish {
	switch reason {
	case "length", "max_tokens":
		return wire.Length
	case "content_filter":
		return wire.Filtered
	case "error":
		return wire.Failed
	}
	return wire.Stop
}
