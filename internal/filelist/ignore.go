package filelist

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxRules bounds a file of rules, in bytes.
const maxRules = 1 << 20

// rule is a line of a .gitignore: which names git leaves out, below base.
type rule struct {
	base  []string
	glob  []string // the parts of the pattern; "**" stands for any number of them
	dirs  bool     // for directories only
	again bool     // what matches is not left out
}

// rulesOf reads the rules in a file, for what is below base; none if there is
// no such file.
func rulesOf(files fs.FS, name string, base []string) []rule {
	f, err := files.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // It was only read.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRules))
	if err != nil {
		return nil
	}
	var rules []rule
	for line := range strings.Lines(string(data)) {
		if r, ok := parse(line, base); ok {
			rules = append(rules, r)
		}
	}
	return rules
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

// ignored reports whether git leaves a name out: the last rule that matches it
// decides.
func ignored(rules []rule, name string, dir bool) bool {
	all := strings.Split(name, "/")
	for _, r := range slices.Backward(rules) {
		if (dir || !r.dirs) && len(all) > len(r.base) && match(r.glob, all[len(r.base):]) {
			return !r.again
		}
	}
	return false
}

// match reports whether the parts of a pattern match those of a name.
func match(glob, name []string) bool {
	for len(glob) > 0 {
		if glob[0] == "**" {
			if len(glob) == 1 {
				return len(name) > 0
			}
			for i := range name {
				if match(glob[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(glob[0], name[0]); err != nil || !ok {
			return false
		}
		glob, name = glob[1:], name[1:]
	}
	return len(name) == 0
}
