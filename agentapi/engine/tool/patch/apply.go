package patch

import (
	"fmt"
	"slices"
	"strings"
)

// How far lines may differ from those of a file, as observations count it.
const (
	fuzzRight = 1      // blanks at the end
	fuzzBoth  = 100    // blanks at both ends
	fuzzEnd   = 10_000 // not at the end of the file
)

// Apply returns the text of a file after the change. Fuzz is 0 if all lines were
// found as the patch has them.
func (c Change) Apply(text string) (now string, fuzz int, err error) {
	lines := strings.Split(text, "\n")
	bare := make([]string, len(lines))
	returns := 0
	for i, line := range lines {
		bare[i] = strings.TrimSuffix(line, "\r")
		returns += len(line) - len(bare[i])
	}
	lineEnd := ""
	if returns > 0 && 2*returns >= len(lines)-1 {
		lineEnd = "\r"
	}
	var out []string
	done, from := 0, 0
	for _, s := range c.sections {
		from, fuzz = s.seek(bare, from, fuzz)
		at, more := s.find(bare, from)
		if at < 0 {
			return "", 0, s.missing(c.Path, from)
		}
		fuzz += more
		for _, ch := range s.chunks {
			out = append(out, lines[done:at+ch.at]...)
			for _, line := range ch.ins {
				out = append(out, line+lineEnd)
			}
			done = at + ch.at + len(ch.del)
		}
		from = at + len(s.old)
	}
	out = append(out, lines[done:]...)
	// What was put behind the last line of a file has no line end of its own there.
	now = strings.Join(out, "\n")
	if lineEnd != "" && !strings.HasSuffix(text, "\r") {
		now = strings.TrimSuffix(now, "\r")
	}
	return now, fuzz, nil
}

// seek goes behind the line that the section names, if it is still to come.
func (s section) seek(lines []string, from, fuzz int) (next, sum int) {
	if s.anchor == "" {
		return from, fuzz
	}
	for i, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) },
	} {
		is := func(line string) bool { return same(line, s.anchor) }
		if slices.ContainsFunc(lines[:from], is) {
			continue
		}
		if at := slices.IndexFunc(lines[from:], is); at >= 0 {
			return from + at + 1, fuzz + i
		}
	}
	return from, fuzz
}

// find returns where the lines of the section are, -1 for nowhere.
func (s section) find(lines []string, from int) (at, fuzz int) {
	if !s.atEnd {
		return match(lines, s.old, from)
	}
	ends := []int{len(lines)}
	if n := len(lines) - 1; lines[n] == "" { // the empty line behind the last line end is seldom one of the patch
		ends = []int{n, len(lines)}
	}
	for _, n := range ends {
		if at, fuzz := match(lines[:n], s.old, max(from, n-len(s.old))); at >= 0 && at <= n {
			return at, fuzz
		}
	}
	at, fuzz = match(lines, s.old, from)
	return at, fuzz + fuzzEnd
}

func match(lines, old []string, from int) (at, fuzz int) {
	if len(old) == 0 {
		return from, 0
	}
	for _, way := range []struct {
		fuzz int
		form func(string) string
	}{
		{0, func(s string) string { return s }},
		{fuzzRight, func(s string) string { return strings.TrimRight(s, " \t\r\f\v") }},
		{fuzzBoth, strings.TrimSpace},
	} {
		for i := from; i+len(old) <= len(lines); i++ {
			if slices.EqualFunc(lines[i:i+len(old)], old, func(a, b string) bool { return way.form(a) == way.form(b) }) {
				return i, way.fuzz
			}
		}
	}
	return -1, 0
}

// missing says which lines are not in the file.
func (s section) missing(path string, from int) error {
	text := strings.Join(s.old[:min(len(s.old), 20)], "\n")
	where := ""
	if from > 0 {
		where = fmt.Sprintf(" behind line %d", from)
	}
	return fmt.Errorf("%s does not have these lines%s. View it and write them as they are there:\n%.2000s", path, where, text)
}
