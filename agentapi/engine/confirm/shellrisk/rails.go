package shellrisk

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Composed looks for what is dangerous by the way it is put together: a download that goes
// into a program, a write to a raw disk, an rm of what a system cannot do without.
func Composed(text string) Verdict {
	var r rails
	r.scan(text, 0, source{})
	return r.verdict
}

// rails collects what is found in a text and in the source inside of it.
type rails struct{ verdict Verdict }

func (r *rails) find(v Verdict) { r.verdict = max(r.verdict, v) }

// scan reads a text. Its commands may read from input what another program writes.
func (r *rails) scan(text string, depth int, input source) {
	for _, p := range parse(text) {
		for i, c := range p.commands {
			if p.commands[i] = c.unwrapped(); p.commands[i].open && !c.open {
				r.find(Unknown)
			}
		}
		if p.deep || p.feedsBlock() {
			r.find(Unknown)
		}
		if !p.deep {
			r.pipes(p, depth)
		}
		if input.there {
			r.inherited(p, input, depth)
		}
		for _, c := range p.commands {
			r.find(c.writesDisk())
			r.find(c.deletesSystem())
			run := c.executed()
			if run.doubt || c.isOption() {
				r.find(Unknown)
			}
			if !run.there {
				continue
			}
			fed := source{}
			if input.there && len(p.commands) == 1 {
				fed = c.input(input, c.stmts[len(c.stmts)-1])
			}
			r.nested(run, depth, fed)
		}
	}
}

// nested reads source inside of source.
func (r *rails) nested(run source, depth int, input source) {
	if run.doubt {
		r.find(Unknown)
	}
	if !run.known || depth >= maxDepth {
		r.find(Unknown)
		return
	}
	r.scan(run.text, depth+1, input)
}

// isOption reports whether the command is behind the keyword time and may be an option of
// the program time.
func (c command) isOption() bool {
	if !c.open && !strings.HasPrefix(c.name, "-") {
		return false
	}
	var below syntax.Node
	for _, node := range c.within {
		switch node := node.(type) {
		case *syntax.Stmt:
		case *syntax.BinaryCmd:
			if below != syntax.Node(node.X) {
				return false
			}
		case *syntax.TimeClause:
			return true
		default:
			return false
		}
		below = node
	}
	return false
}

// inherited reads what a script gets by its standard input, if a shell in it takes that for
// commands.
func (r *rails) inherited(p *program, input source, depth int) {
	var runs []source
	for _, c := range p.commands {
		if run := c.takes(input, c.stmts[len(c.stmts)-1]); run.there {
			runs = append(runs, run)
		}
	}
	switch {
	case len(runs) == 0:
	case len(runs) > 1 || len(p.commands) > 1:
		r.find(Unknown)
	default:
		r.nested(runs[0], depth, source{})
	}
}

// takes returns what a shell at the end of a pipe takes for commands.
func (c command) takes(piped source, stage *syntax.Stmt) source {
	if !piped.there || !c.isShell() {
		return source{}
	}
	switch run := c.script(); {
	case run.there:
		return source{}
	case run.doubt:
		return unclear()
	}
	reads, known := c.readsInput()
	if known && !reads {
		return source{}
	}
	in := c.input(piped, stage)
	if in.there && !known {
		return unclear()
	}
	return in
}

// feedsBlock reports whether more commands than one shell may read a text of the source:
// those of a block, or of a list or pipe that ends with the shell.
func (p *program) feedsBlock() bool {
	for _, c := range p.commands {
		if !c.isShell() {
			continue
		}
		for _, stmt := range c.stmts {
			own := stmt.Cmd == syntax.Command(c.node)
			for _, r := range stmt.Redirs {
				switch r.Op {
				case syntax.WordHdoc:
					if !own {
						return true
					}
				case syntax.Hdoc, syntax.DashHdoc:
					if !own || c.endsList() {
						return true
					}
				}
			}
		}
	}
	return false
}

// endsList reports whether the command is the last one of a list or a pipe.
func (c command) endsList() bool {
	if len(c.within) < 2 {
		return false
	}
	list, ok := c.within[1].(*syntax.BinaryCmd)
	return ok && syntax.Node(list.Y) == c.within[0]
}

// writesDisk looks for dd and mkfs.
func (c command) writesDisk() Verdict {
	if c.is("mkfs") || strings.HasPrefix(strings.ToLower(c.name), "mkfs.") {
		return Found
	}
	found := None
	for _, w := range c.args {
		if !w.known {
			if c.is("dd") {
				found = Unknown
			}
			continue
		}
		key, file, _ := strings.Cut(w.text, "=")
		device := strings.EqualFold(key, "of") && isDevice(file)
		switch {
		case c.is("dd") && device:
			return Found
		case c.is("dd") && w.many, c.open && (device || isDevice(w.text)):
			found = Unknown
		}
	}
	return found
}

func isDevice(file string) bool { return strings.HasPrefix(absolute(file), "/dev/") }

// absolute is a path without detours, "" for one that is not absolute.
func absolute(file string) string {
	if !strings.HasPrefix(file, "/") {
		return ""
	}
	return path.Clean(file)
}

// deletesSystem looks for a recursive forced rm of a system's or a user's directories.
func (c command) deletesSystem() Verdict {
	critical, unsure := c.targets()
	forced, rm := c.recursiveForce(), c.is("rm")
	switch {
	case rm && forced && critical:
		return Found
	case forced && unsure && (rm || c.open),
		critical && c.open && (forced || unsure),
		critical && rm && unsure:
		return Unknown
	}
	return None
}

// targets reports whether a word names what a system cannot do without, and whether some
// words have to be looked up.
func (c command) targets() (critical, unsure bool) {
	ended := false
	for _, w := range c.args {
		switch {
		case !w.known:
			unsure = true
			continue
		case w.many:
			unsure = true
		}
		switch {
		case ended:
			critical = critical || w.isCritical()
		case w.text == "--":
			ended = true
		case !strings.HasPrefix(w.text, "-") || w.text == "-":
			critical = critical || w.isCritical()
		}
	}
	return critical, unsure
}

// isCritical reports whether the word names what a system cannot do without.
func (w word) isCritical() bool {
	file := strings.ToLower(w.text)
	if strings.HasPrefix(w.raw, "~") {
		if rest, ok := strings.CutPrefix(file, "~/"); file == "~" || ok && isAbove(rest) {
			return true
		}
	}
	file = absolute(file)
	if file == "/" || file == "/*" {
		return true
	}
	for _, root := range [...]string{"/etc", "/usr", "/var", "/home", "/boot"} {
		if rest, ok := strings.CutPrefix(file, root); ok && (rest == "" || rest[0] == '/' || rest[0] == '*') {
			return true
		}
	}
	return false
}

// isAbove reports whether a relative path leads to its start or above it.
func isAbove(file string) bool {
	file = path.Clean(file)
	return file == "." || file == ".." || strings.HasPrefix(file, "../")
}
