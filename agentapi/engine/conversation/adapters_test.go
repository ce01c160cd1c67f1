package conversation_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/internal/picture"
)

// adapter is a way to speak to a provider, with an answer of it. An answer is a
// list of the payloads of its frames.
type adapter struct {
	name, model, kind string
	calls             []string // an answer with text, reasoning and two calls
	text              []string // an answer of text
	whole             string   // the first in one piece; empty: there is none
	frames            func(payloads []string) []byte
}

func adapters() []adapter {
	return []adapter{
		{
			name: "chat", model: "openai/gpt-4o", kind: "text/event-stream", frames: lineFrames,
			calls: []string{
				`{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":"I look.","reasoning_content":"Hm."}}]}`,
				`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"look","arguments":"{\"at\":"}}]}}]}`,
				`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"it\"}"}}]}}]}`,
				`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"look","arguments":"{\"at\":\"that\"}"}}]}}]}`,
				`{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`,
			},
			text:  []string{`{"id":"c2","choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}`, `[DONE]`},
			whole: `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"I look.","reasoning":"Hm.","tool_calls":[{"id":"call_a","type":"function","function":{"name":"look","arguments":{"at":"it"}}},{"id":"call_b","function":{"name":"look","arguments":"{\"at\":\"that\"}"}}]},"finish_reason":"tool_calls"}]}`,
		},
		{
			name: "responses", model: "openai/gpt-5.5", kind: "text/event-stream", frames: lineFrames,
			calls: []string{
				`{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"enc"}}`,
				`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_a","name":"look","arguments":""}}`,
				`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"at\":\"it\"}"}`,
				`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_2","call_id":"call_b","name":"look","arguments":"{\"at\":\"that\"}"}}`,
				`{"type":"response.output_text.delta","output_index":3,"delta":"I look."}`,
				`{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}`,
			},
			text: []string{
				`{"type":"response.output_text.delta","output_index":0,"delta":"Done."}`,
				`{"type":"response.completed","response":{"id":"resp_2","status":"completed","output":[]}}`,
			},
			whole: `{"id":"resp_1","status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","id":"fc_1","call_id":"call_a","name":"look","arguments":"{\"at\":\"it\"}"},{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"I look."}]}]}`,
		},
		{
			name: "messages", model: "anthropic/claude-sonnet-4-5", kind: "text/event-stream", frames: lineFrames,
			calls: []string{
				`{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[]}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"Hm.","signature":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"I look."}}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_a","name":"look","input":{}}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"at\":\"it\"}"}}`,
				`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_b","name":"look","input":{}}}`,
				`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"at\":\"that\"}"}}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`,
			},
			text: []string{
				`{"type":"message_start","message":{"id":"msg_2"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Done."}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`,
			},
		},
		{
			name: "gemini", model: "gemini/gemini-3.1-pro-preview", kind: "text/event-stream", frames: lineFrames,
			calls: []string{
				`{"responseId":"g1","candidates":[{"content":{"parts":[{"text":"Hm.","thought":true},{"text":"I look."},{"functionCall":{"id":"a","name":"look","args":{"at":"it"}},"thoughtSignature":"c2ln"}]}}]}`,
				`{"responseId":"g1","candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"at":"that"}}}]},"finishReason":"STOP"}]}`,
			},
			text: []string{`{"responseId":"g2","candidates":[{"content":{"parts":[{"text":"Done."}]},"finishReason":"STOP"}]}`},
		},
		{
			name: "converse", model: "bedrock/us-east-1/anthropic.claude-sonnet-4-5-20250929-v1:0", kind: "application/vnd.amazon.eventstream", frames: amazonFrames,
			calls: []string{
				`{"role":"assistant"}`, `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm."}}}`,
				`{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}`, `{"contentBlockIndex":1,"delta":{"text":"I look."}}`,
				`{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"tooluse_a","name":"look"}}}`, `{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"at\":\"it\"}"}}}`,
				`{"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"tooluse_b","name":"look"}}}`, `{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"at\":\"that\"}"}}}`,
				`{"stopReason":"tool_use"}`, `{"usage":{"inputTokens":1,"outputTokens":2}}`,
			},
			text: []string{`{"contentBlockIndex":0,"delta":{"text":"Done."}}`, `{"stopReason":"end_turn"}`, `{"usage":{"inputTokens":1,"outputTokens":2}}`},
		},
	}
}

func lineFrames(payloads []string) []byte {
	var b bytes.Buffer
	for _, p := range payloads {
		b.WriteString("data: " + p + "\n\n")
	}
	return b.Bytes()
}

// amazonFrames are frames whose type their payloads say.
func amazonFrames(payloads []string) []byte {
	var out bytes.Buffer
	for _, p := range payloads {
		kind := "contentBlockDelta"
		for _, other := range [...][2]string{{`"role"`, "messageStart"}, {`"start"`, "contentBlockStart"}, {`"stopReason"`, "messageStop"}, {`"usage"`, "metadata"}} {
			if strings.Contains(p, other[0]) {
				kind = other[1]
			}
		}
		var head bytes.Buffer
		for _, h := range [...][2]string{{":event-type", kind}, {":message-type", "event"}} {
			head.WriteByte(byte(len(h[0])))
			head.WriteString(h[0] + "\x07\x00" + string(rune(len(h[1]))) + h[1])
		}
		const overhead = 16
		f := binary.BigEndian.AppendUint32(nil, uint32(overhead+head.Len()+len(p)))
		f = binary.BigEndian.AppendUint32(f, uint32(head.Len()))
		f = binary.BigEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
		f = append(append(f, head.Bytes()...), p...)
		out.Write(binary.BigEndian.AppendUint32(f, crc32.ChecksumIEEE(f)))
	}
	return out.Bytes()
}

// provider is the network: it answers with what the test says, and keeps what it
// is sent.
type provider struct {
	adapter
	mu      sync.Mutex
	answers func(n int, body []byte) (status int, kind string, answer []byte)
	sent    [][]byte
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, body)
	status, kind, answer := p.answers(len(p.sent), body)
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(bytes.NewReader(answer)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func (p *provider) requests() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// done is an answer of text.
func (p *provider) done() (int, string, []byte) { return http.StatusOK, p.kind, p.frames(p.text) }

// openAdapter is a conversation with a model of the engine's own.
func openAdapter(t *testing.T, p *provider) *world {
	t.Helper()
	profile, err := llm.ParseProfile([]byte(`{"model":"` + p.model + `","api_key":"k","num_retries":1,"retry_min_wait":0,"retry_max_wait":0,"capability_overrides":{"supports_vision":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := llm.New(llm.Config{Profile: profile, HTTP: &http.Client{Transport: p}})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, &model{}, func(cfg *conversation.Config, _ *store.State) { cfg.Models = fixedModel{m} })
}

// fixedModel is a model for every choice.
type fixedModel struct{ llm llm.Model }

func (f fixedModel) Model(context.Context, conversation.Choice) (llm.Model, error) {
	return f.llm, nil
}

func (f fixedModel) Switched(_ context.Context, agent json.RawMessage, profile string) (conversation.Choice, json.RawMessage, error) {
	return conversation.Choice{Profile: profile, Usage: profile}, agent, nil
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// fits checks what every provider asks of a request.
func fits(t *testing.T, p *provider, body []byte) {
	t.Helper()
	if !utf8.Valid(body) || !json.Valid(body) {
		t.Errorf("%s: this is not JSON in UTF-8: %q", p.name, body)
		return
	}
	if clean := wire.CleanJSON(string(body)); clean != string(body) {
		t.Errorf("%s: a request has half a surrogate pair, or NUL: %s", p.name, body)
	}
	var request any
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	s := seen{t: t, name: p.name, calls: make(map[string]int), answers: make(map[string]int)}
	s.walk(request)
	for id, n := range s.calls {
		if id == "" || n != 1 && p.name != "gemini" || s.answers[id] != n {
			t.Errorf("%s: %d calls with the id %q have %d answers: %s", p.name, n, id, s.answers[id], body)
		}
	}
	if len(s.answers) != len(s.calls) {
		t.Errorf("%s: %v are answered by %v", p.name, s.calls, s.answers)
	}
}

// seen is what a walk through a request has found.
type seen struct {
	t              *testing.T
	name           string
	calls, answers map[string]int
}

func (s *seen) walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			s.walk(item)
		}
	case map[string]any:
		s.object(v)
		for key, member := range v {
			// Arguments are the model's own.
			if key != "input" && key != "args" || s.name == "responses" {
				s.walk(member)
			}
		}
	case string:
		if strings.HasPrefix(v, "data:") && picture.Relabel(v) != v {
			s.t.Errorf("%s: a wrong label: %.60s", s.name, v)
		}
	}
}

func (s *seen) object(o map[string]any) {
	text := func(key string) string { v, _ := o[key].(string); return v }
	call := func(id, name, arguments string) {
		s.calls[id]++
		if !toolName.MatchString(name) {
			s.t.Errorf("%s: a call has the name %q", s.name, name)
		}
		if wire.CleanJSON(arguments) != arguments {
			s.t.Errorf("%s: arguments %q", s.name, arguments)
		}
	}
	switch text("type") {
	case "function_call":
		call(text("call_id"), text("name"), text("arguments"))
	case "function_call_output":
		s.answers[text("call_id")]++
	case "tool_use":
		call(text("id"), text("name"), "")
	case "tool_result":
		s.answers[text("tool_use_id")]++
	case "base64":
		s.label(text("media_type"), text("data"))
	case "function":
		if f, ok := o["function"].(map[string]any); ok && o["id"] != nil {
			name, _ := f["name"].(string)
			arguments, _ := f["arguments"].(string)
			call(text("id"), name, arguments)
		}
	}
	if text("role") == "tool" {
		s.answers[text("tool_call_id")]++
	}
	if f, ok := o["functionCall"].(map[string]any); ok {
		name, _ := f["name"].(string)
		call(name, name, "")
	}
	if f, ok := o["functionResponse"].(map[string]any); ok {
		name, _ := f["name"].(string)
		s.answers[name]++
	}
	if f, ok := o["toolUse"].(map[string]any); ok {
		id, _ := f["toolUseId"].(string)
		name, _ := f["name"].(string)
		call(id, name, "")
	}
	if f, ok := o["toolResult"].(map[string]any); ok {
		id, _ := f["toolUseId"].(string)
		s.answers[id]++
	}
	if kind := text("mimeType"); kind != "" {
		s.label(kind, text("data"))
	}
	if format := text("format"); format != "" {
		source, _ := o["source"].(map[string]any)
		data, _ := source["bytes"].(string)
		s.label("image/"+format, data)
	}
}

func (s *seen) label(kind, data string) {
	if url := "data:" + kind + ";base64," + data; picture.Relabel(url) != url {
		s.t.Errorf("%s: a wrong label: %.60s", s.name, url)
	}
}
