package repocheck_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// world is what commands and package setup take from their Env instead of the
// process. cli/env.go is the one file that fills the Env.
var world = map[string][]string{
	"os":      {"Environ", "Executable", "Exit", "Getenv", "Geteuid", "Getpid", "Getuid", "Getwd", "Hostname", "LookupEnv", "Stderr", "Stdin", "Stdout", "UserHomeDir"},
	"os/exec": {"LookPath"},
	"time":    {"Now"},
}

func TestCommandsTakeTheWorldFromTheirEnv(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.forTests() || s.name == "cli/env.go" || !within(s.dir, "cli", "setup") {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			for path, names := range world {
				if strings.HasSuffix("/"+path, "/"+id.Name) && slices.Contains(names, sel.Sel.Name) {
					t.Errorf("%s:%d: %s.%s does not come from the Env", s.name, s.line(n.Pos()), id.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}
