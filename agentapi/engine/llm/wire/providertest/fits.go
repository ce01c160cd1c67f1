package providertest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/picture"
)

var toolName = pattern.Of(`^[a-zA-Z0-9_-]{1,64}$`)

// Fits checks what every provider asks of a request.
func Fits(t testing.TB, provider string, body []byte) {
	t.Helper()
	if !utf8.Valid(body) || !json.Valid(body) {
		t.Errorf("%s: this is not JSON in UTF-8: %q", provider, body)
		return
	}
	if clean := wire.CleanJSON(string(body)); clean != string(body) {
		t.Errorf("%s: a request has half a surrogate pair, or NUL: %s", provider, body)
	}
	var request any
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	s := seen{t: t, name: provider, calls: make(map[string]int), answers: make(map[string]int)}
	s.walk(request)
	for id, n := range s.calls {
		if id == "" || n != 1 && provider != "gemini" || s.answers[id] != n {
			t.Errorf("%s: %d calls with the id %q have %d answers: %s", provider, n, id, s.answers[id], body)
		}
	}
	if len(s.answers) != len(s.calls) {
		t.Errorf("%s: %v are answered by %v", provider, s.calls, s.answers)
	}
}

// seen is what a walk through a request has found.
type seen struct {
	t              testing.TB
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
		if !toolName().MatchString(name) {
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
