package messages_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/messages"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/wiretest"
	"github.com/ohgw/ohgw/agentapi/event"
)

const answer = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":1000,"output_tokens":3}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Look <first> "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"& think."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCkYIA/+=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgB/+=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_a","name":"terminal","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"command\": \"l"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"s\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_b","name":"think","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

`

// check reads a stream; the answer must be want however the bytes arrive.
func check(t *testing.T, body string, want wiretest.Answer) {
	t.Helper()
	for way, r := range wiretest.Readers(body) {
		got, err := wiretest.Read(messages.Dialect{}, r, false)
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
	check(t, answer, wiretest.Answer{
		ID: "msg_1", Finish: wire.Stop,
		Message: wiretest.Message("I look.", "Look <first> & think.",
			[]string{
				`{"type":"thinking","thinking":"Look <first> & think.","signature":"EqQBCkYIA/+=="}`,
				`{"type":"redacted_thinking","data":"EmwKAhgB/+=="}`,
			},
			event.ToolCall{ID: "toolu_a", Name: "terminal", Arguments: `{"command": "ls"}`, Origin: "completion"},
			event.ToolCall{ID: "toolu_b", Name: "think", Arguments: "{}", Origin: "completion"}),
		Usage: event.TokenUsage{PromptTokens: 1312, CompletionTokens: 89, CacheReadTokens: 1000, CacheWriteTokens: 300},
		Text:  "I look.", Reasoning: "Look <first> & think.",
		Calls: []string{`toolu_a terminal {"command": "ls"}`, "toolu_b think "},
	})
}

func TestACutAnswerIsNone(t *testing.T) {
	t.Parallel()
	if part, taken := wiretest.TakenForWhole(messages.Dialect{}, answer, "event: message_delta"); taken {
		t.Errorf("this part is taken for an answer:\n%s", part)
	}
}

func TestWhyAnAnswerEnded(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]wire.Finish{
		"end_turn": wire.Stop, "stop_sequence": wire.Stop, "max_tokens": wire.Length,
		"model_context_window_exceeded": wire.Full, "refusal": wire.Filtered,
	} {
		got, err := wiretest.Read(messages.Dialect{}, strings.NewReader(strings.Replace(answer, `"tool_use","stop_sequence"`, `"`+reason+`","stop_sequence"`, 1)), false)
		if err != nil || got.Finish != want {
			t.Errorf("%s: finish = %q, error %v; want %q", reason, got.Finish, err, want)
		}
	}
}

func TestARefusalInsideTheStream(t *testing.T) {
	t.Parallel()
	const frame = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	begun, _, _ := strings.Cut(answer, "event: content_block_stop")
	_, err := wiretest.Read(messages.Dialect{}, strings.NewReader(begun+frame), false)
	refusal, ok := errors.AsType[*wire.Failure](err)
	if !ok || refusal.Status != http.StatusServiceUnavailable {
		t.Errorf("error %v, want a refusal with status 503", err)
	}
}

func call(m ...event.LLMMessage) *wire.Call {
	return &wire.Call{Model: "m", Messages: m, Options: wire.Options{Thinking: 2000, MaxOutput: 4000}}
}

func user(text string) event.LLMMessage {
	return event.LLMMessage{Role: "user", Content: []event.Content{event.Text(text)}}
}

func TestNoThinkingInTheMiddleOfAnothersCalls(t *testing.T) {
	t.Parallel()
	calling := event.LLMMessage{Role: "assistant", ToolCalls: []event.ToolCall{{ID: "a.b:c", Name: "f", Arguments: "{}"}}}
	result := event.LLMMessage{Role: "tool", ToolCallID: "a.b:c", Name: "f"}
	body, err := messages.Dialect{}.Body(call(user("x"), calling, result))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(body), `"thinking"`) {
		t.Errorf("thinking is on: %s", body)
	}
	if strings.Count(string(body), `"a_b_c"`) != 2 {
		t.Errorf("the ids are not what the API takes: %s", body)
	}
	body, err = messages.Dialect{}.Body(call(user("x"), calling, result, user("y")))
	if err != nil || !strings.Contains(string(body), `"thinking":{"type":"enabled","budget_tokens":2000}`) {
		t.Errorf("thinking is off in a new turn: %s, %v", body, err)
	}
}

func TestBlankTextsAndEmptyAnswersAreLeftOut(t *testing.T) {
	t.Parallel()
	body, err := messages.Dialect{}.Body(call(user("a"), event.LLMMessage{Role: "assistant", Content: []event.Content{event.Text(" ")}}, user("b"), user("\n")))
	if err != nil {
		t.Fatal(err)
	}
	if want := `"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`; !strings.Contains(string(body), want) {
		t.Errorf("%s\nlacks %s", body, want)
	}
}

func TestCallsWithoutToolsHaveOneThatIsUnused(t *testing.T) {
	t.Parallel()
	c := call(user("a"), event.LLMMessage{Role: "assistant", ToolCalls: []event.ToolCall{{ID: "a", Name: "f", Arguments: "not JSON"}}}, event.LLMMessage{Role: "tool", ToolCallID: "a"})
	body, err := messages.Dialect{}.Body(c)
	if err != nil || !strings.Contains(string(body), `"tools":[{"name":"unused"`) || !strings.Contains(string(body), `"input":{"arguments":"not JSON"}`) {
		t.Errorf("body = %s, error %v", body, err)
	}
}
