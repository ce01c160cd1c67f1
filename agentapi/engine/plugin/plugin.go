// Package plugin reads OpenHands' plugins: directories with any of skills, commands,
// hooks and MCP servers. It starts nothing. Files are read through os.Root, so that no
// link shows something outside of the directory.
package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// Plugin is what a directory has.
type Plugin struct {
	Name    string
	Version string
	// Description is the plugin's own word; it may be empty.
	Description string
	Manifest    json.RawMessage // nil: the plugin has none
	Dir         string          // absolute, without links
	Skills      []skill.Skill
	Hooks       hookfile.Config
	Servers     map[string]json.RawMessage // MCP servers by name
	// Agents can be given tasks. What they would start is left out.
	Agents  []definition.Definition
	LeftOut []LeftOut
}

// LeftOut is a part of a plugin that is not used.
type LeftOut struct {
	Path, Reason string
}

const (
	maxFile  = 1 << 20 // bytes of a file
	maxName  = 64      // bytes of the name
	notValid = "it is not valid JSON"

	firstVersion = "1.0.0" // of a plugin that says none

	hooksFile   = "hooks/hooks.json"
	serversFile = ".mcp.json"
	agentsDir   = "agents"
)

// manifests are where a manifest is, by precedence.
var manifests = []string{".plugin/plugin.json", ".claude-plugin/plugin.json"}

// unused are parts of plugins that the engine does not read.
var unused = []string{".lsp.json", "output-styles"}

// Named reports whether one of the plugins has a name.
func Named(list []Plugin, name string) bool {
	return slices.ContainsFunc(list, func(p Plugin) bool { return p.Name == name })
}

// validName has no separator and no dots at the beginning: the name is a part of the
// names of commands.
var validName = pattern.Of(`^[\p{L}\p{N}][\p{L}\p{N} ._-]*$`)

// Load reads the plugin of a directory. The error says in words for people what is wrong
// with the directory as a whole; a part that cannot be used is in LeftOut.
func Load(dir string) (Plugin, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return Plugin{}, errors.New("there is no such directory")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Plugin{}, errors.New("it is not a directory that can be read")
	}
	defer root.Close()
	r := reader{root: root, Plugin: Plugin{Dir: dir}}
	if err := r.manifest(); err != nil {
		return Plugin{}, err
	}
	r.hooks()
	r.servers()
	found, skipped := skill.OfPlugin(root, dir, r.Name)
	r.Skills = found
	for _, s := range skipped {
		r.LeftOut = append(r.LeftOut, LeftOut{Path: s.Path, Reason: s.Reason})
	}
	r.readAgents()
	for _, name := range unused {
		if _, err := root.Lstat(name); err == nil {
			r.leave(name, "this part of plugins is not used")
		}
	}
	return r.Plugin, nil
}

// Commands are the names of the plugin's commands, which are skills, too.
func (p Plugin) Commands() []string { return p.names(true) }

// SkillNames are the names of its skills that are not commands.
func (p Plugin) SkillNames() []string { return p.names(false) }

func (p Plugin) names(commands bool) []string {
	names := []string{}
	for _, s := range p.Skills {
		if isCommand := filepath.Dir(s.Path) == filepath.Join(p.Dir, "commands"); isCommand == commands {
			name := s.Name
			if isCommand {
				name = strings.TrimPrefix(name, p.Name+":")
			}
			names = append(names, name)
		}
	}
	return names
}

type reader struct {
	Plugin

	root *os.Root
}

func (r *reader) leave(name, reason string) {
	r.LeftOut = append(r.LeftOut, LeftOut{Path: filepath.Join(r.Dir, filepath.FromSlash(name)), Reason: reason})
}

// manifest finds the name. A plugin without a manifest has that of its directory.
func (r *reader) manifest() error {
	if data, err := r.read("plugin.json"); err == nil && declares(data) {
		return errors.New("its form is that of agent-plugins.org, which ohgw does not read; move the manifest to .plugin/plugin.json")
	}
	r.Name, r.Version = filepath.Base(r.Dir), firstVersion
	r.Description = "Plugin loaded from " + r.Name
	for _, name := range manifests {
		if _, err := r.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := r.read(name)
		if err != nil {
			return fmt.Errorf("%s cannot be read: %s", name, reason(err))
		}
		m := struct {
			Name        string `json:"name"`
			Version     string `json:"version"`
			Description string `json:"description"`
		}{Version: firstVersion}
		if json.Unmarshal(data, &m) != nil {
			return fmt.Errorf("%s is not a valid manifest", name)
		}
		if m.Name == "" {
			return fmt.Errorf("%s has no name", name)
		}
		r.Name, r.Version, r.Description, r.Manifest = m.Name, m.Version, m.Description, data
		break
	}
	if len(r.Name) > maxName || !validName().MatchString(r.Name) || strings.Contains(r.Name, "..") {
		return fmt.Errorf("its name has characters that a name cannot have, or more than %d bytes", maxName)
	}
	return nil
}

// declares reports whether a file plugin.json is a manifest of agent-plugins.org, as
// OpenHands decides it.
func declares(data []byte) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return true
	}
	_, ok := m["$schema"]
	return ok
}

func (r *reader) hooks() {
	data, err := r.read(hooksFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		r.Hooks, err = hookfile.Parse(data)
	}
	if err != nil {
		r.leave(hooksFile, reason(err))
	}
}

// readAgents reads the agents of a plugin without their programs, which are not allowed.
func (r *reader) readAgents() {
	if _, err := r.root.Lstat(agentsDir); errors.Is(err, fs.ErrNotExist) {
		return
	}
	found, problems := definition.Load(context.Background(), definition.Dir{Root: r.Dir, Place: agentsDir})
	for _, d := range found {
		if len(d.Servers) > 0 || len(d.Hooks) > 0 {
			r.LeftOut = append(r.LeftOut, LeftOut{Path: d.Path, Reason: "MCP servers and hooks of an agent of a plugin are not used"})
			d.Servers, d.Hooks = nil, nil
		}
		r.Agents = append(r.Agents, d)
	}
	for _, p := range problems {
		r.LeftOut = append(r.LeftOut, LeftOut{Path: p.Path, Reason: p.Msg})
	}
}

func (r *reader) servers() {
	data, err := r.read(serversFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.leave(serversFile, reason(err))
		return
	}
	var file struct {
		Servers map[string]map[string]any `json:"mcpServers"`
	}
	if json.Unmarshal(data, &file) != nil {
		r.leave(serversFile, notValid)
		return
	}
	r.Servers = make(map[string]json.RawMessage)
	for name, server := range file.Servers {
		raw, err := json.Marshal(r.placed(server))
		if err != nil || server == nil {
			r.leave(serversFile, "the server "+name+" is not an object")
			continue
		}
		r.Servers[name] = raw
	}
}

// placed has the directory of the plugin in the place of its variable. Other variables
// are for whoever starts the server.
func (r *reader) placed(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "${SKILL_ROOT}", r.Dir)
	case map[string]any:
		for name, inner := range v {
			v[name] = r.placed(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = r.placed(inner)
		}
	}
	return v
}

var errSize = fmt.Errorf("it is larger than %d bytes", maxFile)

func (r *reader) read(name string) ([]byte, error) {
	file, _, err := sandbox.OpenRegular(r.root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		return nil, errSize
	}
	return data, err
}

// reason is an error in words for people, without the path, which stands beside it.
func reason(err error) string {
	switch at, isPath := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, sandbox.ErrNotRegular):
		return "it is not a regular file"
	case isPath && strings.Contains(at.Err.Error(), "escapes"):
		return "it is a link that leads out of the plugin"
	case isPath:
		return at.Err.Error()
	}
	return err.Error()
}
