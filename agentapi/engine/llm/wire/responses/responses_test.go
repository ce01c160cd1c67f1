package responses_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/responses"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/wiretest"
	"github.com/ohgw/ohgw/agentapi/event"
)

const answer = `event: response.created
data: {"type":"response.created","response":{"id":"resp_1","model":"gpt-5.5","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"early","summary":[]}}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Look "}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"first."}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAB<final>","summary":[{"type":"summary_text","text":"Look first."}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"I look."}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"terminal","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{\"command\":"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"\"ls\"}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"terminal","arguments":"{\"command\":\"ls\"}"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":3,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"think","arguments":""}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":3,"item":{"id":"fc_2","type":"function_call","call_id":"call_2","name":"think","arguments":"{\"thought\":\"x\"}"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[],"usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":40},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":15}}}}

`

func want() wiretest.Answer {
	m := wiretest.Message("I look.", "Look first.", nil,
		event.ToolCall{ID: "call_1", ResponsesItemID: "fc_1", Name: "terminal", Arguments: `{"command":"ls"}`, Origin: "responses"},
		event.ToolCall{ID: "call_2", ResponsesItemID: "fc_2", Name: "think", Arguments: `{"thought":"x"}`, Origin: "responses"})
	m.ResponsesReasoningItem = json.RawMessage(`{"id":"rs_1","summary":["Look first."],"encrypted_content":"gAAAAB<final>"}`)
	return wiretest.Answer{
		ID: "resp_1", Finish: wire.Stop, Message: m,
		Usage: event.TokenUsage{PromptTokens: 50, CompletionTokens: 20, CacheReadTokens: 40, ReasoningTokens: 15},
		Text:  "I look.", Reasoning: "Look first.",
		Calls: []string{`call_1 terminal {"command":"ls"}`, `call_2 think {"thought":"x"}`},
	}
}

// check reads a stream; the answer must be want however the bytes arrive.
func check(t *testing.T, body string, want wiretest.Answer) {
	t.Helper()
	for way, r := range wiretest.Readers(body) {
		got, err := wiretest.Read(responses.Dialect{}, r, false)
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
	check(t, answer, want())
}

func TestACutAnswerIsNone(t *testing.T) {
	t.Parallel()
	if part, taken := wiretest.TakenForWhole(responses.Dialect{}, answer, "event: response.completed"); taken {
		t.Errorf("this part is taken for an answer:\n%s", part)
	}
}

// A proxy may say everything at the end only, or answer without streaming.
func TestWhatWasNotStreamedIsTakenFromTheEnd(t *testing.T) {
	t.Parallel()
	const whole = `{"id":"resp_1","model":"gpt-5.5","status":"completed","error":null,"output":[` +
		`{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAB<final>","summary":[{"type":"summary_text","text":"Look first."}]},` +
		`{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},` +
		`{"id":"fc_1","type":"function_call","call_id":"call_1","name":"terminal","arguments":"{\"command\":\"ls\"}"},` +
		`{"id":"fc_2","type":"function_call","call_id":"call_2","name":"think","arguments":"{\"thought\":\"x\"}"}],` +
		`"usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":40},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":15}}}`
	check(t, "data: {\"type\":\"response.completed\",\"response\":"+whole+"}\n\n", want())
	got, err := wiretest.Read(responses.Dialect{}, strings.NewReader(whole), true)
	if err != nil || got.Text != "I look." || len(got.Message.ToolCalls) != 2 {
		t.Errorf("answer %+v, error %v", got, err)
	}
}

func TestTwoReasoningItemsUntieTheCalls(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer(`"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]`,
		`"id":"rs_2","type":"reasoning","encrypted_content":"two","summary":[]`).Replace(answer)
	got, err := wiretest.Read(responses.Dialect{}, strings.NewReader(second), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Message.ToolCalls {
		if c.ResponsesItemID != "" {
			t.Errorf("call %s is still %s", c.ID, c.ResponsesItemID)
		}
	}
	if string(got.Message.ResponsesReasoningItem) != `{"id":"rs_2","summary":[],"encrypted_content":"two"}` {
		t.Errorf("reasoning %s", got.Message.ResponsesReasoningItem)
	}
}

func TestHowAnAnswerCanEnd(t *testing.T) {
	t.Parallel()
	end := func(response string) (wiretest.Answer, error) {
		return wiretest.Read(responses.Dialect{}, strings.NewReader(`data: {"type":"response.incomplete","response":`+response+"}\n\n"), false)
	}
	if got, err := end(`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`); err != nil || got.Finish != wire.Length {
		t.Errorf("limit: %q, %v", got.Finish, err)
	}
	if got, err := end(`{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}`); err != nil || got.Finish != wire.Filtered {
		t.Errorf("filter: %q, %v", got.Finish, err)
	}
	var refusal *wire.Failure
	if _, err := end(`{"status":"failed","error":{"code":"server_error","message":"sorry"}}`); !errors.As(err, &refusal) || refusal.Status != http.StatusInternalServerError {
		t.Errorf("failed: %v", err)
	}
	_, err := wiretest.Read(responses.Dialect{}, strings.NewReader(`data: {"type":"error","code":"rate_limit_exceeded","message":"slow"}`+"\n\n"), false)
	if !errors.As(err, &refusal) || refusal.Status != http.StatusTooManyRequests {
		t.Errorf("error event: %v", err)
	}
}

func TestReasoningThatLedToNothingIsNotSent(t *testing.T) {
	t.Parallel()
	body, err := responses.Dialect{}.Body(&wire.Call{Model: "m", Messages: []event.LLMMessage{
		{Role: "assistant", ResponsesReasoningItem: json.RawMessage(`{"id":"rs_1","summary":[]}`)},
		{Role: "user", Content: []event.Content{event.Text("x")}},
	}})
	if err != nil || strings.Contains(string(body), "rs_1") {
		t.Errorf("body = %s, error %v", body, err)
	}
}

func TestApplyPatchIsDeclaredAsItsModelsKnowIt(t *testing.T) {
	t.Parallel()
	body, err := responses.Dialect{}.Body(&wire.Call{
		Model: "m", Messages: []event.LLMMessage{{Role: "user", Content: []event.Content{event.Text("x")}}},
		Tools: []wire.Tool{
			{Name: "apply_patch", Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{"security_risk":{"type":"string"},"patch":{"type":"string"}}}`)},
			{Name: "glob", Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"}}}`)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := string(body)
	if strings.Contains(text, "security_risk") || !strings.Contains(text, `{"patch":{"type":"string"}}`) || !strings.Contains(text, "summary") {
		t.Error(text)
	}
}
