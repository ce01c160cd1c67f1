package pydantic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/internal/uuid"
)

// UUID reads a UUID with or without dashes, and returns it with dashes.
func UUID(raw json.RawMessage) (string, *Refusal) {
	text, ok := unquoted(raw)
	if !ok {
		return "", &Refusal{Type: "uuid_type", Msg: "UUID input should be a string, bytes or UUID object"}
	}
	in := unframed(text)
	id, err := uuid.Parse(in)
	if err != nil || in != text && len(in) != len(id) {
		why := notUUID(text, in)
		return "", &Refusal{"uuid_parsing", "Input should be a valid UUID, " + why, map[string]any{"error": why}}
	}
	return id, nil
}

// unframed is a text without what may stand around a UUID.
func unframed(text string) string {
	if in, ok := strings.CutPrefix(text, "urn:uuid:"); ok {
		return in
	}
	if in, ok := strings.CutPrefix(text, "{"); ok && strings.HasSuffix(in, "}") {
		return strings.TrimSuffix(in, "}")
	}
	return text
}

// notUUID says what is wrong with the part of a text that should be a UUID, in the words
// of pydantic.
func notUUID(text, bare string) string {
	before := strings.Index(text, bare)
	groups := strings.Split(bare, "-")
	for i, r := range bare {
		if r != '-' && !strings.ContainsRune("0123456789abcdefABCDEF", r) {
			return fmt.Sprintf("invalid character: found `%c` at %d", r, before+i)
		}
	}
	if len(groups) == 1 {
		return fmt.Sprintf("invalid length: found %d", len(bare))
	}
	if len(groups) != 5 {
		return fmt.Sprintf("invalid group count: expected 5, found %d", len(groups))
	}
	for i, length := range []int{8, 4, 4, 4, 12} {
		if len(groups[i]) != length {
			return fmt.Sprintf("invalid group length in group %d: expected %d, found %d", i, length, len(groups[i]))
		}
	}
	return "it cannot be read"
}
