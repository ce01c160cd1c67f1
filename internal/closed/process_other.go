//go:build !linux

package closed

// hideProcess has nothing to do: these systems show the environment of a
// process to its user, and do not let a process forbid that.
func hideProcess() {}
