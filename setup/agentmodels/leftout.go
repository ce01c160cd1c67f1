package agentmodels

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/internal/hookfile"
	"github.com/ohgw/ohgw/internal/subpath"
)

// leftOut is a file of a workspace that would start a program or a server, or have a
// variable filled in, and what the user can do who trusts it.
type leftOut struct{ path, msg, hint string }

// leftOutFiles lists the files that OpenHands knows at one place of a project.
func leftOutFiles() []leftOut {
	const (
		servers = "the MCP servers are not started and their variables not filled in, because the file belongs to the workspace"
		toAdd   = "if you trust these servers, add them to mcp_config in OpenHands' settings"
		hooks   = "the hooks are not run, because the file belongs to the workspace"
		script  = "the script is not run, because the file belongs to the workspace"
		plugin  = "the plugin is not used, because it belongs to the workspace"
		toCopy  = "if you trust its skills and agents, copy them to ~/.agents"
	)
	return []leftOut{
		{".mcp.json", servers, toAdd},
		{".openhands/mcp.json", servers, toAdd},
		{".openhands/.mcp.json", servers, toAdd},
		{".agents/mcp.json", servers, toAdd},
		{".agents/.mcp.json", servers, toAdd},
		{hookfile.Path, hooks, "if you trust these hooks, copy the file to ~/" + hookfile.Path},
		{".agents/hooks.json", hooks, "if you trust these hooks, copy the file to ~/" + hookfile.Path},
		{".openhands/setup.sh", script, "if you trust it, run it yourself, or tell the agent to run it"},
		{".openhands/pre-commit.sh", script, "if you trust it, run it yourself, or tell the agent to run it"},
		{".plugin/plugin.json", plugin, toCopy},
		{".claude-plugin/plugin.json", plugin, toCopy},
		{".openhands/plugins", plugin, toCopy},
		{".agents/plugins", plugin, toCopy},
	}
}

// maxSkillFile bounds what is read of a skill, as [skill.Find] does.
const maxSkillFile = 1 << 20

// LeftOut finds the files of a workspace that start nothing and have no variable filled
// in, although they would in a directory of the user. It starts nothing.
func LeftOut(workspace string, user skill.User) []definition.Problem {
	if workspace == "" {
		return nil
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil // told where the workspace is used
	}
	defer func() { _ = root.Close() }()
	var list []definition.Problem
	add := func(path, msg, hint string) {
		list = append(list, definition.Problem{Path: filepath.Join(workspace, filepath.FromSlash(path)), Msg: msg, Hint: hint, Inert: true})
	}
	for _, f := range leftOutFiles() {
		if _, err := root.Stat(f.path); err == nil && !ofUser(user, filepath.Join(workspace, filepath.FromSlash(f.path))) {
			add(f.path, f.msg, f.hint)
		}
	}
	found, _ := skill.Find(workspace, user)
	for _, s := range found {
		rel, ok := subpath.Rel(workspace, s.Path)
		if s.Own || !ok {
			continue
		}
		for _, f := range ofSkill(root, s, filepath.ToSlash(rel)) {
			add(f.path, f.msg, f.hint)
		}
	}
	return list
}

// ofUser reports whether a file is in OpenHands' directory of the user, as it is where
// the home directory is the workspace.
func ofUser(user skill.User, file string) bool {
	return subpath.Within(user.Base, file)
}

// ofSkill finds what of a skill of a workspace has no effect.
func ofSkill(root *os.Root, s skill.Skill, rel string) []leftOut {
	const trust = "if you trust the skill, copy it to ~/.agents/skills"
	var list []leftOut
	if s.Inert() {
		list = append(list, leftOut{rel, "the commands in the skill are not run, because the file belongs to the workspace", trust})
	}
	if s.Dir != "" {
		servers := filepath.ToSlash(filepath.Join(filepath.Dir(rel), ".mcp.json"))
		if _, err := root.Stat(servers); err == nil {
			list = append(list, leftOut{servers, "the MCP servers of the skill are not started and their variables not filled in", "if you trust these servers, add them to mcp_config in OpenHands' settings"})
		}
	}
	if hasServers(root, rel) {
		list = append(list, leftOut{rel, "mcp_tools of the skill has no effect", "if you trust these servers, add them to mcp_config in OpenHands' settings"})
	}
	return list
}

// hasServers reports whether the head of a skill has MCP servers.
func hasServers(root *os.Root, rel string) bool {
	if info, err := root.Stat(rel); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := root.OpenFile(rel, os.O_RDONLY, fs.FileMode(0))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // It was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxSkillFile))
	if err != nil || !bytes.HasPrefix(data, []byte("---")) {
		return false
	}
	head, _, _ := bytes.Cut(data[3:], []byte("\n---"))
	return bytes.Contains(head, []byte("\nmcp_tools:"))
}

// Opened logs what of a workspace has no effect, once for each workspace. An empty one, such
// as the new directory of a one-shot, is not kept: it is looked at again when it has files.
func (r *Roster) Opened(workspace string) {
	if r.cfg.Log == nil || workspace == "" || workspace == r.cfg.Project {
		return // those of the one workspace are told by List
	}
	if isEmpty(workspace) {
		return
	}
	r.mu.Lock()
	seen := r.opened[workspace]
	r.opened[workspace] = true
	r.mu.Unlock()
	if seen {
		return
	}
	for _, p := range LeftOut(workspace, r.user()) {
		r.cfg.Log.Warn(inert, "file", p.Path, "why", p.Msg, "remedy", p.Hint)
	}
}

// inert is what the log says of a file that was left out.
const inert = "a file of the workspace has no effect"

// isEmpty reports whether a directory has no entries. One that cannot be read may have some.
func isEmpty(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer func() { _ = d.Close() }()
	_, err = d.Readdirnames(1)
	return errors.Is(err, io.EOF)
}
