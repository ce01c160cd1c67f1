package openai_test

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ohgw/ohgw/daemon/openai"
)

const awkward = "a\"b\\c\n\r\t\x00\x1f\u2028\u2029<&>é😀\xff"

var usage = openai.NewUsage(1834, 212, 1024, 64)

func schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "schemas", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid fails unless data is one line of JSON that fits the schema; it returns
// the value.
func valid(t *testing.T, s *jsonschema.Schema, data []byte) map[string]any {
	t.Helper()
	if bytes.ContainsAny(data, "\r\n\u2028\u2029") || !utf8.Valid(data) {
		t.Errorf("not one line of text: %q", data)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("read the JSON: %v: %s", err, data)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("check the JSON by its schema: %v: %s", err, data)
	}
	return v.(map[string]any)
}

func TestEveryChunkFitsTheSchema(t *testing.T) {
	t.Parallel()
	s := schema(t, "chat-completion-chunk")
	for _, withUsage := range []bool{false, true} {
		c := openai.NewChunks("chatcmpl-1", awkward, 1790000000, withUsage)
		chunks := map[string][]byte{
			"role":      c.Role(nil),
			"heartbeat": c.Heartbeat(nil, 0),
			"queued":    c.Heartbeat(nil, 3),
			"content":   c.Content(nil, awkward),
			"reasoning": c.Reasoning(nil, awkward),
			"refusal":   c.Refusal(nil, awkward),
			"call":      c.Call(nil, awkward, awkward),
			"arguments": c.Arguments(nil, awkward),
			"finish":    c.Finish(nil, openai.FinishStop, nil),
			"extended":  c.Finish(nil, openai.FinishLength, &openai.Extension{RunStatus: "error", Message: awkward, Code: "x"}),
			"paid":      c.Finish(nil, openai.FinishStop, &openai.Extension{RunStatus: "finished", Cost: 1e-7}),
			"waiting":   c.Finish(nil, openai.FinishStop, &openai.Extension{RunStatus: "waiting_for_confirmation", Waiting: []openai.WaitingAction{{Tool: awkward, Line: awkward}, {Tool: "b"}}}),
		}
		for name, data := range chunks {
			v := valid(t, s, data)
			usage, has := v["usage"]
			if has != withUsage || usage != nil {
				t.Errorf("%s: usage %v, present %t", name, usage, has)
			}
			if _, has := v["error"]; has {
				t.Errorf("%s has an error key", name)
			}
			choice := v["choices"].([]any)[0].(map[string]any)
			if _, is := choice["delta"].(map[string]any); !is {
				t.Errorf("%s: delta %v", name, choice["delta"])
			}
			reason, has := choice["finish_reason"]
			if ends := !strings.Contains("role heartbeat queued content reasoning refusal call arguments", name); !has || (reason != nil) != ends {
				t.Errorf("%s: finish_reason %v", name, reason)
			}
		}
		v := valid(t, s, c.Usage(nil, usage))
		if len(v["choices"].([]any)) != 0 || v["usage"] == nil {
			t.Errorf("usage chunk %v", v)
		}
	}
}

func TestChunksReadAsTheReferenceShowsThem(t *testing.T) {
	t.Parallel()
	c := openai.NewChunks("chatcmpl-0198c9d2f0a57b1c8e3d4f5a6b7c8d9e", "openhands_default", 1790000000, true)
	const head = `{"id":"chatcmpl-0198c9d2f0a57b1c8e3d4f5a6b7c8d9e","object":"chat.completion.chunk","created":1790000000,"model":"openhands_default","service_tier":"default","system_fingerprint":"fp_ohgw_1","choices":`
	for _, tc := range []struct {
		got  []byte
		want string
	}{
		{c.Role(nil), head + `[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}`},
		{c.Reasoning(nil, "$ go test ./...\n"), head + `[{"index":0,"delta":{"reasoning_content":"$ go test ./...\n"},"logprobs":null,"finish_reason":null}],"usage":null}`},
		{c.Content(nil, "The tests "), head + `[{"index":0,"delta":{"content":"The tests "},"logprobs":null,"finish_reason":null}],"usage":null}`},
		{c.Finish(nil, "stop", nil), head + `[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}`},
		{c.Usage(nil, usage), head + `[],"usage":{"prompt_tokens":1834,"completion_tokens":212,"total_tokens":2046,"prompt_tokens_details":{"cached_tokens":1024,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":64,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`},
	} {
		if diff := cmp.Diff(tc.want, string(tc.got)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestExtensionsAreWhatTheirTypeSays(t *testing.T) {
	t.Parallel()
	c := openai.NewChunks("chatcmpl-1", "m", 1, false)
	awkward := strings.ToValidUTF8(awkward, "\uFFFD")
	for _, want := range []openai.Extension{
		{RunStatus: "finished", Cost: 0.0213},
		{RunStatus: "error", Message: awkward, Code: awkward},
		{RunStatus: "finished", Goal: &openai.GoalEnd{Status: "complete", Rounds: 3, MaxRounds: 10}},
		{RunStatus: "finished", Goal: &openai.GoalEnd{Status: "capped", Rounds: 1, MaxRounds: 1, Missing: awkward}},
		{RunStatus: "waiting_for_confirmation", Message: "x", TextBefore: 7, Cost: 12, Waiting: []openai.WaitingAction{
			{Tool: "terminal", Line: awkward}, {Tool: awkward, Line: "b"},
		}},
	} {
		for _, data := range [][]byte{c.Finish(nil, openai.FinishStop, &want), (&openai.Completion{Finish: openai.FinishStop, Extension: &want}).Append(nil)} {
			var got struct {
				Extension openai.Extension `json:"ohgw"`
			}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatalf("read the JSON: %v: %s", err, data)
			}
			if diff := cmp.Diff(want, got.Extension); diff != "" {
				t.Error(diff)
			}
		}
	}
	if data := c.Heartbeat(nil, 12); !strings.HasSuffix(string(data), `,"ohgw":{"queue":12}}`) {
		t.Errorf("a heartbeat in the queue: %s", data)
	}
	if data := c.Finish(nil, openai.FinishStop, &openai.Extension{Cost: math.Inf(1)}); !json.Valid(data) {
		t.Errorf("the answer = %s, want valid JSON", data)
	}
}

func TestCompletionFitsTheSchema(t *testing.T) {
	t.Parallel()
	s := schema(t, "chat-completion")
	for name, c := range map[string]openai.Completion{
		"plain":    {ID: "chatcmpl-1", Model: "m", Created: 1, Content: awkward, Finish: openai.FinishStop, Usage: usage},
		"progress": {ID: "chatcmpl-1", Model: "m", Created: 1, Reasoning: awkward, Finish: openai.FinishLength},
		"failed":   {ID: "chatcmpl-1", Model: "m", Created: 1, Finish: openai.FinishStop, Extension: &openai.Extension{RunStatus: "error", Message: "x", Code: "run_error"}},
	} {
		v := valid(t, s, c.Append(nil))
		choice := v["choices"].([]any)[0].(map[string]any)
		message := choice["message"].(map[string]any)
		for _, key := range []string{"refusal", "content"} {
			if got, has := message[key]; !has || key == "refusal" && got != nil {
				t.Errorf("%s: %s is %v", name, key, got)
			}
		}
		for _, key := range []string{"tool_calls", "function_call", "audio"} {
			if _, has := message[key]; has {
				t.Errorf("%s has %s", name, key)
			}
		}
		if _, has := message["reasoning_content"]; has != (c.Reasoning != "") {
			t.Errorf("%s: reasoning_content present %t", name, has)
		}
		if got, has := choice["logprobs"]; !has || got != nil {
			t.Errorf("%s: logprobs %v", name, got)
		}
		if _, has := v["usage"].(map[string]any)["completion_tokens_details"]; !has {
			t.Errorf("%s: usage %v", name, v["usage"])
		}
		if _, has := v["ohgw"]; has != (c.Extension != nil) {
			t.Errorf("%s: extension present %t", name, has)
		}
	}
}

func TestEnvelopeFitsTheSchema(t *testing.T) {
	t.Parallel()
	s := schema(t, "error-response")
	for _, e := range []openai.Error{
		{Message: awkward, Type: openai.TypeInvalidRequest, Param: "messages[0]", Code: openai.CodeInvalidType},
		{Message: "No key.", Type: openai.TypeInvalidRequest},
	} {
		data := e.AppendEnvelope(nil)
		v := valid(t, s, data)["error"].(map[string]any)
		if len(v) != 4 || !strings.HasPrefix(string(data), `{"error":`) {
			t.Errorf("envelope %s", data)
		}
		if (v["param"] == nil) != (e.Param == "") || (v["code"] == nil) != (e.Code == "") {
			t.Errorf("envelope %s", data)
		}
	}
}

func TestModelsFitTheSchema(t *testing.T) {
	t.Parallel()
	m := openai.Model{ID: "openhands_a", Object: "model", Created: 1790000000, OwnedBy: "openhands", Name: "OpenHands (a)", Extension: openai.ModelExtension{Kind: "agent"}}
	for name, v := range map[string]any{"model": m, "model-list": openai.ModelList{Object: "list", Data: []openai.Model{m}}} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		valid(t, schema(t, name), data)
	}
}

func TestPieceFitsAFrameAndCutsNoCharacter(t *testing.T) {
	t.Parallel()
	c := openai.NewChunks("chatcmpl-"+strings.Repeat("0", 32), strings.Repeat("m", 256), 1790000000, true)
	for _, unit := range []string{"x", "\x01", "é", "世", "😀", "\xff", "a😀"} {
		text := strings.Repeat(unit, 200_000/len(unit))
		var joined strings.Builder
		for rest := text; rest != ""; {
			var piece string
			piece, rest = openai.Piece(rest)
			joined.WriteString(piece)
			if size := len(c.Content(nil, piece)) + len("data: \n\n"); size > openai.MaxFrame {
				t.Fatalf("%q: a frame of %d bytes", unit, size)
			}
			if utf8.ValidString(text) && !utf8.ValidString(piece) {
				t.Fatalf("%q: a piece cuts a character", unit)
			}
		}
		if joined.String() != text {
			t.Errorf("%q: the pieces are not the text", unit)
		}
	}
}

func TestHistoryIsQuotedNewestFirst(t *testing.T) {
	t.Parallel()
	history := []openai.Turn{{"user", "one\nline two"}, {"assistant", "two\r\n> The new message of the user:"}, {"user", "three\u2028four"}}
	const tail = "The new message of the user:\n\n"
	const turn1 = "> User: one\n> line two\n\n"
	const turn2 = "> Assistant: two\n> > The new message of the user:\n\n"
	const turn3 = "> User: three\n> four\n\n"
	const intro = "Earlier turns of this chat, quoted as background:\n\n"
	for name, tc := range map[string]struct {
		history []openai.Turn
		limit   int
		want    string
	}{
		"all":        {history, 1000, intro + turn1 + turn2 + turn3 + tail},
		"the newest": {history, len(turn2) + len(turn3), intro + "> […]\n\n" + turn2 + turn3 + tail},
		"no room":    {history, 5, ""},
		"no history": {nil, 1000, ""},
	} {
		if diff := cmp.Diff(tc.want, openai.Quote(tc.history, tc.limit)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestLongTurnsLoseTheirMiddle(t *testing.T) {
	t.Parallel()
	got := openai.Quote([]openai.Turn{{"assistant", "BEGIN" + strings.Repeat("😀", 20_000) + "END"}}, 64<<10)
	if !utf8.ValidString(got) || len(got) > 20<<10 || !strings.Contains(got, "> Assistant: BEGIN") || !strings.Contains(got, "\n> […]\n> ") || !strings.Contains(got, "END\n") {
		t.Errorf("%d bytes, %q…%q", len(got), got[:100], got[len(got)-100:])
	}
}

func FuzzTextSurvivesAChunk(f *testing.F) {
	f.Add(awkward)
	f.Fuzz(func(t *testing.T, text string) {
		data := openai.NewChunks("i", text, 1, false).Content(nil, text)
		var v struct {
			Model   string `json:"model"`
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var replaced string
		if err := json.Unmarshal(want, &replaced); err != nil {
			t.Fatal(err)
		}
		if v.Choices[0].Delta.Content != replaced || v.Model != replaced {
			t.Fatalf("%q became %q", text, v.Choices[0].Delta.Content)
		}
	})
}

func BenchmarkContentChunk(b *testing.B) {
	c := openai.NewChunks("chatcmpl-0198c9d2f0a57b1c8e3d4f5a6b7c8d9e", "openhands_default", 1790000000, true)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = c.Content(buf[:0], "The tests pass. ")
	}
}
