// Package forbidtest makes the kernel of a test look like one that has less.
//
// A test binary that calls Main under the name [Name] is a program that runs
// another one without some parts of the kernel:
//
//	forbid namespaces,landlock ohgw sandbox status
package forbidtest

// Name is the name of the program.
const Name = "forbid"

// The parts of the kernel that can be forbidden.
const (
	Namespaces = "namespaces" // user namespaces: EPERM, as AppArmor answers
	Landlock   = "landlock"   // ENOSYS, as kernels without it answer
	Listener   = "listener"   // notifications of seccomp: EBUSY, as inside of another sandbox with them
)

// What surrounds a program in the wild, by the system calls of ohgw that each forbids.
const (
	Unit        = "unit"         // RestrictNamespaces=yes of systemd
	UnitNetwork = "unit-network" // RestrictNamespaces=~net of systemd: all others are allowed
	Docker      = "docker"       // the list of Docker for a container without capabilities of an administrator
	Snap        = "snap"         // a strictly confined snap: namespaces by clone alone, and no Landlock
)
