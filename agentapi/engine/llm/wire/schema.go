package wire

import (
	"bytes"
	"encoding/json"
)

// PlainSchema is a tool's schema without the members $schema and $id, which
// say where schemas are and nothing of the tool: Mistral refuses a tool that
// has them, and those of many MCP servers do. The order of the others stays. A
// parameter that has such a name stays, too, and so does a member of a default,
// an example or an enum.
func PlainSchema(schema json.RawMessage) json.RawMessage {
	if !bytes.Contains(schema, []byte(`"$schema"`)) && !bytes.Contains(schema, []byte(`"$id"`)) {
		return schema
	}
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if err := plainValue(d, &out, inSchema); err != nil {
		return schema // not JSON: the provider says so
	}
	return out.Bytes()
}

// position says what the names in an object are.
type position int

const (
	inSchema position = iota // keywords
	inNames                  // names that the tool chose, of schemas
	inData                   // data
)

// below returns the position of the value of the member with that name.
func (p position) below(name json.Token) position {
	switch p {
	case inData:
		return inData
	case inNames:
		return inSchema
	}
	switch name {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return inNames
	case "const", "default", "enum", "example", "examples":
		return inData
	}
	return inSchema
}

// plainValue copies the next value.
func plainValue(d *json.Decoder, out *bytes.Buffer, at position) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		return plainObject(d, out, at)
	case json.Delim('['):
		out.WriteByte('[')
		for n := 0; d.More(); n++ {
			if n > 0 {
				out.WriteByte(',')
			}
			if err := plainValue(d, out, at); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		_, err = d.Token()
		return err
	}
	raw, err := Marshal(token)
	out.Write(raw)
	return err
}

// plainObject copies the members of an object and its end.
func plainObject(d *json.Decoder, out *bytes.Buffer, at position) error {
	out.WriteByte('{')
	for n := 0; d.More(); {
		name, err := d.Token()
		if err != nil {
			return err
		}
		to := out
		if at == inSchema && (name == "$schema" || name == "$id") {
			to = &bytes.Buffer{}
		} else {
			if n > 0 {
				out.WriteByte(',')
			}
			n++
			raw, err := Marshal(name)
			if err != nil {
				return err
			}
			out.Write(raw)
			out.WriteByte(':')
		}
		if err := plainValue(d, to, at.below(name)); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	_, err := d.Token()
	return err
}
