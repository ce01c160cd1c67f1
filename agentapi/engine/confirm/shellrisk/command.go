package shellrisk

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command is a simple command of a program, or what a wrapper such as env runs.
type command struct {
	program *program

	node   *syntax.CallExpr
	stmts  []*syntax.Stmt // in which it is, the innermost first
	within []syntax.Node  // all nodes in which it is, the innermost first
	broken bool           // the text does not parse: who knows what a shell makes of it

	name  string // of the program, without its directory; "" if it is not known
	open  bool   // the name has to be looked up, or it is behind a wrapper that does
	args  []word
	plain bool // the name has no directory, so that it may be a builtin
	bare  bool // ... and is written as it is, so that it may be a keyword
}

// program is a text that was parsed.
type program struct {
	raw      string
	root     *syntax.File
	commands []command
	broken   bool // something is missing in the text
	deep     bool // it has more levels than are read
}

// maxNodes is how deep a program is read. Each stage of a pipe is a level, too.
const maxNodes = 400

// source is a node as it is written; "" for one that is missing.
func (p *program) source(node syntax.Node) string {
	begin, end := int(node.Pos().Offset()), int(node.End().Offset())
	if begin > end || end > len(p.raw) {
		return ""
	}
	return p.raw[begin:end]
}

func (p *program) word(w *syntax.Word) word { return newWord(w, p.source(w)) }

// newProgram finds the commands of a program.
func newProgram(raw string, root *syntax.File, broken bool) *program {
	p := &program{raw: raw, root: root, broken: broken}
	var above []syntax.Node
	syntax.Walk(root, func(node syntax.Node) bool {
		if node == nil {
			above = above[:len(above)-1]
			return true
		}
		if len(above) >= maxNodes {
			p.deep = true
			return false
		}
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			p.commands = append(p.commands, p.command(call, above))
		}
		above = append(above, node)
		return true
	})
	return p
}

func (p *program) command(call *syntax.CallExpr, above []syntax.Node) command {
	c := command{program: p, node: call, broken: p.broken}
	for i := len(above) - 1; i >= 0; i-- {
		c.within = append(c.within, above[i])
		if stmt, ok := above[i].(*syntax.Stmt); ok {
			c.stmts = append(c.stmts, stmt)
		}
	}
	first := p.word(call.Args[0])
	for _, arg := range call.Args[1:] {
		c.args = append(c.args, p.word(arg))
	}
	c.open = !first.known || first.many
	if !c.open {
		c.name = base(first.text)
	}
	c.plain = first.known && !strings.Contains(first.text, "/")
	c.bare = c.plain && first.raw == first.text
	return c
}

// base is the last part of a path, "" where it ends in a slash.
func base(file string) string {
	_, name := path.Split(file)
	return name
}

// is reports whether the command has a name, in whatever case: some file systems do not
// tell them apart.
func (c command) is(name string) bool { return strings.EqualFold(c.name, name) }

// isShell reports whether the command runs shell source.
func (c command) isShell() bool {
	switch c.name {
	case "sh", "bash", "dash", "zsh", "ksh", "ash":
		return true
	}
	return false
}

// recursiveForce reports whether the options of the command are those of a recursive forced
// rm.
func (c command) recursiveForce() bool {
	var f flags
	for _, w := range c.args {
		switch {
		case !w.known:
		case w.text == "--":
			return f.both()
		default:
			f.option(w.text)
		}
	}
	return f.both()
}

// flags are the options that make an rm dangerous.
type flags struct{ recursive, force bool }

func (f *flags) both() bool { return f.recursive && f.force }

func (f *flags) option(text string) {
	switch {
	case text == "--recursive":
		f.recursive = true
	case text == "--force":
		f.force = true
	case len(text) > 1 && text[0] == '-' && text[1] != '-':
		f.letters(text)
	}
}

func (f *flags) letters(text string) {
	f.recursive = f.recursive || strings.ContainsAny(text, "rR")
	f.force = f.force || strings.Contains(text, "f")
}
