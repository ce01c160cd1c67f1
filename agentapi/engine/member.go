package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/delegation"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// panelOf returns the models that answer in a conversation, and the panel of a team all of
// whose members answer; nil for other conversations.
func panelOf(t *team.Team, models conversation.Models) (conversation.Models, *team.Panel) {
	var p *team.Panel
	if t != nil && t.All {
		p = team.NewPanel(t, models)
		models = p
	}
	if t != nil && t.Isolated {
		models = team.Naming{Models: models}
	}
	return models, p
}

// gitBox makes a box of a sub-agent in which ohgw itself runs git.
func (cfg *Config) gitBox(ctx context.Context, at delegation.Place) (sandbox.Box, []string, error) {
	box, err := cfg.Boxes(ctx, BoxEnv{Conversation: at.Conversation, Dir: at.Dir, Workspace: at.Workspace, Shown: at.Shown})
	if err != nil {
		return nil, nil, apierr.Of(ctx, err, agentapi.ErrSandbox, "The sandbox of a member of the team cannot be set up; nothing was done outside of it.")
	}
	return box, sandbox.EnvironOf(box, cfg.SkillEnv), nil
}

// member puts together what the conversation of a member of a team is made of.
func (r *founder) member(ctx context.Context, profile, workspace, system string) (delegation.Member, error) {
	model, settings, own, err := r.roster.ingredients(ctx, profile, workspace)
	if err != nil {
		return delegation.Member{}, err
	}
	m := delegation.Member{Profile: model.Name, MaxIterations: own.MaxIterations, Confirm: own.Confirm, Hooks: own.Hooks, Tags: make(map[string]string)}
	own.mark(m.Tags)
	if m.Agent, err = r.agents.Of(sourceOf(model, settings, system), r.cfg.Seal); err != nil {
		return delegation.Member{}, err
	}
	secrets, err := r.vault.OfSettings(settings.Agent)
	if err != nil {
		return delegation.Member{}, err
	}
	m.Secrets, err = secrets.Encode(r.vault.Seal)
	return m, err
}
