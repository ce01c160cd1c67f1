package sandboxes

import (
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Elsewhere is the level of a backend that runs the agents' commands elsewhere.
const Elsewhere = "backend"

// InCloud is why ohgw has no sandbox for the agents of OpenHands Cloud.
const InCloud = "each conversation has a sandbox of its own in the cloud"

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

// Words says in a line for people which sandbox there is, why it is not
// better, and what is open.
func Words(st agentapi.SandboxStatus) string {
	if DemoAlone(st) {
		return "none, so only the demo runs: " + st.Reason + "; to repair: " + st.Fix
	}
	switch st.Level {
	case string(sandbox.Full), string(sandbox.Reduced):
	case string(sandbox.External):
		return "external: the container or virtual machine that ohgw runs in"
	case string(sandbox.Off):
		return "off: agents have your rights"
	case Elsewhere:
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
