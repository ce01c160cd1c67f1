package foreign_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
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

// sample is a call of terminal with the command ls, as a model writes it.
type sample struct{ text, source string }

// Where the forms were seen. Files are at the commits that were the newest in November 2026.
const (
	vllmParsers   = "https://github.com/vllm-project/vllm/blob/main/vllm/tool_parsers/"
	vllmTemplates = "https://github.com/vllm-project/vllm/blob/main/examples/"
	llamaCpp      = "https://github.com/ggml-org/llama.cpp/blob/master/models/templates/"
	github        = "https://github.com/"
	none          = "" // no public source was found
)

// written are the forms, each with the model or the server that has it, and where that
// was seen: the chat template, the parser of a server, or a thread with such an answer.
func written() map[string]sample {
	return map[string]sample{
		"Hermes 2 Pro, Qwen2.5":              {"<tool_call>\n" + hello + "\n</tool_call>", github + "openvinotoolkit/model_server/issues/3838"},
		"Qwen2.5 without the end":            {"<tool_call>\n" + hello, vllmParsers + "qwen3coder_tool_parser.py"},
		"Qwen2.5 with its end token":         {"<tool_call>\n" + hello + "\n</tool_call><|im_end|>", none},
		"Qwen2.5 twice":                      {"<tool_call>\n" + hello + "\n</tool_call>\n<tool_call>\n" + hello + "\n</tool_call>", none},
		"Granite 4, arguments as a string":   {`<tool_call>{"name":"terminal","arguments":"{\"command\":\"ls\"}"}</tool_call>`, github + "vllm-project/vllm/pull/54964"},
		"Granite 4, a string in a string":    {`<tool_call>{"name":"terminal","arguments":"\"{\\\"command\\\":\\\"ls\\\"}\""}</tool_call>`, github + "vllm-project/vllm/pull/25729"},
		"Qwen3-Coder, Qwen3.5":               {"<tool_call>\n<function=terminal>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", github + "ollama/ollama/issues/14745"},
		"Qwen3-Coder without the first tag":  {"<function=terminal>\n<parameter=command>\nls\n</parameter>\n</function>", github + "QwenLM/Qwen3-Coder/issues/475"},
		"Qwen2.5-Coder":                      {"<tools>\n" + hello + "\n</tools>", github + "vllm-project/vllm/pull/33083"},
		"Qwen2.5-Coder with Ollama":          {hello, github + "ollama/ollama/issues/12174"},
		"GLM-4.5":                            {"<tool_call>terminal\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>", llamaCpp + "glm_4_5.jinja"},
		"Granite 3.0":                        {"<|tool_call|>[" + hello + "]", vllmParsers + "granite_tool_parser.py"},
		"Granite 3.1":                        {"<tool_call>[" + hello + "]", vllmParsers + "granite_tool_parser.py"},
		"Granite 20B":                        {"<function_call> " + hello + "<|endoftext|>", vllmTemplates + "tool_chat_template_granite_20b_fc.jinja"},
		"a function_call with an end":        {"<function_call>" + hello + "</function_call>", none},
		"Phi-4-mini":                         {"<|tool_call|>" + hello + "<|/tool_call|>", llamaCpp + "llama-cpp-microsoft-Phi-4-mini-instruct.jinja"},
		"Phi-4-mini, a list":                 {"<|tool_call|>[" + hello + "]<|/tool_call|>", none},
		"Phi-4-mini with vLLM, Firefunction": {"functools[" + hello + "]", vllmParsers + "phi4mini_tool_parser.py"},
		"LFM2":                               {"<|tool_call_start|>[" + hello + "]<|tool_call_end|>", llamaCpp + "llama-cpp-lfm2.jinja"},
		"Nemotron Nano 2":                    {"<TOOLCALL>[" + hello + "]</TOOLCALL>", llamaCpp + "NVIDIA-Nemotron-Nano-v2.jinja"},
		"Command R7B":                        {`<|START_ACTION|>[{"tool_call_id":"0","tool_name":"terminal","parameters":{"command":"ls"}}]<|END_ACTION|>`, llamaCpp + "CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja"},
		"Gemma 4":                            {`<|tool_call>call:terminal{command:<|"|>ls<|"|>}<tool_call|>`, vllmParsers + "gemma4_tool_parser.py"},
		"Llama 3.1":                          {`<|python_tag|>{"name":"terminal","parameters":{"command":"ls"}}<|eom_id|>`, vllmParsers + "llama_tool_parser.py"},
		"Llama 3.1, user-defined":            {"<function=terminal>" + ls + "</function>", vllmTemplates + "tool_chat_template_llama3.1_usr_def_tool_call.jinja"},
		"Llama 3.2":                          {`{"name":"terminal","parameters":{"command":"ls"}}`, vllmParsers + "llama_tool_parser.py"},
		"Llama 3.2 with a type":              {`{"type":"function","name":"terminal","parameters":{"command":"ls"}}<|eot_id|>`, none},
		"OpenAI's form in the text":          {`{"type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}`, none},
		"xLAM":                               {"[" + hello + "]", vllmTemplates + "tool_chat_template_xlam_qwen.jinja"},
		"Mistral 7B":                         {"[TOOL_CALLS][" + hello + "]</s>", vllmParsers + "mistral_tool_parser.py"},
		"Mistral Nemo with a space":          {"[TOOL_CALLS] [" + hello + "]", vllmParsers + "mistral_tool_parser.py"},
		"Mistral Small 3.2":                  {"[TOOL_CALLS]terminal[CALL_ID]a1b2c3d4e[ARGS]" + ls, none},
		"Magistral":                          {"[TOOL_CALLS]terminal[ARGS]" + ls, vllmParsers + "mistral_tool_parser.py"},
		"Devstral":                           {"[TOOL_CALLS]terminal" + ls, vllmParsers + "mistral_tool_parser.py"},
		"DeepSeek R1":                        {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>terminal\n```json\n" + ls + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", vllmTemplates + "tool_chat_template_deepseekr1.jinja"},
		"DeepSeek V3.1":                      {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>terminal<｜tool▁sep｜>" + ls + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>", llamaCpp + "deepseek-ai-DeepSeek-V3.1.jinja"},
		"Kimi K2":                            {"<|tool_calls_section_begin|><|tool_call_begin|>functions.terminal:0<|tool_call_argument_begin|>" + ls + "<|tool_call_end|><|tool_calls_section_end|>", vllmParsers + "kimi_k2_tool_parser.py"},
		"Claude's form":                      {"<function_calls>\n<invoke name=\"terminal\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</function_calls>", none},
		"MiniMax M2":                         {"<minimax:tool_call>\n<invoke name=\"terminal\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</minimax:tool_call>", llamaCpp + "unsloth-MiniMax-M2.jinja"},
	}
}

func TestCallsInTheTextAreRead(t *testing.T) {
	t.Parallel()
	want := []foreign.Call{{Name: "terminal", Arguments: ls}}
	for name, s := range written() {
		text := s.text
		bare := strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{")
		for before, wanted := range map[string]string{"": "", "I look.\n\n": "I look.", "Hm.\n</think>\n\n": "Hm.\n</think>"} {
			if bare && !strings.HasSuffix(strings.TrimSpace(before), "</think>") && before != "" {
				continue // JSON behind words is data
			}
			got, calls := foreign.Find(before+text+"\n", tools())
			if diff := gocmp.Diff(want, calls); diff != "" {
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

func TestTheDocsHaveEachFormWithItsSource(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../../../../docs/local-models.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(docs), "\n## Forms of calls\n")
	if n := strings.Count(table, "\n| ") - 2; n != len(written()) {
		t.Errorf("the table has %d rows for %d forms", n, len(written()))
	}
	for name, s := range written() {
		_, row, found := strings.Cut(table, "\n| "+name+" | ")
		row, _, _ = strings.Cut(row, "\n")
		if want := cmp.Or(s.source, "no public source found"); !found || !strings.Contains(row, want) {
			t.Errorf("%s: the row is %q, want one with %s", name, row, want)
		}
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
		if _, calls := foreign.Find(text, tools()); !gocmp.Equal(want, calls) {
			t.Errorf("%s: calls = %v", name, calls)
		}
	}
	_, calls := foreign.Find("<tool_call><function=terminal><parameter=command>\n  ls\n</parameter><parameter=timeout>5</parameter></function></tool_call>", tools())
	if want := `{"command":"  ls","timeout":5}`; len(calls) != 1 || calls[0].Arguments != want {
		t.Errorf("the calls: %v, want %s", calls, want)
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

// quotations put a call where a text is about it. Each gives what stands before the call
// and behind it, and changes the lines of the call.
func quotations() map[string]func(string) string {
	around := func(open, end string) func(string) string { return func(s string) string { return open + s + end } }
	lines := func(mark string) func(string) string {
		return func(s string) string { return mark + strings.ReplaceAll(s, "\n", "\n"+mark) }
	}
	return map[string]func(string) string{
		"a fence": around("```\n", "\n```"), "a fence with a language": around("```json\n", "\n```"), "a fence without end": around("```xml\n", ""),
		"a long fence": around("````md\n```\n", "\n```\n````"), "a fence of tildes": around("~~~\n", "\n~~~"), "a fence in a list": around("- so:\n  ```\n  ", "\n  ```"),
		"a fence in a fence": around("````\n```\nls\n```\n", "\n````"), "a fence of another length": around("`````\n```\n", "\n`````"),
		"inline code": around("`", "`"), "inline code with two marks": around("``", "``"), "inline code on lines": around("`\n", "\n`"), "inline code without end": around("`\n", ""),
		"a block quote": lines("> "), "a block quote without space": lines(">"), "a block quote in one": lines("> > "), "indented code": lines("    "), "code after a tab": lines("\t"),
		"quotation marks": around("\"", "\""), "quotation marks on lines": around("\"\n", "\n\""), "an open quotation mark": around("\"\n", ""),
		"curved marks": around("“", "”"), "an open curved mark": around("“\n", ""), "single marks": around("'", "'"), "an open single mark": around("'\n", ""),
		"French marks": around("«\n", "\n»"), "German marks": around("„\n", "\n“"), "Japanese marks": around("「\n", "\n」"),
		"pre": around("<pre>\n", "\n</pre>"), "code": around("<code>\n", ""), "pre with a class": around("<pre class=\"x\">\n", "\n</pre>"), "blockquote": around("<blockquote>\n", "\n</blockquote>"),
		"an example": around("<example>\n", "\n</example>"), "a comment": around("<!--\n", "\n-->"), "thoughts that do not end": around("<think>\n", ""), "XML data": around("<![CDATA[\n", "\n]]>"),
		"an item": around("- ", ""), "another item": around("+ ", ""), "an item with lines": func(s string) string { return "* " + strings.ReplaceAll(s, "\n", "\n  ") },
		"a number": around("1) ", ""), "a cell": around("| ", " |"), "a heading": around("# ", ""), "a sentence": around("It writes ", ""), "a bold word": around("**", "**"),
		"JSON of a text": func(s string) string {
			text, _ := json.Marshal(s)
			return "{\"text\":" + string(text) + "}"
		},
		"JSON on lines": func(s string) string {
			text, _ := json.Marshal(s)
			return "{\n  \"text\":\n" + string(text) + "\n}"
		},
		"a list of texts": func(s string) string {
			text, _ := json.Marshal([]string{s})
			return string(text)
		},
		"words behind it": around("", "\nis how it calls a tool."), "words behind it on its line": around("", " is a call."), "a fence behind it": around("", "\n```\nls\n```"),
	}
}

// asked are what a user quotes, and an answer repeats, before a quotation.
func asked() []string {
	return []string{
		"", "A call:\n", "So it is:\n\n", "1. First\n", "You wrote:\n\n", "It's so.\n", "```\nls\n```\n\n", "`ls` and \"rm\"\n", "Hm.\n</think>\n\n", "<think>hm</think>\n",
		"The user said: \"call it\".\n", "| a | b |\n| - | - |\n", "> you wrote\n\n", "<b>So</b>\n",
	}
}

// Each form in each quotation, behind each beginning, and as random texts put together.
func TestACallThatIsQuotedNeverRuns(t *testing.T) {
	t.Parallel()
	calls := slices.Sorted(maps.Keys(written()))
	quotes := slices.Sorted(maps.Keys(quotations()))
	for _, call := range calls {
		for _, quote := range quotes {
			for _, words := range asked() {
				text := words + quotations()[quote](written()[call].text)
				if _, runs := foreign.Find(text, tools()); runs != nil {
					t.Errorf("%s in %s behind %q runs: %q", call, quote, words, text)
				}
				open, _, _ := strings.Cut(quotations()[quote]("CALL"), "CALL")
				if strings.TrimSpace(open) == "" { // nothing is open
					continue
				}
				if _, runs := foreign.Find(words+open+written()[call].text, tools()); runs != nil {
					t.Errorf("%s in %s without its end behind %q runs: %q", call, quote, words, words+open)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(asked()).Draw(t, "words")
		for range rapid.IntRange(1, 3).Draw(t, "quotations") {
			call := written()[rapid.SampledFrom(calls).Draw(t, "call")].text
			text += quotations()[rapid.SampledFrom(quotes).Draw(t, "quotation")](call) + rapid.SampledFrom([]string{"", "\n", "\n\n", "\n\nSo.\n", " "}).Draw(t, "between")
		}
		if _, runs := foreign.Find(text, tools()); runs != nil {
			t.Fatalf("%q runs %v", text, runs)
		}
	})
}
