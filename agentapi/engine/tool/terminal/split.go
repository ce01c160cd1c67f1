package terminal

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// statements splits a command into the statements that only the end of a line
// separates. Those that are joined by ; & && || or | are one. A text that is
// no bash that the parser knows is one statement: the shell has the last word.
func statements(command string) []string {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) < 2 {
		return []string{command}
	}
	var out []string
	begin := uint(0)
	for i, stmt := range file.Stmts {
		last := i == len(file.Stmts)-1
		if !last && stmt.Semicolon.IsValid() {
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
