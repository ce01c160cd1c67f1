// Package team has what a conversation with a team of agents has besides one with an agent:
// who the members are, and for the mode collaborate the model that has all of them answer
// and then joins their answers.
//
// It starts no conversation: a member is asked by a call of the tool task, which package
// delegation carries out.
package team

import (
	"encoding/json"
	"slices"

	"github.com/ohgw/ohgw/internal/plainjson"
)

// MetaMember is the member of meta.json that keeps the team of a conversation. It keeps its
// members when the file of the team is changed or removed.
const MetaMember = "ohgw_team"

// Team is who answers in a conversation.
type Team struct {
	// All has every member answer each message, and the model only join the answers.
	// Without it the model hands work to the members as it likes.
	All bool `json:"all"`
	// Isolated gives each member a git worktree of its own, and what it leaves there a
	// branch of the repository.
	Isolated bool     `json:"isolated,omitempty"`
	Name     string   `json:"name,omitempty"`
	Members  []Member `json:"members"`
}

// Member is an agent of a team.
type Member struct {
	Name        string   `json:"name"`    // for the model and for people
	Profile     string   `json:"profile"` // the name of its [agentapi.Profile]
	Description string   `json:"description,omitempty"`
	Tools       []string `json:"tools,omitempty"`
}

// Of reads the team of a conversation from its meta.json; nil if it has none, or if what is
// there cannot be read.
func Of(meta map[string]json.RawMessage) *Team {
	var t *Team
	if json.Unmarshal(meta[MetaMember], &t) != nil || t == nil || len(t.Members) == 0 {
		return nil
	}
	return t
}

// Encode writes the team for meta.json.
func (t *Team) Encode() (json.RawMessage, error) { return plainjson.Marshal(t) }

// Member finds a member by its name.
func (t *Team) Member(name string) (Member, bool) {
	i := slices.IndexFunc(t.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return Member{}, false
	}
	return t.Members[i], true
}
