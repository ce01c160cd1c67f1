package wire

import (
	"bytes"
	"encoding/json"
)

// PlainSchema is a tool's schema without the members $schema and $id, which
// say where schemas are and nothing of the tool: Mistral refuses a tool that
// has them, and those of many MCP servers do. The order of the others stays.
func PlainSchema(schema json.RawMessage) json.RawMessage {
	if !bytes.Contains(schema, []byte(`"$schema"`)) && !bytes.Contains(schema, []byte(`"$id"`)) {
		return schema
	}
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if err := plainValue(d, &out); err != nil {
		return schema // not JSON: the provider says so
	}
	return out.Bytes()
}

// plainValue copies the next value.
func plainValue(d *json.Decoder, out *bytes.Buffer) error {
	token, err := d.Token()
	if err != nil {
		return err //nolint:wrapcheck // seen by PlainSchema only
	}
	switch token {
	case json.Delim('{'):
		return plainObject(d, out)
	case json.Delim('['):
		out.WriteByte('[')
		for n := 0; d.More(); n++ {
			if n > 0 {
				out.WriteByte(',')
			}
			if err := plainValue(d, out); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		_, err = d.Token()
		return err //nolint:wrapcheck // seen by PlainSchema only
	}
	raw, err := Marshal(token)
	out.Write(raw)
	return err
}

// plainObject copies the members of an object and its end.
func plainObject(d *json.Decoder, out *bytes.Buffer) error {
	out.WriteByte('{')
	for n := 0; d.More(); {
		name, err := d.Token()
		if err != nil {
			return err //nolint:wrapcheck // seen by PlainSchema only
		}
		to := out
		if name == "$schema" || name == "$id" {
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
		if err := plainValue(d, to); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	_, err := d.Token()
	return err //nolint:wrapcheck // seen by PlainSchema only
}
