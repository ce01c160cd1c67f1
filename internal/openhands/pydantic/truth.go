package pydantic

import (
	"encoding/json"
	"strings"
)

// Bool reads a truth value.
func Bool(raw json.RawMessage) (bool, *Refusal) {
	if text, ok := unquoted(raw); ok {
		if value, known := truth(strings.ToLower(text)); known {
			return value, nil
		}
		return false, noTruth()
	}
	switch {
	case string(raw) == "true":
		return true, nil
	case string(raw) == "false":
		return false, nil
	}
	if n, refused := readInt(raw); refused == nil && n.IsInt64() {
		if value, known := truth(n.String()); known {
			return value, nil
		}
		return false, noTruth()
	}
	return false, noBool()
}

func noTruth() *Refusal {
	return &Refusal{Type: "bool_parsing", Msg: "Input should be a valid boolean, unable to interpret input"}
}

// truth reads a word for true or false, in lower case.
func truth(word string) (value, known bool) {
	switch word {
	case "1", "on", "t", "true", "y", "yes":
		return true, true
	case "0", "off", "f", "false", "n", "no":
		return false, true
	}
	return false, false
}

// TruthOrText checks a value that is a truth value or a text.
func TruthOrText(raw json.RawMessage) []Fault {
	if _, ok := unquoted(raw); ok {
		return nil
	}
	_, refused := Bool(raw)
	if refused == nil {
		return nil
	}
	return []Fault{refused.At([]any{Tag("bool")}, nil), NoText().At([]any{Tag("str")}, nil)}
}
