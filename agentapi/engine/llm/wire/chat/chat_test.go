package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/chat"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/wiretest"
	"github.com/ohgw/ohgw/agentapi/event"
)

// What LiteLLM's proxy streams of Claude.
const claude = `: keep alive

data: {"id":"chatcmpl-1","model":"claude-sonnet-4-5","error":null,"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":"Look ","thinking_blocks":[{"type":"thinking","thinking":"Look ","signature":null}]},"finish_reason":null}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"reasoning_content":"<first>.","thinking_blocks":[{"type":"thinking","thinking":"<first>."}]}}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"thinking_blocks":[{"type":"thinking","thinking":"","signature":"sig+/=="}]}}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"thinking_blocks":[{"type":"redacted_thinking","data":"cmVk"}]}}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"I look."}}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"terminal","arguments":""}}]}}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]}}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","function":{"name":"think","arguments":"{}"}},{"index":0,"function":{"arguments":"\"ls\"}"}}]}}]}

data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":1312,"completion_tokens":89,"total_tokens":1401,"cache_creation_input_tokens":300,"cache_read_input_tokens":1000,"prompt_tokens_details":{"cached_tokens":1000},"completion_tokens_details":{"reasoning_tokens":9}}}

data: [DONE]

`

// check reads a stream; the answer must be want however the bytes arrive.
func check(t *testing.T, body string, want wiretest.Answer) {
	t.Helper()
	for way, r := range wiretest.Readers(body) {
		got, err := wiretest.Read(chat.Dialect{}, r, false)
		if err != nil {
			t.Errorf("%s: %v", way, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", way, diff)
		}
	}
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	check(t, claude, wiretest.Answer{
		ID: "chatcmpl-1", Finish: wire.Stop,
		Message: wiretest.Message("I look.", "Look <first>.",
			[]string{`{"type":"thinking","thinking":"Look <first>.","signature":"sig+/=="}`, `{"type":"redacted_thinking","data":"cmVk"}`},
			event.ToolCall{ID: "call_a", Name: "terminal", Arguments: `{"command":"ls"}`, Origin: "completion"},
			event.ToolCall{ID: "call_b", Name: "think", Arguments: "{}", Origin: "completion"}),
		Usage: event.TokenUsage{PromptTokens: 1312, CompletionTokens: 89, CacheReadTokens: 1000, CacheWriteTokens: 300, ReasoningTokens: 9},
		Text:  "I look.", Reasoning: "Look <first>.",
		Calls: []string{`call_a terminal {"command":"ls"}`, "call_b think {}"},
	})
}

func TestACutAnswerIsNone(t *testing.T) {
	t.Parallel()
	if part, taken := wiretest.TakenForWhole(chat.Dialect{}, claude, `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason"`); taken {
		t.Errorf("this part is taken for an answer:\n%s", part)
	}
}

// What is missing behind the finish reason is not part of the answer.
func TestAnAnswerThatIsCutBehindItsEndIsWhole(t *testing.T) {
	t.Parallel()
	for _, end := range []string{`data: {"id":"chatcmpl-1","choices":[],"usage"`, "data: [DONE]"} {
		got, err := wiretest.Read(chat.Dialect{}, strings.NewReader(claude[:strings.Index(claude, end)]), false)
		if err != nil || got.Text != "I look." || len(got.Message.ToolCalls) != 2 {
			t.Errorf("cut before %s: %+v, %v", end, got, err)
		}
	}
}

// lines is a stream of chunks, each a delta.
func lines(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"choices":[{"delta":` + d + "}]}\n\n")
	}
	return b.String() + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
}

func TestHabitsOfServers(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) event.ToolCall {
		return event.ToolCall{ID: id, Name: name, Arguments: args, Origin: "completion"}
	}
	tests := map[string]struct {
		stream          string
		text, reasoning string
		calls           []event.ToolCall
	}{
		"content is null":         {lines(`{"content":null,"tool_calls":null}`, `{"content":"a"}`), "a", "", nil},
		"content as parts":        {lines(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, `{"content":[{"type":"text","text":"a"}]}`), "a", "hm", nil},
		"content of another form": {lines(`{"content":{"x":1}}`, `{"content":"a"}`), "a", "", nil},
		"reasoning by its name":   {lines(`{"reasoning":"hm"}`, `{"content":"a"}`), "a", "hm", nil},
		"reasoning by both names": {lines(`{"reasoning":"hm","reasoning_content":"hm"}`), "", "hm", nil},
		"a refusal":               {lines(`{"refusal":"I must not."}`), "I must not.", "", nil},
		"no index": {
			lines(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`, `{"tool_calls":[{"function":{"arguments":"1}"}}]}`, `{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{}"}}]}`),
			"", "",
			[]event.ToolCall{call("a", "f", `{"x":1}`), call("b", "g", "{}")},
		},
		"all calls are the first": {
			lines(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}`),
			"", "",
			[]event.ToolCall{call("a", "f", "{}"), call("b", "g", "{}")},
		},
		"id and name repeated": {
			lines(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}]}`),
			"", "",
			[]event.ToolCall{call("a", "f", `{"x":1}`)},
		},
		"no id":                  {lines(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}`), "", "", []event.ToolCall{call("made_1", "f", "{}")}},
		"no arguments":           {lines(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}`), "", "", []event.ToolCall{call("a", "f", "{}")}},
		"arguments as an object": {lines(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`), "", "", []event.ToolCall{call("a", "f", `{"x":1}`)}},
		"another choice":         {`data: {"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n", "a", "", nil},
		"only the end mark":      {`data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\ndata: [DONE]\n\n", "a", "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := wiretest.Read(chat.Dialect{}, strings.NewReader(tt.stream), false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wiretest.Message(tt.text, tt.reasoning, nil, tt.calls...), got.Message); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestContentsOfAnswers(t *testing.T) {
	t.Parallel()
	calls := []event.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}
	const sentCalls = `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`
	tests := map[string]struct {
		m     event.LLMMessage
		plain bool
		want  string
	}{
		"text and call": {event.LLMMessage{Content: []event.Content{event.Text(" \n"), event.Text("I look.")}, ToolCalls: calls}, false, `"content":[{"type":"text","text":"I look."}],` + sentCalls},
		"only a call":   {event.LLMMessage{Content: []event.Content{event.Text(" \n")}, ToolCalls: calls}, false, `"role":"assistant",` + sentCalls},
		"blank text":    {event.LLMMessage{Content: []event.Content{event.Text(" ")}}, false, `"content":[{"type":"text","text":" "}]`},
		"nothing":       {event.LLMMessage{}, false, `"content":""`},
		"plain":         {event.LLMMessage{Content: []event.Content{event.Text("a"), event.Text("b")}}, true, `"content":"a\nb"`},
		"plain call":    {event.LLMMessage{Content: []event.Content{event.Text(" ")}, ToolCalls: calls}, true, `"role":"assistant",` + sentCalls},
	}
	for name, tt := range tests {
		tt.m.Role = "assistant"
		body, err := chat.Dialect{}.Body(&wire.Call{Messages: []event.LLMMessage{tt.m}, Options: wire.Options{PlainContent: tt.plain}})
		if err != nil || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s: body = %s, error %v; want %s", name, body, err, tt.want)
		}
	}
}

func TestUsageInTheWordsOfProviders(t *testing.T) {
	t.Parallel()
	tests := map[string]wiretest.Answer{
		`{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":null,"prompt_cache_hit_tokens":4}`:                                               {Usage: event.TokenUsage{PromptTokens: 9, CompletionTokens: 2, CacheReadTokens: 4}},
		`{"prompt_tokens":9,"completion_tokens":2,"cost":0.25,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":3}}`:                         {Cost: 0.25, Usage: event.TokenUsage{PromptTokens: 9, CompletionTokens: 2, CacheReadTokens: 4, CacheWriteTokens: 3}},
		`{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cache_creation_tokens":3},"completion_tokens_details":{"reasoning_tokens":1}}`: {Usage: event.TokenUsage{PromptTokens: 9, CompletionTokens: 2, CacheWriteTokens: 3, ReasoningTokens: 1}},
		`null`: {},
	}
	for usage, want := range tests {
		got, err := wiretest.Read(chat.Dialect{}, strings.NewReader(`data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":`+usage+"}\n\ndata: [DONE]\n\n"), false)
		if err != nil || got.Usage != want.Usage || got.Cost != want.Cost {
			t.Errorf("%s: %+v and %v, %v; want %+v and %v", usage, got.Usage, got.Cost, err, want.Usage, want.Cost)
		}
	}
}

func TestNoJSONIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"data: {\"choices\":[\n\n", "data: hello\n\n", "<html></html>", "data: []\n\n"} {
		if _, err := wiretest.Read(chat.Dialect{}, strings.NewReader(stream), false); !errors.Is(err, wire.ErrCut) {
			t.Errorf("%q: %v, want ErrCut", stream, err)
		}
	}
	if _, err := wiretest.Read(chat.Dialect{}, strings.NewReader(`{"choices":[{"message":`), true); !errors.Is(err, wire.ErrCut) {
		t.Errorf("half an object: %v, want ErrCut", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(claude)
	f.Add(lines(`{"tool_calls":[{"index":-1,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`))
	f.Fuzz(func(t *testing.T, body string) {
		got, err := wiretest.Read(chat.Dialect{}, strings.NewReader(body), false)
		if err != nil {
			return
		}
		if len(got.Message.Content) > 0 && got.Message.Content[0].Text != got.Text {
			t.Errorf("handed on %q, the text is %q", got.Text, got.Message.Content[0].Text)
		}
		if len(got.Calls) != len(got.Message.ToolCalls) {
			t.Errorf("handed on %d calls, there are %d", len(got.Calls), len(got.Message.ToolCalls))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	const n = 1000
	stream := lines(strings.Split(strings.Repeat(`{"content":"word "};`, n-1)+`{"content":"word "}`, ";")...)
	b.ReportAllocs()
	for b.Loop() {
		answer := wire.NewBuilder(func(wire.Delta) {}, func() string { return "" })
		if err := (chat.Dialect{}).Read(strings.NewReader(stream), false, answer); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/token")
}
