package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// maxFormatName is how many characters the name of a schema may have.
const maxFormatName = 64

// Format is the form that an answer has to have: one JSON document. Whether its
// schema is one, this package does not know.
type Format struct {
	// Schema is a JSON object. Nil: any JSON object will do.
	Schema json.RawMessage
	// Param is the path of the schema in the request.
	Param string
	// Function is the client's function whose arguments the document is; empty:
	// the document is the content.
	Function string
	// Finish is why a chat completion with the call of that function ends.
	Finish string
}

// formatOf reads the format that the fields of a chat completion ask for. It is nil
// where the answer may be any text.
func formatOf(fields map[string][]byte) (f *Format, err error) {
	if v, ok := fields["response_format"]; ok {
		if f, err = readFormat(v, "response_format"); err != nil {
			return nil, err
		}
	}
	v, ok := fields["tool_choice"]
	if !ok {
		return f, nil
	}
	forced, _, err := choice{tools: fields["tools"]}.forced(v, "tool_choice")
	if err != nil {
		return nil, err
	}
	return oneForm(f, forced, "response_format")
}

// used is the names of the ignored fields without those that the format is from.
func (f *Format) used(ignored []string) []string {
	if f == nil || f.Function == "" {
		return ignored
	}
	return slices.DeleteFunc(ignored, func(name string) bool { return name == "tools" })
}

// readFormat reads response_format of a chat completion. It is nil where the
// answer may be any text.
func readFormat(v []byte, name string) (*Format, error) {
	kind, err := formatKind(v, name)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "json_object":
		return &Format{}, nil
	case "json_schema":
		spec := field(v, "json_schema")
		if spec == nil {
			return nil, missing(name + ".json_schema")
		}
		return schemaFormat(spec, name+".json_schema")
	}
	return nil, nil
}

// readTextFormat reads text.format of a response, whose members are flat.
func readTextFormat(v []byte, name string) (*Format, error) {
	kind, err := formatKind(v, name)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "json_object":
		return &Format{}, nil
	case "json_schema":
		return schemaFormat(v, name)
	}
	return nil, nil
}

// Format reads the format that a response repeats of its request. It is nil where the
// answer may be any text.
func (e Echo) Format() *Format {
	if len(e.Tools) > 0 && kindOf(e.Tools) == "array" && len(e.ToolChoice) > 0 {
		f, _, err := choice{tools: e.Tools, flat: true}.forced(e.ToolChoice, "tool_choice")
		if err != nil {
			return nil // it was checked before it was stored
		}
		return f
	}
	text := e.Text
	if len(text) == 0 || !json.Valid(text) || kindOf(text) != "object" {
		return nil
	}
	v := field(text, "format")
	if v == nil {
		return nil
	}
	f, err := readTextFormat(v, "text.format")
	if err != nil {
		return nil // it was checked before it was stored
	}
	return f
}

func formatKind(v []byte, name string) (string, error) {
	if kindOf(v) != "object" {
		return "", invalidType(name, "object", v)
	}
	t := field(v, "type")
	if t == nil {
		return "", missing(name + ".type")
	}
	if kindOf(t) != "string" {
		return "", invalidType(name+".type", "string", t)
	}
	switch kind := decodeString(t); kind {
	case "text", "json_object", "json_schema":
		return kind, nil
	default:
		return "", invalidValue(name+".type", "%s is not a known format; send text, json_object or json_schema.", brief(kind))
	}
}

// schemaFormat reads the members name, schema, description and strict.
func schemaFormat(v []byte, path string) (*Format, error) {
	if kindOf(v) != "object" {
		return nil, invalidType(path, "object", v)
	}
	if err := nameOf(field(v, "name"), path+".name", maxFormatName); err != nil {
		return nil, err
	}
	if d := field(v, "description"); d != nil && kindOf(d) != "string" {
		return nil, invalidType(path+".description", "string", d)
	}
	if _, err := boolean(field(v, "strict"), path+".strict"); err != nil {
		return nil, err
	}
	schema := field(v, "schema")
	switch path += ".schema"; {
	case schema == nil:
		return nil, missing(path)
	case kindOf(schema) != "object":
		return nil, invalidType(path, "object", schema)
	}
	return &Format{Schema: bytes.Clone(schema), Param: path}, nil
}

// nameOf checks the name of a schema or a function.
func nameOf(v []byte, path string, limit int) error {
	if v == nil {
		return missing(path)
	}
	if kindOf(v) != "string" {
		return invalidType(path, "string", v)
	}
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	name := decodeString(v)
	if name == "" || len(name) > limit || strings.Trim(name, allowed) != "" {
		return invalidValue(path, "%s is not a name of 1 to %d letters, digits, underscores and hyphens.", brief(name), limit)
	}
	return nil
}
