//go:build !linux

package hardening

import "errors"

// markAll would mark all descriptors at once.
func markAll() error { return errors.ErrUnsupported }

// hideProcess has nothing to do: these systems show the environment of a
// process to its user, and do not let a process forbid that.
func hideProcess() {}
