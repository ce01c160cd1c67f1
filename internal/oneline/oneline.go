// Package oneline makes texts of models, files and people fit for one line of a screen, a
// log or a list. It hides no secrets and cuts nothing.
//
// Invariant: what it returns is valid UTF-8 without control characters, line ends, and
// characters that change the direction of what follows.
package oneline

import (
	"strings"
	"unicode"
)

// Of returns a text in one line: white space and control characters between words are one
// space, and characters that change the direction of text are left out.
func Of(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }), " ")
}
