// Package repetition finds the answer of a model that does not come to an end: the
// same characters again and again, as small models write them.
//
// The rule: the text ends in at least Times copies of one unit of at most MaxUnit
// characters, and the copies have at least Least characters together. It is LeastCode
// where repetition has a sense: in a code block between fences, in the arguments of a
// call, in the rows of a table, and in lines without letters and digits. The copies
// are compared character by character: a line with a number that grows is not a copy.
package repetition

import (
	"slices"
	"strings"
	"unicode"
)

// The figures of the rule, in characters.
const (
	Times     = 10
	MaxUnit   = 2_000
	Least     = 2_000
	LeastCode = 20_000
)

const (
	step  = Least / 4 // characters between two looks for short units
	steps = 4         // looks for short units between two for all
	kept  = Times * MaxUnit
)

// Watch looks at one text while it is written. The zero Watch is ready.
type Watch struct {
	Code bool // all of the text is code

	tail   []rune // the end of the text
	fresh  int    // characters since the last look
	looks  int
	line   []rune // the beginning of the current line
	fenced bool   // the text is in a code block
}

// Write takes the next piece of the text. If a repetition is found in it, unit is how
// many characters are repeated, and end how many bytes of the piece were read until then.
func (w *Watch) Write(piece string) (end, unit int) {
	for at, r := range piece {
		if w.fresh >= step {
			w.fresh = 0
			w.looks++
			if unit := w.look(); unit > 0 {
				return at, unit
			}
		}
		w.add(r)
	}
	if w.fresh >= step {
		w.fresh = 0
		w.looks++
		return len(piece), w.look()
	}
	return len(piece), 0
}

func (w *Watch) add(r rune) {
	if len(w.tail) >= 2*kept {
		w.tail = slices.Delete(w.tail, 0, len(w.tail)-kept)
	}
	w.tail = append(w.tail, r)
	w.fresh++
	const enough = 16 // of a line, to see a fence
	switch {
	case r == '\n':
		if isFence(string(w.line)) {
			w.fenced = !w.fenced
		}
		w.line = w.line[:0]
	case len(w.line) < enough:
		w.line = append(w.line, r)
	}
}

func isFence(line string) bool {
	line = strings.TrimLeft(line, " \t>")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

// look is the length of the unit in which the text ends; 0 if it does not repeat itself.
func (w *Watch) look() int {
	tail := w.tail[max(0, len(w.tail)-kept):]
	if w.looks%steps != 0 {
		tail = tail[max(0, len(tail)-Least):]
	}
	length, unit := repeated(tail, Least)
	if unit == 0 || !w.isCode(tail[len(tail)-length:]) {
		return unit
	}
	tail = w.tail[max(0, len(w.tail)-kept):]
	_, unit = repeated(tail, LeastCode)
	return unit
}

// repeated looks for the shortest end of a text, of at least so many characters, that
// is Times copies of a unit. It is the prefix function of the text read backwards.
func repeated(text []rune, least int) (length, unit int) {
	n := len(text)
	if n < least {
		return 0, 0
	}
	at := func(i int) rune { return text[n-1-i] }
	border := make([]int, n)
	for i := 1; i < n; i++ {
		k := border[i-1]
		for k > 0 && at(i) != at(k) {
			k = border[k-1]
		}
		if at(i) == at(k) {
			k++
		}
		border[i] = k
		if length := i + 1; length >= least && (length-k)*Times <= length {
			return length, length - k
		}
	}
	return 0, 0
}

// isCode reports whether a repetition has a sense where it is.
func (w *Watch) isCode(repeated []rune) bool {
	text := string(repeated)
	if w.Code || strings.Contains(string(w.tail), "<parameter=") {
		return true
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 2 || strings.TrimSpace(text) == "" {
		return w.fenced && strings.TrimSpace(text) != ""
	}
	lines = lines[1:] // the first may be the end of a line
	fences, rows := false, true
	for _, line := range lines {
		fences = fences || isFence(line)
		rows = rows && (line == "" || strings.HasPrefix(strings.TrimLeft(line, " \t"), "|"))
	}
	drawn := !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	return w.fenced && !fences || rows || drawn
}
