package definition

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// TeamPlace is where the files of teams are, below a project and below the home directory.
const TeamPlace = ".agents/teams"

// MaxMembers is how many members a team can have.
const MaxMembers = 16

// The values of Team.Mode.
const (
	// Coordinate has a lead hand work to the members.
	Coordinate = "coordinate"
	// Collaborate has all members answer each message, and one call join the answers.
	Collaborate = "collaborate"
)

// The values of Team.Isolation.
const (
	// Worktree gives each member a git worktree of its own.
	Worktree = "worktree"
	// NoIsolation has all members work in the workspace.
	NoIsolation = "none"
)

// Team is what the file of a team has besides the fields that it shares with an agent's.
type Team struct {
	Members []string // names of agents
	Mode    string
	Lead    string // the name of an agent; "": the team's LLM leads by itself
	// Isolation is where the members work: in the workspace, or each in a worktree.
	Isolation string
}

// TeamDirs are the directories with teams for a project and a home directory, by precedence;
// each may be empty.
func TeamDirs(project, home string) []Dir {
	var dirs []Dir
	if project != "" {
		dirs = append(dirs, Dir{Root: project, Place: TeamPlace})
	}
	if home != "" && home != project {
		dirs = append(dirs, Dir{Root: home, Place: TeamPlace, User: true})
	}
	return dirs
}

// LoadTeams reads the files of teams as [Load] reads those of agents.
func LoadTeams(ctx context.Context, dirs ...Dir) ([]Definition, []Problem) {
	return load(ctx, &loader{parse: ParseTeam, noun: "team", names: make(map[string]string)}, dirs)
}

// ParseTeam reads the team in the file of a path.
func ParseTeam(path string, data []byte) (Definition, []Problem) {
	r := newReader(path)
	r.def.Team = &Team{Mode: Coordinate, Isolation: NoIsolation}
	r.parse(data)
	if len(r.def.Team.Members) == 0 && !r.refused() {
		r.refuse(r.def.Line("members")-r.offset, "the team has no members", "write members: [NAME, NAME] with the names of agents")
	}
	if r.def.Team.Mode == Collaborate && r.def.MaxIterations == 1 {
		r.refuse(r.def.Line("max_iteration_per_run")-r.offset, "max_iteration_per_run cannot be 1 in the mode collaborate: asking the members and joining their answers are two steps",
			"write 2 or more; members without a limit of their own have this one, too")
	}
	r.named()
	return r.def, r.problems
}

// teamFields are the fields that have a meaning in the file of a team.
var teamFields = []string{
	"name", "description", "model", "color", "members", "mode", "lead", "isolation",
	"max_iteration_per_run", "max_budget_per_run", "max_tokens_per_run", "permission_mode",
}

// ofMembers are the fields that belong into the files of the members.
var ofMembers = []string{"tools", "skills", "mcp_config", "mcp_servers", "hooks", "condenser", "profile_store_dir"}

// readTeam returns, for each field that has a meaning in a team, the function that reads it.
func (r *reader) readTeam() map[string]func(*node) {
	known := r.read()
	for _, name := range ofMembers {
		delete(known, name)
	}
	known["members"], known["mode"], known["isolation"] = r.members, r.mode, r.isolation
	known["lead"] = func(n *node) { r.def.Team.Lead = strings.TrimSpace(text(n)) }
	return known
}

// members reads the names of the members. A name that is there twice counts once.
func (r *reader) members(n *node) {
	const hint = "write members: [NAME, NAME] with the names of agents"
	names := r.names(n, "members", true)
	if len(names) > MaxMembers {
		r.refuse(n.line, fmt.Sprintf("the team has %d members; %d are the most", len(names), MaxMembers), "remove members, or make two teams of them")
		return
	}
	for _, name := range names {
		switch name = strings.TrimSpace(name); {
		case name == "":
			r.note(n.line, "a member has no name", hint)
		case slices.Contains(r.def.Team.Members, name):
			r.note(n.line, fmt.Sprintf("the member %q is there twice and counts once", name), "remove one of them")
		default:
			r.def.Team.Members = append(r.def.Team.Members, name)
		}
	}
}

func (r *reader) mode(n *node) {
	switch mode := strings.ToLower(strings.TrimSpace(text(n))); mode {
	case Coordinate, Collaborate:
		r.def.Team.Mode = mode
	default:
		r.refuse(n.line, fmt.Sprintf("mode cannot be %q", text(n)), "write coordinate or collaborate")
	}
}

func (r *reader) isolation(n *node) {
	switch value := strings.ToLower(strings.TrimSpace(text(n))); value {
	case Worktree, NoIsolation:
		r.def.Team.Isolation = value
	default:
		r.refuse(n.line, fmt.Sprintf("isolation cannot be %q", text(n)), "write worktree or none")
	}
}

// checkTeam finds what of a team's file has no effect.
func checkTeam(c *checker) {
	for _, name := range c.def.Others {
		switch {
		case slices.Contains(ofMembers, name):
			c.add(name, fmt.Sprintf("the field %s has no meaning in a team and is ignored", name), "write the field into the files of the members, or of the lead")
		default:
			c.other(name, teamFields)
		}
	}
}
