package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sse"
)

// chunk is a GenerateContentResponse.
type chunk struct {
	ID         string          `json:"responseId"`
	Model      string          `json:"modelVersion"`
	Error      json.RawMessage `json:"error"`
	Candidates []struct {
		Content struct {
			Parts []struct {
				Text      string `json:"text"`
				Thought   bool   `json:"thought"`
				Signature string `json:"thoughtSignature"`
				Call      *struct {
					ID   string          `json:"id"`
					Name string          `json:"name"`
					Args json.RawMessage `json:"args"`
				} `json:"functionCall"`
			} `json:"parts"`
		} `json:"content"`
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage wire.Lenient[*usage] `json:"usageMetadata"`
}

type usage struct {
	Prompt     wire.Count `json:"promptTokenCount"`
	Candidates wire.Count `json:"candidatesTokenCount"`
	Thoughts   wire.Count `json:"thoughtsTokenCount"`
	Cached     wire.Count `json:"cachedContentTokenCount"`
}

var errNotStreamed = errors.New("the server did not stream")

// Read reads an answer until its finish reason; Google sends no other mark.
func (Dialect) Read(r io.Reader, whole bool, b *wire.Builder) error {
	if whole {
		return wire.Broken(errNotStreamed)
	}
	return wire.Frames(r, b, func(e sse.Event) (bool, error) {
		var c chunk
		if err := json.Unmarshal(e.Data, &c); err != nil {
			return false, wire.Broken(fmt.Errorf("decode chunk: %w", err))
		}
		if len(c.Error) > 0 {
			return false, wire.FrameFailure(e.Data)
		}
		add(b, &c)
		return false, nil
	})
}

func add(b *wire.Builder, c *chunk) {
	if b.ID == "" {
		b.ID, b.Model = c.ID, c.Model
	}
	if u := c.Usage.V; u != nil {
		b.Usage = event.TokenUsage{
			PromptTokens: int64(u.Prompt), CompletionTokens: int64(u.Candidates + u.Thoughts),
			CacheReadTokens: int64(u.Cached), ReasoningTokens: int64(u.Thoughts),
		}
	}
	if c.Feedback.BlockReason != "" {
		b.Begun, b.Ended, b.Finish = true, true, wire.Filtered
	}
	if len(c.Candidates) == 0 {
		return
	}
	only := c.Candidates[0]
	for _, p := range only.Content.Parts {
		switch {
		case p.Call != nil:
			id := p.Call.ID
			if id == "" {
				id = b.NewID()
			}
			if p.Signature != "" {
				id += wire.Separator + p.Signature
			}
			args := string(p.Call.Args)
			if args == "" {
				args = "{}"
			}
			b.Call(b.Calls(), id, p.Call.Name, args)
		case p.Thought:
			b.Reasoning(p.Text)
		default:
			b.Text(p.Text)
		}
	}
	if only.FinishReason != "" {
		b.Ended, b.Finish = true, finish(only.FinishReason)
		// A call that the model got wrong is not an answer; another try helps.
		b.Begun = b.Begun || only.FinishReason != "MALFORMED_FUNCTION_CALL"
	}
}

func finish(reason string) wire.Finish {
	switch reason {
	case "MAX_TOKENS":
		return wire.Length
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE":
		return wire.Filtered
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER":
		return wire.Failed
	}
	return wire.Stop
}
