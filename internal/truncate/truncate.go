// Package truncate cuts texts that are too long. It cuts between two characters, so valid
// UTF-8 stays valid.
package truncate

import (
	"strings"
	"unicode/utf8"
)

// Head returns the first n characters of s.
func Head(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Tail is the last n characters of s.
func Tail(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// Marked is s, or its first n characters and mark if it has more.
func Marked(s string, n int, mark string) string {
	if head := Head(s, n); len(head) < len(s) {
		return head + mark
	}
	return s
}

// Within is s, or its beginning and mark in n characters together if it has more.
func Within(s string, n int, mark string) string {
	if len(Head(s, n)) == len(s) {
		return s
	}
	return Head(s, n-utf8.RuneCountInString(mark)) + mark
}

// Bytes is s, or its first n bytes and mark if it has more. What is cut is valid UTF-8.
func Bytes(s string, n int, mark string) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + mark
}

// LastBytes is s, or mark and its last n bytes if it has more. What is cut is valid UTF-8.
func LastBytes(s string, n int, mark string) string {
	if len(s) <= n {
		return s
	}
	return mark + strings.ToValidUTF8(s[len(s)-n:], "")
}
