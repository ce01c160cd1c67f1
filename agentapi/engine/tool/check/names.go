package check

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/object"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/shellword"
)

const (
	terminal    = "terminal"
	fileEditor  = "file_editor"
	taskTracker = "task_tracker"
)

// identifier is the beginning of a name that can be the name of a tool: some
// models append a piece of XML.
var identifier = pattern.Of(`^[a-zA-Z_][a-zA-Z0-9_]*`)

// alias returns the tool that a name of other times or other agents stands for;
// empty if there is none.
func alias(name string) string {
	switch name {
	case "bash", "command", "execute", "execute_bash", "git", "reset":
		return terminal
	case "str_replace", "str_replace_editor":
		return fileEditor
	}
	return ""
}

// normalise finds the tool that a call means and writes the arguments as that
// tool takes them. An unknown name is given back, cut down to its identifier.
func normalise(name string, args object.Object, tools []tool.Definition) (string, object.Object) {
	has := func(name string) bool {
		return slices.ContainsFunc(tools, func(d tool.Definition) bool { return d.Name == name })
	}
	if !has(name) {
		base := name
		if found := identifier().FindString(name); found != "" {
			base = found
		}
		switch target := alias(base); {
		case has(base):
			name = base
		case target != "" && has(target):
			name = target
			if base == "git" || base == "reset" {
				args = prefixCommand(base, args)
			}
		case has(terminal):
			if command := asCommand(base, args); command != "" {
				name, args = terminal, onlyCommand(command, args)
			}
		}
	}
	if name == fileEditor {
		args = inferCommand(args)
	}
	return name, args
}

// prefixCommand puts the name of the called tool before the command, if it is
// not there already.
func prefixCommand(word string, args object.Object) object.Object {
	var command string
	if raw := args.Get("command"); raw != nil && json.Unmarshal(raw, &command) != nil {
		return args // not a text: the check of types refuses it
	}
	switch fields := strings.Fields(command); {
	case len(fields) == 0:
		command = word
	case fields[0] != word:
		command = word + " " + command
	}
	return onlyCommand(command, args)
}

// asCommand is the shell command that an unknown tool's name stands for.
func asCommand(name string, args object.Object) string {
	own := args.Without(tool.ParamRisk, tool.ParamSummary)
	switch name {
	case "find", "git", "ls", "pwd":
		if len(own) == 0 {
			return name
		}
	case "grep":
		return grepCommand(own)
	}
	return ""
}

// grepCommand searches as a grep tool would. The shell decides which program
// there is.
func grepCommand(args object.Object) string {
	pattern := stringArg(args, "pattern")
	if strings.TrimSpace(pattern) == "" {
		return ""
	}
	path := stringArg(args, "path")
	if strings.TrimSpace(path) == "" {
		path = "."
	}
	rg := "rg -n -i --sortr=modified"
	grep := "grep -R -I -n -i"
	if include := stringArg(args, "include"); strings.TrimSpace(include) != "" {
		rg += " -g " + shellword.Quoted(include)
		grep += " --include=" + shellword.Quoted(include)
	}
	rest := " -e " + shellword.Quoted(pattern) + " -- " + shellword.Quoted(path)
	return "if command -v rg >/dev/null; then " + rg + rest + "; else " + grep + rest + "; fi"
}

// onlyCommand are the arguments of a terminal call, with the risk and the
// summary of the original one.
func onlyCommand(command string, from object.Object) object.Object {
	args := object.Object{{Name: "command", Value: quote(command)}}
	for _, name := range [...]string{tool.ParamRisk, tool.ParamSummary} {
		if v := from.Get(name); v != nil {
			args = append(args, object.Member{Name: name, Value: v})
		}
	}
	return args
}

// inferCommand finds out which command of the file editor is meant when the
// call does not say.
func inferCommand(args object.Object) object.Object {
	if args.Has("command") {
		return args
	}
	for _, c := range [...]struct{ param, command string }{
		{"old_str", "str_replace"}, {"insert_line", "insert"}, {"file_text", "create"}, {"path", "view"},
	} {
		if args.Has(c.param) {
			return append(object.Object{{Name: "command", Value: quote(c.command)}}, args...)
		}
	}
	return args
}

func stringArg(args object.Object, name string) string {
	var s string
	if json.Unmarshal(args.Get(name), &s) != nil {
		return ""
	}
	return s
}
