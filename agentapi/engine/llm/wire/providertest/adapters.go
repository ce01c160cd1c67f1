// Package providertest is providers for tests: answers of each that ohgw has an adapter
// for, faults in them, and what each asks of a request. A provider is a transport, so
// there is no network.
package providertest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// Adapter is a way to speak to a provider, with an answer of it. An answer is a
// list of the payloads of its frames.
type Adapter struct {
	Name, Model, Kind string
	Calls             []string // an answer with text, reasoning and two calls
	Text              []string // an answer of text
	Whole             string   // the first in one piece; empty: there is none
	Frames            func(payloads []string) []byte
}

// Adapters lists all of them.
func Adapters() []Adapter {
	return []Adapter{
		{
			Name: "chat", Model: "openai/gpt-4o", Kind: "text/event-stream", Frames: lineFrames,
			Calls: []string{
				`{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":"I look.","reasoning_content":"Hm."}}]}`,
				`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"look","arguments":"{\"at\":"}}]}}]}`,
				`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"it\"}"}}]}}]}`,
				`{"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"look","arguments":"{\"at\":\"that\"}"}}]}}]}`,
				`{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`,
			},
			Text:  []string{`{"id":"c2","choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}`, `[DONE]`},
			Whole: `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"I look.","reasoning":"Hm.","tool_calls":[{"id":"call_a","type":"function","function":{"name":"look","arguments":{"at":"it"}}},{"id":"call_b","function":{"name":"look","arguments":"{\"at\":\"that\"}"}}]},"finish_reason":"tool_calls"}]}`,
		},
		{
			Name: "responses", Model: "openai/gpt-5.5", Kind: "text/event-stream", Frames: lineFrames,
			Calls: []string{
				`{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"enc"}}`,
				`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_a","name":"look","arguments":""}}`,
				`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"at\":\"it\"}"}`,
				`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc_2","call_id":"call_b","name":"look","arguments":"{\"at\":\"that\"}"}}`,
				`{"type":"response.output_text.delta","output_index":3,"delta":"I look."}`,
				`{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}`,
			},
			Text: []string{
				`{"type":"response.output_text.delta","output_index":0,"delta":"Done."}`,
				`{"type":"response.completed","response":{"id":"resp_2","status":"completed","output":[]}}`,
			},
			Whole: `{"id":"resp_1","status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","id":"fc_1","call_id":"call_a","name":"look","arguments":"{\"at\":\"it\"}"},{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"I look."}]}]}`,
		},
		{
			Name: "messages", Model: "anthropic/claude-sonnet-4-5", Kind: "text/event-stream", Frames: lineFrames,
			Calls: []string{
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
			Text: []string{
				`{"type":"message_start","message":{"id":"msg_2"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Done."}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`,
			},
		},
		{
			Name: "gemini", Model: "gemini/gemini-3.1-pro-preview", Kind: "text/event-stream", Frames: lineFrames,
			Calls: []string{
				`{"responseId":"g1","candidates":[{"content":{"parts":[{"text":"Hm.","thought":true},{"text":"I look."},{"functionCall":{"id":"a","name":"look","args":{"at":"it"}},"thoughtSignature":"c2ln"}]}}]}`,
				`{"responseId":"g1","candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"at":"that"}}}]},"finishReason":"STOP"}]}`,
			},
			Text: []string{`{"responseId":"g2","candidates":[{"content":{"parts":[{"text":"Done."}]},"finishReason":"STOP"}]}`},
		},
		{
			Name: "converse", Model: "bedrock/us-east-1/anthropic.claude-sonnet-4-5-20250929-v1:0", Kind: "application/vnd.amazon.eventstream", Frames: amazonFrames,
			Calls: []string{
				`{"role":"assistant"}`, `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm."}}}`,
				`{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"c2ln"}}}`, `{"contentBlockIndex":1,"delta":{"text":"I look."}}`,
				`{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"tooluse_a","name":"look"}}}`, `{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"at\":\"it\"}"}}}`,
				`{"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"tooluse_b","name":"look"}}}`, `{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"at\":\"that\"}"}}}`,
				`{"stopReason":"tool_use"}`, `{"usage":{"inputTokens":1,"outputTokens":2}}`,
			},
			Text: []string{`{"contentBlockIndex":0,"delta":{"text":"Done."}}`, `{"stopReason":"end_turn"}`, `{"usage":{"inputTokens":1,"outputTokens":2}}`},
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

// amazonFrames packs payloads into frames whose type they say.
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
