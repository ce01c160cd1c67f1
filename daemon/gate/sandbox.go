package gate

import (
	"context"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

// backendLevel is the level of a backend whose agents ohgw puts into no sandbox.
const backendLevel = "backend"

// SandboxStatus is the sandbox of new conversations.
func (core *Core) SandboxStatus(ctx context.Context) agentapi.SandboxStatus {
	if b, ok := core.Backend.(agentapi.Sandboxed); ok {
		return b.Sandbox(ctx)
	}
	return agentapi.SandboxStatus{Level: backendLevel}
}

// BackendTimeout bounds how long the backend is asked how it is.
const BackendTimeout = 2 * time.Second
