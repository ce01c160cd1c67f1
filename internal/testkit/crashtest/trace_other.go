//go:build !linux || !amd64

package crashtest

import "errors"

// Available reports whether programs can be traced here.
const Available = false

// Trace does nothing.
func Trace([]string, []string, func(pid int), func(call string)) error {
	return errors.ErrUnsupported
}
