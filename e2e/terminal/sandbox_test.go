//go:build e2e

package terminal_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestARefusalOfTheSandboxIsSeen lets the agent connect to a host that is not
// allowed. Nothing leaves this machine: the sandbox answers the name itself.
func TestARefusalOfTheSandboxIsSeen(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	ohgw, err := program()
	if err != nil {
		t.Fatal(err)
	}
	status := exec.Command(ohgw, "sandbox", "status", "--json")
	status.Env = p.env
	if out, _ := status.Output(); !strings.Contains(strings.ReplaceAll(string(out), " ", ""), `"level":"full"`) {
		t.Skip("this machine has no sandbox of level full")
	}
	p.llm.On(llmtest.Says("fetch it"),
		// The host is compared with what the package managers are set to, which are asked first.
		llmtest.Tool("terminal", arguments(p, map[string]any{"command": "timeout 25 bash -c 'exec 3<>/dev/tcp/refused.example/443; cat <&3'; true"})),
		llmtest.Text("It cannot be reached."))
	s := p.chat(size{90, 34}, "")
	if shown := s.sees("ready"); strings.Contains(shown, "sandbox off") {
		t.Fatal("the agents of this ohgw run outside of a sandbox")
	}
	s.asks("fetch it")
	s.sees("⊘ sandbox refused refused.example:443 · a: allow", "It cannot be reached.", "ready", "ohgw sandbox allow net refused.example")
	s.press("a")
	s.sees("Allow this in the sandbox?", "› n no")
	s.press("Enter")
	s.sees("⊘ sandbox refused refused.example:443 · stays refused")
	s.misses("Allow this in the sandbox?")
	s.types("/sandbox")
	s.press("Enter")
	s.sees("level    full", "refused  refused.example:443")
}
