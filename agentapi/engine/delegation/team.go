package delegation

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/subagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
)

// Member is what the conversation of a member of a team is made of: the agent that has a
// model ID of its own.
type Member struct {
	Profile       string          // of its LLM
	Agent         json.RawMessage // as it is stored
	Secrets       json.RawMessage // the registry, as it is stored
	MaxIterations int             // 0: as those of the team
	Confirm       agentapi.Confirmation
	Tags          map[string]string // that note the agent
	Hooks         json.RawMessage   // of its definition, as it has them; nil: none
}

// ofTeam makes the tool task for the members of a team.
func (t *tasks) ofTeam(ctx context.Context) tool.Tool {
	for _, m := range t.env.Team.Members {
		t.agents = append(t.agents, definition.Definition{Name: m.Name, Description: m.Description, Tools: m.Tools})
	}
	t.recall()
	t.collectAll(ctx)
	return &subagent.Task{Agents: t.agents, Do: t.do}
}

// newest finds the newest task of a member; "" if it has done none.
func (t *tasks) newest(agent string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(t.known), func(a, b string) int { return taskNumber(b) - taskNumber(a) })
	for _, id := range ids {
		if t.known[id].agent == agent {
			return id
		}
	}
	return ""
}

// createMember makes the directory of a task for a member of a team, with no fewer
// confirmations than the team has.
func (t *tasks) createMember(ctx context.Context, task, id string, m team.Member, workspace string) (*store.Dir, error) {
	parent, err := t.env.Host.Stored(ctx)
	if err != nil {
		return nil, err
	}
	system := ""
	if t.env.Team.All { // what a client says of answers is for all of them
		stored := storedagent.Agent{}
		if err := json.Unmarshal(parent.Agent, &stored); err != nil {
			return nil, err
		}
		system, _ = storedagent.RecallSystem(parent.Tags[tag.System], stored.Object("agent_context").Text("system_message_suffix"))
	}
	made, err := t.cfg.Member(ctx, m.Profile, workspace, system)
	if err != nil {
		return nil, err
	}
	state := store.NewState(id, made.Agent, workspace)
	state.MaxIterations, state.SecretRegistry = parent.MaxIterations, made.Secrets
	if made.MaxIterations > 0 {
		state.MaxIterations = made.MaxIterations
	}
	state.ConfirmationPolicy, state.SecurityAnalyzer = parent.ConfirmationPolicy, parent.SecurityAnalyzer
	stricter(&state, made.Confirm)
	state.Tags = map[string]string{
		tag.Task: task, tag.Subagent: m.Name, tag.System: storedagent.SystemMark(system),
		conversation.TagProfile: made.Profile, conversation.TagUsage: storedagent.AgentUsage,
	}
	if access, ok := parent.Tags[tag.Access]; ok {
		state.Tags[tag.Access] = access
	}
	maps.Copy(state.Tags, made.Tags)
	if err := Equip(&state, m.Name, made.Hooks); err != nil {
		return nil, err
	}
	now := t.cfg.Now()
	return store.Create(t.root, state, store.Meta{Created: now, Updated: now, Parent: t.env.Conversation}, t.cfg.Options)
}

// reopen opens the directory of a task again. What waits for a person in a member of a team
// follows the policy that the team has now.
func (t *tasks) reopen(ctx context.Context, id, workspace string) (*store.Dir, error) {
	dir, err := store.Open(t.root, id, t.cfg.Options)
	if err != nil || t.env.Team == nil {
		return dir, err
	}
	if t.isolated() { // the directory of all conversations may have been moved
		dir.State.Workspace.WorkingDir = workspace
	}
	parent, err := t.env.Host.Stored(ctx)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	own := agentapi.ConfirmationOf(dir.State.ConfirmationPolicy) // of a member that is not there any more
	if m, ok := t.env.Team.Member(dir.State.Tags[tag.Subagent]); ok {
		if made, err := t.cfg.Member(ctx, m.Profile, workspace, ""); err == nil {
			own = made.Confirm
		}
	}
	dir.State.ConfirmationPolicy, dir.State.SecurityAnalyzer = parent.ConfirmationPolicy, parent.SecurityAnalyzer
	stricter(&dir.State, own)
	return dir, nil
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
