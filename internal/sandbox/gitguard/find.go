package gitguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files of a git directory by which git runs programs, or finds those files.
const (
	commonDir      = "commondir"
	worktreeConfig = "config.worktree"
)

// maxModules bounds how many git directories of submodules are looked for.
const maxModules = 500

// Find finds the guards of a workspace, an absolute path without symbolic links. A
// workspace without a repository has none. A directory for hooks is made if there is
// none: what does not exist cannot be read-only.
func Find(workspace string) (Guards, error) {
	var g Guards
	at := filepath.Join(workspace, ".git")
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return g, nil
	case err != nil:
		return g, err
	case info.IsDir():
		return g, g.repository(at, new(int))
	case info.Mode().IsRegular():
		return g, g.linked(workspace, at)
	}
	return g, fmt.Errorf("%s is neither a directory nor a file", at)
}

// repository adds the guards of a git directory with its own configuration.
func (g *Guards) repository(dir string, modules *int) error {
	if err := os.Mkdir(filepath.Join(dir, "hooks"), 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // as git makes it
		return err
	}
	for _, name := range []string{"config", "hooks", "info/attributes", commonDir, worktreeConfig} {
		if err := g.protect(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	g.Watch = append(g.Watch, dir)
	worktrees, err := os.ReadDir(filepath.Join(dir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, w := range worktrees {
		if !w.IsDir() {
			continue
		}
		at := filepath.Join(dir, "worktrees", w.Name())
		for _, name := range []string{commonDir, "gitdir", worktreeConfig} {
			if err := g.protect(filepath.Join(at, name)); err != nil {
				return err
			}
		}
		g.Watch = append(g.Watch, at)
	}
	return g.submodules(filepath.Join(dir, "modules"), modules)
}

// submodules adds the git directories of submodules. The name of one may have
// slashes, so they are looked for in every depth.
func (g *Guards) submodules(dir string, found *int) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		at := filepath.Join(dir, entry.Name())
		if *found++; *found > maxModules {
			return fmt.Errorf("%s has more than %d directories", dir, maxModules)
		}
		if isRepository(at) {
			err = g.repository(at, found)
		} else {
			err = g.submodules(at, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// protect adds a path if it exists. One that leads elsewhere could not be protected.
func (g *Guards) protect(at string) error {
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0 || !info.IsDir() && !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a directory nor a file; replace it by one", at)
	}
	g.Protect = append(g.Protect, at)
	return nil
}

// linked adds what a linked worktree or a submodule needs: its git directory is
// elsewhere, and the file .git says where. The file may come from anybody, so it
// counts only if the directory knows the workspace, too.
func (g *Guards) linked(workspace, at string) error {
	if err := g.protect(at); err != nil {
		return err
	}
	dir := pointer(at, "gitdir: ", workspace)
	if dir == "" {
		return nil
	}
	var common string
	switch {
	case filepath.Base(filepath.Dir(dir)) == "worktrees" && pointer(filepath.Join(dir, "gitdir"), "", dir) == at:
		common = filepath.Dir(filepath.Dir(dir))
	case worktreeOf(dir) == workspace:
		common = dir
	}
	if common == "" || !isRepository(common) {
		return nil
	}
	if rel, err := filepath.Rel(workspace, common); err != nil || strings.HasPrefix(rel, "..") {
		g.Write = append(g.Write, common)
	}
	return g.repository(common, new(int))
}

// pointer is the path that a file has, after a prefix; "" if there is none. A path
// that is not absolute begins at base.
func pointer(file, prefix, base string) string {
	data, err := os.ReadFile(file)
	if err != nil || len(data) > 4096 {
		return ""
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(data)), prefix)
	if !ok || path == "" {
		return ""
	}
	return resolve(path, base)
}

func resolve(path, base string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

// worktreeOf is the core.worktree of a submodule's git directory.
func worktreeOf(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil {
		return ""
	}
	section := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(line)
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if ok && section == "[core]" && strings.EqualFold(strings.TrimSpace(name), "worktree") {
			return resolve(strings.Trim(strings.TrimSpace(value), `"`), dir)
		}
	}
	return ""
}

// isRepository says that a directory looks like a git directory.
func isRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}
