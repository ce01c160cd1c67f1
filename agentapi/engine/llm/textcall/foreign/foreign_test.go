package foreign_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/agentapi/engine/llm/textcall/foreign"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

func tools() []wire.Tool {
	return []wire.Tool{
		{Name: "terminal", Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"number"}}}`)},
		{Name: "think", Parameters: []byte(`{"type":"object"}`)},
	}
}

const (
	ls    = `{"command":"ls"}`
	hello = `{"name":"terminal","arguments":{"command":"ls"}}`
)

// written are calls of terminal with the command ls, each with the model whose chat
// template (as llama.cpp and vLLM have it), or whose habit, it is.
func written() map[string]string {
	return map[string]string{
		"Hermes 2 Pro, Qwen2.5":             "<tool_call>\n" + hello + "\n</tool_call>",
		"Qwen2.5 without the end":           "<tool_call>\n" + hello,
		"Qwen2.5 with its end token":        "<tool_call>\n" + hello + "\n</tool_call><|im_end|>",
		"Qwen2.5 twice":                     "<tool_call>\n" + hello + "\n</tool_call>\n<tool_call>\n" + hello + "\n</tool_call>",
		"arguments as a string":             `<tool_call>{"name":"terminal","arguments":"{\"command\":\"ls\"}"}</tool_call>`,
		"a string in a string":              `<tool_call>{"name":"terminal","arguments":"\"{\\\"command\\\":\\\"ls\\\"}\""}</tool_call>`,
		"Qwen3-Coder":                       "<tool_call>\n<function=terminal>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
		"Qwen3-Coder without the first tag": "<function=terminal>\n<parameter=command>\nls\n</parameter>\n</function>",
		"Qwen2.5-Coder":                     "<tools>\n" + hello + "\n</tools>",
		"GLM-4.5":                           "<tool_call>terminal\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
		"Granite 3":                         "<tool_call>[" + hello + "]",
		"Granite 3.1":                       "<|tool_call|>[" + hello + "]",
		"Phi-4-mini":                        "<|tool_call|>[" + hello + "]<|/tool_call|>",
		"LFM2":                              "<|tool_call_start|>[" + hello + "]<|tool_call_end|>",
		"Nemotron":                          "<TOOLCALL>[" + hello + "]</TOOLCALL>",
		"a function_call":                   "<function_call>" + hello + "</function_call>",
		"Command R7B":                       `<|START_ACTION|>[{"tool_call_id":"0","tool_name":"terminal","parameters":{"command":"ls"}}]<|END_ACTION|>`,
		"Llama 3.1":                         `<|python_tag|>{"name":"terminal","parameters":{"command":"ls"}}<|eom_id|>`,
		"Llama 3.1, user-defined":           "<function=terminal>" + ls + "</function>",
		"Llama 3.2":                         `{"name":"terminal","parameters":{"command":"ls"}}`,
		"Llama 3.2 with a type":             `{"type":"function","name":"terminal","parameters":{"command":"ls"}}<|eot_id|>`,
		"OpenAI's form in the text":         `{"type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}`,
		"xLAM":                              "[" + hello + "]",
		"Firefunction":                      "functools[" + hello + "]",
		"Mistral 7B":                        "[TOOL_CALLS][" + hello + "]</s>",
		"Mistral Nemo with a space":         "[TOOL_CALLS] [" + hello + "]",
		"Mistral Small 3.2":                 "[TOOL_CALLS]terminal[CALL_ID]a1b2c3d4e[ARGS]" + ls,
		"Magistral":                         "[TOOL_CALLS]terminal[ARGS]" + ls,
		"Devstral":                          "[TOOL_CALLS]terminal" + ls,
		"DeepSeek R1":                       "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>terminal\n```json\n" + ls + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
		"DeepSeek V3.1":                     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>terminal<｜tool▁sep｜>" + ls + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"Kimi K2":                           "<|tool_calls_section_begin|><|tool_call_begin|>functions.terminal:0<|tool_call_argument_begin|>" + ls + "<|tool_call_end|><|tool_calls_section_end|>",
		"Claude's form":                     "<function_calls>\n<invoke name=\"terminal\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</function_calls>",
		"MiniMax M2":                        "<minimax:tool_call>\n<invoke name=\"terminal\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</minimax:tool_call>",
	}
}

func TestCallsInTheTextAreRead(t *testing.T) {
	t.Parallel()
	want := []foreign.Call{{Name: "terminal", Arguments: ls}}
	for name, text := range written() {
		bare := strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{")
		for before, wanted := range map[string]string{"": "", "I look.\n\n": "I look.", "Hm.\n</think>\n\n": "Hm.\n</think>"} {
			if bare && !strings.HasSuffix(strings.TrimSpace(before), "</think>") && before != "" {
				continue // JSON behind words is data
			}
			got, calls := foreign.Find(before+text+"\n", tools())
			if diff := cmp.Diff(want, calls); diff != "" {
				t.Errorf("%s behind %q: %s", name, before, diff)
			}
			if !bare && got != wanted {
				t.Errorf("%s behind %q: the text is %q", name, before, got)
			}
		}
	}
	if n := len(written()); n < 30 {
		t.Errorf("%d forms", n)
	}
}

func TestSeveralCallsAreReadInTheirOrder(t *testing.T) {
	t.Parallel()
	const think = `{"name":"think","arguments":{}}`
	want := []foreign.Call{{"terminal", ls}, {"think", "{}"}}
	for name, text := range map[string]string{
		"Hermes":    "<tool_call>" + hello + "</tool_call>\n<tool_call>" + think + "</tool_call>",
		"Mistral":   "[TOOL_CALLS][" + hello + "," + think + "]",
		"Magistral": "[TOOL_CALLS]terminal[ARGS]" + ls + "[TOOL_CALLS]think[ARGS]{}",
		"Llama":     "<|python_tag|>" + hello + "; <|python_tag|>" + think,
		"DeepSeek":  "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>terminal<｜tool▁sep｜>" + ls + "<｜tool▁call▁end｜><｜tool▁call▁begin｜>think<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"a list":    "[" + hello + "," + think + "]",
	} {
		if _, calls := foreign.Find(text, tools()); !cmp.Equal(want, calls) {
			t.Errorf("%s: %v", name, calls)
		}
	}
	_, calls := foreign.Find("<tool_call><function=terminal><parameter=command>\n  ls\n</parameter><parameter=timeout>5</parameter></function></tool_call>", tools())
	if want := `{"command":"  ls","timeout":5}`; len(calls) != 1 || calls[0].Arguments != want {
		t.Errorf("%v, want %s", calls, want)
	}
}

func TestWhatIsNoCallIsText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"another tool":             `<tool_call>{"name":"rm","arguments":{}}</tool_call>`,
		"one of two is unknown":    "<tool_call>" + hello + "</tool_call><tool_call>{\"name\":\"rm\",\"arguments\":{}}</tool_call>",
		"cut":                      `<tool_call>{"name":"terminal","arguments":{"command":"ls`,
		"cut in an element":        "<tool_call><function=terminal><parameter=command>ls",
		"text behind it":           "<tool_call>" + hello + "</tool_call> is how a call is written.",
		"within a line":            "Write <tool_call>" + hello + "</tool_call>",
		"JSON that has a name":     `{"name":"terminal"}`,
		"arguments as a list":      `<tool_call>{"name":"terminal","arguments":["ls"]}</tool_call>`,
		"JSON behind words":        "The result is:\n" + hello,
		"thoughts that do not end": "<think>\nI could write\n<tool_call>" + hello + "</tool_call>",
		"an item of a list":        "- <tool_call>" + hello + "</tool_call>\n<tool_call>" + hello + "</tool_call>",
		"a number in front":        "1. <tool_call>" + hello + "</tool_call>\n<function=terminal>" + ls + "</function>",
		"behind words about calls": "I write <tool_call> in front of it:\n<tool_call>" + hello + "</tool_call>",
		"behind one that is not":   "<tool_call>rm</tool_call>\n\n<tool_call>" + hello + "</tool_call>",
		"an item, then bare words": "- functools[" + hello + "]\nfunctools[" + hello + "]",
		"a cell of a table":        "| <tool_call>" + hello + "</tool_call>\n[TOOL_CALLS]terminal" + ls,
		"nothing":                  "",
	} {
		if before, calls := foreign.Find(text, tools()); calls != nil || before != text {
			t.Errorf("%s: %v before %q", name, calls, before)
		}
	}
}

func TestACallThatIsQuotedNeverRuns(t *testing.T) {
	t.Parallel()
	var all []string
	for _, text := range written() {
		all = append(all, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		call := rapid.SampledFrom(all).Draw(t, "call")
		words := rapid.SampledFrom([]string{"", "A call:\n", "So it is:\n\n", "1. First\n"}).Draw(t, "words")
		quote := rapid.SampledFrom([]func(string) string{
			func(s string) string { return "```\n" + s + "\n```" },
			func(s string) string { return "```json\n" + s }, // the end is missing
			func(s string) string { return "~~~\n" + s + "\n~~~" },
			func(s string) string { return "`" + s + "`" },
			func(s string) string { return "``" + s + "``" },
			func(s string) string { return "`\n" + s },
			func(s string) string { return "> " + strings.ReplaceAll(s, "\n", "\n> ") },
			func(s string) string { return "    " + strings.ReplaceAll(s, "\n", "\n    ") },
			func(s string) string { return "\"" + s + "\"" },
			func(s string) string { return "\"\n" + s + "\n\"" },
			func(s string) string { return "\"\n" + s },
			func(s string) string { return "“" + s + "”" },
			func(s string) string { return "“\n" + s },
			func(s string) string { return "'" + s + "'" },
			func(s string) string { return "'\n" + s },
			func(s string) string { return "«\n" + s + "\n»" },
			func(s string) string { return "<pre>\n" + s + "\n</pre>" },
			func(s string) string { return "<code>\n" + s },
			func(s string) string { return "- " + s },
			func(s string) string { return "* " + strings.ReplaceAll(s, "\n", "\n  ") },
			func(s string) string { return "1) " + s },
			func(s string) string { return "| " + s },
			func(s string) string { return "It writes " + s },
		}).Draw(t, "quote")
		text := words + quote(call)
		if _, calls := foreign.Find(text, tools()); calls != nil {
			t.Fatalf("%q runs %v", text, calls)
		}
	})
}
