package definition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxMembers is how many members a team can have.
const MaxMembers = 16

// members reads the members of a team. A name that is there twice counts once.
func (r *reader) members(n *node) {
	for _, name := range r.names(n, "members", true) {
		switch name = strings.TrimSpace(name); {
		case name == "":
			r.note(n.line, "a member has no name", "write members: [NAME, NAME]")
		case slices.Contains(r.def.Members, name):
			r.note(n.line, fmt.Sprintf("the member %q is there twice and counts once", name), "remove one of them")
		case len(r.def.Members) == MaxMembers:
			r.note(n.line, fmt.Sprintf("a team has at most %d members, so %q does not count", MaxMembers, name), "remove members")
		default:
			r.def.Members = append(r.def.Members, name)
		}
	}
}

func (r *reader) mode(n *node) {
	switch mode := strings.ToLower(strings.TrimSpace(text(n))); mode {
	case Coordinate, Collaborate:
		r.def.Mode = mode
	default:
		r.refuse(n.line, fmt.Sprintf("mode cannot be %q", text(n)), "write coordinate or collaborate")
	}
}

// team completes a definition of a team, and refuses one without members.
func (r *reader) team() {
	if !r.def.IsTeam() {
		return
	}
	if r.def.Mode == "" {
		r.def.Mode = Coordinate
	}
	if len(r.def.Members) == 0 {
		r.refuse(r.def.Line("members")-r.offset, "the team has no members", "write members: [NAME, NAME] with the names of agents")
	}
}

func (r *reader) tokens(n *node) {
	const hint = "write a whole number greater than 0, such as max_tokens_per_run: 200000"
	limit, err := strconv.ParseInt(strings.TrimSpace(text(n)), 10, 64)
	if err != nil || limit <= 0 {
		r.refuse(n.line, "max_tokens_per_run cannot be "+text(n), hint)
		return
	}
	r.def.MaxTokens = limit
}
