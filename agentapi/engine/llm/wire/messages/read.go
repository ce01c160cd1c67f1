package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/internal/sse"
)

// frame is any event of the stream.
type frame struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string              `json:"id"`
		Model string              `json:"model"`
		Usage wire.Lenient[usage] `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Data      string `json:"data"`
		ID        string `json:"id"`
		Name      string `json:"name"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage wire.Lenient[usage] `json:"usage"`
}

type usage struct {
	Input         *wire.Count `json:"input_tokens"`
	Output        *wire.Count `json:"output_tokens"`
	CacheCreation *wire.Count `json:"cache_creation_input_tokens"`
	CacheRead     *wire.Count `json:"cache_read_input_tokens"`
}

var errNotStreamed = errors.New("the server did not stream")

// Read reads an answer until message_stop.
func (Dialect) Read(r io.Reader, whole bool, b *wire.Builder) error {
	if whole {
		return wire.Broken(errNotStreamed)
	}
	var s state
	return wire.Frames(r, b, func(e sse.Event) (bool, error) {
		var f frame
		if err := json.Unmarshal(e.Data, &f); err != nil {
			return false, wire.Broken(fmt.Errorf("decode event: %w", err))
		}
		if f.Type == "error" {
			return false, wire.FrameFailure(e.Data)
		}
		return s.add(b, &f), nil
	})
}

// state is what one answer has used so far: each event may tell any part again.
type state struct{ input, output, creation, read int64 }

func (s *state) add(b *wire.Builder, f *frame) (end bool) {
	switch f.Type {
	case "message_start":
		b.Begun, b.ID, b.Model = true, f.Message.ID, f.Message.Model
		s.count(b, f.Message.Usage.V)
	case "content_block_start":
		startBlock(b, f)
	case "content_block_delta":
		growBlock(b, f)
	case "content_block_stop":
		b.CloseThinking()
	case "message_delta":
		s.count(b, f.Usage.V)
		if f.Delta.StopReason != "" {
			b.Ended, b.Finish = true, finish(f.Delta.StopReason)
		}
	case "message_stop":
		b.Ended = true
		return true
	}
	return false
}

// startBlock adds the beginning of a content block.
func startBlock(b *wire.Builder, f *frame) {
	c := f.ContentBlock
	switch c.Type {
	case "tool_use":
		b.Call(f.Index, c.ID, c.Name, "")
	case "redacted_thinking":
		b.Thinking(wire.Thinking{Redacted: c.Data})
	case "thinking":
		b.Reasoning(c.Thinking)
		b.Thinking(wire.Thinking{Text: c.Thinking, Signature: c.Signature})
	case "text":
		b.Text(c.Text)
	}
}

// growBlock adds a piece of a content block.
func growBlock(b *wire.Builder, f *frame) {
	d := f.Delta
	switch d.Type {
	case "text_delta":
		b.Text(d.Text)
	case "thinking_delta":
		b.Reasoning(d.Thinking)
		b.Thinking(wire.Thinking{Text: d.Thinking})
	case "signature_delta":
		b.Thinking(wire.Thinking{Signature: d.Signature})
	case "input_json_delta":
		b.Call(f.Index, "", "", d.PartialJSON)
	}
}

func (s *state) count(b *wire.Builder, u usage) {
	for _, n := range []struct {
		from *wire.Count
		to   *int64
	}{{u.Input, &s.input}, {u.Output, &s.output}, {u.CacheCreation, &s.creation}, {u.CacheRead, &s.read}} {
		if n.from != nil {
			*n.to = int64(*n.from)
		}
	}
	// OpenHands counts what came from the cache as part of the prompt.
	b.Usage.PromptTokens = s.input + s.creation + s.read
	b.Usage.CompletionTokens = s.output
	b.Usage.CacheReadTokens = s.read
	b.Usage.CacheWriteTokens = s.creation
}

func finish(reason string) wire.Finish {
	switch reason {
	case "max_tokens":
		return wire.Length
	case "model_context_window_exceeded":
		return wire.Full
	case "refusal":
		return wire.Filtered
	}
	return wire.Stop
}
