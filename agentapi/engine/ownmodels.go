package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/hidden"
)

// ownModels are the models of one conversation: those of profiles, and those of LLM
// objects that only the conversation has. A choice without a profile is one of the
// latter.
type ownModels struct {
	*models

	mu   sync.Mutex
	llms map[string]Profile           // by usage id
	full map[string]storedagent.Agent // the same with their secrets
	made map[string]llm.Model
	// main is the usage id of the agent's own model, which also does what no other
	// one is there for.
	main string
}

// ownLLM is the LLM object of an agent as a model is made of it, and its usage id.
// stored has its secrets in the clear; without any, a profile may have them.
func (m *models) ownLLM(stored storedagent.Agent) (p Profile, usage string) {
	keys := make(map[string]string, 1)
	plain := maps.Clone(stored)
	for _, field := range storedagent.SecretFields() {
		if key := stored.Text(field); key != "" && key != hidden.Redacted {
			keys[field] = key
		}
		delete(plain, field)
	}
	p.LLM, _ = json.Marshal(plain) // of RawMessages that were decoded before
	p.Key = func(ctx context.Context, field string) (string, error) {
		if len(keys) == 0 {
			return m.ofProfile(ctx, plain, field)
		}
		return keys[field], nil
	}
	usage = stored.Text("usage_id")
	if usage == "" {
		usage = defaultUsage
	}
	return p, usage
}

// defaultUsage is the usage id of an LLM object that has none.
const defaultUsage = "default"

// newOwnModels are the models of a conversation with that agent, whose secrets are
// in the clear.
func newOwnModels(m *models, opened storedagent.Agent) *ownModels {
	o := &ownModels{models: m, llms: make(map[string]Profile), full: make(map[string]storedagent.Agent), made: make(map[string]llm.Model)}
	if model := opened.Object("llm"); len(model) > 0 {
		var p Profile
		p, o.main = m.ownLLM(model)
		o.llms[o.main], o.full[o.main] = p, model
	}
	if model := opened.Object("condenser").Object("llm"); len(model) > 0 {
		p, _ := m.ownLLM(model)
		if _, taken := o.llms[storedagent.CondenserUsage]; !taken {
			o.llms[storedagent.CondenserUsage], o.full[storedagent.CondenserUsage] = p, model
		}
	}
	return o
}

// Model is the model of a choice.
func (o *ownModels) Model(ctx context.Context, c conversation.Choice) (llm.Model, error) {
	if c.Profile != "" {
		return o.models.Model(ctx, c)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.made[c.Usage]; m != nil {
		return m, nil
	}
	p, ok := o.llms[c.Usage]
	if !ok {
		p = o.llms[o.main]
	}
	m, err := o.make(p, c.Usage)
	if err != nil {
		return nil, apierr.Refused(fmt.Sprintf("The model of the conversation cannot be used: %s.", withHint(err)), err)
	}
	o.made[c.Usage] = m
	return m, nil
}

// add makes an LLM object one of the conversation's, unless there is one with its
// usage id.
func (o *ownModels) add(plain storedagent.Agent) (usage string, added bool) {
	p, usage := o.ownLLM(plain)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.llms[usage]; known {
		return usage, false
	}
	o.llms[usage], o.full[usage] = p, plain
	return usage, true
}

// object is the LLM object of a usage id, its secrets in the clear.
func (o *ownModels) object(usage string) storedagent.Agent {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full[usage]
}

// take makes the model of a usage id the one that does what no other is there for.
func (o *ownModels) take(usage string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.main = usage
	for name := range o.made { // made of the one before
		if _, own := o.llms[name]; !own {
			delete(o.made, name)
		}
	}
}

// errLostKey says that a secret of an LLM was not stored with the conversation.
var errLostKey = errors.New("the key of the model was not stored with the conversation")

// plainAgent is the stored agent of a conversation with its secrets in the clear, and
// whether the one of its model is among them.
func (b *Backend) plainAgent(id string, stored storedagent.Agent) (plain storedagent.Agent, usable bool) {
	if kept := b.unstored.of(id).agent; kept != nil {
		if json.Unmarshal(kept, &plain) == nil {
			return plain, true
		}
	}
	model, err := storedagent.Agent{"llm": stored["llm"]}.Replaced(func(value string) (string, error) {
		if value == hidden.Redacted {
			return "", errLostKey
		}
		return b.unseal(value)
	})
	usable = err == nil
	plain, err = stored.Replaced(func(value string) (string, error) {
		opened, err := b.given(value)
		if err != nil { // the servers and the registry say themselves what is lost
			return "", nil //nolint:nilerr // it has no value here
		}
		return opened, nil
	})
	if err != nil {
		return stored, false
	}
	if usable {
		plain["llm"] = model["llm"]
	}
	return plain, usable && callable(plain.Object("llm"))
}

// callable reports whether an LLM object has what a call needs: a key, or the
// address of a server that may want none.
func callable(model storedagent.Agent) bool {
	for _, field := range append([]string{"base_url", "aws_profile_name", "aws_role_name"}, storedagent.SecretFields()...) {
		if model.Text(field) != "" {
			return true
		}
	}
	return strings.HasPrefix(model.Text("model"), "ollama")
}

// modelsOf are the models of a conversation that is opened, and the one that answers.
// own says that it is its own, of no profile.
func (b *Backend) modelsOf(s store.State, stored storedagent.Agent, req agentapi.OpenRequest) (all *ownModels, choice conversation.Choice, own bool) {
	defer func() { b.addRouted(all, s.ID, stored) }() // besides those that are found here
	choice = conversation.Choice{Profile: s.Tags[conversation.TagProfile], Usage: s.Tags[conversation.TagUsage]}
	if choice.Profile != "" {
		if choice.Usage == "" {
			choice.Usage = storedagent.AgentUsage
		}
		return newOwnModels(b.models, storedagent.Agent{}), choice, false
	}
	plain, usable := b.plainAgent(s.ID, stored)
	if usable || req.Profile == "" {
		all = newOwnModels(b.models, plain)
		return all, conversation.Choice{Usage: all.main}, true
	}
	// Its key is not here: one of our profiles answers in its place.
	choice = conversation.Choice{Profile: req.Profile, Usage: stored.Object("llm").Text("usage_id")}
	if choice.Usage == "" {
		choice.Usage = storedagent.AgentUsage
	}
	return newOwnModels(b.models, storedagent.Agent{}), choice, false
}
