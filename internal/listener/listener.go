// Package listener tells which process listens on a port of this machine.
//
// It answers on Linux only, from /proc. Of processes of other users it knows the user
// alone. It connects to nothing.
package listener

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Process is what listens on a port.
type Process struct {
	UID int // of the user who opened the port

	// The following are zero for processes that cannot be looked into: those of other
	// users, and those that hide their descriptors, as ohgw does.

	PID        int
	Name       string
	Executable string
	Command    string // the command line, its arguments ended by NUL
}

// String names the process for people: "nginx (process 4711)"; "" if it is not known.
func (p Process) String() string {
	if p.PID == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s (process %d)", p.Name, p.PID))
}

// Identity stands for the program over its restarts: a hash of the user, the file of
// the program and its command line. It is "" if the program is not known, except for
// the ports of root, such as those that Docker opens: no other user can open a port as root.
//
// It holds against programs of other users, and against another program of the same
// user that happens to listen there, also one in the same interpreter. It does not
// hold against a program of the same user that imitates the command line on purpose.
// Outside of a sandbox, such a program can ask the keyring itself. Inside, it cannot
// listen there: see package localport.
func (p Process) Identity() string {
	if p.Executable == "" && p.UID != 0 {
		return ""
	}
	sum := sha256.New()
	for _, part := range []string{strconv.Itoa(p.UID), p.Executable, p.Command} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
