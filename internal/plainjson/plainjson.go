// Package plainjson is the one encoder for JSON that no web page embeds: <, > and &
// stay as they are, which json.Marshal escapes. What a model or a user wrote goes on as
// it was, and files are the same as OpenHands writes them. It also reads the escapes of JSON
// for who walks its bytes. It needs the standard library only.
package plainjson

import (
	"bytes"
	"encoding/json"
	"io"
)

// Marshal is v in one line, without a line end.
func Marshal(v any) ([]byte, error) { return Indent(v, "", "") }

// Indent is v as json.MarshalIndent lays it out; in one line if indent is empty.
func Indent(v any, prefix, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := encoder(&b)
	enc.SetIndent(prefix, indent)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// Write writes v in one line, with a line end, in a single write.
func Write(w io.Writer, v any) error { return encoder(w).Encode(v) }

// Append appends v in one line to b, without a line end.
func Append(b *bytes.Buffer, v any) error {
	if err := Write(b, v); err != nil {
		return err
	}
	b.Truncate(b.Len() - len("\n"))
	return nil
}

func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
