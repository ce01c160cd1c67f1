// Package glob turns patterns of file names into regular expressions for paths with
// forward slashes. It reads no directory.
package glob

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxPattern is the longest pattern in bytes.
const maxPattern = 4096

var (
	errLong = errors.New("the pattern is too long")
	errOpen = errors.New("the pattern has a { or [ without its end")
)

// Plain matches ** (any directories), * and ? (within one name). Everything else
// stands for itself. A pattern without a slash matches at any depth.
func Plain(pattern string) (*regexp.Regexp, error) { return compile(pattern, false) }

// Full is [Plain] with {a,b}, [a-z] and [!a-z].
func Full(pattern string) (*regexp.Regexp, error) { return compile(pattern, true) }

func compile(pattern string, full bool) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, errLong
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	w := writer{rest: pattern, full: full}
	w.out.WriteString("^")
	for w.rest != "" {
		if err := w.next(); err != nil {
			return nil, err
		}
	}
	if w.braces > 0 {
		return nil, errOpen
	}
	return regexp.Compile(w.out.String() + "$")
}

// writer writes the expression for what is left of a pattern.
type writer struct {
	out    strings.Builder
	rest   string
	full   bool
	braces int // that are open
}

// put writes an expression for the next n bytes.
func (w *writer) put(expression string, n int) error {
	w.out.WriteString(expression)
	w.rest = w.rest[n:]
	return nil
}

func (w *writer) next() error {
	switch {
	case strings.HasPrefix(w.rest, "**/"):
		return w.put("(?:.*/)?", len("**/"))
	case strings.HasPrefix(w.rest, "**"):
		return w.put(".*", len("**"))
	case w.rest[0] == '*':
		return w.put("[^/]*", 1)
	case w.rest[0] == '?':
		return w.put("[^/]", 1)
	case w.full && w.special():
		return w.nextSpecial()
	}
	_, n := utf8.DecodeRuneInString(w.rest)
	return w.put(regexp.QuoteMeta(w.rest[:n]), n)
}

func (w *writer) special() bool {
	switch w.rest[0] {
	case '{', '[':
		return true
	case '}', ',':
		return w.braces > 0
	case '\\':
		return len(w.rest) > 1
	}
	return false
}

func (w *writer) nextSpecial() error {
	switch w.rest[0] {
	case '{':
		w.braces++
		return w.put("(?:", 1)
	case '}':
		w.braces--
		return w.put(")", 1)
	case ',':
		return w.put("|", 1)
	case '\\':
		_, n := utf8.DecodeRuneInString(w.rest[1:])
		return w.put(regexp.QuoteMeta(w.rest[1:1+n]), 1+n)
	}
	return w.class()
}

// class writes a class of characters, which never has a slash.
func (w *writer) class() error {
	begin, not := 1, ""
	if strings.HasPrefix(w.rest[begin:], "!") || strings.HasPrefix(w.rest[begin:], "^") {
		begin, not = 2, "^/"
	}
	end := strings.IndexByte(w.rest[min(begin+1, len(w.rest)):], ']')
	if end < 0 {
		return errOpen
	}
	end += begin + 1
	members := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`).Replace(w.rest[begin:end])
	return w.put("["+not+members+"]", end+1)
}
