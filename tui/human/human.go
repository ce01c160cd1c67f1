// Package human writes amounts, times and messages as people read them.
package human

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Duration is d as people say it.
func Duration(d time.Duration) string {
	switch s := int(d.Round(time.Second) / time.Second); {
	case d < 0:
		return "0 s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case s < 60:
		return strconv.Itoa(s) + " s"
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	default:
		return fmt.Sprintf("%d h %02d min", s/3600, s/60%60)
	}
}

// Precise is d with as much as a person wants to know of something short.
func Precise(d time.Duration) string {
	if d < time.Second && d >= 0 {
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return Duration(d)
}

// Tokens is a number with a comma after each thousand.
func Tokens(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Short is a number of tokens for the status line.
func Short(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 99_950:
		return strconv.FormatFloat(float64(n)/1000, 'f', 1, 64) + "k"
	case n < 999_500:
		return strconv.FormatInt((n+500)/1000, 10) + "k"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
}

// Money is an amount in US dollars.
func Money(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return "$" + strconv.FormatFloat(usd, 'f', 4, 64)
	}
	return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
}

// Sentence makes an error's text the beginning of a line for people.
func Sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "It failed without an error message."
	}
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// Ago is how long something is past.
func Ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min ago"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h ago"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days ago"
}

// Lines is how many lines s has.
func Lines(s string) string {
	n := strings.Count(strings.TrimRight(s, "\n"), "\n") + 1
	if n == 1 {
		return "1 line"
	}
	return strconv.Itoa(n) + " lines"
}

// Count is a number of things, which have an s where there are more than one.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Tokens(int64(n)) + " " + thing + "s"
}

// Size is a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 999_500:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Ends shortens a text to its beginning and its end, in bytes, and says how much
// is missing between them.
func Ends(s string, head, tail int) string {
	left := len(s) - head - tail
	if left <= 0 {
		return s
	}
	return strings.ToValidUTF8(s[:head], "") + "\n… " + Size(int64(left)) + " left out …\n" + strings.ToValidUTF8(s[len(s)-tail:], "")
}
