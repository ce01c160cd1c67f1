package shape

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/llmentry"
)

// LLMObject is an LLM as it is set and served.
func LLMObject() *Object {
	return &Object{fields: servedLLM(), needs: "model", why: "model must be specified in LLM", after: finishLLM}
}

// settingsLLM is the LLM of settings, whose file has one member a line that changes: no value
// there stands for another one.
func settingsLLM() *Object {
	o := LLMObject()
	for i := range o.fields {
		o.fields[i].Like = ""
	}
	return o
}

// servedLLM are the members with the model that OpenHands takes where none is said.
// Of the options of 1.43.1, modify_params is no longer there; files keep it.
func servedLLM() []Field {
	fields := slices.DeleteFunc(LLM(), func(f Field) bool { return f.Name == "modify_params" })
	fields[0] = fields[0].Or(`"gpt-5.6"`)
	after := slices.IndexFunc(fields, func(f Field) bool { return f.Name == "timeout" }) + 1
	return append(slices.Insert(fields, after, LLMNewer()...), fallbackField())
}

// fallback is a member that OpenHands reads and never writes.
const fallback = "fallback_strategy"

func fallbackField() Field {
	return nullObject(fallback, &Object{fields: []Field{
		list("fallback_llms", Text("", ""), "").Required(), Maybe("profile_store_dir", TextKind),
	}})
}

// finishLLM does what OpenHands does to every LLM that it makes.
func finishLLM(t Tree) {
	delete(t, fallback)
	t["is_subscription"] = json.RawMessage("false")
	if t.Text("auth_type") == "subscription" {
		t["is_subscription"] = json.RawMessage("true")
	}
	if model := t.Text("model"); strings.HasPrefix(model, "azure") && t.Text("api_version") == "" {
		t["api_version"] = json.RawMessage(jsonedit.Quote(llmentry.AzureVersion))
	} else if strings.HasPrefix(model, "openai/") && strings.TrimSuffix(t.Text("base_url"), "/") == "https://api.openai.com" {
		t["base_url"] = null()
	}
}

// Text returns a member that is a text, and "" for any other member.
func (t Tree) Text(name string) string {
	var text string
	if raw, ok := t[name].(json.RawMessage); ok && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return ""
}

// Tree returns a member that is an object, and nil for any other member.
func (t Tree) Tree(name string) Tree {
	below, _ := t[name].(Tree)
	return below
}

// Raw returns a member that is neither a secret nor made of others, and nil for
// any other member.
func (t Tree) Raw(name string) json.RawMessage {
	raw, _ := t[name].(json.RawMessage)
	return raw
}

// Take sets the members of these names that another tree has, and returns t.
func (t Tree) Take(from Tree, names ...string) Tree {
	for _, name := range names {
		if value, has := from[name]; has {
			t[name] = value
		}
	}
	return t
}

// Set makes a member a text, or null.
func (t Tree) Set(name string, text *string) {
	t[name] = null()
	if text != nil {
		t[name] = json.RawMessage(jsonedit.Quote(*text))
	}
}

// With is a copy of a tree with another value of one member.
func (t Tree) With(name string, value any) Tree {
	out := maps.Clone(t)
	out[name] = value
	return out
}
