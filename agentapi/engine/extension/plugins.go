package extension

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/plugin"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/internal/subpath"
	"github.com/ohgw/ohgw/internal/workdir"
)

// Places says where plugins and skills are.
type Places struct {
	Home string // the user's home directory; may be empty
	Base string // OpenHands' directory of the user
	Path string // where git is, as in the variable PATH
	Now  func() time.Time
}

// Checkouts are those of repositories with plugins; without OpenHands' directory there are
// none.
func (p Places) Checkouts() plugin.Cache {
	cache := plugin.Cache{Path: p.Path, Now: p.Now}
	if p.Base != "" {
		cache.Dir = plugin.CacheIn(p.Base)
	}
	return cache
}

func (p Places) sources() plugin.Sources { return plugin.Sources{Home: p.Home, Cache: p.Checkouts()} }

// Plugins are those that are installed.
func Plugins(p Places) *Store {
	return New(Config{Noun: "plugin", Dir: filepath.Join(p.Base, "plugins", "installed"), Load: aboutPlugin, Sources: p.sources(), Now: p.Now})
}

// Skills are those that are installed.
func Skills(p Places) *Store {
	return New(Config{Noun: "skill", Dir: filepath.Join(p.Base, "skills", "installed"), Load: aboutSkill, Sources: p.sources(), Now: p.Now})
}

func aboutPlugin(dir string) (About, error) {
	p, err := plugin.Load(dir)
	return About{p.Name, p.Version, p.Description}, err
}

// skillVersion is what OpenHands says of each skill.
const skillVersion = "1.0.0"

func aboutSkill(dir string) (About, error) {
	s, err := skill.OfDirectory(dir)
	return About{s.Name, skillVersion, s.Description}, err
}

// own lists the directories with a plugin each of the user.
func (p Places) own() []string {
	installed := Plugins(p)
	var dirs []string
	for _, place := range []string{filepath.Join(p.Home, ".agents", "plugins"), filepath.Join(p.Base, "plugins")} {
		if !filepath.IsAbs(place) {
			continue // there is no home directory
		}
		for _, dir := range below(place, true) {
			if dir != installed.Dir {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// Has reports whether a directory without links in its path is that of a plugin of the
// user, switched on or off, or is below that of the checkouts.
func (p Places) Has(dir string) bool {
	if existing(dir) != dir || !isDir(dir) {
		return false
	}
	if p.Base != "" {
		if rel, ok := subpath.Rel(existing(plugin.CacheIn(p.Base)), dir); ok && rel != "." {
			return true
		}
	}
	return slices.ContainsFunc(append(p.own(), below(Plugins(p).Dir, false)...), func(own string) bool { return existing(own) == dir })
}

// existing is a path without links; empty where there is nothing.
func existing(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

// Own are the plugins of the user: those in directories of the home directory, and then
// those that are installed and switched on. Of two with one name the first counts. bad is
// told of each that cannot be used.
func Own(p Places, bad func(dir string, err error)) []plugin.Plugin {
	installed := Plugins(p)
	dirs, err := installed.Enabled()
	if err != nil {
		bad(installed.Dir, err)
	}
	return load(append(p.own(), dirs...), bad)
}

// OfProject returns the plugins of a project and of the repository that it is in. Of two
// with one name the project's counts. Links are skipped.
func OfProject(dir string, bad func(dir string, err error)) []plugin.Plugin {
	roots := []string{dir}
	if root := workdir.Repository(dir); root != "" && root != filepath.Clean(dir) {
		roots = append(roots, root)
	}
	var dirs []string
	for _, root := range roots {
		for _, place := range []string{".agents/plugins", ".openhands/plugins"} {
			dirs = append(dirs, below(filepath.Join(root, filepath.FromSlash(place)), false)...)
		}
	}
	return load(dirs, bad)
}

// maxPlugins bounds how many plugins are looked at.
const maxPlugins = 100

// below are the directories in a directory, sorted.
func below(place string, links bool) (dirs []string) {
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil // there is none
	}
	for _, e := range entries {
		dir := filepath.Join(place, e.Name())
		if e.IsDir() || links && isDir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func load(dirs []string, bad func(dir string, err error)) (list []plugin.Plugin) {
	for _, dir := range dirs[:min(len(dirs), maxPlugins)] {
		p, err := plugin.Load(dir)
		switch {
		case err != nil:
			bad(dir, err)
		case !plugin.Named(list, p.Name):
			list = append(list, p)
		}
	}
	return list
}
