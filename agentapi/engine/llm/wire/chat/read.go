package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sse"
)

// chunk is a chat.completion.chunk, or a chat.completion: a server that was
// asked for a stream may answer whole.
type chunk struct {
	ID      wire.Lenient[string] `json:"id"`
	Model   wire.Lenient[string] `json:"model"`
	Choices []choice             `json:"choices"`
	Usage   wire.Lenient[*usage] `json:"usage"`
	Error   json.RawMessage      `json:"error"`
	Base    wire.Lenient[base]   `json:"base_resp"`

	Progress wire.Lenient[*progress] `json:"prompt_progress"` // llama.cpp's
	Timings  wire.Lenient[*timings]  `json:"timings"`         // llama.cpp's
}

// progress is how much of the prompt llama.cpp has read.
type progress struct {
	Total     wire.Count `json:"total"`
	Cache     wire.Count `json:"cache"`
	Processed wire.Count `json:"processed"` // with those of the cache
}

// timings are what a call took llama.cpp.
type timings struct {
	Read        wire.Count  `json:"prompt_n"` // without those of the cache
	ReadMillis  wire.Amount `json:"prompt_ms"`
	Written     wire.Count  `json:"predicted_n"`
	WriteMillis wire.Amount `json:"predicted_ms"`
}

// base is MiniMax's way to refuse, with HTTP status 200.
type base struct {
	Code    wire.Count `json:"status_code"`
	Message string     `json:"status_msg"`
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
	ReasoningContent text            `json:"reasoning_content"`
	Reasoning        text            `json:"reasoning"` // OpenRouter's, Groq's, vLLM's name for it
	ThinkingBlocks   []thinkingDelta `json:"thinking_blocks"`
	ToolCalls        []callDelta     `json:"tool_calls"`

	Details wire.Lenient[[]detail] `json:"reasoning_details"` // OpenRouter's
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
	Extra wire.Lenient[extraContent] `json:"extra_content"` // Google's
}

// usage is what the call took, in the words of several providers.
type usage struct {
	PromptTokens      wire.Count                      `json:"prompt_tokens"`
	CompletionTokens  wire.Count                      `json:"completion_tokens"`
	PromptDetails     wire.Lenient[promptDetails]     `json:"prompt_tokens_details"`
	CompletionDetails wire.Lenient[completionDetails] `json:"completion_tokens_details"`
	CacheRead         wire.Count                      `json:"cache_read_input_tokens"`     // LiteLLM
	CacheCreation     wire.Count                      `json:"cache_creation_input_tokens"` // LiteLLM
	CacheHit          wire.Count                      `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached            wire.Count                      `json:"cached_tokens"`               // Moonshot
	Cost              wire.Amount                     `json:"cost"`                        // OpenRouter, Perplexity
}

type promptDetails struct {
	Cached   wire.Count `json:"cached_tokens"`
	Creation wire.Count `json:"cache_creation_tokens"` // LiteLLM
	Write    wire.Count `json:"cache_write_tokens"`    // OpenRouter
}

type completionDetails struct {
	Reasoning wire.Count `json:"reasoning_tokens"`
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
	// Another shape has no text, and is not an error.
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
	if c.Base.V.Code != 0 {
		return c.Base.V.failure()
	}
	if b.ID == "" {
		b.ID = c.ID.V
	}
	if b.Model == "" {
		b.Model = c.Model.V
	}
	if u := c.Usage.V; u != nil {
		b.Usage, b.Cost = u.tokens(), float64(u.Cost)
	}
	c.measured(b)
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // only one was asked for
		}
		if isError(ch.Error) {
			return wire.FrameFailure([]byte(`{"error":` + string(ch.Error) + `}`))
		}
		b.Begun = b.Begun || c.Progress.V == nil // an empty choice stands beside it
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

// measured takes what llama.cpp tells of the call itself.
func (c *chunk) measured(b *wire.Builder) {
	if p := c.Progress.V; p != nil {
		b.Prompt(wire.PromptDelta{Tokens: int64(p.Total), Cached: int64(p.Cache), Read: int64(p.Processed)})
	}
	if t := c.Timings.V; t != nil {
		const thousand = 1000
		b.Timings = wire.Timings{
			Read: int64(t.Read), Written: int64(t.Written),
			ReadSeconds: float64(t.ReadMillis) / thousand, WriteSeconds: float64(t.WriteMillis) / thousand,
		}
	}
}

func isError(raw json.RawMessage) bool {
	s := string(raw)
	return s != "" && s != "null" && s != `""`
}

func (d *delta) add(b *wire.Builder) {
	reasoning := d.ReasoningContent.said
	if reasoning == "" {
		reasoning = d.Reasoning.said
	}
	b.Reasoning(reasoning)
	b.Reasoning(d.Content.thought)
	for _, one := range d.Details.V {
		one.read(b, reasoning != "")
	}
	for _, t := range d.ThinkingBlocks {
		b.Thinking(wire.Thinking{Text: t.Thinking, Signature: t.Signature, Redacted: t.Data})
		if t.Signature != "" {
			b.CloseThinking()
		}
	}
	b.Spoken(d.Content.said)
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
		if signature := c.Extra.V.Google.Signature; signature != "" {
			b.SignSlot(slot, signature)
		}
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
	in := u.PromptDetails.V
	return event.TokenUsage{
		PromptTokens:     int64(u.PromptTokens),
		CompletionTokens: int64(u.CompletionTokens),
		CacheReadTokens:  int64(max(in.Cached, u.CacheRead, u.CacheHit, u.Cached)),
		CacheWriteTokens: int64(max(in.Creation, in.Write, u.CacheCreation)),
		ReasoningTokens:  int64(u.CompletionDetails.V.Reasoning),
	}
}

// failure converts a code of MiniMax.
func (r base) failure() *wire.Failure {
	f := &wire.Failure{
		Status: http.StatusBadRequest, Type: strconv.FormatInt(int64(r.Code), 10), RetryAfter: -1,
		Message: fmt.Sprintf("%s (%d)", r.Message, r.Code),
	}
	switch r.Code {
	case 1002, 1039: // requests, tokens in a minute
		f.Status = http.StatusTooManyRequests
	case 1004, 2049:
		f.Status = http.StatusUnauthorized
	case 1008:
		f.Status = http.StatusPaymentRequired
	case 1000, 1001, 1013, 1024, 1033:
		f.Status = http.StatusInternalServerError
	}
	return f
}

func finish(reason string) wire.Finish {
	switch reason {
	case "length", "max_tokens":
		return wire.Length
	case "model_context_window_exceeded": // of Z.ai
		return wire.Full
	case "content_filter", "sensitive":
		return wire.Filtered
	case "error", "network_error":
		return wire.Failed
	}
	return wire.Stop
}
