package agents

import (
	"context"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// OutsideSandbox is the level of a backend that runs the agents' commands elsewhere.
const OutsideSandbox = "backend"

// InCloud is why ohgw has no sandbox for the agents of OpenHands Cloud.
const InCloud = "each conversation has a sandbox of its own in the cloud"

// Sandbox is the sandbox of new conversations. Its level is [OutsideSandbox] where
// an agent-server runs the commands.
func (c Backend) Sandbox(ctx context.Context) agentapi.SandboxStatus {
	if b, ok := c.Backend.(agentapi.Sandboxed); ok && c.InProcess() {
		return b.Sandbox(ctx)
	}
	st := agentapi.SandboxStatus{Level: OutsideSandbox}
	if c.InCloud() {
		st.Reason = InCloud
	}
	return st
}

// SandboxLine is the sandbox of new conversations in a line for people.
func (c Backend) SandboxLine(ctx context.Context) string {
	line := SandboxWords(c.Sandbox(ctx))
	if c.sandboxBy != "" {
		line += " (set by " + c.sandboxBy + ")"
	}
	return line
}

// Contained reports whether something keeps the agents' commands from the rights of
// the user: a sandbox of ohgw, or what the user says is around ohgw.
func Contained(level string) bool {
	switch sandbox.Level(level) {
	case sandbox.Full, sandbox.Reduced, sandbox.External:
		return true
	case sandbox.Off:
	}
	return false
}

// SandboxWords says in a line for people which sandbox there is, why it is not
// better, and what is open.
func SandboxWords(st agentapi.SandboxStatus) string {
	if DemoAlone(st) {
		return "none, so only the demo runs: " + st.Reason + "; to repair: " + st.Fix
	}
	switch st.Level {
	case string(sandbox.Full), string(sandbox.Reduced):
	case string(sandbox.External):
		return "external: the container or virtual machine that ohgw runs in"
	case string(sandbox.Off):
		return "off: agents have your rights"
	case OutsideSandbox:
		if st.Reason != "" {
			return "none of ohgw's: " + st.Reason
		}
		return "none of ohgw's: the agent-server runs the commands"
	default:
		return st.Level
	}
	var layers []string
	if st.Level == string(sandbox.Full) {
		layers = append(layers, "namespaces")
	}
	if st.Landlock > 0 {
		layers = append(layers, fmt.Sprintf("Landlock ABI %d", st.Landlock), "seccomp")
	} else if st.Level == string(sandbox.Full) {
		layers = append(layers, "seccomp")
	}
	line := st.Level
	if len(layers) > 0 {
		line += " (" + strings.Join(layers, ", ") + ")"
	}
	if len(st.Open) > 0 {
		line += "; open: " + strings.Join(st.Open, ", ")
	}
	if st.Reason != "" {
		line += "; " + st.Reason
	}
	if st.Fix != "" {
		line += "; to repair: " + st.Fix
	}
	return line
}
