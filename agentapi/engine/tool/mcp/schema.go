package mcp

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
)

// maxDepth is how deep a schema is read; what is below can be anything.
const maxDepth = 64

const anyObject = `{"type":"object"}`

// inputSchema is the schema of an object, whatever the server wrote: written tells
// whether it wrote one. Providers refuse a whole request for one schema that they
// cannot read, so that words which say nothing are left out.
func inputSchema(of any) (schema json.RawMessage, written bool) {
	data, err := json.Marshal(of)
	if err != nil {
		return json.RawMessage(anyObject), false
	}
	o, err := object.Parse(data)
	if err != nil {
		return json.RawMessage(anyObject), false
	}
	return repaired(o.With("type", json.RawMessage(`"object"`)), 0).JSON(), true
}

// repaired is a schema without what cannot be in one.
func repaired(o object.Object, depth int) object.Object {
	if depth > maxDepth {
		return object.Object{}
	}
	out := make(object.Object, 0, len(o))
	for _, m := range o {
		if value := repairedWord(m.Name, m.Value, depth); value != nil {
			out = append(out, object.Member{Name: m.Name, Value: value})
		}
	}
	return out
}

// repairedWord repairs what a schema says by one word; nil leaves the word out.
func repairedWord(word string, v json.RawMessage, depth int) json.RawMessage {
	switch word {
	case "type":
		return repairedType(v)
	case "description", "$ref":
		return orNone[string](v)
	case "required":
		return orNone[[]string](v)
	case "enum":
		if list := []json.RawMessage(nil); json.Unmarshal(v, &list) != nil || len(list) == 0 {
			return nil
		}
	case "properties", "$defs", "definitions":
		return repairedMembers(v, depth)
	case "items", "additionalProperties":
		return repairedValue(v, depth)
	case "anyOf", "oneOf", "allOf":
		return repairedList(v, depth)
	}
	return v
}

// orNone is a value if it is of a type.
func orNone[T any](v json.RawMessage) json.RawMessage {
	var x T
	if string(v) == "null" || json.Unmarshal(v, &x) != nil {
		return nil
	}
	return v
}

// repairedMembers repairs the schemas of an object's members.
func repairedMembers(v json.RawMessage, depth int) json.RawMessage {
	o, err := object.Parse(v)
	if err != nil {
		return nil
	}
	for i, m := range o {
		if o[i].Value = repairedValue(m.Value, depth); o[i].Value == nil {
			o[i].Value = json.RawMessage(`{}`)
		}
	}
	return o.JSON()
}

// repairedValue repairs what is a schema, a boolean, or in old drafts a list of
// schemas.
func repairedValue(v json.RawMessage, depth int) json.RawMessage {
	if o, err := object.Parse(v); err == nil {
		return repaired(o, depth+1).JSON()
	}
	if b := orNone[bool](v); b != nil {
		return b
	}
	return repairedList(v, depth)
}

func repairedList(v json.RawMessage, depth int) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(v, &list) != nil || len(list) == 0 {
		return nil
	}
	for i := range list {
		o, err := object.Parse(list[i])
		if err != nil {
			o = object.Object{}
		}
		list[i] = repaired(o, depth+1).JSON()
	}
	data, err := json.Marshal(list)
	if err != nil {
		return nil
	}
	return data
}

// types are those of JSON Schema, and what others call them.
var types = map[string]string{
	"null": "null", "boolean": "boolean", "object": "object", "array": "array", "number": "number", "string": "string", "integer": "integer",
	"bool": "boolean", "dict": "object", "map": "object", "list": "array", "tuple": "array", "float": "number", "double": "number",
	"decimal": "number", "int": "integer", "long": "integer", "str": "string", "text": "string", "none": "null",
}

// repairedType keeps the types that there are, nil for anything.
func repairedType(v json.RawMessage) json.RawMessage {
	var several []string
	var one string
	switch {
	case json.Unmarshal(v, &one) == nil:
		several = []string{one}
	case json.Unmarshal(v, &several) != nil:
		return nil
	}
	known := make([]string, 0, len(several))
	for _, name := range several {
		name = types[strings.ToLower(strings.TrimSpace(name))]
		if name == "" {
			return nil // it may be anything
		}
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	var said any = known
	switch len(known) {
	case 0:
		return nil
	case 1:
		said = known[0]
	}
	data, err := json.Marshal(said)
	if err != nil {
		return nil
	}
	return data
}
