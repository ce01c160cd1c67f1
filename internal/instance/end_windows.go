package instance

import (
	"errors"
	"os"
)

// Terminate asks a process to end. On Windows the error is
// errors.ErrUnsupported.
func Terminate(*os.Process) error { return errors.ErrUnsupported }
