// Package wiretest reads recorded answers of providers, for the tests of the
// dialects.
package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Answer is what a dialect made of an answer.
type Answer struct {
	ID      string
	Message event.LLMMessage
	Usage   event.TokenUsage
	Cost    float64
	Finish  wire.Finish

	// What was handed on while it was read.
	Text, Reasoning string
	Calls           []string // "id name arguments"
}

// Read reads an answer.
func Read(d wire.Dialect, body io.Reader, whole bool) (Answer, error) {
	var a Answer
	n := 0
	b := wire.NewBuilder(func(d wire.Delta) {
		a.Text += d.Text
		a.Reasoning += d.Reasoning
		if c := d.Call; c != nil {
			for len(a.Calls) <= c.Index {
				a.Calls = append(a.Calls, "")
			}
			if c.ID != "" || c.Name != "" {
				a.Calls[c.Index] += c.ID + " " + c.Name + " "
			}
			a.Calls[c.Index] += c.Arguments
		}
	}, func() string { n++; return fmt.Sprintf("made_%d", n) })
	err := d.Read(body, whole, b)
	a.ID, a.Message, a.Usage, a.Cost, a.Finish = b.ID, b.Message(), b.Usage, b.Cost, b.Finish
	return a, err
}

// Readers give a stream at once and byte by byte, by the name of the way.
func Readers(body string) map[string]io.Reader {
	return map[string]io.Reader{
		"at once": strings.NewReader(body), "byte by byte": byteReader{strings.NewReader(body)},
	}
}

// byteReader gives one byte at a time.
type byteReader struct{ r io.Reader }

func (b byteReader) Read(p []byte) (int, error) { return b.r.Read(p[:min(1, len(p))]) }

// TakenForWhole is the first part of a stream, of those that end in front of
// the end mark, that a dialect takes for an answer; false if it takes none. A
// stream without the mark is such a part.
func TakenForWhole(d wire.Dialect, body, endMark string) (string, bool) {
	end := strings.Index(body, endMark)
	if end < 0 {
		return body, true
	}
	for i := range end {
		if _, err := Read(d, strings.NewReader(body[:i]), false); !errors.Is(err, wire.ErrCut) {
			return body[:i], true
		}
	}
	return "", false
}

// Message is an answer of the assistant.
func Message(text, reasoning string, thinking []string, calls ...event.ToolCall) event.LLMMessage {
	m := event.LLMMessage{Role: "assistant", Content: []event.Content{}, ReasoningContent: reasoning, ToolCalls: calls}
	if text != "" {
		m.Content = append(m.Content, event.Text(text))
	}
	m.ThinkingBlocks = make([]json.RawMessage, 0, len(thinking))
	for _, block := range thinking {
		m.ThinkingBlocks = append(m.ThinkingBlocks, json.RawMessage(block))
	}
	return m
}
