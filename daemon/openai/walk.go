package openai

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// The functions of this file walk over JSON that is known to be valid. They
// exist because a request must be read once, not once per level, and because
// its errors name a field by its path, which encoding/json cannot.

// kindOf names the type of a value as the errors of this package do.
func kindOf(v []byte) string {
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// members calls f for each member of an object, in order, until f fails.
func members(object []byte, f func(key string, value []byte) error) error {
	i := skipSpace(object, 1)
	for object[i] != '}' {
		end := skipString(object, i)
		key := decodeString(object[i:end])
		i = skipSpace(object, skipSpace(object, end)+1) // over the colon
		end = skipValue(object, i)
		if err := f(key, object[i:end]); err != nil {
			return err
		}
		i = skipComma(object, end)
	}
	return nil
}

// elements calls f for each element of an array, in order, until f fails.
func elements(array []byte, f func(i int, value []byte) error) error {
	i := skipSpace(array, 1)
	for n := 0; array[i] != ']'; n++ {
		end := skipValue(array, i)
		if err := f(n, array[i:end]); err != nil {
			return err
		}
		i = skipComma(array, end)
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipComma is the index of the next member or element, or of the bracket that
// ends them all, after the value that ends at i.
func skipComma(b []byte, i int) int {
	if i = skipSpace(b, i); b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	return i
}

// tooDeep reports whether a value is nested deeper than limit.
func tooDeep(b []byte, limit int) bool {
	for i, depth := 0, 0; i < len(b); {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
		i++
	}
	return false
}

// skipValue is the index after the value that begins at i.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	if n := bytes.IndexAny(b[i:], ",]} \t\r\n"); n >= 0 {
		return i + n
	}
	return len(b)
}

func skipNested(b []byte, i int) int {
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
}

// skipString is the index after the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		backslashes := 0
		for b[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i + 1
		}
	}
}

// decodeString is the text of a string value. Halves of surrogate pairs and
// bytes that are not UTF-8 become the replacement character.
func decodeString(v []byte) string {
	s, _ := decodeText(v)
	return s
}

// decodeText is decodeString, and names what the value contains that no text
// should: the null character or half of a surrogate pair, which only an escape
// can write.
func decodeText(v []byte) (text, flaw string) {
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return strings.ToValidUTF8(string(inner), "\uFFFD"), ""
	}
	b, flaw := appendDecoded(make([]byte, 0, len(inner)), inner)
	return strings.ToValidUTF8(string(b), "\uFFFD"), flaw
}

// appendDecoded appends the inside of a string value without its escapes.
func appendDecoded(dst, inner []byte) (decoded []byte, flaw string) {
	for {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 {
			return append(dst, inner...), flaw
		}
		dst = append(dst, inner[:n]...)
		r, size := plainjson.Escape(inner[n:])
		inner = inner[n+size:]
		switch {
		case r == 0:
			flaw = "the null character"
		case utf16.IsSurrogate(r):
			flaw = "half of a surrogate pair"
		}
		dst = utf8.AppendRune(dst, r)
	}
}
