// Package textcall lets models without function calling use tools, in
// OpenHands' text protocol: tools are described in the system message, a call
// is a block of tags at the end of an answer, its result is a message of the
// user.
//
//	<function=terminal>
//	<parameter=command>ls</parameter>
//	</function>
//
// [Encode] writes a history in that form; a [Reader] reads an answer, while it
// is written. A value is taken as it stands, but for one line break at either
// end: indentation counts.
package textcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

// Stop is where an answer may be stopped: nothing counts behind a call.
const Stop = "</function"

// The tags of the protocol.
const (
	functionOpen   = "<function="
	functionClose  = "</function>"
	parameterOpen  = "<parameter="
	parameterClose = "</parameter>"
	callOpen       = "<tool_call>"
	thinkClose     = "</think>"
)

// idPrefix begins the ids that calls get here.
const idPrefix = "toolu_"

// resultHeader begins the message with the result of a call.
func resultHeader(tool string) string { return "EXECUTION RESULT of [" + tool + "]:\n" }

// Encode writes a history for a model that is offered tools in text. With
// example, a worked example stands around the first message of the user. The
// history itself is not changed.
func Encode(history []event.LLMMessage, tools []wire.Tool, example bool) []event.LLMMessage {
	var out []event.LLMMessage
	intro := describe(tools)
	example = example && len(tools) > 0
	if len(tools) > 0 && (len(history) == 0 || history[0].Role != "system") {
		out = append(out, introduce(event.LLMMessage{Role: "system"}, intro))
	}
	for i := 0; i < len(history); i++ {
		m := history[i]
		switch m.Role {
		case "system":
			if len(tools) > 0 {
				m = introduce(m, intro)
			}
			out = append(out, m)
		case "assistant":
			if len(m.ToolCalls) > 1 {
				results := resultsOf(history[i+1:])
				out = append(out, split(m, results)...)
				i += len(results)
				continue
			}
			out = append(out, encodeAnswer(m))
		case "tool":
			out = append(out, encodeResult(m))
		default:
			if example {
				m.Content = surround(m.Content, tools)
				example = false
			}
			out = append(out, m)
		}
	}
	return joined(out)
}

// introduce adds what is said of tools to the static block of the system
// message, which caches keep.
func introduce(m event.LLMMessage, intro string) event.LLMMessage {
	m.Content = slices.Clone(m.Content)
	if len(m.Content) > 0 && m.Content[0].Type == event.TypeText {
		m.Content[0].Text += "\n\n" + intro
	} else {
		m.Content = slices.Insert(m.Content, 0, event.Text(intro))
	}
	return m
}

// resultsOf are the tool messages at the beginning of a history.
func resultsOf(history []event.LLMMessage) []event.LLMMessage {
	n := 0
	for n < len(history) && history[n].Role == "tool" {
		n++
	}
	return history[:n]
}

// split writes an answer with several calls, which another model gave, as one
// answer for each, followed by its result.
func split(m event.LLMMessage, results []event.LLMMessage) []event.LLMMessage {
	var out []event.LLMMessage
	for i, call := range m.ToolCalls {
		one := event.LLMMessage{Role: "assistant", ToolCalls: []event.ToolCall{call}}
		if i == 0 {
			one = m
			one.ToolCalls = m.ToolCalls[:1]
		}
		out = append(out, encodeAnswer(one))
		for _, r := range results {
			if r.ToolCallID == call.ID {
				out = append(out, encodeResult(r))
			}
		}
	}
	return out
}

func encodeAnswer(m event.LLMMessage) event.LLMMessage {
	if len(m.ToolCalls) == 0 {
		return m
	}
	text := event.PlainText(m.Content)
	if text != "" {
		text += "\n\n"
	}
	m.Content = []event.Content{event.Text(text + render(m.ToolCalls[0]))}
	m.ToolCalls = nil
	return m
}

func encodeResult(m event.LLMMessage) event.LLMMessage {
	out := event.LLMMessage{Role: "user"}
	header := resultHeader(m.Name)
	for _, c := range m.Content {
		if header != "" && c.Type == event.TypeText {
			c.Text, header = header+c.Text, ""
		}
		out.Content = append(out.Content, c)
	}
	if header != "" {
		out.Content = slices.Insert(out.Content, 0, event.Text(header))
	}
	return out
}

// joined makes one message of neighbours of one role: many models without
// function calling want user and assistant to take turns.
func joined(history []event.LLMMessage) []event.LLMMessage {
	var out []event.LLMMessage
	for _, m := range history {
		if n := len(out); n > 0 && out[n-1].Role == "user" && m.Role == "user" {
			out[n-1].Content = append(slices.Clone(out[n-1].Content), m.Content...)
			continue
		}
		out = append(out, m)
	}
	return out
}

// render writes a call as text.
func render(call event.ToolCall) string {
	var b strings.Builder
	b.WriteString(functionOpen + call.Name + ">\n")
	for _, arg := range ordered(wire.Arguments(call.Arguments)) {
		value := string(arg.value)
		var s string
		if json.Unmarshal(arg.value, &s) == nil && value != "null" {
			value = s
		}
		if strings.Contains(value, "\n") {
			value = "\n" + value + "\n"
		}
		b.WriteString(parameterOpen + arg.name + ">" + value + parameterClose + "\n")
	}
	b.WriteString(functionClose)
	return b.String()
}

type member struct {
	name  string
	value json.RawMessage
}

// ordered reads the members of a JSON object in their order. What is not an object
// has none.
func ordered(object json.RawMessage) []member {
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return out
		}
		m := member{name: fmt.Sprint(name)}
		if d.Decode(&m.value) != nil {
			return out
		}
		out = append(out, m)
	}
	return out
}

// NextID is the id of the next call in a history: toolu_01, toolu_02 and so
// on, and never one that the history has.
func NextID(history []event.LLMMessage) string {
	n := 0
	for _, m := range history {
		for _, call := range m.ToolCalls {
			n++
			if k, err := strconv.Atoi(strings.TrimPrefix(call.ID, idPrefix)); err == nil {
				n = max(n, k)
			}
		}
	}
	return fmt.Sprintf("%s%02d", idPrefix, n+1)
}
