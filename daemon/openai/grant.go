package openai

import (
	"slices"
	"strings"
	"unicode"
)

// Grant is an answer to what a sandbox refused.
type Grant struct {
	Access string `json:"access"` // "net", "read", "write" or "socket"
	Target string `json:"target"` // a host, host:port, or a path
	Scope  string `json:"scope"`  // "once", "conversation", "workspace" or "no"
}

// StoredGrant is the answer to a [Grant] that was taken.
type StoredGrant struct {
	ID     string `json:"id"`     // of the conversation
	Object string `json:"object"` // "conversation.sandbox.grant"
	Grant
}

// NewStoredGrant is the answer to a grant.
func NewStoredGrant(conversation string, g Grant) StoredGrant {
	return StoredGrant{ID: conversation, Object: "conversation.sandbox.grant", Grant: g}
}

// maxTarget bounds what a grant is for, in bytes.
const maxTarget = 4096

// ParseGrant reads the body of POST /v1/conversations/{id}/sandbox/grants. What it
// does not know is refused: it could be meant to limit the grant. Its error is a
// [*RequestError].
func ParseGrant(body []byte) (g Grant, err error) {
	fields, err := topLevel(body)
	if err != nil {
		return g, err
	}
	for name := range fields {
		if slices.Contains([]string{"access", "target", "scope"}, name) {
			continue
		}
		if !plainName(name) {
			name = ""
		}
		return g, &RequestError{Code: CodeUnsupportedParameter, Param: name, Message: "A grant has 'access', 'target' and 'scope' only."}
	}
	if g.Access, err = oneOf(fields, "access", "net", "read", "write", "socket"); err != nil {
		return g, err
	}
	if g.Scope, err = oneOf(fields, "scope", "once", "conversation", "workspace", "no"); err != nil {
		return g, err
	}
	if g.Target, err = required(fields, "target"); err != nil {
		return g, err
	}
	hidden := func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
	}
	switch {
	case len(g.Target) > maxTarget:
		return g, invalidValue("target", "it is longer than %d bytes.", maxTarget)
	case strings.ContainsFunc(g.Target, hidden):
		return g, invalidValue("target", "it has characters that are not visible.")
	}
	return g, nil
}

// required reads a text that must be there.
func required(fields map[string][]byte, name string) (string, error) {
	v, ok := fields[name]
	if !ok {
		return "", missing(name)
	}
	if kindOf(v) != "string" {
		return "", invalidType(name, "string", v)
	}
	text, flaw := decodeText(v)
	if flaw != "" {
		return "", invalidText(name, flaw)
	}
	if strings.TrimSpace(text) == "" {
		return "", invalidValue(name, "it is empty.")
	}
	return text, nil
}

// oneOf is a text that must be there, and be one of these.
func oneOf(fields map[string][]byte, name string, values ...string) (string, error) {
	text, err := required(fields, name)
	if err == nil && !slices.Contains(values, text) {
		err = invalidValue(name, "it has to be one of %s.", strings.Join(values, ", "))
	}
	return text, err
}
