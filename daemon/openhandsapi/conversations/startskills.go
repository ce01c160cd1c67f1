package conversations

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// readSkills reads the skills of a launch, in the form in which OpenHands stores them. It
// leaves out their MCP servers, which no agent of OpenHands starts.
func readSkills(o *pydantic.Object, name string) (list []json.RawMessage) {
	for _, item := range o.List(name) {
		in := item.Object()
		if in == nil {
			continue
		}
		named, filled := in.Need("name"), in.Need("content")
		if s := readSkill(in); named && filled {
			list = append(list, encoded(s))
		}
	}
	return list
}

// readSkill reads a skill. Whether it has a name and a content is not its business.
func readSkill(o *pydantic.Object) map[string]any {
	s := map[string]any{"name": o.String("name", ""), "content": o.String("content", ""), "mcp_tools": nil}
	trigger, byPath := readTrigger(o)
	s["trigger"] = trigger
	s["source"] = o.Text("source", 0, -1)
	if servers := o.Raw("mcp_tools"); servers != nil && servers[0] != '{' {
		o.Value("mcp_tools", "mcp_tools must be a dictionary or None")
	}
	inputs := []map[string]any{}
	for _, item := range o.List("inputs") {
		if in := item.Object(); in != nil {
			inputs = append(inputs, needed(in, "name", "description"))
		}
	}
	s["inputs"] = inputs
	s["is_agentskills_format"], s["version"] = o.Bool("is_agentskills_format", false), o.String("version", "1.0.0")
	for _, name := range []string{"description", "license", "compatibility"} {
		s[name] = o.Text(name, 0, -1)
	}
	s["metadata"], s["allowed_tools"] = readMetadata(o), readAllowed(o)
	s["disable_model_invocation"] = o.Bool("disable_model_invocation", false) || byPath // OpenHands advertises no rule for paths
	s["resources"] = readResources(o)
	return s
}

// needed are members that are texts and must be there.
func needed(o *pydantic.Object, names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		if o.Need(name) {
			out[name] = o.String(name, "")
		}
	}
	return out
}

// readTrigger reads what a skill is triggered by; nil without any.
func readTrigger(o *pydantic.Object) (trigger any, byPath bool) {
	words := map[string]string{"keyword": "keywords", "task": "triggers", "path": "paths"}
	kind, in := o.Tagged("trigger", "type", "keyword", "task", "path")
	if in == nil || !in.Need(words[kind]) {
		return nil, false
	}
	return map[string]any{"type": kind, words[kind]: in.Texts(words[kind])}, kind == "path"
}

// readMetadata reads members of any name, whose values become texts.
func readMetadata(o *pydantic.Object) any {
	raw := o.Raw("metadata")
	if raw == nil {
		return nil
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		o.Value("metadata", "metadata must be a dictionary")
		return nil
	}
	out := map[string]string{}
	for name, value := range values {
		out[name] = textOf(value)
	}
	return out
}

// textOf converts a value to the text that OpenHands makes of it.
func textOf(raw json.RawMessage) string {
	var text *string
	switch word := string(raw); {
	case word == "null":
		return "None"
	case word == "true":
		return "True"
	case word == "false":
		return "False"
	case json.Unmarshal(raw, &text) == nil && text != nil:
		return *text
	default:
		return word
	}
}

// readAllowed reads the names of tools: a list of them, or a text with spaces between them.
func readAllowed(o *pydantic.Object) any {
	raw := o.Raw("allowed_tools")
	if raw == nil {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return slices.AppendSeq([]string{}, strings.FieldsSeq(text))
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		o.Value("allowed_tools", "allowed-tools must be a string or list")
		return nil
	}
	names := []string{}
	for _, name := range list {
		names = append(names, textOf(name))
	}
	return names
}

func readResources(o *pydantic.Object) any {
	in := o.Object("resources")
	if in == nil || !in.Need("skill_root") {
		return nil
	}
	out := map[string]any{"skill_root": in.String("skill_root", "")}
	for _, name := range []string{"scripts", "references", "assets"} {
		out[name] = in.Texts(name)
	}
	return out
}
