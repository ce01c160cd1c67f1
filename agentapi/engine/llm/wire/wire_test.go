package wire_test

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestRefusalsOfAllProviders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body, header string
		want         wire.Failure
	}{
		"OpenAI": {
			body: `{"error":{"message":"No key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
			want: wire.Failure{Type: "invalid_api_key", Message: "No key (invalid_api_key)"},
		},
		"Anthropic": {
			body: `{"type":"error","error":{"type":"rate_limit_error","message":"Slow"},"request_id":"r"}`,
			want: wire.Failure{Type: "rate_limit_error", Message: "Slow (rate_limit_error)"},
		},
		"Google": {
			body: `{"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT","details":[]}}`,
			want: wire.Failure{Type: "INVALID_ARGUMENT", Message: "Bad (INVALID_ARGUMENT)"},
		},
		"Google, a list": {body: `[{"error":{"code":400,"message":"Bad"}}]`, want: wire.Failure{Message: "Bad"}},
		"Bedrock": {
			body: `{"message":"Denied"}`, header: "AccessDeniedException:http://internal.amazon.com/",
			want: wire.Failure{Type: "AccessDeniedException", Message: "Denied"},
		},
		"LiteLLM": {body: `{"error":{"message":"litellm.BadRequestError: x","type":null,"param":null,"code":"400"}}`, want: wire.Failure{Message: "litellm.BadRequestError: x"}},
		"Ollama":  {body: `{"error":"model 'x' not found"}`, want: wire.Failure{Message: "model 'x' not found"}},
		"FastAPI": {body: `{"detail":"Not Found"}`, want: wire.Failure{Message: "Not Found"}},
		"Mistral": {body: `{"object":"error","message":"Bad","type":"invalid","code":null}`, want: wire.Failure{Type: "invalid", Message: "Bad (invalid)"}},
		"a page":  {body: "<html>502</html>", want: wire.Failure{Message: `a web page "502"`, Page: true}},
		"a page with a title": {
			body: "<!DOCTYPE html><html><head><title> Bad\ngateway </title></head><body>x</body></html>", want: wire.Failure{Message: `a web page "Bad gateway"`, Page: true},
		},
		"Z.ai":      {body: `{"error":{"code":"1261","message":"Prompt too long"}}`, want: wire.Failure{Type: "1261", Message: "Prompt too long (1261)"}},
		"xAI":       {body: `{"code":"Invalid","error":"Wrong key"}`, want: wire.Failure{Type: "Invalid", Message: "Wrong key (Invalid)"}},
		"RetryInfo": {body: `{"error":{"code":429,"message":"Slow","details":[{"@type":"x"},{"retryDelay":"1.5s"}]}}`, want: wire.Failure{Message: "Slow", RetryAfter: 1500 * time.Millisecond}},
		"OpenRouter": {
			body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"type\":\"rate_limit_error\",\"message\":\"Slow\"}}","provider_name":"Anthropic"}}}`,
			want: wire.Failure{Type: "rate_limit_error", Message: "Provider returned error (Anthropic): Slow (rate_limit_error)"},
		},
		"odd metadata":   {body: `{"error":{"message":"No","metadata":"x","details":{"a":1}}}`, want: wire.Failure{Message: "No"}},
		"nothing":        {body: "", want: wire.Failure{Message: "Bad Request"}},
		"another object": {body: `{"ok":false}`, want: wire.Failure{Message: `{"ok":false}`}},
		"long":           {body: strings.Repeat("ä", 4000), want: wire.Failure{Message: strings.Repeat("ä", 2048) + " ..."}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			if tt.header != "" {
				header.Set("X-Amzn-ErrorType", tt.header)
			}
			tt.want.Status = http.StatusBadRequest
			if tt.want.RetryAfter == 0 {
				tt.want.RetryAfter = -1
			}
			if diff := cmp.Diff(&tt.want, wire.ParseFailure(http.StatusBadRequest, header, []byte(tt.body), time.Time{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestArgumentsAreAlwaysAnObject(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, `{ "b" : "<" }`: `{ "b" : "<" }`, "": "{}", "null": `{"arguments":"null"}`, "[1]": `{"arguments":"[1]"}`, `{"a":`: `{"arguments":"{\"a\":"}`,
	} {
		if got := string(wire.Arguments(text)); got != want {
			t.Errorf("%q: Arguments = %s, want %s", text, got, want)
		}
	}
}

func TestExtraMembersWin(t *testing.T) {
	t.Parallel()
	got, err := wire.Body(struct {
		A int    `json:"a"`
		B string `json:"b"`
	}{1, "<x>"}, map[string]json.RawMessage{"a": json.RawMessage("2"), "c": json.RawMessage(`{"z":1,"y":2}`)})
	if err != nil || string(got) != `{"a":2,"b":"<x>","c":{"z":1,"y":2}}` {
		t.Errorf("body = %s, error %v", got, err)
	}
}

func TestUnsignedThinkingIsDropped(t *testing.T) {
	t.Parallel()
	b := wire.NewBuilder(nil, func() string { return "x" })
	b.Thinking(wire.Thinking{Text: "not signed"})
	b.CloseThinking()
	b.Thinking(wire.Thinking{Text: "signed"})
	b.Thinking(wire.Thinking{Signature: "s"})
	want := []json.RawMessage{json.RawMessage(`{"type":"thinking","thinking":"signed","signature":"s"}`)}
	if diff := cmp.Diff(want, b.Message().ThinkingBlocks); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestThinkingLost(t *testing.T) {
	t.Parallel()
	user := event.LLMMessage{Role: "user"}
	calls := event.LLMMessage{Role: "assistant", ToolCalls: []event.ToolCall{{ID: "a"}}}
	thought := calls
	thought.ThinkingBlocks = []json.RawMessage{json.RawMessage(`{}`)}
	result := event.LLMMessage{Role: "tool"}
	tests := []struct {
		history []event.LLMMessage
		want    bool
	}{
		{nil, false},
		{[]event.LLMMessage{user}, false},
		{[]event.LLMMessage{user, calls, result}, true},
		{[]event.LLMMessage{user, thought, result, result}, false},
		{[]event.LLMMessage{user, calls, result, user}, false},
		{[]event.LLMMessage{user, {Role: "assistant"}}, false},
	}
	for i, tt := range tests {
		if got := wire.ThinkingLost(tt.history); got != tt.want {
			t.Errorf("history %d: %v", i, got)
		}
	}
}

func TestDataURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]string{
		"data:image/png;base64,AA==":              {"image/png", "AA=="},
		"data:image/svg+xml;charset=x;base64,AA=": {"image/svg+xml", "AA="},
		"data:image/png,AA":                       {}, "data:;base64,AA": {}, "https://x/data:image/png;base64,AA": {}, "data:image/png;base64": {},
	} {
		mediaType, data, ok := wire.DataURL(url)
		if got := [2]string{mediaType, data}; ok != (want[0] != "") || ok && got != want {
			t.Errorf("%s: parts = %v, ok %v, want %v", url, got, ok, want)
		}
	}
}

// An answer has been paid for: whatever its numbers look like, it is read.
func TestNumbersInAnyShape(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]struct {
		count  wire.Count
		amount wire.Amount
	}{
		`12`: {12, 12}, `12.0`: {12, 12}, `1.5`: {1, 1.5}, `"12"`: {12, 12}, `" 7 "`: {7, 7}, `1e3`: {1000, 1000},
		`null`: {}, `-3`: {}, `"many"`: {}, `{}`: {}, `[1]`: {}, `true`: {}, `1e400`: {}, `"NaN"`: {}, `"Inf"`: {}, `1e30`: {0, 1e30},
		`{"total_cost":0.25,"input_tokens_cost":1}`: {0, 0.25}, `{"total_cost":"0.5"}`: {0, 0.5}, `{"total_cost":{}}`: {},
	} {
		var got struct {
			Count  wire.Count               `json:"n"`
			Amount wire.Amount              `json:"m"`
			Nested wire.Lenient[wire.Count] `json:"l"`
		}
		if err := json.Unmarshal([]byte(`{"n":`+raw+`,"m":`+raw+`,"l":`+raw+`}`), &got); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if got.Count != want.count || got.Amount != want.amount || got.Nested.V != want.count {
			t.Errorf("%s: count = %v, amount %v, nested %v, want %v", raw, got.Count, got.Amount, got.Nested.V, want)
		}
	}
}

func TestThoughtsInTheTextAreReasoning(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{ // reasoning, text
		"<think>Let me.</think>\n\nWell.": {"Let me.", "Well."},
		"\n<think>\nLet me.</think>Well.": {"\nLet me.", "Well."},
		"<think></think>Well.":            {"", "Well."},
		"<think>1 < 2 </thin</think>":     {"1 < 2 </thin", ""},
		"<think>Never closed </th":        {"Never closed </th", ""},
		"Say <think>x</think>":            {"", "Say <think>x</think>"},
		"<thin":                           {"", "<thin"},
		"<b>bold</b>":                     {"", "<b>bold</b>"},
		" two spaces":                     {"", " two spaces"},
		"<think>a</think>b<think>c":       {"a", "b<think>c"},
	} {
		for _, size := range []int{1, 2, 5, len(text)} {
			var said, thought string
			b := wire.NewBuilder(func(d wire.Delta) { said += d.Text; thought += d.Reasoning }, func() string { return "x" })
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				b.Spoken(rest[:n])
				rest = rest[n:]
			}
			m := b.Message()
			if got := [2]string{thought, said}; got != want || m.ReasoningContent != want[0] || event.PlainText(m.Content) != want[1] {
				t.Errorf("%q by %d: %q, want %q; the message says %q", text, size, got, want, event.PlainText(m.Content))
			}
		}
	}
}

func TestPlainSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object", "z":1}`: `{"type":"object", "z":1}`,
		`{"$schema":"https://json-schema.org/x","type":"object","properties":{"z":{"$id":"#z","type":"string","enum":["<a>","$id"]},"a":{"type":["number",null]}},"n":1.50}`: `{"type":"object","properties":{"z":{"type":"string","enum":["<a>","$id"]},"a":{"type":["number",null]}},"n":1.50}`,
		`{"a":[{"$id":{"x":[1]}},{}],"$schema":true}`: `{"a":[{},{}]}`,
		`{"$id":`: `{"$id":`,
		// Parameters may have these names, also below $defs; data is left alone.
		`{"$id":"x","properties":{"$id":{"type":"string","$id":"y"},"$schema":{"$schema":"z"}},"required":["$id"]}`:            `{"properties":{"$id":{"type":"string"},"$schema":{}},"required":["$id"]}`,
		`{"$defs":{"properties":{"$id":"x","properties":{"$id":true}}},"allOf":[{"$schema":"y","properties":{"$schema":{}}}]}`: `{"$defs":{"properties":{"properties":{"$id":true}}},"allOf":[{"properties":{"$schema":{}}}]}`,
		`{"default":{"$id":1,"properties":{"$id":2}},"enum":[{"$schema":3}],"examples":[{"a":{"$id":4}}],"$id":"x"}`:           `{"default":{"$id":1,"properties":{"$id":2}},"enum":[{"$schema":3}],"examples":[{"a":{"$id":4}}]}`,
	} {
		if got := string(wire.PlainSchema(json.RawMessage(schema))); got != want {
			t.Errorf("%s: PlainSchema = %s, want %s", schema, got, want)
		}
	}
}

// TestThinkingCostsWhatItIsLong is not parallel: it counts what the process
// allocates.
func TestThinkingCostsWhatItIsLong(t *testing.T) {
	const pieces, piece = 20_000, "word "
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b := wire.NewBuilder(nil, func() string { return "x" })
	for range pieces {
		b.Thinking(wire.Thinking{Text: piece})
	}
	b.Thinking(wire.Thinking{Signature: "s"})
	m := b.Message()
	runtime.ReadMemStats(&after)
	if len(m.ThinkingBlocks) != 1 || strings.Count(string(m.ThinkingBlocks[0]), piece) != pieces {
		t.Fatalf("%d blocks", len(m.ThinkingBlocks))
	}
	const size = uint64(pieces * len(piece))
	if took := after.TotalAlloc - before.TotalAlloc; took > 100*size {
		t.Errorf("%d bytes were allocated for %d bytes of thinking", took, size)
	}
}
