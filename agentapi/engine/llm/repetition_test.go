package llm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestAnAnswerThatRepeatsItselfEndsInASentence(t *testing.T) {
	t.Parallel()
	const line = "I will now read the file.\n"
	words := strings.ReplaceAll(strings.Repeat(line, 1_000), "\n", `\n`)
	chunks := func(delta string) string {
		return strings.Repeat(`data: {"choices":[{"index":0,"delta":`+delta+"}]}\n\n", 9_000) // and no end
	}
	call := `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"terminal","arguments":"{\"command\":\"rm x\"}"}}]}}]}` + "\n\n"
	for name, tt := range map[string]struct {
		kind, body, fields, begin string
	}{
		"streamed":            {"text/event-stream", chunks(`{"content":"I will now read the file.\n"}`), "", line},
		"in one piece":        {"application/json", `{"choices":[{"message":{"content":"` + words + `"},"finish_reason":"stop"}]}`, "", line},
		"thoughts":            {"text/event-stream", chunks(`{"reasoning_content":"hm "}`), "", ""},
		"thoughts in marks":   {"text/event-stream", `data: {"choices":[{"index":0,"delta":{"content":"<think>"}}]}` + "\n\n" + chunks(`{"content":"hm "}`), "", ""},
		"behind a call":       {"text/event-stream", call + chunks(`{"content":"G"}`), "", "GGG"},
		"arguments of a call": {"text/event-stream", `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"terminal","arguments":"{\"command\":\""}}]}}]}` + "\n\n" + chunks(`{"tool_calls":[{"index":0,"function":{"arguments":"echo "}}]}`), "", ""},
		"with calls in text":  {"text/event-stream", chunks(`{"content":"I will now read the file.\n"}`), `,"native_tool_calling":false`, line},
		"a call in text":      {"text/event-stream", `data: {"choices":[{"index":0,"delta":{"content":"So:\n<function=terminal>\n<parameter=command>"}}]}` + "\n\n" + chunks(`{"content":"echo "}`), `,"native_tool_calling":false`, "So:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			client := server(func(*http.Request) (*http.Response, error) {
				asked++
				return answer(200, tt.kind, tt.body), nil
			}).client()
			config := llm.Config{HTTP: client, Profile: profile(t, "openai/m", `"base_url":"http://127.0.0.1:8080/v1"`+tt.fields)}
			req := hello("Go.")
			req.Tools = []llm.Tool{{Name: "terminal", Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string"}}}`)}}
			shown := ""
			resp, err := newModel(t, config).Generate(t.Context(), req, func(d llm.Delta) { shown += d.Text })
			if err != nil || asked != 1 {
				t.Fatalf("%d requests, %v", asked, err)
			}
			text := event.PlainText(resp.Message.Content)
			if !strings.HasPrefix(text, tt.begin) || !strings.Contains(text, "ohgw stopped this answer: the model wrote the same") || len(text) > 5_000 {
				t.Errorf("%d bytes: %.100s ... %s", len(text), text, text[max(0, len(text)-200):])
			}
			if shown != text {
				t.Errorf("shown was %d bytes, the answer has %d", len(shown), len(text))
			}
			if len(resp.Message.ToolCalls) > 0 {
				t.Errorf("calls %v", resp.Message.ToolCalls)
			}
			config.AllowRepetition = true
			if resp, err := newModel(t, config).Generate(t.Context(), req, nil); err == nil && strings.Contains(event.PlainText(resp.Message.Content), "ohgw stopped") {
				t.Error("the setting has no effect")
			}
		})
	}
}
