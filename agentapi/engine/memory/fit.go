package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// notice stands for the lines that are left out.
const notice = "[earlier memory truncated]"

// tier is the notes of one place.
type tier struct {
	heading, text string
	cut           bool // its beginning is missing
}

// size is how many characters the notes have; those without their beginning have too many
// for every budget.
func (t tier) size(budget int) int {
	if t.cut {
		return max(budget, 0) + utf8.RuneCountInString(notice)
	}
	return utf8.RuneCountInString(t.text)
}

// fit joins tiers within a budget of characters, as OpenHands does: headings stay, each
// tier gets the same share, and what one does not use the other has.
func fit(tiers []tier, budget int) string {
	if len(tiers) == 0 {
		return ""
	}
	body := budget - 2*(len(tiers)-1)
	for _, t := range tiers {
		body -= utf8.RuneCountInString(t.heading)
	}
	shares, left := make([]int, len(tiers)), body
	for i, t := range tiers {
		shares[i] = min(t.size(body), body/len(tiers))
		left -= shares[i]
	}
	parts := make([]string, len(tiers))
	for i, t := range tiers {
		more := min(left, t.size(body)-shares[i])
		left -= more
		parts[i] = t.heading + t.tail(shares[i]+more)
	}
	return strings.Join(parts, "\n\n")
}

// tail leaves out whole lines at the top until the notes have no more than budget
// characters.
func (t tier) tail(budget int) string {
	if !t.cut && utf8.RuneCountInString(t.text) <= budget {
		return t.text
	}
	all := lines(t.text)
	from, size := len(all), utf8.RuneCountInString(notice)
	for from > 0 {
		if size += 1 + utf8.RuneCountInString(all[from-1]); size > budget {
			break
		}
		from--
	}
	return strings.Join(append([]string{notice}, all[from:]...), "\n")
}

// separates reports whether Python's str.splitlines ends a line there. The carriage returns
// are replaced before.
func separates(r rune) bool {
	switch r {
	case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// isSpace reports whether Python's str.strip takes a character away.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func strip(s string) string { return strings.TrimFunc(s, isSpace) }

// newlines replaces carriage returns by the end of a line, as Python does when it reads a
// text.
func newlines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// lines splits a text that does not end with a separator.
func lines(s string) []string {
	var list []string
	if s == "" {
		return nil
	}
	for {
		i := strings.IndexFunc(s, separates)
		if i < 0 {
			return append(list, s)
		}
		_, width := utf8.DecodeRuneInString(s[i:])
		list, s = append(list, s[:i]), s[i+width:]
	}
}
