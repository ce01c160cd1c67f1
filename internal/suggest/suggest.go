// Package suggest finds the name that a user who mistyped it may have meant.
package suggest

import "strings"

// Nearest is the candidate that is closest to word, or "" when none is close
// enough to be a typing error: one edit for each three letters, at least one.
// A candidate of which word is the beginning counts as one edit away. Of
// equally close ones it is the first.
func Nearest(word string, candidates []string) string {
	word = strings.ToLower(word)
	best, found := limit(word)+1, ""
	for _, c := range candidates {
		d := distance(word, strings.ToLower(c))
		if len(word) > 1 && d > 1 && strings.HasPrefix(strings.ToLower(c), word) {
			d = 1
		}
		if d < best {
			best, found = d, c
		}
	}
	return found
}

func limit(word string) int { return max(1, len(word)/3) }

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between a and b, in bytes: names here are ASCII.
func distance(a, b string) int {
	// Three rows of the usual table: the one of two letters ago is for swaps.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
