package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Copy makes a new conversation that knows the log of this one. It answers with the
// same model, whose key it has.
func (c controlledConversation) Copy(ctx context.Context, f control.Fork) (control.Conversation, error) {
	b := c.backend
	if f.ID == "" {
		f.ID = b.cfg.NewID()
	}
	if canonical, err := uuid.Parse(f.ID); err != nil || canonical != f.ID {
		return nil, agentapi.InProcess(apierr.Refused(fmt.Sprintf("%q is not a conversation id; use a UUID in lower case with dashes.", f.ID), err))
	}
	if err := tag.Check(f.Tags); err != nil {
		return nil, agentapi.InProcess(err)
	}
	state, events, err := c.conv.Fork(ctx, f.ID, f.From)
	if errors.Is(err, store.ErrNoEvent) {
		return nil, agentapi.InProcess(apierr.Refused(fmt.Sprintf("The conversation has no event %q to fork at; use the id of an event in it.", f.From), control.ErrNoEvent))
	}
	if err != nil {
		return nil, c.explain(err)
	}
	if f.Tags != nil {
		state.Tags = tag.WithOwn(f.Tags, state.Tags)
	}
	if f.KeepMetrics {
		now, _, err := c.conv.Record(ctx)
		if err != nil {
			return nil, c.explain(err)
		}
		state.Stats = now.Stats
	}
	now := b.cfg.Now()
	made, err := b.copied(ctx, copying{
		state: state, events: events, profile: c.info.Profile,
		meta: store.Meta{Created: now, Updated: now, ForkedFrom: c.info.ID, ForkedAt: f.From, Title: f.Title},
	})
	if err == nil && f.KeepMetrics {
		if err := store.CopyCalls(b.cfg.Dir, c.info.ID, f.ID); err != nil {
			b.cfg.Log.Warn("the statistics of a copy lack calls of the model", "conversation", f.ID, "err", err)
		}
	}
	return inControl(made, err)
}

// SwitchLLM makes the following calls go to another model. Its usage id is the key of
// its numbers; where that is known, the model that has it answers.
func (c controlledConversation) SwitchLLM(ctx context.Context, object json.RawMessage) error {
	return agentapi.InProcess(c.switchLLM(ctx, object))
}

func (c controlledConversation) switchLLM(ctx context.Context, object json.RawMessage) error {
	b := c.backend
	given, err := b.vault.GivenAgent(json.RawMessage(`{"llm":`+string(object)+`}`), "llm")
	if err != nil {
		return err
	}
	model := given.Object("llm")
	if model.Text("model") == "" {
		return apierr.Refused("The LLM has no model; give llm.model.", nil)
	}
	choice, err := c.conv.Choice(ctx)
	if err != nil {
		return c.explain(err)
	}
	models := c.models
	usage, added := models.Add(model)
	if usage == choice.Usage && (!added || choice.Profile != "") {
		return nil // it answers already
	}
	return c.explain(b.assembler.switchOwn(ctx, c.conv, c.info.ID, models, usage))
}
