package repocheck_test

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/cli"
)

// elsewhere are the commands that are not in the file of their name, with the file and
// the reason.
var elsewhere = map[string]struct{ file, why string }{
	"ohgw":        {"cli/root.go", "the root of all commands is not in a package of its own"},
	"ohgw models": {"cli/modellist/models.go", "the list of names that hold nothing has models, so that the package has another one"},
	"ohgw login":  {"cli/server/login.go", "it adds a server, with the functions of ohgw server add"},
	"ohgw logout": {"cli/server/logout.go", "it opens the list of servers as ohgw server does"},
}

// TestEveryCommandHasAFileOfItsName compares the commands of the program with the
// literals of cobra.Command below cli. "ohgw serve" is in cli/serve/serve.go, or in
// cli/serve.go if there is no such package, "ohgw tokens create" in cli/tokens/create.go,
// and "ohgw cloud download files" in cli/cloud/download_files.go. No other file has one.
func TestEveryCommandHasAFileOfItsName(t *testing.T) {
	t.Parallel()
	made := commandLiterals(t)
	root := cli.Root(&cli.Env{Getenv: func(string) string { return "" }})
	root.InitDefaultHelpCmd() // as a run does
	known := 0
	for queue := append(root.Commands(), root); len(queue) > 0; queue = queue[1:] {
		c := queue[0]
		if c != root {
			queue = append(queue, c.Commands()...)
		}
		known++
		file := commandFile(t, c.CommandPath())
		if names := made[file]; len(names) != 1 || names[0] != c.Name() {
			t.Errorf("%q belongs in %s, alone; the commands there are %q", c.CommandPath(), file, names)
		}
		delete(made, file)
	}
	for file, names := range made {
		t.Errorf("%s has the commands %q, and is not named for one", file, names)
	}
	if known < 50 {
		t.Errorf("the program has only %d commands", known)
	}
	for command, e := range elsewhere {
		if c, _, err := root.Find(strings.Fields(command)[1:]); err != nil || c.CommandPath() != command || e.why == "" {
			t.Errorf("the list has %q, which is not a command, or has no reason", command)
		}
	}
}

// commandFile is where a command is.
func commandFile(t *testing.T, command string) string {
	t.Helper()
	if e, ok := elsewhere[command]; ok {
		return e.file
	}
	words := strings.Fields(strings.ReplaceAll(command, "-", "_"))[1:]
	if len(words) > 1 {
		return path.Join("cli", words[0], strings.Join(words[1:], "_")+".go")
	}
	if _, ok := packages(t)["cli/"+words[0]]; ok {
		return path.Join("cli", words[0], words[0]+".go")
	}
	return path.Join("cli", words[0]+".go")
}

// commandLiterals are the names of the commands that each file below cli makes.
func commandLiterals(t *testing.T) map[string][]string {
	t.Helper()
	made := map[string][]string{}
	for _, s := range sources(t) {
		if s.test || !within(s.dir, "cli") {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if c, ok := n.(*ast.CompositeLit); ok && code(c.Type) == "cobra.Command" {
				made[s.name] = append(made[s.name], nameOfCommand(c))
			}
			return true
		})
	}
	return made
}

// nameOfCommand is the first word of a command's Use, which is a string literal.
func nameOfCommand(c *ast.CompositeLit) string {
	for _, element := range c.Elts {
		field, ok := element.(*ast.KeyValueExpr)
		if !ok || code(field.Key) != "Use" {
			continue
		}
		if text, ok := field.Value.(*ast.BasicLit); ok {
			use, _ := strconv.Unquote(text.Value)
			name, _, _ := strings.Cut(use, " ")
			return name
		}
	}
	return ""
}
