// Package shellword spells texts as words of a shell's command line.
package shellword

import (
	"strings"
	"unicode"
)

// Of is a path or another text as one word: as it is where the shell takes it so, else
// in quotes.
func Of(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,=@%", r) ||
			r > unicode.MaxASCII && unicode.IsGraphic(r) && !unicode.IsSpace(r) // people take other spaces for one
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return Quoted(s)
}

// Quoted is a text as one word in quotes.
func Quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
