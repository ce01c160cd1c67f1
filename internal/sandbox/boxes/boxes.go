// Package boxes makes the boxes of level full on Linux: namespaces, Landlock and
// seccomp around the programs of one conversation; and those of level reduced, for
// systems that forbid namespaces, and for macOS.
//
// A box is one process of ohgw itself (package inside) that makes the namespaces,
// starts the programs and ends with ohgw. It is started with the first program, and
// again if it died. Invariants: a program never starts outside; a box that cannot be
// made as its policy says is an error; what comes from the box is not trusted.
package boxes

import (
	"errors"
	"net/netip"
	"time"

	"github.com/ohgw/ohgw/internal/localport"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/gitguard"
	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// Config is what a box is made of.
type Config struct {
	// Level is full or reduced; "" is full.
	Level sandbox.Level
	// Policy says what the box shows. Its Protect and Write get what the guards of
	// git need, and its Hide gets what is hidden on every machine.
	Policy policy.Policy
	// GitOpen leaves the git files of the workspace without guards.
	GitOpen bool
	// Removed is called with the path of a file that would have redirected git, after
	// it was removed; at level reduced also with that of a protected file that was
	// changed, after it was put back. It may be nil.
	Removed func(path string)
	// Strict keeps programs on macOS from the service for certificates, which may
	// connect to hosts that a certificate names.
	Strict bool
	// Watcher watches the git directories of many boxes. If it is nil, the box has
	// one of its own.
	Watcher *gitguard.Watcher
	// Reserved are ports that no program of a box of level reduced may take: those of
	// ohgw itself. At level full, ports are the box's own.
	Reserved []uint16
	// Sought are further ports that no program of a box of level reduced may listen on:
	// where ohgw looks for servers by its settings. The usual ones of
	// [localport.Sought] are always among them.
	Sought []uint16
	// Refused is called for each connection to another machine that level reduced has
	// refused, from many goroutines. It may be nil.
	Refused func(to netip.AddrPort)
	// Serve answers for the network of a box whose policy has Network. It takes over
	// the sockets, and its result ends it. It may be nil. At level reduced there is
	// the proxy alone.
	Serve func(Sockets) (stop func() error, err error)
	// Idle is how long the process of the box stays when nothing runs in the box any
	// more; 0 is 10 s. It is started again with the next program. A box whose policy has
	// no Tmp keeps it, because its /tmp would be gone; so does one of level reduced.
	Idle time.Duration
}

// unlistened are the ports that no program of a box of level reduced may listen on.
func (c *Config) unlistened() []uint16 { return append(localport.Sought(), c.Sought...) }

// ErrUnsupported says that there is no box of this kind on this system.
var ErrUnsupported = errors.New("there is no sandbox for this system")
