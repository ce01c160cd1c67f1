package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/internal/subpath"
)

// beginning is an agent that a conversation begins with, its secrets in the clear.
type beginning struct {
	agent storedagent.Agent
	tags  map[string]string // ohgw's own
	// settings have what the user's settings say of conversations; the zero value
	// where the user has no part in the agent.
	settings Settings
}

// beginning finds the agent of a new conversation.
func (r *founder) beginning(ctx context.Context, s control.Start) (beginning, error) {
	if s.Profile != "" || s.Agent == nil && s.Settings == nil {
		return r.ofProfile(ctx, s)
	}
	if s.Agent != nil {
		given, err := r.vault.GivenAgent(s.Agent, "agent")
		if err != nil {
			return beginning{}, err
		}
		if kind := given.Text("kind"); kind != "" && kind != "Agent" {
			return beginning{}, apierr.Refused(fmt.Sprintf("The embedded engine has no agents of the kind %s; use one of the kind Agent, or an agent-server.", kind), nil)
		}
		given.Set("kind", "Agent")
		if given.Object("llm").Text("model") == "" {
			return beginning{}, apierr.Refused("The agent has no model; give agent.llm.model.", nil)
		}
		return beginning{agent: given}, nil
	}
	given, err := r.vault.GivenAgent(s.Settings, "agent_settings")
	if err != nil {
		return beginning{}, err
	}
	return ofSettings(given)
}

// ofProfile returns the agent of a profile and the settings given, or else the user's.
func (r *founder) ofProfile(ctx context.Context, s control.Start) (beginning, error) {
	profile, err := r.cfg.Profiles.Load(ctx, s.Profile)
	if err != nil {
		return beginning{}, err
	}
	settings, err := r.roster.settings(ctx)
	if err != nil {
		return beginning{}, err
	}
	given := storedagent.Agent{}
	if s.Settings != nil {
		if given, err = r.vault.GivenAgent(s.Settings, "agent_settings"); err != nil {
			return beginning{}, err
		}
		settings = Settings{}
	} else if len(settings.Agent) > 0 {
		if err := json.Unmarshal(settings.Agent, &given); err != nil {
			return beginning{}, apierr.Refused("OpenHands' agent settings cannot be read; repair settings.json.", err)
		}
	}
	given.Unfold()
	made, err := storedagent.OfSettings(profile.Name, profile.LLM, given)
	if err == nil && s.Settings != nil {
		made.TakeContext(given)
	}
	if err == nil {
		made.Route(given)
	}
	return beginning{
		agent: made, settings: settings,
		tags: map[string]string{conversation.TagProfile: profile.Name, conversation.TagUsage: storedagent.AgentUsage},
	}, err
}

// ofSettings returns the agent that OpenHands would make of settings and their LLM.
func ofSettings(given storedagent.Agent) (beginning, error) {
	if kind := given.Text("agent_kind"); kind != "" && kind != "openhands" && kind != "llm" {
		return beginning{}, apierr.Refused(fmt.Sprintf("The embedded engine has no agents of the kind %s; use one of the kind openhands, or an agent-server.", kind), nil)
	}
	model := given.Object("llm")
	if model.Text("model") == "" {
		return beginning{}, apierr.Refused("The agent settings have no model; give agent_settings.llm.model.", nil)
	}
	given.Unfold()
	made, err := storedagent.OfSettings("", given["llm"], given)
	if err != nil {
		return beginning{}, err
	}
	made.TakeContext(given)
	made.Route(given)
	delete(model, "schema_version")
	made.Set("llm", model)
	if summaries := made.Object("condenser"); len(summaries) > 0 {
		own := maps.Clone(model)
		own.Set("usage_id", storedagent.CondenserUsage)
		own.Set("stream", false)
		summaries.Set("llm", own)
		made.Set("condenser", summaries)
	}
	return beginning{agent: made}, nil
}

// checkParent refuses a parent that is not there, or that works elsewhere.
func (r *founder) checkParent(s control.Start) error {
	switch s.Parent {
	case "":
		return nil
	case s.ID:
		return apierr.Refused("A conversation cannot be its own parent.", control.ErrParent)
	}
	parent, err := store.Peek(r.cfg.Dir, s.Parent)
	if errors.Is(err, store.ErrNotFound) {
		return apierr.Refused(fmt.Sprintf("Parent conversation %s not found.", s.Parent), control.ErrParent)
	}
	if err != nil {
		return err
	}
	if !samePlace(parent.Workspace.WorkingDir, s.Workspace) {
		return apierr.Refused(fmt.Sprintf("Parent conversation %s belongs to a different workspace.", s.Parent), control.ErrParent)
	}
	return nil
}

func samePlace(a, b string) bool {
	return subpath.Real(a) == subpath.Real(b)
}
