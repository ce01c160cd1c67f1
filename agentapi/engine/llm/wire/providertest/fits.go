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
	s.typed(o)
	s.keyed(o)
	if text(o, "role") == "tool" {
		s.answers[text(o, "tool_call_id")]++
	}
	if kind := text(o, "mimeType"); kind != "" {
		s.label(kind, text(o, "data"))
	}
	if format := text(o, "format"); format != "" {
		source, _ := o["source"].(map[string]any)
		s.label("image/"+format, text(source, "bytes"))
	}
}

func text(o map[string]any, key string) string { v, _ := o[key].(string); return v }

func (s *seen) call(id, name, arguments string) {
	s.calls[id]++
	if !toolName().MatchString(name) {
		s.t.Errorf("%s: a call has the name %q", s.name, name)
	}
	if wire.CleanJSON(arguments) != arguments {
		s.t.Errorf("%s: arguments %q", s.name, arguments)
	}
}

// typed takes the calls and answers of formats that have a type in each.
func (s *seen) typed(o map[string]any) {
	switch text(o, "type") {
	case "function_call":
		s.call(text(o, "call_id"), text(o, "name"), text(o, "arguments"))
	case "function_call_output":
		s.answers[text(o, "call_id")]++
	case "tool_use":
		s.call(text(o, "id"), text(o, "name"), "")
	case "tool_result":
		s.answers[text(o, "tool_use_id")]++
	case "base64":
		s.label(text(o, "media_type"), text(o, "data"))
	case "function":
		if f, ok := o["function"].(map[string]any); ok && o["id"] != nil {
			s.call(text(o, "id"), text(f, "name"), text(f, "arguments"))
		}
	}
}

// keyed takes those of formats that have a member for each.
func (s *seen) keyed(o map[string]any) {
	if f, ok := o["functionCall"].(map[string]any); ok {
		s.call(text(f, "name"), text(f, "name"), "")
	}
	if f, ok := o["functionResponse"].(map[string]any); ok {
		s.answers[text(f, "name")]++
	}
	if f, ok := o["toolUse"].(map[string]any); ok {
		s.call(text(f, "toolUseId"), text(f, "name"), "")
	}
	if f, ok := o["toolResult"].(map[string]any); ok {
		s.answers[text(f, "toolUseId")]++
	}
}

func (s *seen) label(kind, data string) {
	if url := "data:" + kind + ";base64," + data; picture.Relabel(url) != url {
		s.t.Errorf("%s: a wrong label: %.60s", s.name, url)
	}
}
