package boxes

import (
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

// furnish puts into the box's home directory what mounts show there at level full:
// the git configuration, and links to the user's tools. The directory is the
// agent's, who may have put links there: none that leads elsewhere is followed.
func furnish(p *policy.Policy, userHome string) error {
	home, err := os.OpenRoot(p.Home)
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }()
	if p.GitConfig != "" {
		_ = home.RemoveAll(".gitconfig")
		if err := home.WriteFile(".gitconfig", []byte(p.GitConfig), 0o600); err != nil {
			return err
		}
	}
	for _, tool := range p.Read {
		name, ok := subpath.Rel(userHome, tool)
		if !ok {
			continue
		}
		// What the agent has made at that place stays.
		if home.MkdirAll(filepath.Dir(name), 0o700) == nil {
			_ = home.Symlink(tool, name)
		}
	}
	return nil
}
