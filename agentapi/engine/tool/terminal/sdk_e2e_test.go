//go:build e2e && unix

package terminal_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/tool/terminal"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

const sdkStatements = `
import json
from openhands.tools.terminal.utils.command import split_bash_commands
print("RESULT" + json.dumps([len(split_bash_commands(c)) for c in json.load(open("commands.json"))]))
`

// Left out is a line that ends with ";" before another one: the SDK refuses the two.
func TestTheSDKTakesTheSameTextsForOneCommand(t *testing.T) {
	commands := []string{
		"ls\nls", "ls &&\nls", "cat <<E\na\nE\nls", "cat <<E\na\nE\n\n# so\nls", "cat <<E\na\nE\nls\nls", "ls\ncat <<E\na\nE\nls",
		"cat <<'E' >f\n$a\nE\ncat f", "cat <<-E\n\ta\n\tE\nls", "cat <<E | tr a b\na\nE\nls", "cat <<E && ls\na\nE\nls", "cat <<E >f && ls; ls\na\nE\nls",
		"{ cat <<E\na\nE\n}\nls", "(cat <<E\na\nE\n)\nls", "if true; then cat <<E\na\nE\nfi\nls", "for i in 1; do cat <<E\na\nE\ndone\nls",
		"x=$(cat <<E\na\nE\n)\nls", "cat <<A <<B\na\nA\nb\nB\nls", "cat <<A\na\nA\ncat <<B\nb\nB\nls", "f() { cat <<E\na\nE\n}\nf", "cat <<E\na\nE",
	}
	dir := t.TempDir()
	list, err := json.Marshal(commands)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "commands.json"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	var theirs []int
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, sdkStatements)), &theirs); err != nil {
		t.Fatal(err)
	}
	for i, command := range commands {
		if got := terminal.Statements(command); got != theirs[i] {
			t.Errorf("%q: %d statements, the SDK has %d", command, got, theirs[i])
		}
	}
}
