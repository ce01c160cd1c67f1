package session

import (
	"context"
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
)

// SwitchLLM makes the following calls go to another model. Its usage id is the key of
// its numbers; where that is known, the model that has it answers.
func (s Controlled) SwitchLLM(ctx context.Context, object json.RawMessage) error {
	return agentapi.InProcess(s.switchLLM(ctx, object))
}

func (s Controlled) switchLLM(ctx context.Context, object json.RawMessage) error {
	given, err := s.cfg.Vault.GivenAgent(json.RawMessage(`{"llm":`+string(object)+`}`), "llm")
	if err != nil {
		return err
	}
	model := given.Object("llm")
	if model.Text("model") == "" {
		return apierr.Refused("The LLM has no model; give llm.model.", nil)
	}
	choice, err := s.of.Conv.Choice(ctx)
	if err != nil {
		return s.explain(err)
	}
	models := s.of.Models
	usage, added := models.Add(model)
	if usage == choice.Usage && (!added || choice.Profile != "") {
		return nil // it answers already
	}
	return s.explain(SwitchOwn(ctx, s.of.Conv, s.cfg.Vault, s.of.Info.ID, models, usage))
}

// ownSwitcher is a conversation, or what its tools see of it.
type ownSwitcher interface {
	SwitchOwn(ctx context.Context, usage string, change func(agent json.RawMessage) (json.RawMessage, error)) error
}

// SwitchOwn makes the following calls go to the model of a conversation's own that has a
// usage id.
func SwitchOwn(ctx context.Context, conv ownSwitcher, secrets *vault.Vault, id string, models *modelset.Own, usage string) error {
	return conv.SwitchOwn(ctx, usage, func(stored json.RawMessage) (json.RawMessage, error) {
		changed, err := secrets.WithModel(id, stored, models.Object(usage))
		if err == nil {
			models.Take(usage)
		}
		return changed, err
	})
}
