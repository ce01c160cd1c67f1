// Package localport has the usual ports of servers on this machine: those where ohgw
// looks for a server if the user has not named one, and those of services that would
// let a program out of its sandbox.
//
// It opens and asks no port. There is one list, so that a place where ohgw looks cannot
// be one where a program in a sandbox may listen: such a program would be taken for a
// server of the user.
package localport

// The usual ports.
const (
	OHGW        uint16 = 6449
	AgentServer uint16 = 8000 // and vLLM
	Ollama      uint16 = 11434
	LMStudio    uint16 = 1234
	LlamaCpp    uint16 = 8080
	Jan         uint16 = 1337
	Docker      uint16 = 2375
	Debugger    uint16 = 9222 // of a browser
)

// Sought are the ports where ohgw looks for servers. No program of a sandbox may
// listen there, where that would be a port of this machine.
func Sought() []uint16 { return []uint16{OHGW, AgentServer, Ollama, LMStudio, LlamaCpp, Jan} }

// WaysOut are the ports of services that would let a program out. No program of a
// sandbox may connect to them, where loopback is that of this machine.
func WaysOut() []uint16 { return []uint16{OHGW, AgentServer, Docker, Debugger} }
