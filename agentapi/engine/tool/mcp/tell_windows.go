package mcp

import (
	"errors"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// tell would ask a server to end, which this system has no way for.
func tell(sandbox.Process) error { return errors.ErrUnsupported }
