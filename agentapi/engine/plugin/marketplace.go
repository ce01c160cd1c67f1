package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/control"
)

// Registration is where a marketplace is, under a name of the user.
type Registration struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	Ref    string `json:"ref"`
	Path   string `json:"repo_path"`
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
	for i, r := range list {
		if slices.ContainsFunc(list[:i], func(other Registration) bool { return other.Name == r.Name }) {
			return control.Plugin{}, unresolved("The marketplace %q is registered twice; remove one of both from registered_marketplaces.", r.Name)
		}
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
	place, err := s.Find(ctx, control.Plugin{Source: r.Source, Ref: r.Ref, Path: r.Path})
	if err != nil {
		return control.Plugin{}, false, err
	}
	root, err := os.OpenRoot(place.Dir)
	if err != nil {
		return control.Plugin{}, false, errors.New("there is no such directory, or it cannot be read")
	}
	defer root.Close()
	described := reader{root: root}
	for _, file := range marketplaceFiles {
		if _, err := root.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := described.read(file)
		if err != nil {
			return control.Plugin{}, false, fmt.Errorf("%s cannot be read: %s", file, reason(err))
		}
		return pluginOf(data, file, place.Dir, name)
	}
	for _, skills := range []string{"skills/*/SKILL.md", ".skills/*/SKILL.md", "*/SKILL.md"} {
		if files, err := fs.Glob(root.FS(), skills); err == nil && len(files) > 0 {
			return control.Plugin{}, false, nil // a directory of skills has no plugins
		}
	}
	return control.Plugin{}, false, fmt.Errorf("it has neither %s nor skills", marketplaceFiles[0])
}

// entry is a plugin of a marketplace.
type entry struct {
	Name   string          `json:"name"`
	Source json.RawMessage `json:"source"`
}

// pluginOf finds a plugin in the text of a marketplace in a directory.
func pluginOf(data []byte, file, dir, name string) (p control.Plugin, ok bool, err error) {
	var m struct {
		Name    *string         `json:"name"`
		Owner   json.RawMessage `json:"owner"`
		Plugins []entry         `json:"plugins"`
	}
	if json.Unmarshal(data, &m) != nil || m.Name == nil || m.Owner == nil {
		return control.Plugin{}, false, fmt.Errorf("%s is not a valid list of plugins", file)
	}
	for _, e := range m.Plugins {
		if e.Name == name {
			p, err := e.in(dir)
			return p, err == nil, err
		}
	}
	return control.Plugin{}, false, nil
}

// in is where the plugin of an entry is. One of this machine is inside of the marketplace:
// others may have written its list.
func (e entry) in(dir string) (control.Plugin, error) {
	var text string
	if json.Unmarshal(e.Source, &text) == nil {
		if filepath.IsAbs(text) || strings.HasPrefix(text, "~") {
			return control.Plugin{}, fmt.Errorf("the source of its plugin %s leads out of it", e.Name)
		}
		if strings.Contains(text, ":") {
			return e.at(control.Plugin{Source: text})
		}
		at := filepath.FromSlash(strings.TrimLeft(text, "./"))
		if at != "" && !filepath.IsLocal(at) {
			return control.Plugin{}, fmt.Errorf("the source of its plugin %s leads out of it", e.Name)
		}
		return control.Plugin{Source: dir, Path: at}, nil
	}
	var at struct{ Source, Repo, URL, Ref, Path string }
	if json.Unmarshal(e.Source, &at) != nil {
		return control.Plugin{}, fmt.Errorf("the source of its plugin %s is neither a path nor an object", e.Name)
	}
	switch {
	case at.Source == "github" && at.Repo != "":
		at.URL = "github:" + at.Repo
	case at.Source != "url" || at.URL == "":
		return control.Plugin{}, fmt.Errorf("the source of its plugin %s is of an unknown kind", e.Name)
	}
	return e.at(control.Plugin{Source: at.URL, Ref: at.Ref, Path: at.Path})
}

// at is a source with a scheme. A file URL is that of a repository.
func (e entry) at(p control.Plugin) (control.Plugin, error) {
	if at, ok := strings.CutPrefix(p.Source, "file://"); ok && !IsRepository(at) {
		return control.Plugin{}, fmt.Errorf("the source of its plugin %s is not a git repository", e.Name)
	}
	return p, nil
}
