package engine

import (
	"context"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/delegation"
	"github.com/ohgw/ohgw/agentapi/engine/team"
)

// panelOf returns the models that answer in a conversation, and the panel of a team all of
// whose members answer; nil for other conversations.
func panelOf(t *team.Team, models conversation.Models) (conversation.Models, *team.Panel) {
	if t == nil || !t.All {
		return models, nil
	}
	p := team.NewPanel(t, models)
	return p, p
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
