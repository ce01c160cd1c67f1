package engine

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/session"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
)

// modelsOf returns the models of a conversation that is opened, and the one that
// answers. own reports that it is its own, of no profile.
func (a *assembler) modelsOf(s store.State, stored storedagent.Agent, req agentapi.OpenRequest) (all *modelset.Own, choice conversation.Choice, own bool) {
	defer func() { a.addRouted(all, s.ID, stored) }() // besides those that are found here
	choice = conversation.Choice{Profile: s.Tags[conversation.TagProfile], Usage: s.Tags[conversation.TagUsage]}
	if choice.Profile != "" {
		if choice.Usage == "" {
			choice.Usage = storedagent.AgentUsage
		}
		return modelset.NewOwn(a.models, storedagent.Agent{}), choice, false
	}
	plain, usable := a.vault.PlainAgent(s.ID, stored)
	if usable || req.Profile == "" {
		all = modelset.NewOwn(a.models, plain)
		return all, conversation.Choice{Usage: all.MainUsage()}, true
	}
	// Its key is not here: one of our profiles answers in its place.
	choice = conversation.Choice{Profile: req.Profile, Usage: stored.Object("llm").Text("usage_id")}
	if choice.Usage == "" {
		choice.Usage = storedagent.AgentUsage
	}
	return modelset.NewOwn(a.models, storedagent.Agent{}), choice, false
}

// addRouted makes the LLMs of an agent's meta-profile those of its conversation, each as one
// that chooses and as one that answers.
func (a *assembler) addRouted(models *modelset.Own, id string, stored storedagent.Agent) {
	if storedagent.RouteParamsOf(stored).LLMs == nil {
		return
	}
	plain, _ := a.vault.PlainAgent(id, stored)
	for name, object := range storedagent.RouteParamsOf(plain).LLMs {
		for _, usage := range []string{storedagent.ClassifierUsage(name), storedagent.ProfileUsage(name)} {
			model := storedagent.Agent{}
			if json.Unmarshal(object, &model) != nil || model == nil {
				continue // it is told when it is called
			}
			model.Set("usage_id", usage)
			models.Add(model)
		}
	}
}

// toRouted makes the next call go to an LLM of the agent's meta-profile.
func (a *assembler) toRouted(conv conversation.Host, id string, models *modelset.Own) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		usage := storedagent.ProfileUsage(name)
		if err := session.SwitchOwn(ctx, conv, a.vault, id, models, usage); err != nil {
			return "", err
		}
		return models.Object(usage).Text("model"), nil
	}
}
