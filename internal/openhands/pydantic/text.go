package pydantic

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text is what a text has to be. The zero value takes any.
type Text struct {
	Min, Max int            // its characters; Max 0 is any number
	Form     *regexp.Regexp // nil is any
	Pattern  string         // Form as pydantic spells it
}

// Quoted is a text as JSON, for values that do not come in JSON.
func Quoted(text string) json.RawMessage {
	raw, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`) // a text can be encoded
	}
	return raw
}

// Read reads a text.
func (t Text) Read(raw json.RawMessage) (string, *Refusal) {
	text, ok := unquoted(raw)
	n := utf8.RuneCountInString(text)
	switch {
	case !ok:
		return "", NoText()
	case n < t.Min:
		return "", &Refusal{"string_too_short", "String should have at least " + count(t.Min, "character"), map[string]any{"min_length": t.Min}}
	case t.Max > 0 && n > t.Max:
		return "", &Refusal{"string_too_long", "String should have at most " + count(t.Max, "character"), map[string]any{"max_length": t.Max}}
	case t.Form != nil && !t.Form.MatchString(text):
		return "", Mismatch(t.Pattern)
	}
	return text, nil
}

// unquoted is a text of JSON, with false for what is not one.
func unquoted(raw json.RawMessage) (text string, ok bool) {
	return text, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil
}

// count is so many things of a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// The types of a choice: an enum of Python's, or a Literal.
const (
	Enum    = "enum"
	Literal = "literal_error"
)

// Choice reads one of some texts. The type is [Enum] or [Literal].
func Choice(raw json.RawMessage, kind string, of ...string) (string, *Refusal) {
	if text, ok := unquoted(raw); ok && slices.Contains(of, text) {
		return text, nil
	}
	return "", &Refusal{kind, "Input should be " + oneOf(of), map[string]any{"expected": oneOf(of)}}
}

// oneOf lists texts as pydantic does: 'a', 'b' or 'c'.
func oneOf(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return listed(list)
	}
	return listed(list[:last]) + " or " + listed(list[last:])
}

// listed is 'a', 'b'.
func listed(list []string) string { return "'" + strings.Join(list, "', '") + "'" }

// Choose reads which type of a union an object has, which its member by says. The member
// is nil where the object does not have it.
func Choose(by string, member json.RawMessage, of ...string) (string, *Refusal) {
	if member == nil {
		return "", &Refusal{
			"union_tag_not_found", "Unable to extract tag using discriminator '" + by + "'", map[string]any{"discriminator": "'" + by + "'"},
		}
	}
	tag, ok := unquoted(member)
	if ok && slices.Contains(of, tag) {
		return tag, nil
	}
	tag = pythonText(member)
	return "", &Refusal{
		"union_tag_invalid", "Input tag '" + tag + "' found using '" + by + "' does not match any of the expected tags: " + listed(of),
		map[string]any{"discriminator": "'" + by + "'", "tag": tag, "expected_tags": listed(of)},
	}
}

// pythonText is a value as Python prints it.
func pythonText(raw json.RawMessage) string {
	if text, ok := unquoted(raw); ok {
		return text
	}
	switch string(raw) {
	case "null":
		return "None"
	case "true":
		return "True"
	case "false":
		return "False"
	}
	return string(raw)
}
