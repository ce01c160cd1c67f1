package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Key is the key of every profile.
const Key = "sk-test-0123456789"

// Profiles are profiles in memory: name to model.
type Profiles struct {
	mu     sync.Mutex
	models map[string]string
	edits  int
}

// NewProfiles makes profiles out of pairs of name and model.
func NewProfiles(pairs ...string) *Profiles {
	p := &Profiles{models: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		p.models[pairs[i]] = pairs[i+1]
	}
	return p
}

// Set writes a profile; without a model it is removed.
func (p *Profiles) Set(name, model string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edits++
	delete(p.models, name)
	if model != "" {
		p.models[name] = model
	}
}

// List returns the profiles.
func (p *Profiles) List(context.Context) ([]agentapi.Profile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := []agentapi.Profile{}
	for name, model := range p.models {
		list = append(list, agentapi.Profile{Name: name, Model: "openai/" + model, Revision: strconv.Itoa(p.edits)})
	}
	slices.SortFunc(list, func(a, b agentapi.Profile) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Load returns one profile.
func (p *Profiles) Load(_ context.Context, name string) (engine.Profile, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	model, ok := p.models[name]
	if !ok {
		return engine.Profile{}, &agentapi.Error{Kind: agentapi.ErrProfileNotFound, Msg: fmt.Sprintf("There is no profile %q.", name)}
	}
	data, err := json.Marshal(map[string]any{"model": "openai/" + model, "api_key": Key})
	return engine.Profile{Name: name, Revision: strconv.Itoa(p.edits), LLM: data, Key: func(context.Context, string) (string, error) { return Key, nil }}, err
}

// Config is an engine on the disk of the test; see Engine.
func Config(t testing.TB, url string, profiles *Profiles) engine.Config {
	t.Helper()
	cfg := Engine(url, profiles)
	cfg.Dir = t.TempDir()
	return cfg
}

// Engine configures an engine with the test tools, and a model at url behind every
// profile. It still needs a directory.
func Engine(url string, profiles *Profiles) engine.Config {
	return engine.Config{
		Profiles: profiles, Version: "test",
		NewModel: func(p engine.Profile, usage string) (llm.Model, error) {
			var stored struct{ Model string }
			if err := json.Unmarshal(p.LLM, &stored); err != nil {
				return nil, err
			}
			return Model{URL: url, Name: strings.TrimPrefix(stored.Model, "openai/"), Usage: usage}, nil
		},
		NewTools: func(_ context.Context, e engine.ToolEnv) ([]tool.Tool, error) { return Tools(e.Workspace), nil },
		Holder:   store.Holder{Instance: strings.ReplaceAll(uuid.New(), "-", ""), Host: "test", PID: 1},
		Now:      time.Now,
	}
}
