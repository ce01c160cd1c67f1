// Package wiretest reads recorded answers of providers, for the tests of the
// dialects.
package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/engine/llm/wire"
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

// Stream reads a stream, and fails the test unless the answer is want and does
// not depend on how the bytes arrive.
func Stream(t *testing.T, d wire.Dialect, body string, want Answer) {
	t.Helper()
	for name, r := range map[string]io.Reader{
		"at once": strings.NewReader(body), "byte by byte": iotest.OneByteReader(strings.NewReader(body)),
	} {
		got, err := Read(d, r, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// Cut cuts a stream at every byte in front of the end mark. It fails the test
// if a part is taken for an answer.
func Cut(t *testing.T, d wire.Dialect, body, endMark string) {
	t.Helper()
	end := strings.Index(body, endMark)
	if end < 0 {
		t.Fatalf("the stream has no %q", endMark)
	}
	for i := range end {
		got, err := Read(d, strings.NewReader(body[:i]), false)
		if !errors.Is(err, wire.ErrCut) {
			t.Fatalf("cut at byte %d: error %v and answer %+v, want ErrCut", i, err, got)
		}
	}
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
