//go:build e2e && linux

package providers_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"regexp"
	"strings"
)

// What the model of every provider says: in its odd answers it thinks, says a
// word and calls the tool, in the others it only says a word.
const (
	thought   = "I should look."
	said      = "I look."
	done      = "I have seen it."
	signature = "c2lnbmF0dXJl"
)

// call is a call of the tool. Its id has Mistral's form, which all others take.
type call struct{ id, arguments string }

// calls are the calls of the step-th answer of a turn.
func calls(step int) []call {
	switch step {
	case 1:
		return []call{{"abcDEF123", `{"path":"/a.txt"}`}, {"abcDEF456", `{"path":"/b.txt"}`}}
	case 3:
		return []call{{"abcDEF789", `{"path":"/c.png"}`}}
	}
	return nil
}

// answer answers the step-th request of a turn, which begins at 1.
func answer(w http.ResponseWriter, r request, step int) {
	calls := calls(step)
	switch path := r.path; {
	case strings.HasSuffix(path, "/chat/completions"):
		events(w, chatAnswer(r, calls))
	case strings.HasSuffix(path, "/responses"):
		named(w, responsesAnswer(calls))
	case strings.HasSuffix(path, "/v1/messages"):
		named(w, messagesAnswer(calls))
	case strings.HasSuffix(path, ":streamGenerateContent"):
		events(w, geminiAnswer(calls))
	case strings.HasSuffix(path, "/converse-stream"):
		converseAnswer(w, r, calls)
	case path == "/api/chat", path == "/api/generate":
		ollamaAnswer(w, path, calls)
	default:
		http.Error(w, `{"error":{"message":"the recorder does not know this path"}}`, http.StatusTeapot)
	}
}

// events writes frames that have data only, and the end mark of OpenAI.
func events(w http.ResponseWriter, frames []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, frame := range frames {
		_, _ = fmt.Fprintf(w, "data: %s\n\n", frame)
	}
}

// named writes frames that have the name of their type.
func named(w http.ResponseWriter, frames []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, frame := range frames {
		var head struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(frame), &head)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", head.Type, frame)
	}
}

func chatAnswer(r request, calls []call) []string {
	chunk := func(choice string) string {
		return `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[` + choice + `]}`
	}
	delta := func(delta string) string { return chunk(`{"index":0,"delta":` + delta + `,"finish_reason":null}`) }
	const usage = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`
	if len(calls) == 0 {
		return []string{
			delta(`{"role":"assistant","content":"` + done + `"}`),
			chunk(`{"index":0,"delta":{},"finish_reason":"stop"}`), usage, "[DONE]",
		}
	}
	frames := []string{delta(`{"role":"assistant","content":""}`)}
	for _, reasoning := range reasoningDeltas(r) {
		frames = append(frames, delta(reasoning))
	}
	frames = append(frames, delta(`{"content":"`+said+`"}`))
	for i, c := range calls {
		frames = append(frames, delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"look","arguments":%q}%s}]}`,
			i, c.id, c.arguments, extraOfCall(r, i))))
	}
	return append(frames, chunk(`{"index":0,"delta":{},"finish_reason":"tool_calls"}`), usage, "[DONE]")
}

// reasoningDeltas are the thought as the provider spells it.
func reasoningDeltas(r request) []string {
	switch {
	case strings.HasPrefix(r.host, "openrouter."):
		return []string{`{"reasoning":"` + thought + `","reasoning_details":[{"type":"reasoning.text","text":"` + thought +
			`","signature":"` + signature + `","format":"anthropic-claude-v1","index":0}]}`}
	case strings.HasPrefix(r.host, "llm-proxy.") || strings.HasPrefix(r.host, "litellm."):
		if !r.bodyHas("claude") {
			break
		}
		return []string{
			`{"reasoning_content":"` + thought + `","thinking_blocks":[{"type":"thinking","thinking":"` + thought + `"}]}`,
			`{"reasoning_content":"","thinking_blocks":[{"type":"thinking","thinking":"","signature":"` + signature + `"}]}`,
		}
	case strings.HasPrefix(r.host, "api.openai.") || strings.HasSuffix(r.host, ".openai.azure.com"):
		return nil // which shows no reasoning in chats
	}
	return []string{`{"reasoning_content":"` + thought + `"}`}
}

// extraOfCall is what stands beside a call: the signature of Gemini 3.
func extraOfCall(r request, index int) string {
	if index > 0 || !strings.Contains(r.path, "/openai/") || !strings.HasPrefix(r.host, "generativelanguage.") {
		return ""
	}
	return `,"extra_content":{"google":{"thought_signature":"` + signature + `"}}`
}

func responsesAnswer(calls []call) []string {
	item := func(text string) string {
		return `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"` + text + `","annotations":[]}]}`
	}
	items := []string{item(done)}
	if len(calls) > 0 {
		items = []string{
			`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"` + thought + `"}],"encrypted_content":"` + signature + `"}`,
			item(said),
		}
		for _, c := range calls {
			items = append(items, fmt.Sprintf(`{"type":"function_call","id":%q,"call_id":%q,"name":"look","arguments":%q,"status":"completed"}`,
				"fc_"+c.id, c.id, c.arguments))
		}
	}
	response := func(status, output, usage string) string {
		return `{"id":"resp_1","object":"response","created_at":1,"status":"` + status + `","model":"m","output":[` + output +
			`],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":` + usage + `}`
	}
	frames := []string{`{"type":"response.created","sequence_number":0,"response":` + response("in_progress", "", "null") + `}`}
	for i, it := range items {
		frames = append(frames,
			fmt.Sprintf(`{"type":"response.output_item.added","sequence_number":%d,"output_index":%d,"item":%s}`, 2*i+1, i, it),
			fmt.Sprintf(`{"type":"response.output_item.done","sequence_number":%d,"output_index":%d,"item":%s}`, 2*i+2, i, it))
	}
	const usage = `{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":0},"output_tokens_details":{"reasoning_tokens":1}}`
	return append(frames, fmt.Sprintf(`{"type":"response.completed","sequence_number":%d,"response":%s}`,
		2*len(items)+1, response("completed", strings.Join(items, ","), usage)))
}

func messagesAnswer(calls []call) []string {
	index := -1
	var frames []string
	block := func(start string, deltas ...string) {
		index++
		frames = append(frames, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start))
		for _, d := range deltas {
			frames = append(frames, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d))
		}
		frames = append(frames, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
	}
	text := func(text string) {
		block(`{"type":"text","text":""}`, `{"type":"text_delta","text":"`+text+`"}`)
	}
	frames = append(frames, `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}`)
	stop := "end_turn"
	if len(calls) > 0 {
		stop = "tool_use"
		block(`{"type":"thinking","thinking":"","signature":""}`,
			`{"type":"thinking_delta","thinking":"`+thought+`"}`, `{"type":"signature_delta","signature":"`+signature+`"}`)
		text(said)
		for _, c := range calls {
			block(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"look","input":{}}`, c.id),
				fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, c.arguments))
		}
	} else {
		text(done)
	}
	return append(frames, `{"type":"message_delta","delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":5}}`, `{"type":"message_stop"}`)
}

func geminiAnswer(calls []call) []string {
	frame := func(parts, finish string) string {
		return `{"candidates":[{"index":0,"content":{"role":"model","parts":[` + parts + `]}` + finish +
			`}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15},"modelVersion":"m","responseId":"r1"}`
	}
	const stop = `,"finishReason":"STOP"`
	if len(calls) == 0 {
		return []string{frame(`{"text":"`+done+`"}`, stop)}
	}
	var parts []string
	for i, c := range calls {
		signed := ""
		if i == 0 {
			signed = `,"thoughtSignature":"` + signature + `"`
		}
		parts = append(parts, `{"functionCall":{"name":"look","args":`+c.arguments+`}`+signed+`}`)
	}
	return []string{
		frame(`{"text":"`+thought+`","thought":true}`, ""),
		frame(`{"text":"`+said+`"}`, ""),
		frame(strings.Join(parts, ","), stop),
	}
}

// claudeThinks are the paths of models at Bedrock that sign their thoughts.
var claudeThinks = regexp.MustCompile(`claude-(3-7|sonnet|opus|haiku)`)

// converseAnswer writes Bedrock's binary frames.
func converseAnswer(w http.ResponseWriter, r request, calls []call) {
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	write := func(event, payload string) { _, _ = w.Write(amazonFrame(event, payload)) }
	index := -1
	block := func(start string, deltas ...string) {
		index++
		if start != "" {
			write("contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":%s}`, index, start))
		}
		for _, d := range deltas {
			write("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":%s}`, index, d))
		}
		write("contentBlockStop", fmt.Sprintf(`{"contentBlockIndex":%d}`, index))
	}
	write("messageStart", `{"role":"assistant"}`)
	stop := "end_turn"
	if len(calls) > 0 {
		stop = "tool_use"
		if claudeThinks.MatchString(r.path) {
			block("", `{"reasoningContent":{"text":"`+thought+`"}}`, `{"reasoningContent":{"signature":"`+signature+`"}}`)
		}
		block("", `{"text":"`+said+`"}`)
		for _, c := range calls {
			block(fmt.Sprintf(`{"toolUse":{"toolUseId":%q,"name":"look"}}`, c.id), fmt.Sprintf(`{"toolUse":{"input":%q}}`, c.arguments))
		}
	} else {
		block("", `{"text":"`+done+`"}`)
	}
	write("messageStop", `{"stopReason":"`+stop+`"}`)
	write("metadata", `{"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15},"metrics":{"latencyMs":1}}`)
}

// amazonFrame is a frame of application/vnd.amazon.eventstream.
func amazonFrame(event, payload string) []byte {
	var headers bytes.Buffer
	for _, h := range [][2]string{{":event-type", event}, {":content-type", "application/json"}, {":message-type", "event"}} {
		headers.WriteByte(byte(len(h[0])))
		headers.WriteString(h[0])
		headers.WriteByte(7) // a text
		_ = binary.Write(&headers, binary.BigEndian, uint16(len(h[1])))
		headers.WriteString(h[1])
	}
	const around = 16 // lengths and checksums
	frame := binary.BigEndian.AppendUint32(nil, uint32(around+headers.Len()+len(payload)))
	frame = binary.BigEndian.AppendUint32(frame, uint32(headers.Len()))
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
	frame = append(append(frame, headers.Bytes()...), payload...)
	return binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
}

// ollamaAnswer is Ollama's own API, a JSON object a line.
func ollamaAnswer(w http.ResponseWriter, path string, calls []call) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	text := done
	if len(calls) > 0 {
		text = said
	}
	if path == "/api/generate" {
		_, _ = fmt.Fprintf(w, "{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"response\":%q,\"done\":false}\n", text)
		_, _ = fmt.Fprintln(w, `{"model":"m","created_at":"2026-01-01T00:00:00Z","response":"","done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5}`)
		return
	}
	message := func(rest string) {
		_, _ = fmt.Fprintf(w, "{\"model\":\"m\",\"created_at\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",%s},\"done\":false}\n", rest)
	}
	if len(calls) > 0 {
		message(`"content":"","thinking":"` + thought + `"`)
	}
	message(fmt.Sprintf(`"content":%q`, text))
	if len(calls) > 0 {
		var written []string
		for _, c := range calls {
			written = append(written, `{"function":{"name":"look","arguments":`+c.arguments+`}}`)
		}
		message(`"content":"","tool_calls":[` + strings.Join(written, ",") + `]`)
	}
	_, _ = fmt.Fprintln(w, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5}`)
}
