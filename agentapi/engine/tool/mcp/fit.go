package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/internal/plainjson"
)

// maxNested is how deep values are read. What is deeper, the SDK refuses together with
// the message that has it.
const maxNested = 900

// maxFitted is how many members an object has at most that is changed: each costs a look
// at all of it.
const maxFitted = 100

// fit changes what is of another type than the SDK reads: a number for a text, an empty
// list for an empty object, as PHP writes them. A member that nothing helps is left out.
// It is nil for a value that reads does not take in any form.
func fit(v json.RawMessage, reads func(json.RawMessage) bool) (fitted json.RawMessage, leftOut []string) {
	if reads(v) {
		return v, nil
	}
	for _, other := range others(v) {
		if reads(other) {
			return other, nil
		}
	}
	o, err := object.Parse(v)
	if err != nil || len(o) > maxFitted {
		return nil, nil
	}
	kept := make(object.Object, 0, len(o))
	for _, m := range o {
		value, without := fit(m.Value, func(value json.RawMessage) bool { return reads(kept.With(m.Name, value).JSON()) })
		if value == nil {
			leftOut = append(leftOut, m.Name)
			continue
		}
		for _, name := range without {
			leftOut = append(leftOut, m.Name+"."+name)
		}
		kept = append(kept, object.Member{Name: m.Name, Value: value})
	}
	if whole := kept.JSON(); reads(whole) {
		return whole, leftOut
	}
	return nil, nil
}

// others lists a value in other types.
func others(v json.RawMessage) []json.RawMessage {
	v = bytes.TrimSpace(v)
	var text string
	var lines []string
	switch {
	case len(v) == 0:
		return nil
	case json.Unmarshal(v, &text) == nil && v[0] == '"':
		return ofText(text)
	case string(v) == "[]":
		return []json.RawMessage{json.RawMessage(`{}`)}
	case string(v) == "0":
		return []json.RawMessage{quoted("0"), json.RawMessage(`false`)}
	case string(v) == "1":
		return []json.RawMessage{quoted("1"), json.RawMessage(`true`)}
	case json.Unmarshal(v, &lines) == nil && v[0] == '[':
		return []json.RawMessage{quoted(strings.Join(lines, "\n"))}
	}
	return []json.RawMessage{quoted(string(v))}
}

// ofText are a number, a boolean or bytes that were written as a text.
func ofText(text string) []json.RawMessage {
	var list []json.RawMessage
	if plain := strings.ToLower(strings.TrimSpace(text)); json.Valid([]byte(plain)) {
		list = append(list, json.RawMessage(plain))
	}
	if _, data, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(text, "data:") {
		text = data
	}
	text = strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "", "\r", "", "\n", "", "=", "").Replace(text)
	if data, err := base64.RawStdEncoding.DecodeString(text); err == nil {
		list = append(list, quoted(base64.StdEncoding.EncodeToString(data)))
	}
	return list
}

func quoted(text string) json.RawMessage {
	data, err := plainjson.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`) // a text can be encoded
	}
	return data
}

// nested reports whether values are in each other deeper than max.
func nested(data []byte, most int) bool {
	depth, inText := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
