// Package catalogue finds what an agent can be given, for OpenHands' own API: skills,
// agents, plugins and MCP servers, of the user and of a project. It tries MCP servers,
// and stores the logins to them.
//
// A program of an MCP server that is tried runs in a box of its own, in an empty directory.
package catalogue

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/subagent"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/profile"
)

// maxProjectFile bounds a file of a project that is read whole, in bytes.
const maxProjectFile = 1 << 20

// User is where the user's own skills are.
func User(dirs paths.Set, places profile.Places) skill.User {
	return skill.User{Home: dirs.Home, Base: places.Base()}
}

// Of is what an agent can be given. Programs of MCP servers are tried
// in a box of their own; the log has what those printed that cannot be used.
func Of(user skill.User, servers *Trial) catalogue.Config {
	return catalogue.Config{
		Tools:  toolset.Names(),
		Skills: func(dir string, own bool) []catalogue.Skill { return skillsOf(dir, user, own) },
		Agents: func(ctx context.Context, dir string, own, builtin bool) []catalogue.Agent {
			return agentsOf(ctx, dir, user, own, builtin, servers.kept.Servers.Masked)
		},
		ReadFile:  readProjectFile,
		TryServer: func(ctx context.Context, t catalogue.Trial) (catalogue.Tried, error) { return servers.run(ctx, t, nil) },
	}
}

// skillsOf finds the skills of a directory, and those of the user with own.
func skillsOf(dir string, user skill.User, own bool) []catalogue.Skill {
	if !own {
		user = skill.User{}
	}
	found, _ := skill.Find(dir, user)
	list := make([]catalogue.Skill, 0, len(found))
	for _, s := range found {
		list = append(list, catalogue.Skill{
			Name: s.Name, Description: s.Description, Content: s.Body, Source: s.Path, Triggers: s.Triggers,
			Always: s.Always, Directory: s.Dir != "", Hidden: s.Dir != "" && !s.Invocable, Own: s.Own,
		})
	}
	return list
}

// agentsOf finds the agents that one in a directory can give tasks to. masked hides the
// secrets of MCP servers.
func agentsOf(ctx context.Context, dir string, user skill.User, own, builtin bool, masked func([]byte) json.RawMessage) []catalogue.Agent {
	if !own {
		user = skill.User{}
	}
	found, _ := definition.Load(ctx, definition.Dirs(dir, user.Home, user.Base)...) // "ohgw agents check" tells of problems
	var list []catalogue.Agent
	add := func(d definition.Definition, source string) {
		var servers json.RawMessage
		if len(d.Servers) > 0 {
			servers = masked(d.Servers)
		}
		list = append(list, catalogue.Agent{
			Name: d.Name, Description: d.Description, Model: d.Model, Prompt: d.Prompt, Color: d.Color, Permission: d.Permission,
			Tools: d.Tools, Skills: d.Skills, Examples: d.Examples, MaxIterations: d.MaxIterations, MaxBudget: d.MaxBudget,
			Servers: servers, Hooks: d.Hooks, Condenser: d.Condenser, NoCondenser: d.NoCondenser,
			ProfileDir: d.ProfileDir, Metadata: d.Metadata, Source: source, User: d.User,
		})
	}
	for _, d := range found {
		add(d, d.Path)
	}
	if !builtin {
		return list
	}
	for _, d := range subagent.Builtin() {
		if !slices.ContainsFunc(found, func(f definition.Definition) bool { return f.Name == d.Name }) {
			add(d, "")
		}
	}
	return list
}

// readProjectFile reads a file below a directory, and follows no link out of it.
func readProjectFile(dir, name string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	defer func() { _ = root.Close() }() // It was only read.
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	defer func() { _ = f.Close() }() // It was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxProjectFile))
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	return data, nil
}
