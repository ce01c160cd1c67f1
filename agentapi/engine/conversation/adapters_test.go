package conversation_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/providertest"
	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// openAdapter is a conversation with a model of the engine's own.
func openAdapter(t *testing.T, p *providertest.Provider) *world {
	t.Helper()
	profile, err := llm.ParseProfile([]byte(`{"model":"` + p.Model + `","api_key":"k","num_retries":1,"retry_min_wait":0,"retry_max_wait":0,"capability_overrides":{"supports_vision":true}}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := llm.New(llm.Config{Profile: profile, HTTP: &http.Client{Transport: p}})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, &model{}, func(cfg *conversation.Config, _ *store.State) { cfg.Models = fixedModel{m} })
}

// fixedModel is a model for every choice.
type fixedModel struct{ llm llm.Model }

func (f fixedModel) Model(context.Context, conversation.Choice) (llm.Model, error) {
	return f.llm, nil
}

func (f fixedModel) Switched(_ context.Context, agent json.RawMessage, profile string) (conversation.Choice, json.RawMessage, error) {
	return conversation.Choice{Profile: profile, Usage: profile}, agent, nil
}
