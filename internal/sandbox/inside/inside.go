// Package inside is the part of ohgw that runs in the new namespaces of a box: the
// first process of the box. At level reduced there are no namespaces, and the helper
// is the parent of all that runs in the box.
//
// The daemon starts its own program again under the name [Name], with the policy
// on descriptor 3 and a socket on descriptor 4. The helper builds the box, gives up
// its rights in the thread that starts the agent's programs, and then starts what
// the socket asks for, reaps what ends, and reports it. It ends with the socket, and
// the kernel ends everything in the box with it; at level reduced, the helper does.
// Invariants: it takes no argument,
// no variable and no file; a step that fails ends it, there is no "best effort"; no
// program is started before the last right is gone.
package inside

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ohgw/ohgw/internal/truncate"
)

// Name is the name under which the program is the helper.
const Name = "ohgw-sandbox"

// The descriptors of the helper.
const (
	policyFD  = 3
	controlFD = 4
)

// Wanted reports whether this process was started as the helper. It is asked
// before anything else of the program runs.
func Wanted(args []string) bool { return len(args) > 0 && filepath.Base(args[0]) == Name }

// Unknown reports whether this process was started as the helper and is not: its program
// does not know how. Such a program, a test of another package, would start itself
// without an end.
func Unknown() bool { return Wanted(os.Args) } //nolint:forbidigo // only os.Args shows it

// Main runs the helper and returns its exit code. It ends the process itself where
// it is in the namespaces of a box.
func Main(args []string) int { return run(args) }

// refusedCode is the exit code of a helper that was not started by a box.
const refusedCode = 125

// The kinds of messages.
const (
	KindStart   = "start"   // to the helper: start a program; with descriptors
	KindKill    = "kill"    // to the helper: kill the group of a program
	KindCount   = "count"   // to the helper: how many processes are there beside it?
	KindReady   = "ready"   // from the helper: the box is built; with the sockets
	KindFailed  = "failed"  // from the helper: the box cannot be built
	KindStarted = "started" // from the helper: the program runs; with a descriptor of its process
	KindRefused = "refused" // from the helper: the program cannot be started
	KindExited  = "exited"  // from the helper: the program ended
	KindKilled  = "killed"  // from the helper: the signal is sent
	KindBroker  = "broker"  // from the helper, reduced: one more source of notifications; with its descriptor
	KindCounted = "counted" // from the helper: so many processes are there
)

// Message is one datagram between the daemon and the helper.
type Message struct {
	Kind string `json:"kind"`
	ID   uint64 `json:"id,omitempty"`
	// Error says what failed, and Errno why, if the kernel said so.
	Error string        `json:"error,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
	// Code is how a program ended: its exit code, or 128 plus the signal.
	Code int `json:"code,omitempty"`
	// Count is how many processes there are beside the helper.
	Count int `json:"count,omitempty"`
	// Landlock is the ABI that is enforced; 0 for none.
	Landlock int `json:"landlock,omitempty"`
	// Sockets says what the descriptors of a ready message are, in their order.
	Sockets []string `json:"sockets,omitempty"`
}

// MaxMessage is more than a message takes.
const MaxMessage = 16 << 10

// Start is a program to start. It is in the memory file that is the first
// descriptor of its message; the next ones are the program's, as far as Files says
// that there is one, else the program gets /dev/null.
type Start struct {
	Args     []string `json:"args"`
	Env      []string `json:"env"`
	Dir      string   `json:"dir"`
	Files    []bool   `json:"files"`
	Terminal bool     `json:"terminal"`
}

// Err returns the error of a message, nil if it has none.
func (m *Message) Err() error {
	switch {
	case m.Error == "" && m.Errno == 0:
		return nil
	case m.Errno == 0:
		return errors.New(m.Error)
	}
	return &stepError{step: m.Error, err: m.Errno}
}

// stepError is what could not be done, and why.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// failure is the message for an error.
func failure(kind string, id uint64, err error) Message {
	m := Message{Kind: kind, ID: id, Error: truncate.Bytes(err.Error(), maxError, "")}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		m.Errno = errno
		if step, ok := errors.AsType[*stepError](err); ok {
			m.Error = truncate.Bytes(step.step, maxError, "")
		}
	}
	return m
}

// maxError is how much of a text an error has in a message, in bytes: JSON needs up
// to six times as many.
const maxError = 2 << 10

// step names what an error is about.
func step(name string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{step: name, err: err}
}
