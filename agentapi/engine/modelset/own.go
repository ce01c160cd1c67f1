package modelset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/hidden"
)

// Own are the models of one conversation: those of profiles, and those of LLM
// objects that only the conversation has. A choice without a profile is one of the
// latter.
type Own struct {
	*Shared

	mu   sync.Mutex
	llms map[string]Profile           // by usage id
	full map[string]storedagent.Agent // the same with their secrets
	made map[string]llm.Model
	// main is the usage id of the agent's own model, which also does what no other
	// one is there for.
	main string
}

// ownLLM prepares the LLM object of an agent for a model, and returns its usage id.
// stored has its secrets in the clear; without any, a profile may have them.
func (m *Shared) ownLLM(stored storedagent.Agent) (p Profile, usage string) {
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

// NewOwn makes the models of a conversation with that agent, whose secrets are in the
// clear.
func NewOwn(m *Shared, opened storedagent.Agent) *Own {
	o := &Own{Shared: m, llms: make(map[string]Profile), full: make(map[string]storedagent.Agent), made: make(map[string]llm.Model)}
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

// Model returns the model of a choice, made once.
func (o *Own) Model(ctx context.Context, c conversation.Choice) (llm.Model, error) {
	if c.Profile != "" {
		return o.Shared.Model(ctx, c)
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

// Add makes an LLM object one of the conversation's, unless there is one with its
// usage id.
func (o *Own) Add(plain storedagent.Agent) (usage string, added bool) {
	p, usage := o.ownLLM(plain)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.llms[usage]; known {
		return usage, false
	}
	o.llms[usage], o.full[usage] = p, plain
	return usage, true
}

// Object is the LLM object of a usage id, its secrets in the clear.
func (o *Own) Object(usage string) storedagent.Agent {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full[usage]
}

// Take makes the model of a usage id the one that does what no other is there for.
func (o *Own) Take(usage string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.main = usage
	for name := range o.made { // made of the one before
		if _, own := o.llms[name]; !own {
			delete(o.made, name)
		}
	}
}

// MainUsage is the usage id of the model that does what no other one is there for.
func (o *Own) MainUsage() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.main
}
