package llm_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// sent is the body of the request that a model makes of req.
func sent(t *testing.T, model, fields string, req llm.Request) map[string]any {
	t.Helper()
	var out map[string]any
	m := newModel(t, llm.Config{Profile: profile(t, model, fields), HTTP: server(func(r *http.Request) (*http.Response, error) {
		if err := json.Unmarshal([]byte(body(t, r)), &out); err != nil {
			t.Error(err)
		}
		return answer(400, "text/plain", "no"), nil
	}).client()})
	_, err := m.Generate(t.Context(), req, nil)
	_ = failure(t, err)
	return out
}

// calling is a history that ends with the result of a tool.
func calling(id string) llm.Request {
	req := hello("Look.")
	req.Messages = append(req.Messages,
		event.LLMMessage{Role: "assistant", ToolCalls: []event.ToolCall{{ID: id, Name: "f", Arguments: "{}"}}},
		event.LLMMessage{Role: "tool", ToolCallID: id, Name: "f", Content: []event.Content{event.Text("result")}})
	return req
}

func TestTheCacheMarkOfAToolStandsWhereTheProviderLooks(t *testing.T) {
	t.Parallel()
	for model, inside := range map[string]bool{"openrouter/anthropic/claude-sonnet-4.5": true, "openhands/claude-sonnet-4-5": false} {
		messages := sent(t, model, "", calling("c1"))["messages"].([]any)
		last := messages[len(messages)-1].(map[string]any)
		parts := last["content"].([]any)
		_, beside := last["cache_control"]
		_, within := parts[len(parts)-1].(map[string]any)["cache_control"]
		if within != inside || beside == inside {
			t.Errorf("%s: inside %v, beside %v", model, within, beside)
		}
	}
}

func TestModelsThatWantTheirReasoningBackGetABlankOne(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]any{
		"moonshot/kimi-k2-thinking": " ", "moonshot/kimi-k2.6": " ", "deepseek/deepseek-reasoner": " ",
		"moonshot/kimi-k2-0905-preview": nil, "deepseek/deepseek-chat": nil, "openai/gpt-4o": nil,
	} {
		messages := sent(t, model, `"api_mode":"chat"`, calling("c1"))["messages"].([]any)
		if got := messages[2].(map[string]any)["reasoning_content"]; got != want {
			t.Errorf("%s: reasoning = %q, want %q", model, got, want)
		}
	}
}

// A signature that Gemini sends with a call goes back with it, by each way to
// reach Gemini, and by another way than it came.
func TestSignaturesOfGeminiGoBack(t *testing.T) {
	t.Parallel()
	google := `"base_url":"https://generativelanguage.googleapis.com/v1beta/openai/"`
	streams := map[string]string{
		"extra_content": `{"id":"r","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln+/=="}}}]},"finish_reason":"tool_calls"}]}`,
		"details after": `{"id":"r","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\ndata: " +
			`{"id":"r","choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","id":"c1","data":"c2ln+/==","format":"google-gemini-v1","index":0}]},"finish_reason":"tool_calls"}]}`,
		"details before": `{"id":"r","choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","id":"c1","data":"c2ln+/==","format":"google-gemini-v1","index":0}]}}]}` + "\n\ndata: " +
			`{"id":"r","choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
	}
	for name, frames := range streams {
		m := newModel(t, llm.Config{Profile: profile(t, "openai/gemini-3-pro", google), HTTP: server(func(*http.Request) (*http.Response, error) {
			return stream("data: " + frames + "\n\ndata: [DONE]\n\n"), nil
		}).client()})
		resp, err := ask(t, m)
		if err != nil {
			t.Fatal(err)
		}
		id := resp.Message.ToolCalls[0].ID
		if id != "c1__thought__c2ln+/==" {
			t.Errorf("%s: the call is kept as %q", name, id)
		}
		for model, want := range map[string]struct{ fields, id, inside string }{
			"openai/gemini-3-pro":            {google, "c1", `"extra_content":{"google":{"thought_signature":"c2ln+/=="}}`},
			"openai/team/gemini-3-pro":       {`"base_url":"https://gateway.example"`, id, `"extra_content":{"google":{"thought_signature":"c2ln+/=="}}`},
			"openrouter/google/gemini-3-pro": {"", "c1", `"reasoning_details":[{"data":"c2ln+/==","format":"google-gemini-v1","id":"c1","index":0,"type":"reasoning.encrypted"}]`},
			"litellm_proxy/gemini-3-pro":     {`"base_url":"https://gateway.example"`, id, `"id":"` + id + `"`},
			"openai/gpt-4o":                  {`"api_mode":"chat"`, "c1", `"id":"c1"`},
		} {
			messages := sent(t, model, want.fields, calling(id))["messages"].([]any)
			call, err := json.Marshal(messages[2])
			if err != nil {
				t.Fatal(err)
			}
			result := messages[3].(map[string]any)["tool_call_id"]
			if !strings.Contains(string(call), want.inside) || !strings.Contains(string(call), `"id":"`+want.id+`"`) || result != want.id {
				t.Errorf("%s, %s: call = %s, result of %s", name, model, call, result)
			}
		}
	}
}

// What a maker behind OpenRouter wants back is kept where that maker's own API
// has it, and goes back in OpenRouter's form.
func TestReasoningDetailsGoBack(t *testing.T) {
	t.Parallel()
	const claude = `{"id":"r","choices":[{"delta":{"reasoning":"Let me","reasoning_details":[{"type":"reasoning.text","text":"Let me","format":"anthropic-claude-v1","index":0}]}}]}` + "\n\ndata: " +
		`{"choices":[{"delta":{"reasoning":" see.","reasoning_details":[{"type":"reasoning.text","text":" see.","format":"anthropic-claude-v1","index":0}]}}]}` + "\n\ndata: " +
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"sig","format":"anthropic-claude-v1","index":0}]}}]}` + "\n\ndata: " +
		`{"choices":[{"delta":{"content":"Seen."},"finish_reason":"stop"}]}`
	const gpt = `{"id":"r","choices":[{"delta":{"reasoning":"Sum.","reasoning_details":[{"type":"reasoning.summary","summary":"Sum.","format":"openai-responses-v1","index":0}]}}]}` + "\n\ndata: " +
		`{"choices":[{"delta":{"content":"Seen.","reasoning_details":[{"type":"reasoning.encrypted","id":"rs_1","data":"enc==","format":"openai-responses-v1","index":0}]},"finish_reason":"stop"}]}`
	for model, tt := range map[string]struct {
		frames, reasoning string
		thinking          []string
		item              string
		back              []any
	}{
		"openrouter/anthropic/claude-sonnet-4.5": {
			frames: claude, reasoning: "Let me see.", thinking: []string{`{"type":"thinking","thinking":"Let me see.","signature":"sig"}`},
			back: []any{map[string]any{"type": "reasoning.text", "text": "Let me see.", "signature": "sig", "format": "anthropic-claude-v1", "index": 0.0}},
		},
		"openrouter/openai/gpt-5.2": {
			frames: gpt, reasoning: "Sum.", item: `{"id":"rs_1","summary":[],"encrypted_content":"enc=="}`,
			back: []any{map[string]any{"type": "reasoning.encrypted", "id": "rs_1", "data": "enc==", "format": "openai-responses-v1", "index": 0.0}},
		},
	} {
		m := newModel(t, llm.Config{Profile: profile(t, model, ""), HTTP: server(func(*http.Request) (*http.Response, error) {
			return stream("data: " + tt.frames + "\n\ndata: [DONE]\n\n"), nil
		}).client()})
		resp, err := ask(t, m)
		if err != nil {
			t.Fatal(err)
		}
		var thinking []string
		for _, block := range resp.Message.ThinkingBlocks {
			thinking = append(thinking, string(block))
		}
		if diff := cmp.Diff(tt.thinking, thinking); diff != "" || resp.Message.ReasoningContent != tt.reasoning || string(resp.Message.ResponsesReasoningItem) != tt.item {
			t.Errorf("%s: kept %q, %s (-want +got)\n%s", model, resp.Message.ReasoningContent, resp.Message.ResponsesReasoningItem, diff)
		}
		req := hello("Look.")
		req.Messages = append(req.Messages, resp.Message, event.LLMMessage{Role: "user", Content: []event.Content{event.Text("And?")}})
		back := sent(t, model, "", req)["messages"].([]any)[2].(map[string]any)["reasoning_details"]
		if diff := cmp.Diff(any(tt.back), back); diff != "" {
			t.Errorf("%s: sent back (-want +got)\n%s", model, diff)
		}
	}
}

func TestPerplexityIsOfferedToolsAsText(t *testing.T) {
	t.Parallel()
	req := hello("Go.")
	req.Tools = []llm.Tool{{Name: "f", Description: "Does f."}}
	got := sent(t, "perplexity/sonar-pro", "", req)
	text, err := json.Marshal(got["messages"])
	if err != nil {
		t.Fatal(err)
	}
	if got["tools"] != nil || !strings.Contains(string(text), "Does f.") {
		t.Errorf("tools %v, messages %s", got["tools"], text)
	}
}

// A number in a wrong shape never costs the answer.
func TestUsageInAnyShape(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	m := at(t, fake.URL, `"num_retries":1`)
	for habit, want := range map[llmtest.Habit]int64{
		"": 100, llmtest.UsageFloats: 100, llmtest.UsageTexts: 100, llmtest.UsageObject: 100, llmtest.UsageNulls: 100, llmtest.UsageAlways: 100, llmtest.UsageNothing: 0,
	} {
		resp, err := m.Generate(t.Context(), hello("[[say ok]] [[habit "+string(habit)+"]]"), nil)
		if err != nil || resp.Usage.PromptTokens != want {
			t.Errorf("%q: usage = %+v, error %v", habit, resp.Usage, err)
		}
		if cost := resp.Cost; strings.Contains("usage-floats usage-texts usage-object", string(habit)) && habit != "" && cost != 0.25 {
			t.Errorf("%q: cost %v", habit, cost)
		}
	}
}

func TestAFullWindowIsNoEmptyAnswer(t *testing.T) {
	t.Parallel()
	fake := llmtest.New(t)
	m := at(t, fake.URL, `"num_retries":1`)
	_, err := m.Generate(t.Context(), hello("[[empty]] [[stop model_context_window_exceeded]]"), nil)
	if code := failure(t, err).Code; code != llm.CodeContextWindow {
		t.Errorf("an empty answer: %s", code)
	}
	resp, err := m.Generate(t.Context(), hello("[[say half]] [[stop model_context_window_exceeded]]"), nil)
	if err != nil || !resp.Length {
		t.Errorf("a cut answer: %+v, %v", resp, err)
	}
}

// MiniMax refuses with status 200.
func TestARefusalWithStatus200(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{"1008": "quota", "1004": "auth", "1002": "rate_limit", "2013": "config", "1013": "transient"} {
		m := newModel(t, llm.Config{Profile: profile(t, "minimax/MiniMax-M2", `"num_retries":1`), HTTP: server(func(*http.Request) (*http.Response, error) {
			return answer(200, "application/json", `{"id":"1","choices":null,"base_resp":{"status_code":`+status+`,"status_msg":"no"}}`), nil
		}).client()})
		_, err := ask(t, m)
		if kind := failure(t, err).Classification.Kind; kind != want {
			t.Errorf("%s: kind = %s, want %s", status, kind, want)
		}
	}
}

func TestMistralGetsSchemasWithoutTheirAddress(t *testing.T) {
	t.Parallel()
	req := hello("Go.")
	req.Tools = []llm.Tool{{Name: "f", Parameters: json.RawMessage(`{"$schema":"https://x","type":"object"}`)}}
	for model, kept := range map[string]bool{"mistral/devstral-2512": false, "openai/gpt-4o": true} {
		text, err := json.Marshal(sent(t, model, `"api_mode":"chat"`, req)["tools"])
		if err != nil || strings.Contains(string(text), "$schema") != kept {
			t.Errorf("%s: text = %s, error %v", model, text, err)
		}
	}
}
