package pydantic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// redacted takes the place of what may be a secret in an error.
const redacted = "<redacted>"

// maxShown bounds an input that is shown in an error, in bytes.
const maxShown = 64 << 10

// Shown returns a part of a request as an error may show it: without what may be a
// secret.
func Shown(raw json.RawMessage, loc ...any) any {
	if len(raw) == 0 || len(raw) > maxShown {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	for _, part := range loc {
		if IsSecret(fmt.Sprint(part)) {
			return hidden(v)
		}
	}
	return masked(v)
}

// masked hides what is below the name of a secret.
func masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			switch lower := strings.ToLower(name); {
			case lower == "environment" || lower == "env" || lower == "headers" || IsSecret(name):
				v[name] = redacted
			default:
				v[name] = masked(value)
			}
		}
	case []any:
		for i, value := range v {
			v[i] = masked(value)
		}
	}
	return v
}

// hidden hides every string.
func hidden(v any) any {
	switch v := v.(type) {
	case string:
		return redacted
	case map[string]any:
		for name, value := range v {
			v[name] = hidden(value)
		}
	case []any:
		for i, value := range v {
			v[i] = hidden(value)
		}
	}
	return v
}

// IsSecret reports whether what has a name may be a secret, by the rule of OpenHands.
func IsSecret(name string) bool {
	upper := strings.ToUpper(name)
	for _, part := range []string{"AUTHORIZATION", "COOKIE", "CREDENTIAL", "KEY", "PASSWORD", "SECRET", "SESSION", "TOKEN"} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	return false
}
