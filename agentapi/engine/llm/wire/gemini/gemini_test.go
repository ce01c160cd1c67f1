package gemini_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/gemini"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/wiretest"
	"github.com/ohgw/ohgw/agentapi/event"
)

const answer = `data: {"candidates":[{"content":{"parts":[{"text":"Look first.","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":50,"thoughtsTokenCount":10,"totalTokenCount":60},"modelVersion":"gemini-3.1-pro","responseId":"g1"}

data: {"candidates":[{"content":{"parts":[{"text":"I look."}],"role":"model"},"index":0}],"modelVersion":"gemini-3.1-pro","responseId":"g1"}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"terminal","args":{"command":"ls"}},"thoughtSignature":"c2ln+/=="},{"functionCall":{"name":"think","id":"own"}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":50,"candidatesTokenCount":7,"thoughtsTokenCount":12,"cachedContentTokenCount":30,"totalTokenCount":69},"modelVersion":"gemini-3.1-pro","responseId":"g1"}

`

// check reads a stream; the answer must be want however the bytes arrive.
func check(t *testing.T, body string, want wiretest.Answer) {
	t.Helper()
	for way, r := range wiretest.Readers(body) {
		got, err := wiretest.Read(gemini.Dialect{}, r, false)
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
		ID: "g1", Finish: wire.Stop,
		Message: wiretest.Message("I look.", "Look first.", nil,
			event.ToolCall{ID: "made_1__thought__c2ln+/==", Name: "terminal", Arguments: `{"command":"ls"}`, Origin: "completion"},
			event.ToolCall{ID: "own", Name: "think", Arguments: "{}", Origin: "completion"}),
		Usage: event.TokenUsage{PromptTokens: 50, CompletionTokens: 19, CacheReadTokens: 30, ReasoningTokens: 12},
		Text:  "I look.", Reasoning: "Look first.",
		Calls: []string{`made_1__thought__c2ln+/== terminal {"command":"ls"}`, "own think {}"},
	})
}

func TestACutAnswerIsNone(t *testing.T) {
	t.Parallel()
	if part, taken := wiretest.TakenForWhole(gemini.Dialect{}, answer, `data: {"candidates":[{"content":{"parts":[{"functionCall"`); taken {
		t.Errorf("this part is taken for an answer:\n%s", part)
	}
}

func TestHowAnAnswerCanEnd(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]wire.Finish{
		`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"MAX_TOKENS"}]}`: wire.Length,
		`{"candidates":[{"finishReason":"SAFETY"}]}`:                                        wire.Filtered,
		`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`:                           wire.Filtered,
		`{"candidates":[{"finishReason":"OTHER"}]}`:                                         wire.Failed,
	} {
		got, err := wiretest.Read(gemini.Dialect{}, strings.NewReader("data: "+frame+"\n\n"), false)
		if err != nil || got.Finish != want {
			t.Errorf("%s: finish = %q, error %v; want %q", frame, got.Finish, err, want)
		}
	}
	b := wire.NewBuilder(nil, func() string { return "" })
	err := gemini.Dialect{}.Read(strings.NewReader("data: {\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\"}]}\n\n"), false, b)
	if err != nil || b.Begun {
		t.Errorf("a call that the model got wrong is taken for an answer, error %v", err)
	}
	var refusal *wire.Failure
	_, err = wiretest.Read(gemini.Dialect{}, strings.NewReader(`data: {"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}`+"\n\n"), false)
	if !errors.As(err, &refusal) || refusal.Status != http.StatusTooManyRequests {
		t.Errorf("error %v", err)
	}
}

// What another model called has no signature; Gemini 3 wants one all the same.
func TestCallsOfOtherModelsGetGooglesOwnWord(t *testing.T) {
	t.Parallel()
	c := &wire.Call{Model: "gemini-3-pro", Messages: []event.LLMMessage{
		{Role: "user", Content: []event.Content{event.Text("x")}},
		{Role: "assistant", ToolCalls: []event.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "g", Arguments: "{}"}}},
	}}
	const want = `{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="},{"functionCall":{"name":"g","args":{}}}`
	if body, err := (gemini.Dialect{Levels: true}).Body(c); err != nil || !strings.Contains(string(body), want) {
		t.Errorf("body = %s, error %v", body, err)
	}
	if body, err := (gemini.Dialect{}).Body(c); err != nil || strings.Contains(string(body), "thoughtSignature") {
		t.Errorf("an older model gets %s, %v", body, err)
	}
}

func TestEffortsBecomeLevelsOrBudgets(t *testing.T) {
	t.Parallel()
	tests := []struct {
		levels        bool
		model, effort string
		want          string
	}{
		{true, "gemini-3-flash", "medium", `"thinkingConfig":{"thinkingLevel":"medium","includeThoughts":true}`},
		{true, "gemini-3-pro", "medium", `"thinkingConfig":{"thinkingLevel":"high","includeThoughts":true}`},
		{true, "gemini-3-pro", "none", `"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true}`},
		{false, "gemini-2.5-pro", "high", `"thinkingConfig":{"thinkingBudget":4096,"includeThoughts":true}`},
		{false, "gemini-2.5-flash", "none", `"thinkingConfig":{"thinkingBudget":0}`},
		{false, "gemini-2.0-flash", "", `"generationConfig":{}`},
	}
	for _, tt := range tests {
		body, err := gemini.Dialect{Levels: tt.levels}.Body(&wire.Call{Model: tt.model, Options: wire.Options{Effort: tt.effort}})
		if err != nil || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s, %s: body = %s, error %v; want %s", tt.model, tt.effort, body, err, tt.want)
		}
	}
}
