package shellrisk

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stage is one statement of a pipe, with all commands in it.
type stage struct {
	stmt     *syntax.Stmt
	commands []command
	direct   []command // those whose output is the stage's
}

// pipes looks at all pipes of a program.
func (r *rails) pipes(p *program, depth int) {
	inner := map[*syntax.BinaryCmd]bool{}
	syntax.Walk(p.root, func(node syntax.Node) bool {
		if pipe, ok := node.(*syntax.BinaryCmd); ok && isPipe(pipe) && !inner[pipe] {
			r.pipe(p.stages(stmtsOf(pipe, inner)), depth)
		}
		return true
	})
}

func isPipe(c *syntax.BinaryCmd) bool { return c.Op == syntax.Pipe || c.Op == syntax.PipeAll }

// stmtsOf are the statements of a pipe, in order; inner gets the pipes that are part of it.
func stmtsOf(pipe *syntax.BinaryCmd, inner map[*syntax.BinaryCmd]bool) (list []*syntax.Stmt) {
	for _, stmt := range [...]*syntax.Stmt{pipe.X, pipe.Y} {
		if part, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && isPipe(part) && len(stmt.Redirs) == 0 {
			inner[part] = true
			list = append(list, stmtsOf(part, inner)...)
		} else {
			list = append(list, stmt)
		}
	}
	return list
}

func (p *program) stages(stmts []*syntax.Stmt) []stage {
	list := make([]stage, len(stmts))
	at := make(map[*syntax.Stmt]*stage, len(stmts))
	for i, stmt := range stmts {
		list[i].stmt = stmt
		at[stmt] = &list[i]
	}
	for _, c := range p.commands {
		for _, stmt := range c.stmts {
			s := at[stmt]
			if s == nil {
				continue
			}
			s.commands = append(s.commands, c)
			if c.roleIn(stmt) == direct {
				s.direct = append(s.direct, c)
			}
			break
		}
	}
	return list
}

// role is what becomes of the output of a command in a stage of a pipe.
type role int

const (
	direct   role = iota // it is the stage's
	indirect             // another command of the stage gets it
	captured             // a variable does
)

func (c command) roleIn(stage *syntax.Stmt) role {
	inside, assigned := false, false
	for _, node := range c.within {
		switch node := node.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			inside = true
		case *syntax.Assign:
			assigned = assigned || inside
		case *syntax.CallExpr:
			if assigned && len(node.Args) == 0 {
				return captured
			}
			return indirect
		case *syntax.Stmt:
			if node != stage {
				continue
			}
			switch {
			case assigned:
				return captured
			case inside:
				return indirect
			}
			return direct
		}
	}
	return indirect
}

func (r *rails) pipe(stages []stage, depth int) {
	for i := range len(stages) - 1 {
		r.piped(stages[i], stages[i+1], depth)
	}
	for i, s := range stages[:len(stages)-1] {
		if !slices.ContainsFunc(stages[i+1:], func(s stage) bool { return len(s.commands) > 0 }) {
			if slices.ContainsFunc(stages, stage.isNoCommand) && slices.ContainsFunc(s.commands, command.fetches) {
				r.find(Unknown)
			}
			continue
		}
		for _, c := range s.commands {
			r.downloads(c, s)
		}
	}
}

// isNoCommand reports whether a stage is more than one command, or none.
func (s stage) isNoCommand() bool {
	call, ok := s.stmt.Cmd.(*syntax.CallExpr)
	return !ok || len(call.Args) == 0
}

// downloads looks for a download whose result goes into the pipe.
func (r *rails) downloads(c command, s stage) {
	switch c.roleIn(s.stmt) {
	case captured:
	case indirect:
		if c.fetches() {
			r.find(s.forwards(c))
		}
	case direct:
		if run := c.executed(); run.there || run.doubt || c.open {
			r.find(Unknown)
		}
		if c.fetches() {
			r.find(Found)
		}
	}
}

func (c command) fetches() bool { return c.is("curl") || c.is("wget") }

// forwards reports whether the stage writes what a command in one of its words has written:
// only of echo and printf is it known.
func (s stage) forwards(inner command) Verdict {
	if len(s.direct) == 0 {
		return Unknown
	}
	outer := s.direct[0]
	if outer.name != "echo" && outer.name != "printf" {
		return Unknown
	}
	at := slices.IndexFunc(outer.args, func(w word) bool {
		return w.syntax.Pos().Offset() <= inner.node.Pos().Offset() && inner.node.End().Offset() <= w.syntax.End().Offset()
	})
	if at < 0 {
		return None
	}
	switch outer.writesToPipe(nil) {
	case no:
		return None
	case maybe:
		return Unknown
	case yes:
	}
	switch {
	case outer.name == "echo":
		return Found
	case !outer.args[0].known, at == 0, strings.Contains(outer.args[0].text, `\`):
		return Unknown
	case strings.Contains(strings.ReplaceAll(outer.args[0].text, "%%", ""), "%"):
		return Found
	}
	return None
}

// piped looks at what one stage writes and the next one takes for shell source.
func (r *rails) piped(from, to stage, depth int) {
	if len(to.direct) == 0 {
		return
	}
	unsure := func() {
		if slices.ContainsFunc(to.direct, command.mayBeShell) {
			r.find(Unknown)
		}
	}
	if len(from.direct) != 1 {
		unsure()
		return
	}
	out := from.direct[0].output(from.stmt)
	if !out.there {
		return
	}
	if len(to.direct) != 1 || !to.direct[0].isShell() {
		unsure()
		return
	}
	shell := to.direct[0]
	if run := shell.takes(out, to.stmt); run.there {
		r.nested(run, depth, source{})
		return
	}
	if run := shell.executed(); run.there {
		if in := shell.input(out, to.stmt); in.there {
			r.nested(run, depth, in)
		}
	}
}

func (c command) mayBeShell() bool { return c.isShell() || c.open }
