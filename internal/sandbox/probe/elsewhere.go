package probe

import (
	"context"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// waysOut are what a person can do on a system without a sandbox of ohgw.
const waysOut = "use an agent-server in a container (ohgw serve --agent-server URL), or give the agent your rights (--sandbox off)"

// elsewhere answers on another system than Linux.
func elsewhere(ctx context.Context, system string, try func(context.Context, sandbox.Level) error) Result {
	switch system {
	case "darwin":
		err := try(ctx, sandbox.Reduced)
		if err == nil {
			return Result{
				Level:  sandbox.Reduced,
				Reason: "macOS: the sandbox is that of sandbox-exec, which is weaker than on Linux, and not tested by the project on a Mac",
				Fix:    "for a full sandbox run ohgw in a virtual machine with Linux",
			}
		}
		return Result{
			Level: sandbox.Off, Reason: "macOS: sandbox-exec makes no sandbox here: " + err.Error(),
			Fix: "start ohgw outside of other sandboxes, " + waysOut,
		}
	case "windows":
		return Result{Level: sandbox.Off, Reason: "ohgw has no sandbox for Windows", Fix: "run ohgw in WSL2, " + waysOut}
	}
	return Result{Level: sandbox.Off, Reason: "ohgw has no sandbox for this system", Fix: "run ohgw on Linux, " + waysOut}
}
