package probe

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/sandbox"
)

func TestOtherSystems(t *testing.T) {
	t.Parallel()
	works := func(context.Context, sandbox.Level) error { return nil }
	fails := func(context.Context, sandbox.Level) error {
		return errors.New("sandbox_apply: Operation not permitted")
	}
	for _, test := range []struct {
		system string
		try    func(context.Context, sandbox.Level) error
		level  sandbox.Level
		reason string
		fix    []string
	}{
		{"darwin", works, sandbox.Reduced, "macOS: the sandbox is that of sandbox-exec, which is weaker than on Linux, and not tested by the project on a Mac", []string{"virtual machine with Linux"}},
		{"darwin", fails, sandbox.Off, "sandbox-exec makes no sandbox here: sandbox_apply", []string{"outside of other sandboxes", "--agent-server URL", "--sandbox off"}},
		{"windows", fails, sandbox.Off, "ohgw has no sandbox for Windows", []string{"WSL2", "an agent-server in a container", "--agent-server URL", "--sandbox off"}},
		{"freebsd", fails, sandbox.Off, "no sandbox for this system", []string{"Linux", "--agent-server URL", "--sandbox off"}},
	} {
		r := elsewhere(t.Context(), test.system, test.try)
		if r.Level != test.level || !strings.Contains(r.Reason, test.reason) {
			t.Errorf("%s: report = %+v, want %s, %q", test.system, r, test.level, test.reason)
		}
		for _, want := range test.fix {
			if !strings.Contains(r.Fix, want) {
				t.Errorf("%s: the fix is %q, without %q", test.system, r.Fix, want)
			}
		}
	}
}
