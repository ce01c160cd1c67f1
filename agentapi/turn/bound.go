package turn

import (
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/internal/redact"
)

// Bounds of a Call, in bytes of JSON: a client that cannot read long lines must
// be able to read each.
const (
	maxInput   = 16 << 10
	maxOutput  = 26 << 10
	maxDiff    = 26 << 10
	maxEncoded = 60 << 10
	maxPath    = 1000 // runes
)

// clean is a text of a tool as it can be shown: without the sequences that
// colour it or move a cursor, with other hidden characters written out, and
// redacted.
func clean(s string) string {
	if strings.ContainsAny(s, "\x1b\r\b") {
		s = plain(s)
	}
	return redact.Text(visible(s))
}

// plain returns s as a terminal would leave it: of a line that was written again, the
// last writing.
func plain(s string) string {
	b := make([]byte, 0, len(s))
	line := 0 // where the line begins in b
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\x1b':
			i += sequence(s[i:]) - 1
		case '\r':
			if i+1 < len(s) && s[i+1] != '\n' && s[i+1] != '\r' {
				b = b[:line]
			}
		case '\b':
			if len(b) > line {
				b = b[:len(b)-1]
			}
		default:
			b = append(b, c)
			if c == '\n' {
				line = len(b)
			}
		}
	}
	return string(b)
}

// sequence measures the escape sequence that s begins with.
func sequence(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 {
				return i
			}
		}
		return len(s)
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < len(s); i++ {
			if s[i] == '\a' {
				return i + 1
			}
			if s[i] == '\x1b' {
				return min(i+2, len(s))
			}
			if s[i] == '\n' { // it never ended
				return i
			}
		}
		return len(s)
	case '(', ')':
		return min(3, len(s))
	}
	return 2
}

// output is what a tool said, bounded, and how many bytes are missing.
func output(s string) (kept string, missing int) {
	const most = 8 * maxOutput // to look at
	before := 0
	if len(s) > most {
		before = len(s) - most
		s = s[:most/2] + s[len(s)-most/2:]
	}
	kept, missing = cut(clean(s), maxOutput)
	if before > 0 && missing == 0 { // it became short
		kept, missing = kept+"\n…", 1
	}
	return kept, missing + before
}

// cut keeps the beginning and the end of s, in at most limit bytes of JSON, and
// counts how many bytes are missing between them.
func cut(s string, limit int) (kept string, missing int) {
	if len(s) <= limit/6 || encoded(s) <= limit {
		return s, 0
	}
	const mark = "\n…\n"
	head, tail := 0, len(s)
	room := limit/2 - len(mark)
	for head < len(s) {
		r, size := utf8.DecodeRuneInString(s[head:])
		if room -= runeEncoded(r, size); room < 0 {
			break
		}
		head += size
	}
	room = limit / 2
	for tail > head {
		r, size := utf8.DecodeLastRuneInString(s[:tail])
		if room -= runeEncoded(r, size); room < 0 {
			break
		}
		tail -= size
	}
	// Whole lines, where they are not long.
	if i := strings.LastIndexByte(s[:head], '\n'); i > head/2 {
		head = i
	}
	if i := strings.IndexByte(s[tail:], '\n'); i >= 0 && i < (len(s)-tail)/2 {
		tail += i + 1
	}
	return s[:head] + mark + s[tail:], tail - head
}

// encoded is how many bytes s takes in a JSON string.
func encoded(s string) int {
	n := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		n += runeEncoded(r, size)
		i += size
	}
	return n
}

func runeEncoded(r rune, size int) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
		return 2
	case r < ' ', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return 6
	}
	return size
}
