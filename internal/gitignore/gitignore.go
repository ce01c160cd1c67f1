// Package gitignore reads the rules by which git leaves files out, and applies them to names.
// It reads no files itself.
package gitignore

import (
	"path"
	"slices"
	"strings"
)

// MaxSize bounds a file of rules, in bytes: what is behind is not read.
const MaxSize = 1 << 20

// Rules are the lines of files of rules, those of the directories above first. The zero
// value leaves nothing out.
type Rules []rule

// rule is a line of a .gitignore: which names git leaves out, below base.
type rule struct {
	base  []string
	glob  []string // the parts of the pattern; "**" stands for any number of them
	dirs  bool     // for directories only
	again bool     // what matches is not left out
}

// With returns the rules with those of a file, which are for what is below the directory
// dir: a path with slashes, "" or "." for the top.
func (rules Rules) With(dir string, file []byte) Rules {
	var base []string
	if dir != "" && dir != "." {
		base = strings.Split(dir, "/")
	}
	all := slices.Clip(rules)
	for line := range strings.Lines(string(file[:min(len(file), MaxSize)])) {
		if r, ok := parse(line, base); ok {
			all = append(all, r)
		}
	}
	return all
}

// Ignore reports whether git leaves a name out: the last rule that matches it decides.
// What is in a directory that is left out is not asked for.
func (rules Rules) Ignore(name string, dir bool) bool {
	all := strings.Split(name, "/")
	for _, r := range slices.Backward(rules) {
		if (dir || !r.dirs) && len(all) > len(r.base) && match(r.glob, all[len(r.base):]) {
			return !r.again
		}
	}
	return false
}

// match reports whether the parts of a pattern match those of a name. The last "**" is
// enough to go back to, so that no pattern takes longer than its length times that of the
// name.
func match(glob, name []string) bool {
	g, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == "**":
			star, from = g, n
			g++
			if g == len(glob) {
				return true // at least one part is left
			}
		case g < len(glob) && matchPart(glob[g], name[n]):
			g++
			n++
		case star >= 0:
			from++
			g, n = star+1, from
		default:
			return false
		}
	}
	return g == len(glob)
}

func matchPart(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

// parse reads a line of a .gitignore.
func parse(line string, base []string) (rule, bool) {
	line = strings.TrimRight(line, "\r\n")
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " ")
	}
	r := rule{base: base}
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	line, r.again = strings.CutPrefix(line, "!")
	line, r.dirs = strings.CutSuffix(line, "/")
	rest, anchored := strings.CutPrefix(line, "/")
	if rest == "" {
		return rule{}, false
	}
	r.glob = strings.Split(classes(rest), "/")
	if !anchored && len(r.glob) == 1 {
		r.glob = append([]string{"**"}, r.glob...)
	}
	return r, true
}

// classes rewrites the classes of a pattern for [path.Match], which knows [^a] and no [!a],
// and wants a backslash before a bracket or a dash that stands for itself.
func classes(glob string) string {
	var out strings.Builder
	for i := 0; i < len(glob); i++ {
		out.WriteByte(glob[i])
		switch glob[i] {
		case '\\':
			if i++; i < len(glob) {
				out.WriteByte(glob[i])
			}
		case '[':
			i += class(&out, glob[i+1:])
		}
	}
	return out.String()
}

// class writes what is behind the bracket that opens a class, and returns its length. A class
// without an end matches nothing.
func class(out *strings.Builder, rest string) int {
	i := 0
	if rest != "" && (rest[0] == '!' || rest[0] == '^') {
		out.WriteByte('^')
		i++
	}
	for first := i; i < len(rest); i++ {
		c, last := rest[i], i+1 < len(rest) && rest[i+1] == ']'
		switch {
		case c == ']' && i > first:
			out.WriteByte(c)
			return i + 1
		case c == ']', c == '-' && (i == first || last):
			out.WriteByte('\\')
		case c == '\\' && i+1 < len(rest):
			out.WriteByte(c)
			i++
		}
		out.WriteByte(rest[i])
	}
	return i
}
