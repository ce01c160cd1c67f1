package converse_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/converse"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/wiretest"
	"github.com/ohgw/ohgw/agentapi/event"
)

// frame encodes one message of the stream. Values of headers are texts.
func frame(payload string, headers ...string) string {
	var head bytes.Buffer
	head.WriteByte(byte(len("flag")))
	head.WriteString("flag\x00") // a header of another type: true
	for i := 0; i < len(headers); i += 2 {
		head.WriteByte(byte(len(headers[i])))
		head.WriteString(headers[i])
		head.WriteByte(7)
		_ = binary.Write(&head, binary.BigEndian, uint16(len(headers[i+1])))
		head.WriteString(headers[i+1])
	}
	var b bytes.Buffer
	const overhead = 16
	_ = binary.Write(&b, binary.BigEndian, uint32(overhead+head.Len()+len(payload)))
	_ = binary.Write(&b, binary.BigEndian, uint32(head.Len()))
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()))
	b.Write(head.Bytes())
	b.WriteString(payload)
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(b.Bytes()))
	return b.String()
}

func said(kind, payload string) string {
	return frame(payload, ":event-type", kind, ":content-type", "application/json", ":message-type", "event")
}

func answer() (before, end string) {
	before = said("messageStart", `{"role":"assistant"}`) +
		said("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Look "}}}`) +
		said("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"first."}}}`) +
		said("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"sig+/=="}}}`) +
		said("contentBlockStop", `{"contentBlockIndex":0}`) +
		said("contentBlockDelta", `{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"cmVk"}}}`) +
		said("contentBlockStop", `{"contentBlockIndex":1}`) +
		said("contentBlockDelta", `{"contentBlockIndex":2,"delta":{"text":"I look."}}`) +
		said("contentBlockStop", `{"contentBlockIndex":2}`) +
		said("contentBlockStart", `{"contentBlockIndex":3,"start":{"toolUse":{"toolUseId":"tooluse_1","name":"terminal"}}}`) +
		said("contentBlockDelta", `{"contentBlockIndex":3,"delta":{"toolUse":{"input":"{\"command\":"}}}`) +
		said("contentBlockDelta", `{"contentBlockIndex":3,"delta":{"toolUse":{"input":"\"ls\"}"}}}`) +
		said("contentBlockStop", `{"contentBlockIndex":3}`)
	end = said("messageStop", `{"stopReason":"tool_use"}`) +
		said("metadata", `{"usage":{"inputTokens":10,"outputTokens":20,"totalTokens":1330,"cacheReadInputTokens":1000,"cacheWriteInputTokens":300},"metrics":{"latencyMs":5}}`)
	return before, end
}

// check reads a stream; the answer must be want however the bytes arrive.
func check(t *testing.T, body string, want wiretest.Answer) {
	t.Helper()
	for way, r := range wiretest.Readers(body) {
		got, err := wiretest.Read(converse.Dialect{}, r, false)
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
	before, end := answer()
	check(t, before+end, wiretest.Answer{
		Finish: wire.Stop,
		Message: wiretest.Message("I look.", "Look first.",
			[]string{`{"type":"thinking","thinking":"Look first.","signature":"sig+/=="}`, `{"type":"redacted_thinking","data":"cmVk"}`},
			event.ToolCall{ID: "tooluse_1", Name: "terminal", Arguments: `{"command":"ls"}`, Origin: "completion"}),
		Usage: event.TokenUsage{PromptTokens: 1310, CompletionTokens: 20, CacheReadTokens: 1000, CacheWriteTokens: 300},
		Text:  "I look.", Reasoning: "Look first.", Calls: []string{`tooluse_1 terminal {"command":"ls"}`},
	})
}

func TestACutAnswerIsNone(t *testing.T) {
	t.Parallel()
	before, end := answer()
	if part, taken := wiretest.TakenForWhole(converse.Dialect{}, before+end, end); taken {
		t.Errorf("this part is taken for an answer:\n%s", part)
	}
}

func TestDamagedFramesAreNoAnswer(t *testing.T) {
	t.Parallel()
	before, end := answer()
	whole := before + end
	for i := 0; i < len(before); i += 7 {
		damaged := []byte(whole)
		damaged[i] ^= 0x20
		if _, err := wiretest.Read(converse.Dialect{}, bytes.NewReader(damaged), false); !errors.Is(err, wire.ErrCut) {
			t.Fatalf("byte %d changed: error %v, want ErrCut", i, err)
		}
	}
}

func TestExceptionsInsideTheStream(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]int{
		"throttlingException": http.StatusTooManyRequests, "serviceUnavailableException": http.StatusServiceUnavailable,
		"validationException": http.StatusBadRequest, "modelTimeoutException": http.StatusGatewayTimeout,
		"modelStreamErrorException": http.StatusInternalServerError, "somethingNewException": http.StatusInternalServerError,
	} {
		before, _ := answer()
		body := before + frame(`{"message":"no"}`, ":message-type", "exception", ":exception-type", kind)
		_, err := wiretest.Read(converse.Dialect{}, strings.NewReader(body), false)
		refusal, ok := errors.AsType[*wire.Failure](err)
		if !ok || refusal.Status != want || refusal.Message != "no" {
			t.Errorf("%s: %v, want status %d", kind, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	before, end := answer()
	f.Add([]byte(before + end))
	f.Add([]byte(frame(`{}`, ":message-type", "exception")))
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _ = wiretest.Read(converse.Dialect{}, bytes.NewReader(body), false)
	})
}
