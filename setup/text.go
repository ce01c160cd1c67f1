package setup

import (
	"strings"
	"unicode"

	"github.com/ohgw/ohgw/internal/redact"
)

// Clean makes a text from outside fit for a terminal line: no control sequences, no line ends,
// nothing that changes the direction of text, nothing that looks like a key.
func Clean(s string) string {
	return redact.Text(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0, unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s))
}
