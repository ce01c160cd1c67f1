// Package plugin finds OpenHands' plugins: directories with any of skills, commands,
// agents, hooks and MCP servers. It says where they are and what they are called;
// skills and agents are read by the packages that know their form.
//
// A plugin of a workspace is not the user's word. Links in it cannot lead out of the
// workspace, and its hooks and MCP servers, which are programs, are not for use.
package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Plugin is a directory that was found.
type Plugin struct {
	Name        string
	Version     string
	Description string
	Dir         string
	// Own: it is the user's, from the home directory, and not of a workspace.
	Own bool

	base, rel string // Dir is rel below base, out of which no link may lead
}

// Problem is what is wrong with a plugin, or what of it has no effect.
type Problem struct {
	Path, Plugin string
	Msg, Hint    string
	Unused       bool // the directory is no plugin because of it
}

// The places of plugins below a workspace and below the home directory.
var places = []string{".agents/plugins", ".openhands/plugins"}

// installed is where OpenHands installs plugins, and what it notes of them.
const (
	installed = ".openhands/plugins/installed"
	notes     = ".installed.json"
)

const (
	maxFile    = 1 << 20 // bytes that are read of a file
	maxPlugins = 100     // of a directory
)

// manifests are where a manifest is, by precedence.
var manifests = []string{".plugin/plugin.json", ".claude-plugin/plugin.json"}

// Find are the plugins of workspaces, by precedence, and then those of the user; home
// may be empty. Of two with the same name the first counts.
func Find(workspaces []string, home string) (found []Plugin, problems []Problem) {
	f := finder{names: make(map[string]string)}
	for _, dir := range workspaces {
		if dir == "" || home != "" && filepath.Clean(dir) == filepath.Clean(home) {
			continue // that is the user's
		}
		for _, place := range places {
			f.directory(dir, place, false, nil)
		}
	}
	if home == "" {
		return f.found, f.problems
	}
	for _, place := range places {
		f.directory(home, place, true, nil)
	}
	f.directory(home, installed, true, disabled(home))
	return f.found, f.problems
}

type finder struct {
	found    []Plugin
	names    map[string]string // to the directories that have them
	problems []Problem
}

// directory takes all directories at a place as plugins, but those to leave out.
func (f *finder) directory(base, place string, own bool, out []string) {
	entries, err := os.ReadDir(filepath.Join(base, filepath.FromSlash(place)))
	if err != nil {
		return // most do not exist
	}
	for i, e := range entries {
		if i >= maxPlugins {
			return
		}
		rel := path.Join(place, e.Name())
		if rel == installed || strings.HasPrefix(e.Name(), ".") || slices.Contains(out, e.Name()) {
			continue
		}
		p := Plugin{Dir: filepath.Join(base, filepath.FromSlash(rel)), Own: own, base: base, rel: rel}
		if own { // the user's own links may lead anywhere
			p.base, p.rel = p.Dir, "."
		}
		if info, err := os.Stat(p.Dir); err == nil && info.IsDir() {
			f.add(p)
		}
	}
}

func (f *finder) add(p Plugin) {
	if err := p.readManifest(); err != nil {
		f.problems = append(f.problems, Problem{
			Path: p.Dir, Msg: "the plugin cannot be used: " + err.Error(), Hint: "repair its manifest, or remove the directory", Unused: true,
		})
		return
	}
	if first, taken := f.names[p.Name]; taken {
		f.problems = append(f.problems, Problem{
			Path: p.Dir, Plugin: p.Name, Unused: true,
			Msg: fmt.Sprintf("another plugin is named %q and comes first: %s", p.Name, first), Hint: "remove one of them",
		})
		return
	}
	f.names[p.Name] = p.Dir
	f.found = append(f.found, p)
}

// disabled are the installed plugins that the user has turned off.
func disabled(home string) (names []string) {
	p := Plugin{base: filepath.Join(home, filepath.FromSlash(installed)), rel: "."}
	var file struct {
		Extensions map[string]struct {
			Enabled *bool `json:"enabled"`
		} `json:"extensions"`
	}
	data, err := p.read(notes)
	if err != nil || json.Unmarshal(data, &file) != nil {
		return nil
	}
	for name, e := range file.Extensions {
		if e.Enabled != nil && !*e.Enabled {
			names = append(names, name)
		}
	}
	return names
}

// Open opens the directory of the plugin.
func (p Plugin) Open() (*os.Root, error) {
	base, err := os.OpenRoot(p.base)
	if err != nil || p.rel == "." {
		return base, err
	}
	defer base.Close()
	return base.OpenRoot(p.rel)
}

// Agents is where the plugin has agent definitions: place is below root.
func (p Plugin) Agents() (root, place string) { return p.base, path.Join(p.rel, "agents") }

func (p Plugin) read(name string) ([]byte, error) {
	root, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, _, err := sandbox.OpenRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile))
}

// readManifest takes what the manifest says. A plugin without one has the name of its
// directory.
func (p *Plugin) readManifest() error {
	p.Name, p.Version = filepath.Base(p.Dir), "1.0.0"
	for _, name := range manifests {
		data, err := p.read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var m struct {
			Name        *string `json:"name"`
			Version     *string `json:"version"`
			Description *string `json:"description"`
		}
		if err != nil {
			return fmt.Errorf("%s cannot be read", name)
		}
		switch err := json.Unmarshal(data, &m); {
		case err != nil:
			return fmt.Errorf("%s is not valid JSON", name)
		case m.Name == nil || *m.Name == "":
			return fmt.Errorf("%s has no name", name)
		}
		p.Name = *m.Name
		for to, v := range map[*string]*string{&p.Version: m.Version, &p.Description: m.Description} {
			if v != nil {
				*to = *v
			}
		}
		return nil
	}
	p.Description = "Plugin loaded from " + p.Name
	return nil
}

// hooksFile and serversFile are the programs of a plugin.
const (
	hooksFile   = "hooks/hooks.json"
	serversFile = ".mcp.json"
)

// Hooks are the hooks of the plugin; nil: none.
func (p Plugin) Hooks() (hookfile.Config, error) {
	data, err := p.read(hooksFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return hookfile.Parse(data)
}

// Servers are the MCP servers of the plugin by their names.
func (p Plugin) Servers() (map[string]json.RawMessage, error) {
	data, err := p.read(serversFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dir, err := json.Marshal(p.Dir)
	if err != nil {
		return nil, err
	}
	inner := strings.Trim(string(dir), `"`)
	text := strings.NewReplacer("${SKILL_ROOT}", inner, "${CLAUDE_PLUGIN_ROOT}", inner).Replace(string(data))
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	err = json.Unmarshal([]byte(text), &file)
	return file.Servers, err
}

// unread are parts of plugins of other programs that nobody reads here.
var unread = []string{".lsp.json", "output-styles", "settings.json", "monitors", "themes"}

// Check names what of the plugin has no effect, and why.
func (p Plugin) Check() (problems []Problem) {
	note := func(file, msg, hint string) {
		problems = append(problems, Problem{Path: filepath.Join(p.Dir, filepath.FromSlash(file)), Plugin: p.Name, Msg: msg, Hint: hint})
	}
	root, err := p.Open()
	if err != nil {
		note("", "the plugin cannot be read", "make the directory readable: chmod u+rx "+p.Dir)
		return problems
	}
	defer root.Close()
	const move = "move the plugin to ~/.agents/plugins if you trust it"
	hooks, hooksErr := p.Hooks()
	servers, serversErr := p.Servers()
	switch {
	case hooksErr != nil:
		note(hooksFile, "the hooks of the plugin cannot be read", "correct the file")
	case hooks != nil && !p.Own:
		note(hooksFile, "the hooks of the plugin are not run, because it is part of a workspace", move)
	}
	switch {
	case serversErr != nil:
		note(serversFile, "the MCP servers of the plugin cannot be read", "correct the file")
	case len(servers) > 0 && !p.Own:
		note(serversFile, "the MCP servers of the plugin are not started, because it is part of a workspace", move)
	}
	for _, name := range unread {
		if _, err := root.Lstat(name); err == nil {
			note(name, "this part of the plugin is not used", "remove it, or leave it to other programs")
		}
	}
	return problems
}
