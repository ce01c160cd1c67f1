package setup

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/redact"
)

// Clean makes a text of somebody else fit for a terminal line: no control
// sequences, no line ends, nothing that looks like a key.
func Clean(s string) string {
	return redact.Text(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, s))
}

// Sentence makes a sentence of a part of an error, which begins in lower case and has
// no full stop.
func Sentence(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	return strings.TrimRight(string(unicode.ToUpper(r))+s[size:], ".") + "."
}
