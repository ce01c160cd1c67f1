package responses

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sse"
)

// frame is any event of the stream.
type frame struct {
	Type        string    `json:"type"`
	OutputIndex int       `json:"output_index"`
	Delta       string    `json:"delta"`
	Arguments   string    `json:"arguments"`
	Item        *item     `json:"item"`
	Response    *response `json:"response"`
}

type response struct {
	ID         string `json:"id"`
	Model      string `json:"model"`
	Status     string `json:"status"`
	Output     []item `json:"output"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Error json.RawMessage      `json:"error"`
	Usage wire.Lenient[*usage] `json:"usage"`
}

type usage struct {
	Input        wire.Count  `json:"input_tokens"`
	Output       wire.Count  `json:"output_tokens"`
	Cost         wire.Amount `json:"cost"` // of OpenRouter
	InputDetails wire.Lenient[struct {
		Cached wire.Count `json:"cached_tokens"`
	}] `json:"input_tokens_details"`
	OutputDetails wire.Lenient[struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	}] `json:"output_tokens_details"`
}

// item is an item of the output, of any type.
type item struct {
	Type      string     `json:"type"`
	ID        string     `json:"id"`
	CallID    string     `json:"call_id"`
	Name      string     `json:"name"`
	Arguments string     `json:"arguments"`
	Encrypted string     `json:"encrypted_content"`
	Status    string     `json:"status"`
	Content   []textPart `json:"content"`
	Summary   []textPart `json:"summary"`
}

type textPart struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// reader is the answer that is being read, by index of its items.
type reader struct {
	b         *wire.Builder
	heard     map[int]bool // items whose text was streamed
	reasoning int          // items of reasoning so far
}

// Read reads an answer until response.completed or response.incomplete.
func (Dialect) Read(r io.Reader, whole bool, b *wire.Builder) error {
	rd := &reader{b: b, heard: make(map[int]bool)}
	b.ItemIDs = make(map[int]string)
	if whole {
		return rd.readWhole(r)
	}
	return wire.Frames(r, b, func(e sse.Event) (bool, error) {
		var f frame
		if err := json.Unmarshal(e.Data, &f); err != nil {
			if string(e.Data) == "[DONE]" { // of proxies
				return false, nil
			}
			return false, wire.Broken(fmt.Errorf("decode event: %w", err))
		}
		return rd.add(&f, e.Data)
	})
}

func (rd *reader) readWhole(r io.Reader) error {
	var resp response
	if err := json.NewDecoder(io.LimitReader(r, wire.MaxWhole)).Decode(&resp); err != nil {
		return wire.Broken(fmt.Errorf("decode response: %w", err))
	}
	return rd.end(&resp)
}

func (rd *reader) add(f *frame, data []byte) (end bool, err error) {
	b := rd.b
	switch f.Type {
	case "error":
		return false, wire.FrameFailure(data)
	case "response.created":
		b.Begun = true
		if f.Response != nil {
			b.ID, b.Model = f.Response.ID, f.Response.Model
		}
	case "response.output_item.added", "response.output_item.done":
		rd.item(f)
	case "response.output_text.delta", "response.refusal.delta":
		rd.heard[f.OutputIndex] = true
		b.Text(f.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		rd.heard[f.OutputIndex] = true
		b.Reasoning(f.Delta)
	case "response.reasoning_summary_part.added":
		if rd.heard[f.OutputIndex] {
			b.Reasoning("\n\n")
		}
	case "response.function_call_arguments.delta":
		b.Call(f.OutputIndex, "", "", f.Delta)
	case "response.completed", "response.incomplete", "response.failed":
		if f.Response != nil {
			return true, rd.end(f.Response)
		}
	}
	return false, nil
}

// item takes an item of the output at its beginning and at its end.
func (rd *reader) item(f *frame) {
	switch {
	case f.Item == nil:
	case f.Type == "response.output_item.done":
		rd.done(f.OutputIndex, f.Item)
	case f.Item.Type == "function_call":
		rd.call(f.OutputIndex, f.Item)
	}
}

// call begins the call at an index of the output, once.
func (rd *reader) call(index int, it *item) {
	n := rd.b.Calls()
	rd.b.Call(index, it.CallID, it.Name, "")
	if rd.b.Calls() > n {
		rd.b.ItemIDs[n] = it.ID
	}
}

// done takes what an item is in the end. Only reasoning has its encrypted
// content no earlier; of the others it is what was not streamed.
func (rd *reader) done(index int, it *item) {
	switch it.Type {
	case "message":
		if !rd.heard[index] {
			for _, p := range it.Content {
				rd.b.Text(p.Text + p.Refusal)
			}
		}
	case "function_call":
		rd.call(index, it)
		rd.b.SetArguments(index, it.Arguments)
	case "reasoning":
		rd.keep(index, it)
	}
	rd.heard[index] = true
}

// keep stores a reasoning item in OpenHands' form, which has room for one.
// With more, the calls lose the ids that tie each to its own reasoning.
func (rd *reader) keep(index int, it *item) {
	stored := storedItem{ID: it.ID, Summary: []string{}, Encrypted: it.Encrypted, Status: it.Status}
	for _, p := range it.Summary {
		stored.Summary = append(stored.Summary, p.Text)
	}
	for _, p := range it.Content {
		stored.Content = append(stored.Content, p.Text)
	}
	if !rd.heard[index] {
		rd.b.Reasoning(strings.Join(append(stored.Summary, stored.Content...), "\n\n"))
	}
	if raw, err := wire.Marshal(stored); err == nil {
		rd.b.Item = raw
	}
	rd.reasoning++
}

func (rd *reader) end(r *response) error {
	b := rd.b
	if r.Status == "failed" {
		return wire.FrameFailure([]byte(`{"error":` + string(r.Error) + `}`))
	}
	b.Begun, b.Ended, b.Finish = true, true, wire.Stop
	if b.ID == "" {
		b.ID, b.Model = r.ID, r.Model
	}
	for i, it := range r.Output {
		if !rd.heard[i] {
			rd.done(i, &it)
		}
	}
	if rd.reasoning > 1 {
		clear(b.ItemIDs)
	}
	if r.Incomplete != nil {
		switch r.Incomplete.Reason {
		case "content_filter":
			b.Finish = wire.Filtered
		default:
			b.Finish = wire.Length
		}
	}
	if u := r.Usage.V; u != nil {
		b.Cost = float64(u.Cost)
		b.Usage = event.TokenUsage{
			PromptTokens: int64(u.Input), CompletionTokens: int64(u.Output),
			CacheReadTokens: int64(u.InputDetails.V.Cached), ReasoningTokens: int64(u.OutputDetails.V.Reasoning),
		}
	}
	return b.Err()
}
