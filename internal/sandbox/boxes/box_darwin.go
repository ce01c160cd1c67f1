package boxes

import (
	"os"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// sandboxExec is the one place where it is: one in the PATH could be anybody's.
const sandboxExec = "/usr/bin/sandbox-exec"

// New makes a box of level reduced.
func New(cfg Config) (sandbox.Box, error) {
	if _, err := os.Stat(sandboxExec); err != nil || cfg.Level != sandbox.Reduced {
		return nil, ErrUnsupported
	}
	return newMacBox(sandboxExec, cfg)
}
