//go:build !linux && !darwin

package boxes

import "github.com/ohgw/ohgw/internal/sandbox"

// New makes a box.
func New(Config) (sandbox.Box, error) { return nil, ErrUnsupported }
