package openai

import (
	"bytes"
	"encoding/json"
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

// StoredFormat is the format that a response repeats of its request, see
// [Echo.Text]. It is nil where the answer may be any text.
func StoredFormat(text json.RawMessage) *Format {
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
	if err := formatName(field(v, "name"), path+".name"); err != nil {
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

func formatName(v []byte, path string) error {
	if v == nil {
		return missing(path)
	}
	if kindOf(v) != "string" {
		return invalidType(path, "string", v)
	}
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	name := decodeString(v)
	if name == "" || len(name) > maxFormatName || strings.Trim(name, allowed) != "" {
		return invalidValue(path, "%s is not a name of 1 to %d letters, digits, underscores and hyphens.", brief(name), maxFormatName)
	}
	return nil
}
