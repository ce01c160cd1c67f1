package fakeserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ohgw/ohgw/agentapi/event"
)

// Model answers a prompt. It calls say for each piece of the text as it is
// written.
type Model func(ctx context.Context, p Prompt, say func(text string)) (Reply, error)

// Prompt is what a model is asked.
type Prompt struct {
	Model, BaseURL, Key string
	Stream              bool
	Messages            []Message
}

// Message is one message of a prompt.
type Message struct {
	Role    string
	Content []event.Content
	Calls   []ModelCall
	CallID  string

	response string // the reply that the calls belong to
}

// Reply is what a model answers: a text, or calls with a thought.
type Reply struct {
	Text      string
	Reasoning string
	Calls     []ModelCall
	Usage     Usage
}

// ModelCall is a tool call.
type ModelCall struct{ ID, Name, Args string }

// Usage are numbers of tokens.
type Usage struct{ Prompt, Completion, Cached, Reasoning int64 }

const codeAuthentication = "LLMAuthenticationError"

// modelError is a refusal of the model's provider, in OpenHands' words.
type modelError struct {
	code, kind, detail string
	retryable          bool
}

func (e *modelError) Error() string { return e.detail }

func refusal(status int, detail string) *modelError {
	e := &modelError{code: "LLMBadRequestError", kind: "config", detail: detail}
	switch {
	case status == http.StatusUnauthorized:
		e.code, e.kind = codeAuthentication, "auth"
	case status == http.StatusTooManyRequests:
		e.code, e.kind, e.retryable = "LLMRateLimitError", "rate_limit", true
	case status >= http.StatusInternalServerError:
		e.code, e.kind, e.retryable = "LLMServiceUnavailableError", "transient", true
	}
	return e
}

// chatModel asks the chat completions API at the prompt's base URL.
func chatModel(ctx context.Context, p Prompt, say func(string)) (Reply, error) {
	body := encode(map[string]any{
		"model": strings.TrimPrefix(p.Model, "openai/"), "messages": chatMessages(p.Messages),
		"stream": true, "stream_options": map[string]any{"include_usage": true},
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.BaseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return Reply{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+p.Key)
	// A connection of its own: a model that hangs must not block another test.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return Reply{}, refusal(http.StatusServiceUnavailable, "connection error")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4096)) // what could be read of it
		return Reply{}, refusal(res.StatusCode, fmt.Sprintf("status %d: %s", res.StatusCode, text))
	}
	return readChunks(ctx, res.Body, say)
}

// readChunks puts the chunks of a streamed completion together.
func readChunks(ctx context.Context, stream io.Reader, say func(string)) (Reply, error) {
	var reply Reply
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return reply, nil
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   *string `json:"content"`
					Reasoning string  `json:"reasoning_content"`
					ToolCalls []struct {
						Index    int    `json:"index"`
						ID       string `json:"id"`
						Function struct {
							Name string `json:"name"`
							Args string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
			Usage *struct {
				Prompt, Completion int64
				PromptTokens       int64 `json:"prompt_tokens"`
				CompletionTokens   int64 `json:"completion_tokens"`
				PromptDetails      struct {
					Cached int64 `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
				CompletionDetails struct {
					Reasoning int64 `json:"reasoning_tokens"`
				} `json:"completion_tokens_details"`
			} `json:"usage"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return reply, refusal(http.StatusServiceUnavailable, "the model sent a chunk that is no JSON")
		}
		if u := chunk.Usage; u != nil {
			reply.Usage = Usage{u.PromptTokens, u.CompletionTokens, u.PromptDetails.Cached, u.CompletionDetails.Reasoning}
		}
		for _, choice := range chunk.Choices {
			reply.Reasoning += choice.Delta.Reasoning
			if text := choice.Delta.Content; text != nil {
				reply.Text += *text
				say(*text)
			}
			for _, call := range choice.Delta.ToolCalls {
				for call.Index >= len(reply.Calls) {
					reply.Calls = append(reply.Calls, ModelCall{})
				}
				c := &reply.Calls[call.Index]
				c.ID += call.ID
				c.Name += call.Function.Name
				c.Args += call.Function.Args
			}
		}
	}
	if ctx.Err() != nil {
		return reply, ctx.Err()
	}
	return reply, refusal(http.StatusServiceUnavailable, "the model broke off")
}

func chatMessages(messages []Message) []any {
	var list []any
	for _, m := range messages {
		out := map[string]any{"role": m.Role, "content": chatParts(m.Content)}
		if m.CallID != "" {
			out["tool_call_id"] = m.CallID
		}
		var calls []any
		for _, c := range m.Calls {
			calls = append(calls, map[string]any{
				"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Args},
			})
		}
		if calls != nil {
			out["tool_calls"] = calls
		}
		list = append(list, out)
	}
	return list
}

func chatParts(content []event.Content) []any {
	parts := []any{}
	for _, c := range content {
		if c.Type == event.TypeText {
			parts = append(parts, map[string]any{"type": "text", "text": c.Text})
		}
		for _, u := range c.ImageURLs {
			parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]any{"url": u}})
		}
	}
	return parts
}
