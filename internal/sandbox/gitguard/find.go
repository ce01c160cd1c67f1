package gitguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/subpath"
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
		g.Repository = Repository{Dir: at, Tree: workspace, Index: filepath.Join(at, "index"), known: map[string]bool{}}
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
	g.know(dir)
	g.Watch = append(g.Watch, dir)
	if err := g.named(dir); err != nil {
		return err
	}
	worktrees, err := os.ReadDir(filepath.Join(dir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, w := range worktrees {
		if !w.IsDir() {
			continue
		}
		at := filepath.Join(dir, "worktrees", w.Name())
		if to := pointer(filepath.Join(at, commonDir), "", at); to != dir && to != "" {
			return fmt.Errorf("%s leads to %s, so git would run what is set up there; remove %s", filepath.Join(at, commonDir), to, at)
		}
		g.know(at)
		for _, name := range []string{commonDir, "gitdir", worktreeConfig} {
			if err := g.protect(filepath.Join(at, name)); err != nil {
				return err
			}
		}
		g.Watch = append(g.Watch, at)
		if err := g.submodules(filepath.Join(at, "modules"), modules); err != nil {
			return err
		}
	}
	return g.submodules(filepath.Join(dir, "modules"), modules)
}

// know notes what was there before any program.
func (g *Guards) know(at string) {
	if g.Repository.known != nil {
		g.Repository.known[at] = true
	}
}

// named adds what the configuration of a git directory names below the workspace: the
// file .git of a submodule, the directory of hooks, and files with more settings.
func (g *Guards) named(dir string) error {
	tree := g.Repository.Tree
	for _, s := range named(filepath.Join(dir, "config")) {
		at := s.value
		if s.name == "core.worktree" {
			if at = resolve(at, dir); at == "" || at == tree {
				continue
			}
			at = filepath.Join(at, ".git")
		} else {
			base := tree // Settings are named from the configuration, programs from the worktree.
			if strings.HasPrefix(s.name, "include") {
				base = dir
			}
			if at = resolve(at, base); at == "" {
				g.absent(s, base)
				continue
			}
		}
		if rel, ok := subpath.Rel(tree, at); !ok || rel == "." {
			continue // Programs do not write there.
		}
		if slices.Contains(g.Protect, at) {
			continue
		}
		if err := g.protect(at); err != nil {
			return err
		}
		g.know(at)
	}
	return nil
}

// absent notes a directory of hooks, or a file with settings, that is not there: it
// must not come to be. One whose parts lead elsewhere is not noted.
func (g *Guards) absent(s setting, base string) {
	at := s.value
	if s.name == "core.fsmonitor" || strings.HasPrefix(at, "~") {
		return
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(base, at)
	}
	if rel, ok := subpath.Rel(g.Repository.Tree, at); ok && rel != "." && g.Repository.known != nil {
		g.Repository.never = append(g.Repository.never, rel)
	}
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
	g.Repository = Repository{Dir: common, Tree: workspace, Index: filepath.Join(dir, "index"), known: map[string]bool{at: true}}
	if !subpath.Within(workspace, common) {
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
	for _, s := range named(filepath.Join(dir, "config")) {
		if s.name == "core.worktree" {
			return resolve(s.value, dir)
		}
	}
	return ""
}

// setting is one of a configuration.
type setting struct{ name, value string }

// named finds the settings of a configuration that name a path from which git takes
// programs or settings.
func named(file string) (found []setting) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", "")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, _ := strings.Cut(line, "]")
			section, _, _ = strings.Cut(strings.ToLower(strings.Trim(head, "[ ")), " ")
			line = strings.TrimSpace(rest)
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		name = section + "." + strings.ToLower(strings.TrimSpace(name))
		switch name {
		case "core.worktree", "core.hookspath", "core.fsmonitor", "include.path", "includeif.path":
			found = append(found, setting{name, plain(value)})
		}
	}
	return found
}

// plain is a value without quotes and comments.
func plain(value string) string {
	value = strings.TrimSpace(value)
	if quoted, ok := strings.CutPrefix(value, `"`); ok {
		quoted, _, _ = strings.Cut(quoted, `"`)
		return quoted
	}
	if at := strings.IndexAny(value, "#;"); at >= 0 {
		value = value[:at]
	}
	return strings.TrimSpace(value)
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
