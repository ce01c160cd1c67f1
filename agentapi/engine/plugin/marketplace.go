package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
)

// Registration is where a marketplace is, under a name of the user.
type Registration struct {
	Name   string   `json:"name"`
	Source string   `json:"source"`
	Ref    string   `json:"ref"`
	Path   string   `json:"repo_path"`
	Auto   AutoLoad `json:"auto_load"`
}

// ResolveError is why a plugin is not found, in a sentence for people. Missing: no
// marketplace has it, or there is no such marketplace.
type ResolveError struct {
	Msg     string
	Missing bool
}

// Error is the message.
func (e *ResolveError) Error() string { return e.Msg }

func unresolved(format string, args ...any) error {
	return &ResolveError{Msg: fmt.Sprintf(format, args...)}
}

func missing(format string, args ...any) error {
	return &ResolveError{Msg: fmt.Sprintf(format, args...), Missing: true}
}

// marketplaceFiles are where a marketplace is described, by precedence.
var marketplaceFiles = []string{".plugin/marketplace.json", ".claude-plugin/marketplace.json"}

// Resolve finds where a plugin is: "name", or "name@marketplace". A name without a
// marketplace is that of one plugin of all. A marketplace that cannot be read is passed
// over where others can. Errors are [ResolveError]s.
func (s Sources) Resolve(ctx context.Context, list []Registration, ref string) (control.Plugin, error) {
	name, where := ref, ""
	if i := strings.LastIndexByte(ref, '@'); i >= 0 {
		name, where = ref[:i], ref[i+1:]
	}
	if name == "" || where == "" && name != ref {
		return control.Plugin{}, unresolved("Give plugin_ref as the name of a plugin, or as name@marketplace.")
	}
	if err := unique(list); err != nil {
		return control.Plugin{}, err
	}
	if where == "" {
		return s.inAny(ctx, list, name)
	}
	i := slices.IndexFunc(list, func(r Registration) bool { return r.Name == where })
	if i < 0 {
		return control.Plugin{}, missing("Marketplace '%s' is not registered", where)
	}
	switch p, ok, err := s.inMarketplace(ctx, list[i], name); {
	case err != nil:
		return control.Plugin{}, unresolved("The marketplace %q cannot be used: %v.", where, err)
	case !ok:
		return control.Plugin{}, missing("Plugin '%s' not found in marketplace '%s'", name, where)
	default:
		return p, nil
	}
}

// unique refuses two marketplaces with one name.
func unique(list []Registration) error {
	for i, r := range list {
		if slices.ContainsFunc(list[:i], func(other Registration) bool { return other.Name == r.Name }) {
			return unresolved("The marketplace %q is registered twice; remove one of both from registered_marketplaces.", r.Name)
		}
	}
	return nil
}

// inAny finds a plugin in all marketplaces.
func (s Sources) inAny(ctx context.Context, list []Registration, name string) (control.Plugin, error) {
	var found []control.Plugin
	var in, unread []string
	for _, r := range list {
		switch p, ok, err := s.inMarketplace(ctx, r, name); {
		case err != nil:
			unread = append(unread, fmt.Sprintf("%s: %v", r.Name, err))
		case ok:
			found, in = append(found, p), append(in, r.Name)
		}
	}
	switch {
	case len(found) > 1:
		return control.Plugin{}, unresolved("Plugin '%s' is in more than one marketplace: %s; give '%s@MARKETPLACE'.", name, strings.Join(in, ", "), name)
	case len(found) == 1:
		return found[0], nil
	case len(unread) == len(list):
		return control.Plugin{}, missing("Plugin '%s' not found; no marketplace can be used: %s", name, strings.Join(unread, "; "))
	}
	return control.Plugin{}, missing("Plugin '%s' not found in any registered marketplace", name)
}

// inMarketplace finds a plugin in a marketplace; not ok: it is not there.
func (s Sources) inMarketplace(ctx context.Context, r Registration, name string) (p control.Plugin, ok bool, err error) {
	m, err := s.marketplace(ctx, r)
	if err != nil {
		return control.Plugin{}, false, err
	}
	for _, e := range m.Plugins {
		if e.Name == name {
			p, err := e.in(m.dir)
			return p, err == nil, err
		}
	}
	return control.Plugin{}, false, nil
}

// marketplace is what a marketplace has.
type marketplace struct {
	dir string

	Plugins []entry `json:"plugins"`
	Skills  []entry `json:"skills"`
}

// entry is a plugin or a skill of a marketplace.
type entry struct {
	Name   string          `json:"name"`
	Source json.RawMessage `json:"source"`
}

// marketplace reads a marketplace.
func (s Sources) marketplace(ctx context.Context, r Registration) (marketplace, error) {
	place, err := s.Find(ctx, control.Plugin{Source: r.Source, Ref: r.Ref, Path: r.Path})
	if err != nil {
		return marketplace{}, err
	}
	root, err := os.OpenRoot(place.Dir)
	if err != nil {
		return marketplace{}, errors.New("there is no such directory, or it cannot be read")
	}
	defer root.Close()
	described := reader{root: root}
	for _, file := range marketplaceFiles {
		if _, err := root.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := described.read(file)
		if err != nil {
			return marketplace{}, fmt.Errorf("%s cannot be read: %s", file, reason(err))
		}
		return parseMarketplace(data, file, place.Dir)
	}
	skills := skillsBelow(root.FS())
	if len(skills) == 0 {
		return marketplace{}, fmt.Errorf("it has neither %s nor skills", marketplaceFiles[0])
	}
	return marketplace{dir: place.Dir, Skills: skills}, nil
}

// skillsBelow finds the skills of a directory without a description: those in skills and
// in .skills, or else those in the directory itself.
func skillsBelow(dir fs.FS) (list []entry) {
	places := []string{"skills", ".skills"}
	if !slices.ContainsFunc(places, func(name string) bool { info, err := fs.Stat(dir, name); return err == nil && info.IsDir() }) {
		places = []string{"."}
	}
	for _, place := range places {
		files, err := fs.Glob(dir, path.Join(place, "*", "SKILL.md"))
		if err != nil {
			continue // the pattern is right
		}
		for _, file := range files {
			source, err := json.Marshal("./" + path.Dir(file))
			if err != nil {
				continue // a text is JSON
			}
			list = append(list, entry{Name: path.Base(path.Dir(file)), Source: source})
		}
	}
	return list
}

// parseMarketplace reads the description of a marketplace in a directory.
func parseMarketplace(data []byte, file, dir string) (marketplace, error) {
	var m struct {
		marketplace

		Name  *string         `json:"name"`
		Owner json.RawMessage `json:"owner"`
	}
	if json.Unmarshal(data, &m) != nil || m.Name == nil || m.Owner == nil {
		return marketplace{}, fmt.Errorf("%s is not a valid list of plugins", file)
	}
	m.dir = dir
	return m.marketplace, nil
}

// in resolves where the plugin of an entry is. One of this machine is inside of the
// marketplace: others may have written its list.
func (e entry) in(dir string) (control.Plugin, error) {
	var text string
	if json.Unmarshal(e.Source, &text) == nil {
		if filepath.IsAbs(text) || strings.HasPrefix(text, "~") {
			return control.Plugin{}, fmt.Errorf("the source of its %s leads out of it", e.Name)
		}
		if strings.Contains(text, ":") {
			return e.at(control.Plugin{Source: text})
		}
		at := filepath.FromSlash(strings.TrimLeft(text, "./"))
		if at != "" && !filepath.IsLocal(at) {
			return control.Plugin{}, fmt.Errorf("the source of its %s leads out of it", e.Name)
		}
		return control.Plugin{Source: dir, Path: at}, nil
	}
	var at struct{ Source, Repo, URL, Ref, Path string }
	if json.Unmarshal(e.Source, &at) != nil {
		return control.Plugin{}, fmt.Errorf("the source of its %s is neither a path nor an object", e.Name)
	}
	switch {
	case at.Source == "github" && at.Repo != "":
		at.URL = "github:" + at.Repo
	case at.Source != "url" || at.URL == "":
		return control.Plugin{}, fmt.Errorf("the source of its %s is of an unknown kind", e.Name)
	}
	return e.at(control.Plugin{Source: at.URL, Ref: at.Ref, Path: at.Path})
}

// at is a source with a scheme. A file URL is that of a repository.
func (e entry) at(p control.Plugin) (control.Plugin, error) {
	if at, ok := strings.CutPrefix(p.Source, "file://"); ok && !IsRepository(at) {
		return control.Plugin{}, fmt.Errorf("the source of its %s is not a git repository", e.Name)
	}
	return p, nil
}
