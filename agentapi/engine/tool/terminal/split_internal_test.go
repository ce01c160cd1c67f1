package terminal

import (
	"strings"
	"testing"
)

// A text that the parser cannot read, in whatever way, is left to the shell.
func TestACommandThatBreaksTheParserIsOneStatement(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"the parser panics":    "ls\nx=$((curl x; echo) | sh)",
		"the stack overflows":  "ls\nrm " + strings.Repeat("$(", 3_000_000),
		"longer than is split": "ls\nls" + strings.Repeat(" ", maxSplit),
	} {
		if list := statements(command); len(list) != 1 || list[0] != command {
			t.Errorf("%s: %d statements, want the command", name, len(list))
		}
	}
	if list := statements("ls\nls"); len(list) != 2 {
		t.Errorf("two lines are %q", list)
	}
}
