package seatbelt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// quote writes a string of the language of profiles. Control characters are refused:
// no path of a project has them, and without them it is certain how the system reads
// the string.
func quote(text string) (string, error) {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return `""`, fmt.Errorf("the sandbox of macOS cannot have the path %q: it has control characters, or is not UTF-8", text)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`, nil
}

// regex is a regular expression for exactly that text.
func regex(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte(`\.+*?()|[]{}^$`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// anyCase is a regular expression for a name of ASCII in upper and lower case.
func anyCase(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if 'a' <= c && c <= 'z' {
			b.WriteString("[" + string(c) + string(c-'a'+'A') + "]")
		} else {
			b.WriteString(regex(string(c)))
		}
	}
	return b.String()
}
