// Package enginetest has what tests of the engine need instead of a real
// world: a model that speaks to internal/testkit/llmtest and nothing else, tools of a
// few lines, profiles in memory. It checks nothing and is not part of ohgw.
package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sse"
)

// Model is a chat completions client without retries.
type Model struct {
	URL   string // base URL
	Name  string // as the server is asked for it
	Usage string
	Blind bool // it is shown no images
}

// Info describes the model.
func (m Model) Info() llm.Info {
	return llm.Info{Model: "openai/" + m.Name, UsageID: m.Usage, Vision: !m.Blind, NativeTools: true, Streams: true}
}

type wireCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chunk struct {
	ID      string `json:"id"`
	Choices []struct {
		Delta struct {
			Content   string     `json:"content"`
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []wireCall `json:"tool_calls"`
		} `json:"delta"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		PromptD    struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionD struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	} `json:"usage"`
}

// Generate makes one streamed call.
func (m Model) Generate(ctx context.Context, req llm.Request, onDelta func(llm.Delta)) (llm.Response, error) {
	start := time.Now()
	body, err := json.Marshal(map[string]any{
		"model": m.Name, "messages": wire(req.Messages), "tools": wireTools(req.Tools), "stream": true,
		"stream_options": map[string]bool{"include_usage": true},
	})
	if err != nil {
		return llm.Response{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return llm.Response{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return llm.Response{}, failure(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return llm.Response{}, refusal(resp)
	}
	out := llm.Response{Model: m.Name, Message: event.LLMMessage{Role: "assistant"}}
	if err := read(resp.Body, &out, onDelta); err != nil {
		return out, failure(ctx, err)
	}
	out.Latency = time.Since(start)
	return out, nil
}

func read(body io.Reader, out *llm.Response, onDelta func(llm.Delta)) error {
	events := sse.NewReader(body, 1<<20)
	var text strings.Builder
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) || err == nil && string(e.Data) == "[DONE]" {
			break
		}
		if err != nil {
			return err
		}
		var c chunk
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return err
		}
		out.ID = c.ID
		if u := c.Usage; u != nil {
			out.Usage = event.TokenUsage{
				PromptTokens: u.Prompt, CompletionTokens: u.Completion,
				CacheReadTokens: u.PromptD.Cached, ReasoningTokens: u.CompletionD.Reasoning,
			}
		}
		for _, choice := range c.Choices {
			text.WriteString(choice.Delta.Content)
			out.Message.ReasoningContent += choice.Delta.Reasoning
			out.Length = out.Length || choice.Finish == "length"
			tell(onDelta, choice.Delta.Content, choice.Delta.Reasoning)
			for _, call := range choice.Delta.ToolCalls {
				for len(out.Message.ToolCalls) <= call.Index {
					out.Message.ToolCalls = append(out.Message.ToolCalls, event.ToolCall{Origin: "completion"})
				}
				t := &out.Message.ToolCalls[call.Index]
				t.ID, t.Name, t.Arguments = t.ID+call.ID, t.Name+call.Function.Name, t.Arguments+call.Function.Arguments
				if onDelta != nil {
					onDelta(llm.Delta{ToolCall: &llm.ToolDelta{Index: call.Index, ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}})
				}
			}
		}
	}
	if text.Len() > 0 {
		out.Message.Content = []event.Content{event.Text(text.String())}
	}
	return nil
}

func tell(onDelta func(llm.Delta), text, reasoning string) {
	if onDelta == nil {
		return
	}
	if text != "" {
		onDelta(llm.Delta{Text: text})
	}
	if reasoning != "" {
		onDelta(llm.Delta{Reasoning: reasoning})
	}
}

func wire(messages []event.LLMMessage) []wireMessage {
	out := make([]wireMessage, len(messages))
	for i, m := range messages {
		parts := []map[string]any{}
		for _, c := range m.Content {
			if c.Type == event.TypeText {
				parts = append(parts, map[string]any{"type": "text", "text": c.Text})
			}
			for _, url := range c.ImageURLs {
				parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}})
			}
		}
		out[i] = wireMessage{Role: m.Role, Content: parts, ToolCallID: m.ToolCallID}
		for j, call := range m.ToolCalls {
			w := wireCall{Index: j, ID: call.ID, Type: "function"}
			w.Function.Name, w.Function.Arguments = call.Name, call.Arguments
			out[i].ToolCalls = append(out[i].ToolCalls, w)
		}
	}
	return out
}

func wireTools(tools []llm.Tool) []any {
	out := make([]any, len(tools))
	for i, t := range tools {
		out[i] = map[string]any{"type": "function", "function": map[string]any{
			"name": t.Name, "description": t.Description, "parameters": t.Parameters,
		}}
	}
	return out
}

func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &llm.Error{
		Code: "LLMServiceUnavailableError", Detail: "the connection broke", Err: err,
		Classification: event.Classification{Kind: "transient", Retryable: true, UserAction: "retry"},
	}
}

// refusal returns the error of a response without an answer.
func refusal(resp *http.Response) error {
	var body struct {
		Error struct{ Message, Code string }
	}
	data, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(data, &body)
	}
	e := &llm.Error{Code: "LLMBadRequestError", Status: resp.StatusCode, Detail: body.Error.Message, Err: fmt.Errorf("status %d: %w", resp.StatusCode, err)}
	e.Classification = event.Classification{Kind: "config", UserAction: "settings"}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		e.Code, e.Classification.Kind = "LLMAuthenticationError", "auth"
	case resp.StatusCode == http.StatusTooManyRequests:
		e.Code, e.Classification = "LLMRateLimitError", event.Classification{Kind: "rate_limit", Retryable: true, UserAction: "retry"}
	case body.Error.Code == "context_length_exceeded":
		e.Code = "LLMContextWindowExceedError"
	}
	return e
}
