package plainjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape reads the escape at the start of s, which is the rest of a valid string of JSON.
// It returns the character and the length of the escape. The two escapes of a surrogate
// pair are one character; a half that stands alone is returned as it is, for which
// [utf16.IsSurrogate] is true.
func Escape(s []byte) (r rune, size int) {
	switch s[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(s[1]), 2 // a quotation mark, a slash, a backslash
	}
	r, size = hex4(s[2:]), 6
	if utf16.IsSurrogate(r) && bytes.HasPrefix(s[size:], []byte(`\u`)) {
		if pair := utf16.DecodeRune(r, hex4(s[size+2:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, size
}

// hex4 is the number of four hexadecimal digits.
func hex4(s []byte) (r rune) {
	for _, c := range s[:4] {
		if c <= '9' {
			r = r<<4 | rune(c-'0')
		} else {
			r = r<<4 | rune(c|0x20-'a'+10)
		}
	}
	return r
}
