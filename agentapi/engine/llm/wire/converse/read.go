package converse

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// streamEvent is the payload of any event.
type streamEvent struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *struct {
			ID   string `json:"toolUseId"`
			Name string `json:"name"`
		} `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text    string `json:"text"`
		ToolUse *struct {
			Input string `json:"input"`
		} `json:"toolUse"`
		Reasoning *struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
			Redacted  string `json:"redactedContent"`
		} `json:"reasoningContent"`
	} `json:"delta"`
	StopReason string              `json:"stopReason"`
	Usage      wire.Lenient[usage] `json:"usage"`
}

type usage struct {
	Input      wire.Count `json:"inputTokens"`
	Output     wire.Count `json:"outputTokens"`
	CacheRead  wire.Count `json:"cacheReadInputTokens"`
	CacheWrite wire.Count `json:"cacheWriteInputTokens"`
}

var errNotStreamed = errors.New("the server did not stream")

// Read reads an answer until its metadata, which come last.
func (Dialect) Read(r io.Reader, whole bool, b *wire.Builder) error {
	if whole {
		return wire.Broken(errNotStreamed)
	}
	buffered := bufio.NewReader(r)
	for {
		f, err := readFrame(buffered)
		switch {
		case err != nil && b.Ended:
			return nil // only the usage is missing
		case errors.Is(err, io.EOF):
			return wire.ErrCut
		case err != nil:
			return wire.Broken(err)
		}
		end, err := add(b, f)
		if err != nil || end {
			return err
		}
		if err := b.Err(); err != nil {
			return err
		}
	}
}

func add(b *wire.Builder, f frame) (end bool, err error) {
	if kind := f.headers[":message-type"]; kind != "" && kind != "event" {
		return false, refusal(f)
	}
	var e streamEvent
	if err := json.Unmarshal(f.payload, &e); err != nil {
		return false, wire.Broken(fmt.Errorf("decode event: %w", err))
	}
	switch f.headers[":event-type"] {
	case "messageStart":
		b.Begun = true
	case "contentBlockStart":
		if t := e.Start.ToolUse; t != nil {
			b.Call(e.Index, t.ID, t.Name, "")
		}
	case "contentBlockDelta":
		delta(b, &e)
	case "contentBlockStop":
		b.CloseThinking()
	case "messageStop":
		b.Ended, b.Finish = true, finish(e.StopReason)
	case "metadata":
		u := e.Usage.V
		b.Usage.PromptTokens = int64(u.Input + u.CacheRead + u.CacheWrite)
		b.Usage.CompletionTokens = int64(u.Output)
		b.Usage.CacheReadTokens, b.Usage.CacheWriteTokens = int64(u.CacheRead), int64(u.CacheWrite)
		return b.Ended, nil
	}
	return false, nil
}

func delta(b *wire.Builder, e *streamEvent) {
	b.Text(e.Delta.Text)
	if t := e.Delta.ToolUse; t != nil {
		b.Call(e.Index, "", "", t.Input)
	}
	if r := e.Delta.Reasoning; r != nil {
		b.Reasoning(r.Text)
		b.Thinking(wire.Thinking{Text: r.Text, Signature: r.Signature, Redacted: r.Redacted})
	}
}

// refusal reads an exception in the middle of a stream. Its type is in a header.
func refusal(f frame) *wire.Failure {
	kind := f.headers[":exception-type"]
	if kind == "" {
		kind = f.headers[":error-code"]
	}
	failure := wire.FrameFailure(f.payload)
	typed, err := wire.Marshal(map[string]string{"type": kind})
	if err == nil && failure.Status == 0 {
		failure.Status = wire.FrameFailure(typed).Status
	}
	if failure.Status == 0 {
		failure.Status = http.StatusInternalServerError
	}
	failure.Type = kind
	if failure.Message == "" {
		failure.Message = f.headers[":error-message"]
	}
	return failure
}

func finish(reason string) wire.Finish {
	switch reason {
	case "max_tokens":
		return wire.Length
	case "model_context_window_exceeded":
		return wire.Full
	case "content_filtered", "guardrail_intervened":
		return wire.Filtered
	}
	return wire.Stop
}
