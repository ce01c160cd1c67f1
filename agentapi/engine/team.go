package engine

import (
	"context"
	_ "embed" // the words for who joins answers
	"encoding/json"
	"maps"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/subagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

//go:embed panel.md
var panelPrompt string

// Team is what an agent that is a team has besides: the agents that work for it. Each
// works in a conversation of its own, below that of the team.
type Team struct {
	// All has every member answer each message, and the model only join the answers.
	// Without it the model hands work to the members as it likes.
	All     bool
	Members []Member
}

// Member is an agent of a team.
type Member struct {
	Name        string // for the model and for people
	Profile     string // the name of its [agentapi.Profile]
	Description string
	Tools       []string
}

// panel is what a conversation has to know of a team; nil if the model is to hand out
// the work.
func (t *Team) panel() *conversation.Panel {
	if t == nil || !t.All {
		return nil
	}
	p := &conversation.Panel{}
	for _, m := range t.Members {
		p.Members = append(p.Members, m.Name)
	}
	return p
}

func (t *Team) member(name string) (Member, bool) {
	if t == nil {
		return Member{}, false
	}
	i := slices.IndexFunc(t.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return Member{}, false
	}
	return t.Members[i], true
}

// ofTeam is the tool task for the members of a team. It is the conversation's also
// where the team is a member of another one: teams have no cycles.
func (t *tasks) ofTeam() tool.Tool {
	for _, m := range t.env.Team.Members {
		t.agents = append(t.agents, definition.Definition{Name: m.Name, Description: m.Description, Tools: m.Tools})
	}
	t.recall()
	return &subagent.Task{Agents: t.agents, Do: t.do, End: t.close}
}

// last is the newest task of a member; "" if it has done none.
func (t *tasks) last(agent string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(t.known))) {
		if t.known[id].agent == agent {
			return id
		}
	}
	return ""
}

// createMember makes the directory of a task for a member of the team: the agent that
// has a model ID of its own, with the parent's secrets, and with no fewer confirmations
// than the parent.
func (t *tasks) createMember(ctx context.Context, task, id string, m Member) (*store.Dir, error) {
	b := t.backend
	parent, err := t.env.Host.Stored(ctx)
	if err != nil {
		return nil, err
	}
	profile, settings, own, err := b.ingredients(ctx, m.Profile, t.env.Workspace)
	if err != nil {
		return nil, err
	}
	system := ""
	if t.env.Team.All { // what a client says of answers is for all of them
		var stored agent
		if err := json.Unmarshal(parent.Agent, &stored); err != nil {
			return nil, err
		}
		system, _ = recallSystem(parent.Tags[tagSystem], stored.object("agent_context").text("system_message_suffix"))
	}
	made, err := b.agents.of(profile, settings, system, b.cfg.Seal)
	if err != nil {
		return nil, err
	}
	state := store.NewState(id, made, t.env.Workspace)
	state.MaxIterations, state.SecretRegistry = parent.MaxIterations, parent.SecretRegistry
	if own.MaxIterations > 0 {
		state.MaxIterations = own.MaxIterations
	}
	state.ConfirmationPolicy, state.SecurityAnalyzer = parent.ConfirmationPolicy, parent.SecurityAnalyzer
	stricter(&state, own.Confirm)
	state.Tags = map[string]string{
		tagTask: task, tagSubagent: m.Name, conversation.TagProfile: profile.Name, conversation.TagUsage: agentUsage, tagSystem: systemMark(system),
	}
	own.mark(state.Tags)
	now := b.cfg.Now()
	return store.Create(t.root, state, store.Meta{Created: now, Updated: now, Parent: t.env.Conversation}, b.storeOptions())
}

// stricter makes the actions of a mode wait for a person, too.
func stricter(state *store.State, own agentapi.Confirmation) {
	if own == "" || own.MetBy(state.ConfirmationPolicy) {
		return
	}
	state.ConfirmationPolicy = own.Policy()
	if !agentapi.Rated(state.SecurityAnalyzer) {
		state.SecurityAnalyzer = json.RawMessage(agentapi.AnalyzerLLM)
	}
}
