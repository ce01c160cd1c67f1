package boxes

import (
	"path/filepath"

	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxfiles"
)

// Files is access to files as the programs in the box have it: its home directory
// and its /tmp, the workspace, the system read-only. Confined keeps it inside of
// dir.
func (b *box) Files(dir string, confined bool) (sandbox.Files, error) {
	// The box shows the workspace at its path without links.
	if real, err := filepath.EvalSymlinks(dir); err == nil && real == b.policy.Workspace {
		dir = real
	}
	return boxfiles.New(b, dir, confined)
}
