package foreign

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// parser reads calls from the beginning of a text.
type parser struct{ tools []wire.Tool }

// form is a way to write calls: marks, and what stands between them.
type form struct {
	open, end string
	read      func(p parser, s string) (calls []Call, rest string)
}

// forms lists the forms in the order in which they are tried. Their names are those of
// models that have them in their chat templates.
func forms() []form {
	return []form{
		{"<tool_call>", "</tool_call>", parser.element},                                          // Hermes, Qwen, GLM, Granite
		{"<|tool_call|>", "<|/tool_call|>", parser.json},                                         // Phi, Granite
		{"<|tool_call_start|>", "<|tool_call_end|>", parser.json},                                // LFM2
		{"<TOOLCALL>", "</TOOLCALL>", parser.json},                                               // Nemotron
		{"<|tool_call>", "<tool_call|>", parser.gemma},                                           // Gemma 4
		{"<tools>", "</tools>", parser.json},                                                     // Qwen2.5-Coder
		{"<function_call>", "</function_call>", parser.json},                                     // Granite 20B
		{"<|START_ACTION|>", "<|END_ACTION|>", parser.json},                                      // Command R7B
		{"<|python_tag|>", "", parser.json},                                                      // Llama 3.1
		{"functools[", "", func(p parser, s string) ([]Call, string) { return p.json("[" + s) }}, // Phi-4-mini, Firefunction
		{"[TOOL_CALLS]", "", parser.mistral},
		{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", parser.deepSeek},
		{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", parser.kimi},
		{"<function_calls>", "</function_calls>", parser.invokes},
		{"<minimax:tool_call>", "</minimax:tool_call>", parser.invokes},
		{"<function=", "", func(p parser, s string) ([]Call, string) { return p.function("<function=" + s) }}, // Llama 3.1, Qwen3-Coder
	}
}

// formOf is the form that a text begins with.
func formOf(s string) (form, bool) {
	all := forms()
	i := slices.IndexFunc(all, func(f form) bool { return strings.HasPrefix(s, f.open) })
	if i < 0 {
		return form{}, false
	}
	return all[i], true
}

// opens reports whether a line may begin a call. It is asked of each line of an answer,
// and is quick.
func opens(s string) bool {
	if s == "" || !strings.ContainsRune("<[f", rune(s[0])) {
		return false
	}
	_, ok := formOf(s)
	return ok
}

// all reads a text that is calls and nothing else; nil for every other.
func (p parser) all(s string) (calls []Call) {
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		f, ok := formOf(s)
		if !ok {
			return nil
		}
		found, rest := f.read(p, strings.TrimPrefix(s, f.open))
		if found == nil {
			return nil
		}
		rest = strings.TrimSpace(rest)
		if f.end != "" {
			rest = strings.TrimPrefix(rest, f.end) // a server may have taken the last one as its stop word
		}
		if len(rest) >= len(s) {
			return nil
		}
		calls, s = append(calls, found...), strings.TrimPrefix(strings.TrimSpace(rest), ";")
	}
	return once(calls)
}

// bare reads an answer that is a call as JSON and nothing else.
func (p parser) bare(s string) []Call {
	if !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return nil
	}
	calls, rest := p.json(s)
	if strings.TrimSpace(rest) != "" {
		return nil
	}
	return once(calls)
}

// once leaves out calls that are the same as the one before them.
func once(calls []Call) []Call { return slices.Compact(calls) }

func (p parser) knows(name string) bool {
	return slices.ContainsFunc(p.tools, func(t wire.Tool) bool { return t.Name == name })
}

// call is a call of a tool that is offered.
func (p parser) call(name string, arguments json.RawMessage) ([]Call, bool) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "functions.")
	args, ok := object(arguments)
	if !ok || !p.knows(name) {
		return nil, false
	}
	return []Call{{name, args}}, true
}

// value reads one JSON value.
func value(s string) (raw json.RawMessage, rest string, ok bool) {
	d := json.NewDecoder(strings.NewReader(s))
	if d.Decode(&raw) != nil {
		return nil, s, false
	}
	return raw, s[d.InputOffset():], true
}

// member are the names that a call has in JSON.
type member struct {
	Name       string          `json:"name"`
	ToolName   string          `json:"tool_name"` // Command R7B
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"` // Llama, Command R7B
	Function   *member         `json:"function"`   // OpenAI's form
}

// json reads a call, or a list of calls.
func (p parser) json(s string) (calls []Call, rest string) {
	raw, rest, ok := value(s)
	if !ok {
		return nil, s
	}
	var list []member
	if json.Unmarshal(raw, &list) != nil {
		var one member
		if json.Unmarshal(raw, &one) != nil {
			return nil, s
		}
		list = []member{one}
	}
	for _, m := range list {
		if m.Function != nil {
			m = *m.Function
		}
		if m.Arguments == nil {
			m.Arguments = m.Parameters
		}
		if m.Arguments == nil {
			return nil, s // an object that has a name
		}
		call, ok := p.call(m.Name+m.ToolName, m.Arguments)
		if !ok {
			return nil, s
		}
		calls = append(calls, call...)
	}
	return calls, rest
}

// element reads what is in a <tool_call>.
func (p parser) element(s string) (calls []Call, rest string) {
	s = strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(s, "{"), strings.HasPrefix(s, "["):
		return p.json(s)
	case strings.HasPrefix(s, "<function="):
		return p.function(s)
	}
	name, rest, found := strings.Cut(s, "<arg_key>") // GLM
	args := map[string]json.RawMessage{}
	for found {
		var key, text string
		if key, rest, found = strings.Cut(rest, "</arg_key>"); !found {
			return nil, s
		}
		if rest, found = strings.CutPrefix(strings.TrimSpace(rest), "<arg_value>"); !found {
			return nil, s
		}
		if text, rest, found = strings.Cut(rest, "</arg_value>"); !found {
			return nil, s
		}
		args[strings.TrimSpace(key)] = p.typed(strings.TrimSpace(name), strings.TrimSpace(key), text)
		rest, found = strings.CutPrefix(strings.TrimSpace(rest), "<arg_key>")
	}
	return p.made(name, args, rest)
}

// function reads <function=NAME> with an object, or with an element for each argument.
func (p parser) function(s string) (calls []Call, rest string) {
	name, rest, found := strings.Cut(strings.TrimPrefix(s, "<function="), ">")
	if !found {
		return nil, s
	}
	rest = strings.TrimSpace(rest)
	if raw, behind, ok := value(rest); ok {
		behind, closed := strings.CutPrefix(strings.TrimSpace(behind), "</function>")
		if calls, ok := p.call(name, raw); ok && (closed || behind == "") {
			return calls, behind
		}
		return nil, s
	}
	return p.parameters(strings.TrimSpace(name), rest, "<parameter=", ">", "</function>")
}

// invokes reads calls of the form <invoke name="NAME">.
func (p parser) invokes(s string) (calls []Call, rest string) {
	for rest = strings.TrimSpace(s); ; rest = strings.TrimSpace(rest) {
		inner, found := strings.CutPrefix(rest, `<invoke name="`)
		if !found {
			return calls, rest
		}
		name, inner, found := strings.Cut(inner, `">`)
		if !found {
			return nil, s
		}
		one, behind := p.parameters(name, inner, `<parameter name="`, `">`, "</invoke>")
		if one == nil {
			return nil, s
		}
		calls, rest = append(calls, one...), behind
	}
}

// parameters reads arguments as elements, up to the end of the call.
func (p parser) parameters(name, s, open, close, end string) (calls []Call, rest string) {
	args := map[string]json.RawMessage{}
	for rest = strings.TrimSpace(s); ; rest = strings.TrimSpace(rest) {
		inner, found := strings.CutPrefix(rest, open)
		if !found {
			behind, closed := strings.CutPrefix(rest, end)
			if !closed {
				return nil, s
			}
			return p.made(name, args, behind)
		}
		key, inner, found := strings.Cut(inner, close)
		text, behind, ended := strings.Cut(inner, "</parameter>")
		if !found || !ended {
			return nil, s
		}
		text = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
		args[strings.TrimSpace(key)], rest = p.typed(name, strings.TrimSpace(key), text), behind
	}
}

// made is a call of arguments that were read one by one.
func (p parser) made(name string, args map[string]json.RawMessage, rest string) ([]Call, string) {
	raw, err := wire.Marshal(args)
	if err != nil {
		return nil, rest
	}
	calls, _ := p.call(name, raw)
	return calls, rest
}

// typed returns an argument that stands as text in the form that its tool wants: as JSON
// if the schema has another type than string.
func (p parser) typed(tool, key, text string) json.RawMessage {
	quoted, err := wire.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`)
	}
	i := slices.IndexFunc(p.tools, func(t wire.Tool) bool { return t.Name == tool })
	if i < 0 {
		return quoted
	}
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(p.tools[i].Parameters, &schema) // without a schema all are strings
	kind := schema.Properties[key].Type
	if kind == nil || kind == "string" || !json.Valid([]byte(text)) {
		return quoted
	}
	return json.RawMessage(strings.TrimSpace(text))
}

// mistral reads a list of calls, or names with arguments.
func (p parser) mistral(s string) (calls []Call, rest string) {
	if s = strings.TrimSpace(s); strings.HasPrefix(s, "[{") {
		return p.json(s)
	}
	i := strings.IndexAny(s, "[{")
	if i < 0 {
		return nil, s
	}
	name, rest := s[:i], s[i:]
	if inner, found := strings.CutPrefix(rest, "[CALL_ID]"); found {
		_, args, _ := strings.Cut(inner, "[ARGS]")
		rest = args
	}
	raw, rest, ok := value(strings.TrimPrefix(rest, "[ARGS]"))
	if !ok {
		return nil, s
	}
	calls, _ = p.call(name, raw)
	return calls, rest
}

// deepSeek reads the calls of R1 and V3, which are in a code block, and of V3.1.
func (p parser) deepSeek(s string) (calls []Call, rest string) {
	for rest = strings.TrimSpace(s); ; rest = strings.TrimSpace(rest) {
		inner, found := strings.CutPrefix(rest, "<｜tool▁call▁begin｜>")
		if !found {
			return calls, rest
		}
		inner, rest, _ = strings.Cut(inner, "<｜tool▁call▁end｜>")
		name, args, found := strings.Cut(inner, "<｜tool▁sep｜>")
		if name == "function" {
			name, args, found = strings.Cut(args, "\n")
		}
		args = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(args), "```json"), "```")
		one, ok := p.call(name, json.RawMessage(args))
		if !found || !ok {
			return nil, s
		}
		calls = append(calls, one...)
	}
}

// kimi reads calls of Kimi K2: functions.NAME:0.
func (p parser) kimi(s string) (calls []Call, rest string) {
	for rest = strings.TrimSpace(s); ; rest = strings.TrimSpace(rest) {
		inner, found := strings.CutPrefix(rest, "<|tool_call_begin|>")
		if !found {
			return calls, rest
		}
		inner, rest, _ = strings.Cut(inner, "<|tool_call_end|>")
		id, args, found := strings.Cut(inner, "<|tool_call_argument_begin|>")
		name, _, _ := strings.Cut(id, ":")
		one, ok := p.call(name, json.RawMessage(args))
		if !found || !ok {
			return nil, s
		}
		calls = append(calls, one...)
	}
}
