package terminal

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ohgw/ohgw/internal/rescue"
)

// maxSplit is how long a command may be, in bytes, that is split. The
// parser goes one call deeper with each level of a text such as $($($(…, and a stack
// that overflows ends the program.
const maxSplit = 256 << 10

// statements splits a command into the statements that only the end of a line separates.
// Those that are joined by ; & && || or | are one. So is a statement that ends with its
// here-document and what follows: a model that writes a file that way continues below. A
// text that the parser does not accept as bash, or that is longer than maxSplit, is one
// statement: the shell decides about it.
func statements(command string) []string {
	if len(command) > maxSplit {
		return []string{command}
	}
	var file *syntax.File
	err := rescue.Do(func() (err error) { // the parser panics at some texts that are not bash
		file, err = syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
		return err
	})
	if err != nil || len(file.Stmts) < 2 {
		return []string{command}
	}
	var out []string
	begin := uint(0)
	for i, stmt := range file.Stmts {
		last := i == len(file.Stmts)-1
		if !last && (stmt.Semicolon.IsValid() || endsWithHeredoc(command, file.Stmts[:i+1], file.Stmts[i+1].Pos().Offset())) {
			continue
		}
		end := uint(len(command))
		if !last {
			end = file.Stmts[i+1].Pos().Offset()
		}
		out = append(out, strings.TrimSpace(command[begin:end]))
		begin = end
	}
	return out
}

// endsWithHeredoc reports whether a here-document ends the last of some statements. One
// that is inside of it, as in a loop, has tokens of the statement behind it.
func endsWithHeredoc(command string, stmts []*syntax.Stmt, next uint) bool {
	end := uint(0)
	for _, stmt := range stmts {
		syntax.Walk(stmt, func(node syntax.Node) bool {
			if r, ok := node.(*syntax.Redirect); ok && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc) {
				if at := heredocEnd(command, r); at < next {
					end = max(end, at)
				}
			}
			return true
		})
	}
	return end > 0 && end >= stmts[len(stmts)-1].End().Offset()
}

// heredocEnd is where the text of a here-document ends.
func heredocEnd(command string, r *syntax.Redirect) uint {
	if r.Hdoc != nil && len(r.Hdoc.Parts) > 0 {
		return r.Hdoc.End().Offset()
	}
	end := r.Word.End().Offset()
	if i := strings.IndexByte(command[end:], '\n'); i >= 0 {
		end += uint(i) // it is empty and ends in the next line
	}
	return end
}

// literal says what a command looks like that is a piece of data in Python or
// JSON, which some models send; empty for everything else. In bash, [ and {
// are followed by a blank.
func literal(command string) string {
	s := strings.TrimSpace(command)
	if len(s) < 2 {
		return ""
	}
	quoted := s[1] == '"' || s[1] == '\''
	switch {
	case s[0] == '{' && quoted:
		return "an object"
	case s[0] == '[' && (quoted || s[1] == '{'):
		return "a list"
	case strings.HasPrefix(s, "[[") && len(s) > 2 && !strings.ContainsAny(s[2:3], " \t\n"):
		return "a list"
	}
	return ""
}
