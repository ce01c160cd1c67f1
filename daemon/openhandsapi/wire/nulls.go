package wire

import (
	"bytes"
	"encoding/json"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// WithoutNulls encodes an event without its members that are null, as an agent-server
// lists and streams it. What a tool or a client made is left as it is.
func WithoutNulls(event json.RawMessage) json.RawMessage {
	if !bytes.Contains(event, []byte("null")) {
		return event
	}
	d := json.NewDecoder(bytes.NewReader(event))
	d.UseNumber()
	var v map[string]any
	if d.Decode(&v) != nil {
		return event
	}
	dropNulls(v)
	data, err := plainjson.Marshal(v)
	if err != nil {
		return event
	}
	return data
}

func dropNulls(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	case map[string]any:
		for name, value := range v {
			switch {
			case value == nil:
				delete(v, name)
			case name == "value" || name == "data" || name == "raw_input" || name == "raw_output":
				// Any JSON may be there.
			default:
				dropNulls(value)
			}
		}
	}
}
