package llm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestACallInTheTextOfALocalModelIsOne(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{\"name\":\"terminal\",\"arguments\":{\"command\":\"ls\"}}</tool_call>`
	chunk := func(delta, finish string) string {
		return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":"` + finish + `"}]}` + "\n\ndata: [DONE]\n\n"
	}
	field := `"tool_calls":[{"index":0,"id":"a","function":{"name":"think","arguments":"{}"}}]`
	for name, tt := range map[string]struct {
		base, body, tools string
		text, calls       string
	}{
		"in the text":             {"http://127.0.0.1:8080/v1", chunk(`{"content":"I look.\n`+call+`"}`, "stop"), "terminal", "I look.", `terminal {"command":"ls"}`},
		"behind thoughts":         {"http://127.0.0.1:8080/v1", chunk(`{"content":"<think>hm</think>\n\n`+call+`"}`, "stop"), "terminal", "", `terminal {"command":"ls"}`},
		"in the thoughts alone":   {"http://127.0.0.1:8080/v1", chunk(`{"reasoning_content":"hm\n`+call+`"}`, "stop"), "terminal", "", `terminal {"command":"ls"}`},
		"in the thoughts of text": {"http://127.0.0.1:8080/v1", chunk(`{"reasoning_content":"hm\n`+call+`","content":"No."}`, "stop"), "terminal", "No.", ""},
		"in the field as well":    {"http://127.0.0.1:8080/v1", chunk(`{"content":"So.",`+field+`}`, "stop"), "terminal", "So.", "think {}"},
		"at the output limit":     {"http://127.0.0.1:8080/v1", chunk(`{"content":"`+call+`"}`, "length"), "terminal", strings.ReplaceAll(call, "\\", ""), ""},
		"of a tool that is gone":  {"http://127.0.0.1:8080/v1", chunk(`{"content":"`+call+`"}`, "stop"), "other", strings.ReplaceAll(call, "\\", ""), ""},
		"in the cloud":            {"https://api.example/v1", chunk(`{"content":"`+call+`"}`, "stop"), "terminal", strings.ReplaceAll(call, "\\", ""), ""},
	} {
		client := server(func(*http.Request) (*http.Response, error) { return answer(200, "text/event-stream", tt.body), nil }).client()
		req := hello("Go.")
		req.Tools = []llm.Tool{{Name: tt.tools}}
		resp, err := newModel(t, llm.Config{HTTP: client, Profile: profile(t, "openai/m", `"base_url":"`+tt.base+`"`)}).Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		var calls []string
		for _, c := range resp.Message.ToolCalls {
			if c.ID == "" {
				t.Errorf("%s: a call has no ID", name)
			}
			calls = append(calls, c.Name+" "+c.Arguments)
		}
		if got := strings.Join(calls, "|"); got != tt.calls {
			t.Errorf("%s: calls %q, want %q", name, got, tt.calls)
		}
		if got := event.PlainText(resp.Message.Content); got != tt.text {
			t.Errorf("%s: text %q, want %q", name, got, tt.text)
		}
	}
}
