package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestHalfPairsAndNULsLeaveArguments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"command":"echo \ud99c x"}`:          `{"command":"echo \ufffd x"}`,
		`{"a":"\uDC00\ud83d\uDE00\uD83D"}`:     `{"a":"\ufffd\ud83d\uDE00\ufffd"}`,
		`{"a":"\ud83d\ud83d\ude00"}`:           `{"a":"\ufffd\ud83d\ude00"}`,
		`{"\udfff":["\u0000",{"b":"\ud800"}]}`: `{"\ufffd":["\ufffd",{"b":"\ufffd"}]}`,
		`{"a":"\\ud99c \\\ud99c \\\\u0000"}`:   `{"a":"\\ud99c \\\ufffd \\\\u0000"}`,
		`{"a":"\u00e9\n\"\ud83d\n"}`:           `{"a":"\u00e9\n\"\ufffd\n"}`,
		"{\"a\":\"\xff\xed\xa0\x80\x00é\"}":    "{\"a\":\"\uFFFD\uFFFDé\"}",
		`{"a":"\ud83`:                          `{"a":"\ud83`,
		`{"a":"\ud83d\u`:                       `{"a":"\ufffd\u`,
		`\`:                                    `\`,
		`\é\u00`:                               `\é\u00`,
		"":                                     "",
	} {
		if got := wire.CleanJSON(in); got != want {
			t.Errorf("%q: CleanJSON = %q, want %q", in, got, want)
		}
	}
}

func TestNamesThatNoProviderTakes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "unnamed", " \n": "unnamed", "terminal": "terminal", "functions.terminal": "functions_terminal", "a b\x00": "a_b_",
		"été": "_t_", "\xff": "_", strings.Repeat("x", 80): strings.Repeat("x", 64),
	} {
		if got := wire.CleanName(in); got != want {
			t.Errorf("%q: CleanName = %q, want %q", in, got, want)
		}
	}
}

func TestAMessageIsCleanedAndItsOriginLeftAlone(t *testing.T) {
	t.Parallel()
	m := event.LLMMessage{
		Role: "assistant", Content: []event.Content{event.Text("a\x00\xff")}, ReasoningContent: "\xed\xa0\x80", ToolCallID: "\x00",
		ThinkingBlocks: []json.RawMessage{json.RawMessage(`{"thinking":"\udead"}`)}, ResponsesReasoningItem: json.RawMessage(`{"id":"\ud800"}`),
		ToolCalls: []event.ToolCall{{ID: "\xff", ResponsesItemID: "\x00", Name: " ", Arguments: `{"a":"\ud800"}`}},
	}
	before, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	clean := m
	wire.Clean(&clean)
	if after, err := json.Marshal(m); err != nil || string(after) != string(before) {
		t.Errorf("%s\nbecame\n%s, %v", before, after, err)
	}
	data, err := json.Marshal(clean)
	if want := `"content":[{"cache_prompt":false,"type":"text","text":"a��"}]`; err != nil || !strings.Contains(string(data), want) || halfPairs(data) {
		t.Errorf("JSON = %s, error %v", data, err)
	}
	if c := clean.ToolCalls[0]; c.Name != "unnamed" || c.Arguments != `{"a":"\ufffd"}` || c.ID != "\uFFFD" || c.ResponsesItemID != "\uFFFD" {
		t.Errorf("tool call = %+v", c)
	}
}

// A second piece with an id and without a name is a call without a name, whatever
// comes with it.
func TestACallWithoutANameHasOne(t *testing.T) {
	t.Parallel()
	for name, feed := range map[string]func(*wire.Builder){
		"a second id":     func(b *wire.Builder) { b.Call(0, "a", "f", "{}"); b.Call(0, "b", "", "") },
		"a second slot":   func(b *wire.Builder) { b.Call(0, "a", "f", "{}"); b.Call(1, "b", "", `{"x":1}`) },
		"blanks":          func(b *wire.Builder) { b.Call(0, "a", "f", "{}"); b.Call(3, "", " \t", `{"x":1}`) },
		"arguments alone": func(b *wire.Builder) { b.Call(7, "a", "f", "{}"); b.Call(2, "", "", `{"x":`); b.Call(2, "", "", `1}`) },
		"the name comes behind": func(b *wire.Builder) {
			b.Call(0, "a", "f", "{}")
			b.Call(1, "b", "", "")
			b.Call(1, "b", "unnamed", "")
		},
	} {
		b := wire.NewBuilder(nil, func() string { return "made" })
		feed(b)
		calls := b.Message().ToolCalls
		if len(calls) != 2 || calls[0].Name != "f" || calls[1].Name != "unnamed" || calls[1].ID == "" {
			t.Errorf("%s: calls = %+v", name, calls)
		}
	}
}

// halfPairs reports whether JSON has the escape of half a surrogate pair.
func halfPairs(data []byte) bool { return wire.CleanJSON(string(data)) != string(data) }

func FuzzCleanJSON(f *testing.F) {
	f.Add(`{"a":"\ud800\udc00\ud800"}`)
	f.Add(`"\\\u0000\\ud800"`)
	f.Add("\"\xff\x00\"")
	f.Fuzz(func(t *testing.T, s string) {
		clean := wire.CleanJSON(s)
		if !utf8.ValidString(clean) || wire.CleanJSON(clean) != clean {
			t.Errorf("%q becomes %q", s, clean)
		}
		if json.Valid([]byte(s)) && !json.Valid([]byte(clean)) {
			t.Errorf("%q is JSON, and becomes %q", s, clean)
		}
		var before, after any
		if utf8.ValidString(s) && json.Unmarshal([]byte(s), &before) == nil && !strings.Contains(s, "u0000") {
			a, _ := json.Marshal(before)
			if err := json.Unmarshal([]byte(clean), &after); err != nil {
				t.Fatal(err)
			}
			if b, _ := json.Marshal(after); string(a) != string(b) {
				t.Errorf("%q says something else: %q", s, clean)
			}
		}
	})
}
