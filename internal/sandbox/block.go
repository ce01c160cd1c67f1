package sandbox

import "time"

// Access is a way to reach something.
type Access string

// The kinds of access, as they are named in `ohgw sandbox allow`.
const (
	Read    Access = "read"   // a path
	Write   Access = "write"  // a path
	Network Access = "net"    // a host, or host:port
	Socket  Access = "socket" // a path, or the name of a service such as ssh-agent
)

// Block is something that a box refused.
type Block struct {
	Access Access
	Target string // a path, a host, or host:port
	Why    string // a sentence without its full stop
	// Allow is what stands after `ohgw sandbox allow` to open it, such as
	// "net api.example.com"; "" if nothing opens it. A path stands there as it is,
	// not quoted for a shell.
	Allow string
	// Held says that the program waits for a grant. Where none comes, the same block
	// follows without it.
	Held bool
	// Quiet says that the model is told, and no person.
	Quiet bool
	Time  time.Time
}

// EnvironOf is the environment from which the programs of a box get theirs: the
// box's own choice of that of this process, if it has a method Environ like this
// one, or all of it.
func EnvironOf(box Box, environ []string) []string {
	if own, ok := box.(interface {
		Environ(environ []string) []string
	}); ok {
		return own.Environ(environ)
	}
	return environ
}
