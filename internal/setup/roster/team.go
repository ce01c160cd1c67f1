package roster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
)

// membersAtOnce is how many members of a team work at the same time, if the settings
// do not say it.
const membersAtOnce = 4

// addTeams adds the teams, once all agents are known: those first that others have as
// members.
func (l *listing) addTeams() {
	var usable []definition.Definition
	for _, d := range l.teams {
		if path := l.cycle(d.Name, d, map[string]bool{}); path != nil {
			l.unusedTeam(d, "members", "the team is a member of itself: "+strings.Join(path, " > "), "remove "+quoted(path[1])+" from its members")
			continue
		}
		usable = append(usable, d)
	}
	for len(usable) > 0 { // one of them has no member that is still to come
		i := slices.IndexFunc(usable, func(d definition.Definition) bool {
			return !slices.ContainsFunc(usable, func(other definition.Definition) bool { return l.hasMember(d, other.Name) })
		})
		l.team(usable[i])
		usable = slices.Delete(usable, i, i+1)
	}
}

// cycle is a way from the members of a team back to the team of that name.
func (l *listing) cycle(to string, from definition.Definition, seen map[string]bool) []string {
	seen[from.Name] = true
	for _, d := range l.teams {
		if !l.hasMember(from, d.Name) {
			continue
		}
		if d.Name == to {
			return []string{from.Name, to}
		}
		if seen[d.Name] {
			continue
		}
		if found := l.cycle(to, d, seen); found != nil {
			return append([]string{from.Name}, found...)
		}
	}
	return nil
}

// hasMember reports whether a team names another one. An agent of that name comes
// first, where the name is not that of a model.
func (l *listing) hasMember(d definition.Definition, team string) bool {
	return slices.ContainsFunc(d.Members, func(name string) bool {
		return teamNamed(name, team) && !slices.ContainsFunc(l.entries, func(e Entry) bool { return e.Team == nil && e.Title == name })
	})
}

// teamNamed reports whether a name stands for a team.
func teamNamed(name, team string) bool {
	name = strings.TrimPrefix(name, agentapi.TeamPrefix)
	return name == team || name == Slug(team)
}

// team adds a team whose members are in the list as far as they can be used.
func (l *listing) team(d definition.Definition) {
	t := &engine.Team{All: d.Mode == definition.Collaborate}
	for _, name := range d.Members {
		e, ok := l.member(name)
		if !ok {
			l.teamProblem(d, "members", fmt.Sprintf("there is no agent %q that can be a member", name), "remove it, or create it: ohgw agents new "+Slug(name))
			continue
		}
		t.Members = append(t.Members, engine.Member{Name: e.Title, Profile: agentapi.AgentProfile(e.Name), Description: e.Description, Tools: e.tools()})
	}
	if len(t.Members) == 0 {
		l.unusedTeam(d, "members", "the team has no member that can be used", "write members: [NAME, NAME] with names of ohgw agents list")
		return
	}
	model, field := strings.TrimSuffix(d.Model, ".json"), "model"
	if d.Lead != "" {
		lead, ok := l.member(d.Lead)
		if !ok || lead.Team != nil {
			l.unusedTeam(d, "lead", fmt.Sprintf("there is no agent %q that can lead the team", d.Lead), "write the name of an agent, or remove the field")
			return
		}
		if model == "" || model == definition.Inherit {
			model, field = lead.LLM, "lead"
		}
	}
	for _, unused := range []string{"tools", "skills", "mcp_config", "mcp_servers"} {
		if d.Has(unused) && (t.All || d.Lead != "") {
			l.teamProblem(d, unused, unused+" has no effect: the members have their own, and so has the lead", "remove the field")
		}
	}
	description := plainDescription(d.Description)
	if description == "" {
		description = "A team of " + strings.Join(d.Members, ", ") + "."
	}
	l.add(Entry{
		Name: agentapi.TeamPrefix + Slug(d.Name), Title: d.Name, Description: description, Kind: Team, Path: d.Path, Definition: &d, Team: t,
	}, model, d.Line(field))
}

// member is the agent of a name, or the team.
func (l *listing) member(name string) (Entry, bool) {
	for _, match := range []func(Entry) bool{
		func(e Entry) bool { return e.Title == name && e.Team == nil },
		func(e Entry) bool { return e.Name == name },
		func(e Entry) bool { return e.Team != nil && teamNamed(name, e.Title) },
	} {
		if i := slices.IndexFunc(l.entries, match); i >= 0 {
			return l.entries[i], true
		}
	}
	return Entry{}, false
}

// tools are what a lead is told of a member.
func (e Entry) tools() []string {
	switch {
	case e.Team != nil:
		return []string{"a team of its own"}
	case e.Definition != nil:
		return e.Definition.Tools
	}
	return nil
}

func (l *listing) teamProblem(d definition.Definition, field, msg, hint string) {
	l.problems = append(l.problems, definition.Problem{Path: d.Path, Line: d.Line(field), Agent: d.Name, Msg: msg, Hint: hint})
}

func (l *listing) unusedTeam(d definition.Definition, field, msg, hint string) {
	l.teamProblem(d, field, msg, hint)
	l.problems[len(l.problems)-1].Unused = true
}

// ofTeam is what a conversation with a team is made of: its lead, who has the members
// as sub-agents, or who joins their answers.
func (r *Roster) ofTeam(ctx context.Context, e Entry, workspace string) (engine.Agent, error) {
	d := e.Definition
	own, err := r.ofDefinition(e, workspace)
	if err != nil {
		return own, err
	}
	base := own
	if d.Lead != "" {
		if base, err = r.Load(ctx, d.Lead, workspace); err != nil {
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
	words := []string{}
	if text, ok := lead["system_message_suffix"].(string); ok && d.Lead != "" {
		words = append(words, text)
	}
	delete(settings, "enable_sub_agents")
	if e.Team.All {
		settings["tools"] = []any{}
		delete(settings, "mcp_config")
	} else {
		settings["tools"] = withTasks(settings["tools"])
		words = append(words, coordinating(e))
	}
	lead["system_message_suffix"] = strings.TrimSpace(strings.Join(append(words, d.Prompt), "\n\n"))
	if settings["tool_concurrency_limit"] == nil {
		settings["tool_concurrency_limit"] = membersAtOnce
	}
	team := engine.Agent{
		Name: e.Name, Profile: e.LLM, Team: e.Team, MaxIterations: own.MaxIterations, MaxRunCost: own.MaxRunCost, MaxRunTokens: own.MaxRunTokens,
		Confirm: base.Confirm.Stricter(own.Confirm),
	}
	if d.Lead != "" && team.MaxIterations == 0 {
		team.MaxIterations = base.MaxIterations
	}
	team.Settings, err = json.Marshal(settings)
	return team, err
}

// withTasks adds the tool for sub-agents to the tools of a lead.
func withTasks(tools any) []any {
	list, _ := tools.([]any)
	for _, t := range list {
		if o, ok := t.(map[string]any); ok && o["name"] == taskTools {
			return list
		}
	}
	return append(slices.Clone(list), map[string]any{"name": taskTools, "params": map[string]any{}})
}

const taskTools = "task_tool_set"

// coordinating tells a lead of its team.
func coordinating(e Entry) string {
	names := make([]string, len(e.Team.Members))
	for i, m := range e.Team.Members {
		names[i] = strconv.Quote(m.Name)
	}
	return "You lead the team " + strconv.Quote(e.Title) + ". Its members are " + strings.Join(names, ", ") +
		". Split the task, hand the parts to the members that fit them with the tool task, several in one step where they do not depend on each other, " +
		"check what comes back, and answer the user yourself. If a member fails, do its part otherwise, or say what is missing."
}
