package agentmodels

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/team"
)

// Team is the kind of a team of agents.
const Team Kind = "team"

// addTeams adds the teams, once all agents are known.
func (l *listing) addTeams(teams []definition.Definition) {
	for _, d := range teams {
		if Slug(d.Name) == "" {
			l.unused(d.Path, d.Line("name"), d.Name, "the name has no letter and no digit", "write a name of letters, digits, dots and dashes")
			continue
		}
		l.problems = append(l.problems, definition.Check(d, definition.Known{})...)
		l.problems = append(l.problems, limits(d)...)
		if path := l.cycle(d.Name, d, teams, map[string]bool{}); path != nil {
			l.unusedTeam(d, "members", "the team is a member of itself: "+strings.Join(path, " > "), "remove "+quoted(path[1])+" from its members")
			continue
		}
		l.team(d, teams)
	}
}

// cycle finds a way from the members of a team back to the team of that name.
func (l *listing) cycle(to string, from definition.Definition, teams []definition.Definition, seen map[string]bool) []string {
	seen[from.Name] = true
	for _, d := range teams {
		if !slices.ContainsFunc(from.Team.Members, func(name string) bool { return l.means(name, d) }) {
			continue
		}
		if d.Name == to {
			return []string{from.Name, to}
		}
		if seen[d.Name] {
			continue
		}
		if found := l.cycle(to, d, teams, seen); found != nil {
			return append([]string{from.Name}, found...)
		}
	}
	return nil
}

// means reports whether the name of a member stands for a team. An agent of that name comes
// first.
func (l *listing) means(name string, d definition.Definition) bool {
	if _, agent := l.agent(name); agent {
		return false
	}
	name = strings.TrimPrefix(name, agentapi.TeamMark)
	return name == d.Name || name == Slug(d.Name)
}

// agent finds an agent by its own name, or by the one in model ids.
func (l *listing) agent(name string) (Entry, bool) {
	for _, is := range []func(Entry) bool{
		func(e Entry) bool { return e.Title == name },
		func(e Entry) bool { return e.Name == name },
	} {
		if i := slices.IndexFunc(l.entries, func(e Entry) bool { return e.Team == nil && is(e) }); i >= 0 {
			return l.entries[i], true
		}
	}
	return Entry{}, false
}

// team adds a team with those of its members that can be used.
func (l *listing) team(d definition.Definition, teams []definition.Definition) {
	t := &team.Team{All: d.Team.Mode == definition.Collaborate, Isolated: d.Team.Isolation == definition.Worktree, Name: d.Name}
	for _, name := range d.Team.Members {
		e, ok := l.agent(name)
		if !ok {
			msg, hint := l.missing(name, teams)
			l.teamProblem(d, "members", msg, hint)
			continue
		}
		t.Members = append(t.Members, team.Member{Name: e.Title, Profile: e.profile().Name, Description: e.Description, Tools: e.tools()})
	}
	if len(t.Members) == 0 {
		l.unusedTeam(d, "members", "the team has no member that can be used", "write members: [NAME, NAME] with names of ohgw agents list")
		return
	}
	model, field := strings.TrimSuffix(d.Model, ".json"), "model"
	if d.Team.Lead != "" {
		lead, ok := l.agent(d.Team.Lead)
		if !ok {
			msg, hint := l.missing(d.Team.Lead, teams)
			l.unusedTeam(d, "lead", msg, hint)
			return
		}
		if model == "" || model == definition.Inherit {
			model, field = lead.LLM, "lead"
		}
	}
	l.add(Entry{
		Name: agentapi.TeamMark + Slug(d.Name), Title: d.Name, Kind: Team, Path: d.Path, Definition: &d, Team: t,
		Description: cmp.Or(plainDescription(d.Description), plainDescription("A team of "+strings.Join(d.Team.Members, ", ")+".")),
	}, model, d.Line(field))
}

// missing explains why a name is not that of an agent that can be in a team.
func (l *listing) missing(name string, teams []definition.Definition) (msg, hint string) {
	if slices.ContainsFunc(teams, func(d definition.Definition) bool { return l.means(name, d) }) {
		return quoted(name) + " is a team, and a team has only agents in it", "write the members of that team in its place"
	}
	if Slug(name) != name {
		return "there is no agent " + quoted(name), "write the name of an agent of ohgw agents list"
	}
	return "there is no agent " + quoted(name), "remove it, or create it: ohgw agents new " + name
}

// tools are what a lead is told of the tools of an agent.
func (e Entry) tools() []string {
	if e.Definition == nil {
		return nil
	}
	return e.Definition.Tools
}

func (l *listing) teamProblem(d definition.Definition, field, msg, hint string) {
	l.problems = append(l.problems, definition.Problem{Path: d.Path, Line: d.Line(field), Agent: d.Name, Msg: msg, Hint: hint})
}

func (l *listing) unusedTeam(d definition.Definition, field, msg, hint string) {
	l.teamProblem(d, field, msg, hint)
	l.problems[len(l.problems)-1].Unused = true
}

// taskTools is the set of tools with which an agent gives tasks to sub-agents.
const taskTools = "task_tool_set"

// ofTeam puts together what a conversation with a team is made of: its lead, who has the
// members as sub-agents, or what joins their answers.
func (r *Roster) ofTeam(ctx context.Context, e Entry, workspace string) (engine.Agent, error) {
	own, err := r.ofDefinition(e, workspace)
	if err != nil {
		return own, err
	}
	base, d := own, e.Definition
	if d.Team.Lead != "" {
		if base, err = r.Load(ctx, d.Team.Lead, workspace); err != nil {
			return base, err
		}
	}
	settings := map[string]any{}
	if err := json.Unmarshal(base.Settings, &settings); err != nil {
		return base, fmt.Errorf("read the lead of the team %q: %w", e.Title, err)
	}
	lead, _ := settings["agent_context"].(map[string]any)
	if lead == nil {
		lead = map[string]any{}
	}
	settings["agent_context"] = lead
	var words []string
	if text, ok := lead["system_message_suffix"].(string); ok && d.Team.Lead != "" {
		words = append(words, text)
	}
	if e.Team.All {
		delete(settings, "mcp_config")
		settings["tools"] = withTasks([]any{})
		words = append(words, team.JoinPrompt())
	} else {
		settings["tools"] = withTasks(settings["tools"])
		words = append(words, coordinating(e))
	}
	settings["enable_sub_agents"] = true // for a lead with the standard tools, which are not listed
	lead["system_message_suffix"] = strings.TrimSpace(strings.Join(append(words, d.Prompt), "\n\n"))
	settings["tool_concurrency_limit"] = len(e.Team.Members)
	made := engine.Agent{
		Name: e.Name, Profile: e.LLM, Team: e.Team, Secrets: base.Secrets, MaxIterations: own.MaxIterations, MaxRun: own.MaxRun,
		Confirm: base.Confirm.Stricter(own.Confirm),
	}
	if made.MaxIterations == 0 {
		made.MaxIterations = base.MaxIterations
	}
	if d.Team.Lead != "" && !e.Team.All { // a team's own file starts no program
		made.Hooks = base.Hooks
	}
	made.Settings, err = json.Marshal(settings)
	return made, err
}

// withTasks adds the tool for sub-agents to the tools of a lead; nil are the standard ones.
func withTasks(tools any) any {
	list, ok := tools.([]any)
	if !ok {
		return nil
	}
	for _, t := range list {
		if o, ok := t.(map[string]any); ok && o["name"] == taskTools {
			return list
		}
	}
	return append(slices.Clone(list), map[string]any{"name": taskTools, "params": map[string]any{}})
}

// coordinating are the words for a lead about its team.
func coordinating(e Entry) string {
	names := make([]string, len(e.Team.Members))
	for i, m := range e.Team.Members {
		names[i] = strconv.Quote(m.Name)
	}
	return "You lead the team " + strconv.Quote(e.Title) + ". Its members are " + strings.Join(names, ", ") +
		". Split the task, hand the parts to the members that fit them with the tool task, several in one step where they do not depend on each other, " +
		"check what comes back, and answer the user yourself. If a member fails, do its part otherwise, or name the member and say what is missing." + isolated(e)
}

// isolated are the words for a lead whose members have worktrees of their own.
func isolated(e Entry) string {
	if !e.Team.Isolated {
		return ""
	}
	return " Each member works in a git worktree of its own, which begins with the commit that is checked out in the workspace: it does not see what is not committed, " +
		"or what other members do. Its result names the branch that has its changes, and the command that merges them. Merge nothing unless the user asks for it."
}
