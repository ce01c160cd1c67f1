package engine

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
)

// addRouted makes the LLMs of an agent's meta-profile those of its conversation, each as one
// that chooses and as one that answers.
func (b *Backend) addRouted(models *ownModels, id string, stored storedagent.Agent) {
	if storedagent.RouteParamsOf(stored).LLMs == nil {
		return
	}
	plain, _ := b.plainAgent(id, stored)
	for name, object := range storedagent.RouteParamsOf(plain).LLMs {
		for _, usage := range []string{storedagent.ClassifierUsage(name), storedagent.ProfileUsage(name)} {
			model := storedagent.Agent{}
			if json.Unmarshal(object, &model) != nil || model == nil {
				continue // it is told when it is called
			}
			model.Set("usage_id", usage)
			models.add(model)
		}
	}
}

// toRouted makes the next call go to an LLM of the agent's meta-profile.
func (b *Backend) toRouted(conv conversation.Host, id string, models *ownModels) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		usage := storedagent.ProfileUsage(name)
		if err := b.switchOwn(ctx, conv, id, models, usage); err != nil {
			return "", err
		}
		return models.object(usage).Text("model"), nil
	}
}
