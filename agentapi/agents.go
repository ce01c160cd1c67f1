package agentapi

import "strings"

// AgentPrefix begins the names of profiles that are agents, and TeamPrefix those of teams of
// agents. An LLM profile may have such a name, too; then it takes the place of the agent or
// of the team.
const (
	AgentPrefix = "agent_"
	TeamPrefix  = "team_"
)

// TeamMark begins the names of teams where agents and teams are named alike. It is also how
// some clients name the model of a team.
const TeamMark = "team/"

// AgentOf returns the name of the agent that a profile is: "reviewer" for agent_reviewer, and
// "team/crew" for team_crew.
func AgentOf(profile string) (agent string, ok bool) {
	if name, ok := strings.CutPrefix(profile, AgentPrefix); ok {
		return name, true
	}
	if name, ok := strings.CutPrefix(profile, TeamPrefix); ok {
		return TeamMark + name, true
	}
	return "", false
}

// AgentProfile returns the name of the profile that an agent or a team is.
func AgentProfile(agent string) string {
	if name, ok := strings.CutPrefix(agent, TeamMark); ok {
		return TeamPrefix + name
	}
	return AgentPrefix + agent
}

// IsTeam reports whether a profile is a team.
func (p Profile) IsTeam() bool { return p.Agent != "" && strings.HasPrefix(p.Name, TeamPrefix) }
