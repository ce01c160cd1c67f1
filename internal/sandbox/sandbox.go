// Package sandbox says what a sandbox is: where the embedded agent's programs run
// and how far its files reach.
//
// The package has the types and the box that takes nothing away, [Outside]; the
// packages below this one make boxes that take rights away.
package sandbox

import (
	"context"
	"os"
)

// Level is how much of this machine is kept from the agent.
type Level string

// The levels, the strongest first.
const (
	// Full is namespaces of the agent's own (user, mount, PID, IPC, network),
	// Landlock and seccomp.
	Full Level = "full"
	// Reduced is Landlock and seccomp, where the system forbids unprivileged
	// namespaces, and the sandbox of macOS.
	Reduced Level = "reduced"
	// External is a container or a virtual machine around ohgw that the user vouches
	// for: ohgw itself only cleans the environment.
	External Level = "external"
	// Off is the user's rights.
	Off Level = "off"
)

// Box is where the programs of one conversation run. Its methods may be called at
// the same time.
type Box interface {
	// Level is how much is kept from the programs.
	Level() Level
	// Start starts a program. The context is for the start alone: the program lives
	// until it ends, is killed, or the box is closed. If the box itself cannot be
	// started, the error is an [UnavailableError].
	Start(ctx context.Context, p Program) (Process, error)
	// Close ends everything that runs in the box, and waits for it.
	Close() error
}

// Program is what is to be started.
type Program struct {
	// Args are the program and its arguments. A name without a slash is looked up
	// in the PATH of Env.
	Args []string
	// Env is the whole environment, each as NAME=value.
	Env []string
	// Dir is the working directory, an absolute path as it is inside.
	Dir string
	// Files are the descriptors 0, 1, 2, 3 … of the program; nil is /dev/null. The
	// caller closes them after Start. The program gets no other descriptors.
	Files []*os.File
	// Terminal makes the program the leader of a session whose controlling terminal
	// is descriptor 0. Without it the program leads a process group.
	Terminal bool
}

// Process is a program that runs, with what it started.
type Process interface {
	// PID is the number of the process outside of the box, for /proc.
	PID() int
	// Wait waits for the program alone, and returns its exit code; 128 plus the
	// signal that ended it, as shells count. It may be called once.
	Wait() (code int, err error)
	// Kill ends the program and the group that it leads. It returns nil if they have ended.
	Kill() error
}
