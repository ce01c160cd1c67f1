package boxes

import (
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
)

// spellAll writes all paths of a policy, and more, as the disk has them.
func spellAll(p *policy.Policy, more []string) error {
	paths := []*string{&p.Workspace, &p.Home, &p.HomeAt, &p.Tmp}
	for _, list := range [][]string{p.Write, p.Read, p.Hide, p.Protect, more} {
		for i := range list {
			paths = append(paths, &list[i])
		}
	}
	for _, at := range paths {
		real, err := spell(*at)
		if err != nil {
			return err
		}
		*at = real
	}
	return nil
}

// spell writes a path as the disk has it, without symbolic links. Where it does not
// tell upper from lower case, a file has more names than the one that a profile has
// to have. What does not exist is left as it is.
func spell(at string) (string, error) {
	real, err := filepath.EvalSymlinks(at)
	if os.IsNotExist(err) {
		dir, err := spellParent(at)
		return filepath.Join(dir, filepath.Base(at)), err
	}
	if err != nil {
		return at, err
	}
	dir, err := spellParent(real)
	if err != nil {
		return at, err
	}
	name := filepath.Base(real)
	entries, err := os.ReadDir(dir)
	if err != nil { // A directory whose names may not be read, such as one of root.
		return filepath.Join(dir, name), nil //nolint:nilerr // see above
	}
	if len(entries) == 0 {
		return filepath.Join(dir, name), nil
	}
	info, err := os.Lstat(real)
	if err != nil {
		return at, err
	}
	same := name
	for _, entry := range entries {
		if entry.Name() == name {
			return filepath.Join(dir, name), nil
		}
		if other, err := entry.Info(); err == nil && os.SameFile(info, other) {
			same = entry.Name()
		}
	}
	return filepath.Join(dir, same), nil
}

func spellParent(at string) (string, error) {
	dir := filepath.Dir(at)
	if dir == at || dir == "/" {
		return dir, nil
	}
	return spell(dir)
}
