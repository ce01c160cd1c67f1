package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/prompt"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Extensions lists the MCP servers and skills of a conversation: of an open one
// as they are, of another one as it would have them with its next message.
func (b *Backend) Extensions(ctx context.Context, id string) (agentapi.Extensions, error) {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return agentapi.Extensions{}, apierr.NotFound(id)
	}
	out, err := b.extensions(ctx, id)
	if err != nil {
		return agentapi.Extensions{}, agentapi.InProcess(b.opening.Explain(ctx, id, err))
	}
	return out, nil
}

func (b *Backend) extensions(ctx context.Context, id string) (out agentapi.Extensions, err error) {
	state, err := store.Peek(b.cfg.Dir, id)
	if err != nil {
		return out, err
	}
	stored := storedagent.Agent{}
	if err := json.Unmarshal(state.Agent, &stored); err != nil {
		return out, &store.DamageError{File: "base_state.json", Err: err}
	}
	words, status := b.table.opened(id)
	if words == nil {
		words = b.assembler.prompt(state, stored, nil)
	}
	out.Skills = listSkills(words, stored.Object("llm").Text("model"))
	if status != nil {
		out.Servers = status()
	}
	settings, err := b.roster.settings(ctx)
	if err != nil {
		return out, err
	}
	servers, lost := b.vault.Servers(id, stored, settings.Agent)
	if status == nil {
		out.Servers = mcp.Describe(servers)
	}
	for _, name := range lost {
		out.Servers = append(out.Servers, agentapi.MCPServer{
			Name: name, State: agentapi.ServerFailed, Reason: "its secrets were not stored with the conversation",
		})
	}
	slices.SortFunc(out.Servers, func(x, y agentapi.MCPServer) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}

// listSkills returns the skills of a prompt for the model, and what was left out.
func listSkills(words *prompt.Prompt, model string) []agentapi.Skill {
	var list []agentapi.Skill
	for _, s := range words.Skills() {
		state, reason := stateOf(s)
		switch {
		case s.Always && prompt.ForOthers(s, model):
			state, reason = agentapi.SkillSkipped, "it is for models of another family"
		case s.Always && strings.TrimSpace(s.Body) == "":
			state, reason = agentapi.SkillSkipped, "it is empty"
		}
		list = append(list, agentapi.Skill{Name: s.Name, Description: s.Description, Source: s.Path, State: state, Reason: reason})
	}
	for _, s := range words.Skipped() {
		list = append(list, agentapi.Skill{Name: s.Name, Source: s.Path, State: agentapi.SkillSkipped, Reason: s.Reason})
	}
	return list
}

// stateOf returns how the agent comes to read a skill.
func stateOf(s skill.Skill) (state agentapi.SkillState, reason string) {
	var reasons []string
	switch {
	case s.Always:
		return agentapi.SkillAlways, ""
	case len(s.Paths) > 0:
		return agentapi.SkillTriggered, "files: " + strings.Join(s.Paths, ", ")
	case len(s.Triggers) > 0:
		reasons = append(reasons, "words: "+strings.Join(s.Triggers, ", "))
	}
	state = agentapi.SkillTriggered
	if s.Invocable {
		state = agentapi.SkillListed
		if s.Inert() {
			reasons = append(reasons, "its commands do not run, because it came with the workspace")
		}
	} else if len(s.Triggers) == 0 {
		return agentapi.SkillSkipped, "disable-model-invocation is set, and it has no triggers"
	}
	return state, strings.Join(reasons, "; ")
}
