package textcall

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/agentapi/event"
)

const rules = `# Calling tools

You act by calling the tools listed below. A call is written like this, at the very end of your message:

<function=name_of_the_tool>
<parameter=first_parameter>value</parameter>
<parameter=second_parameter>
a value
of several lines
</parameter>
</function>

- One call in a message, and nothing behind it. You may say before it what you are about to do.
- Give every required parameter. Use only parameters that the tool has.
- Write values as they are: no quotes around texts, no escapes. Lists and objects are JSON.
- The result reaches you in the next message. Wait for it; never write it yourself.
- Without a call your message is your answer to the user.

# Tools
`

// describe writes what the system message says about tools.
func describe(tools []wire.Tool) string {
	var b strings.Builder
	b.WriteString(rules)
	for _, t := range tools {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", t.Name, strings.TrimSpace(t.Description))
		s := parseSchema(t.Parameters)
		if len(s.order) == 0 {
			b.WriteString("\nIt has no parameters.\n")
			continue
		}
		b.WriteString("\nParameters:\n")
		s.describe(&b, "")
	}
	return b.String()
}

// schema is the part of a JSON schema that is told and checked.
type schema struct {
	Type        json.RawMessage            `json:"type"` // a name, or a list of names
	Description string                     `json:"description"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
	Items       json.RawMessage            `json:"items"`
	Enum        []json.RawMessage          `json:"enum"`
	AnyOf       []json.RawMessage          `json:"anyOf"`

	order []string // of the properties
}

func parseSchema(raw json.RawMessage) schema {
	var s schema
	// What is not a schema says nothing about its parameters.
	_ = json.Unmarshal(raw, &s)
	var props struct {
		Properties json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(raw, &props)
	for _, m := range ordered(props.Properties) {
		s.order = append(s.order, m.name)
	}
	return s
}

// kind returns the type of a value: the first that is not null.
func (s schema) kind() string {
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		return one
	}
	var list []string
	_ = json.Unmarshal(s.Type, &list)
	for _, raw := range s.AnyOf {
		list = append(list, parseSchema(raw).kind())
	}
	for _, k := range list {
		if k != "null" && k != "" {
			return k
		}
	}
	return "string"
}

// enum is the values that are allowed, as a person writes them.
func (s schema) enum() []string {
	var out []string
	for _, raw := range s.Enum {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		out = append(out, text)
	}
	return out
}

// describe lists the properties of an object, deeper ones indented.
func (s schema) describe(b *strings.Builder, indent string) {
	for _, name := range s.order {
		p := parseSchema(s.Properties[name])
		need := "optional"
		if slices.Contains(s.Required, name) {
			need = "required"
		}
		kind := p.kind()
		inner := p
		if kind == "array" {
			inner = parseSchema(p.Items)
			kind = "list of " + inner.kind()
		}
		fmt.Fprintf(b, "%s- %s (%s, %s)", indent, name, kind, need)
		if text := strings.TrimSpace(p.Description); text != "" {
			b.WriteString(": " + strings.ReplaceAll(text, "\n", "\n"+indent+"  "))
		}
		if allowed := p.enum(); len(allowed) > 0 {
			b.WriteString(" One of: " + strings.Join(allowed, ", ") + ".")
		}
		b.WriteString("\n")
		if len(inner.order) > 0 {
			inner.describe(b, indent+"  ")
		}
	}
}

// step is one call of the worked example with what it answers.
type step struct {
	say, tool string
	args      []member
	result    string
}

func text(s string) json.RawMessage {
	raw, err := wire.Marshal(s)
	if err != nil { // cannot be: it is a text
		return json.RawMessage(`""`)
	}
	return raw
}

func steps() []step {
	return []step{
		{
			say: "I will look at what is there first.", tool: "terminal",
			args:   []member{{"command", text("ls")}},
			result: "notes.txt",
		},
		{
			say: "There is no greeting yet; I will write one.", tool: "file_editor",
			args:   []member{{"command", text("create")}, {"path", text("/project/greet.sh")}, {"file_text", text("#!/bin/sh\necho \"Good morning\"\n")}},
			result: "File created: /project/greet.sh",
		},
		{
			say: "Now I run it.", tool: "terminal",
			args:   []member{{"command", text("sh /project/greet.sh")}},
			result: "Good morning",
		},
		{
			say: "It works.", tool: "finish",
			args: []member{{"message", text("greet.sh is written and prints the greeting.")}},
		},
	}
}

const (
	exampleHead = "An example of how a small task goes, with the tools you have. It is not your task.\n\n" +
		"--- example ---\nUSER: Write a script that greets, and try it.\n\n"
	exampleTail = "--- end of the example ---\n\nYour task:\n\n"
	reminder    = "\n\n(At most one call in a message, written exactly as described, at its end.)"
)

// surround puts the worked example around the content of a message, as far as
// the tools allow one.
func surround(content []event.Content, tools []wire.Tool) []event.Content {
	var b strings.Builder
	for _, s := range steps() {
		i := slices.IndexFunc(tools, func(t wire.Tool) bool { return t.Name == s.tool })
		if i < 0 {
			continue
		}
		args := s.args
		properties := parseSchema(tools[i].Parameters).Properties
		if _, asked := properties["summary"]; asked {
			args = append([]member{{"summary", text(s.say)}}, args...)
		}
		if _, asked := properties["security_risk"]; asked {
			args = append([]member{{"security_risk", text("LOW")}}, args...)
		}
		b.WriteString("ASSISTANT: " + s.say + "\n\n" + render(event.ToolCall{Name: s.tool, Arguments: object(args)}) + "\n\n")
		if s.result != "" {
			b.WriteString("USER: " + resultHeader(s.tool) + s.result + "\n\n")
		}
	}
	if b.Len() == 0 {
		return content
	}
	out := []event.Content{event.Text(exampleHead + b.String() + exampleTail)}
	out = append(out, content...)
	return append(out, event.Text(reminder))
}

func object(members []member) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(text(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.String()
}
