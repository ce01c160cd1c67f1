// Package patch reads and applies patches in the format of the tool apply_patch:
// whole files that are added, deleted or updated, where an update finds its lines by
// the text around them and not by numbers.
//
// It works on texts and touches no file. Line ends of a text stay as they are.
package patch

import (
	"fmt"
	"slices"
	"strings"
)

// Lines that structure a patch.
const (
	begin   = "*** Begin Patch"
	end     = "*** End Patch"
	update  = "*** Update File: "
	remove  = "*** Delete File: "
	add     = "*** Add File: "
	moveTo  = "*** Move to: "
	fileEnd = "*** End of File"
)

// Kind is what is done with a file.
type Kind string

// The kinds, as observations name them.
const (
	Add    Kind = "add"
	Delete Kind = "delete"
	Update Kind = "update"
)

// Change is what a patch does with one file.
type Change struct {
	Kind Kind
	Path string // as the patch names it
	// MoveTo is the new path of a file that is updated; "" keeps the old one.
	MoveTo string
	// Content is the text of a file that is added.
	Content string

	sections []section
}

// section is a run of lines to find in the file, with the changes in it.
type section struct {
	anchor string   // a line to go to first; "" if none
	old    []string // the lines to find
	chunks []chunk
	atEnd  bool
}

// chunk replaces lines of a section.
type chunk struct {
	at       int // the index of its first line
	del, ins []string
}

// Parse reads a patch. The error says what is wrong, and in which line.
func Parse(text string) ([]Change, error) {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[0], begin) || strings.TrimSpace(lines[len(lines)-1]) != end {
		return nil, fmt.Errorf("a patch begins with the line %q and ends with the line %q", begin, end)
	}
	r := reader{lines: lines[:len(lines)-1], at: 1}
	var changes []Change
	for r.more() {
		c, err := r.change()
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(changes, func(o Change) bool { return o.Path == c.Path }) {
			return nil, fmt.Errorf("%s is changed twice: put all of its changes under one heading", c.Path)
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		return nil, fmt.Errorf("the patch changes no file: name one with %q, %q or %q", update, add, remove)
	}
	return changes, nil
}

// reader goes through the lines of a patch.
type reader struct {
	lines []string
	at    int
}

func (r *reader) more() bool { return r.at < len(r.lines) }

// take reads the line if it begins with prefix, and returns the rest of it.
func (r *reader) take(prefix string) (string, bool) {
	if !r.more() {
		return "", false
	}
	rest, ok := strings.CutPrefix(r.lines[r.at], prefix)
	if !ok {
		return "", false
	}
	r.at++
	return strings.TrimSpace(rest), true
}

func (r *reader) wrong(what string) error {
	line := "the end of the patch"
	if r.more() {
		line = fmt.Sprintf("%.200q", r.lines[r.at])
	}
	return fmt.Errorf("line %d, %s: %s", r.at+1, line, what)
}

// atFile reports whether the line is about another file.
func (r *reader) atFile() bool {
	return !r.more() || slices.ContainsFunc([]string{update, remove, add}, func(p string) bool {
		return strings.HasPrefix(r.lines[r.at], strings.TrimSuffix(p, " "))
	})
}

func (r *reader) change() (Change, error) {
	if path, ok := r.take(remove); ok && path != "" {
		return Change{Kind: Delete, Path: path}, nil
	}
	if path, ok := r.take(add); ok && path != "" {
		return r.added(path)
	}
	if path, ok := r.take(update); ok && path != "" {
		c := Change{Kind: Update, Path: path}
		c.MoveTo, _ = r.take(moveTo)
		for !r.atFile() {
			s, err := r.section(len(c.sections) == 0)
			if err != nil {
				return c, err
			}
			c.sections = append(c.sections, s)
		}
		if len(c.sections) == 0 && c.MoveTo == "" {
			return c, r.wrong("there is no change for " + path)
		}
		return c, nil
	}
	return Change{}, r.wrong("this is not the heading of a file")
}

func (r *reader) added(path string) (Change, error) {
	var b strings.Builder
	for !r.atFile() {
		line, ok := strings.CutPrefix(r.lines[r.at], "+")
		if !ok {
			return Change{}, r.wrong("each line of an added file begins with +")
		}
		b.WriteString(line + "\n")
		r.at++
	}
	return Change{Kind: Add, Path: path, Content: b.String()}, nil
}

// section reads the lines from an @@ line on; the first may have none.
func (r *reader) section(first bool) (section, error) {
	var s section
	anchor, ok := r.take("@@")
	if !ok && !first {
		return s, r.wrong("a line with @@ was expected")
	}
	s.anchor = anchor
	from := r.at
	for !r.atFile() && !strings.HasPrefix(r.lines[r.at], "@@") && r.lines[r.at] != fileEnd {
		if err := r.line(&s); err != nil {
			return s, err
		}
		r.at++
	}
	if r.more() && r.lines[r.at] == fileEnd {
		s.atEnd = true
		r.at++
	} else if r.at == from {
		return s, r.wrong("there are no lines in this part")
	}
	return s, nil
}

// line adds one line to a section. An empty one stands for an empty line of the file.
func (r *reader) line(s *section) error {
	line := r.lines[r.at]
	if line == "" {
		line = " "
	}
	mark, line := line[0], line[1:]
	if mark == ' ' {
		s.old = append(s.old, line)
		return nil
	}
	if mark != '+' && mark != '-' {
		return r.wrong("a line begins with a blank, + or -")
	}
	n := len(s.chunks) - 1
	if n < 0 || s.chunks[n].at+len(s.chunks[n].del) != len(s.old) {
		s.chunks = append(s.chunks, chunk{at: len(s.old)})
		n++
	}
	if mark == '-' {
		s.chunks[n].del = append(s.chunks[n].del, line)
		s.old = append(s.old, line)
	} else {
		s.chunks[n].ins = append(s.chunks[n].ins, line)
	}
	return nil
}
