package foreign

import (
	"encoding/json"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
)

// gemmaQuote is around each text of Gemma 4.
const gemmaQuote = `<|"|>`

// gemma reads call:NAME{key:<|"|>text<|"|>,other:1}: JSON whose keys have no quotation
// marks, and whose texts have marks of their own and no escapes.
func (p parser) gemma(s string) (calls []Call, rest string) {
	name, args, found := strings.Cut(strings.TrimPrefix(s, "call:"), "{")
	if !found || !strings.HasPrefix(s, "call:") {
		return nil, s
	}
	object, rest, ok := gemmaObject("{" + args)
	if !ok {
		return nil, s
	}
	calls, ok = p.call(name, json.RawMessage(object))
	if !ok {
		return nil, s
	}
	return calls, rest
}

// gemmaObject writes the object that a text begins with as JSON.
func gemmaObject(s string) (object, rest string, ok bool) {
	var b strings.Builder
	for depth := 0; s != ""; {
		switch text, isText := strings.CutPrefix(s, gemmaQuote); {
		case isText:
			inner, behind, closed := strings.Cut(text, gemmaQuote)
			if !closed || !quote(&b, inner) {
				return "", s, false
			}
			s = behind
			continue
		case strings.ContainsRune("{[", rune(s[0])):
			depth++
		case strings.ContainsRune("}]", rune(s[0])):
			depth--
		case strings.ContainsRune(",: \n\t", rune(s[0])):
		default:
			word := s[:len(s)-len(strings.TrimLeft(s, wordOf))]
			if word == "" {
				return "", s, false
			}
			s = s[len(word):]
			if !strings.HasPrefix(strings.TrimSpace(s), ":") {
				b.WriteString(word) // a number, true, false or null
			} else if !quote(&b, word) {
				return "", s, false
			}
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
		if depth == 0 {
			return b.String(), s, json.Valid([]byte(b.String()))
		}
	}
	return "", s, false
}

// wordOf are the characters of keys and numbers.
const wordOf = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+"

// quote writes a text as JSON.
func quote(b *strings.Builder, text string) bool {
	quoted, err := wire.Marshal(text)
	b.Write(quoted)
	return err == nil
}
