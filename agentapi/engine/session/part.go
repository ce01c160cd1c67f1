package session

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
)

// Child makes a conversation that is a part of this one: with its agent, settings and
// secrets as they are now, and a log of its own.
func (s Controlled) Child(ctx context.Context, ch control.Child) (control.Conversation, error) {
	parent := s.of.Info.ID
	if ch.ID == "" {
		ch.ID = s.cfg.NewID()
	}
	now, about, err := s.of.Conv.Record(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	stored, err := s.partAgent(now.Agent, ch.Suffix)
	if err != nil {
		return nil, agentapi.InProcess(err)
	}
	if ch.Workspace == "" {
		ch.Workspace = now.Workspace.WorkingDir
	}
	state := store.NewState(ch.ID, stored, ch.Workspace)
	state.MaxIterations, state.StuckDetection = now.MaxIterations, now.StuckDetection
	state.ConfirmationPolicy, state.SecurityAnalyzer = now.ConfirmationPolicy, now.SecurityAnalyzer
	state.SecretRegistry, state.HookConfig, state.Tags = now.SecretRegistry, now.HookConfig, now.Tags
	kept := s.cfg.Vault.KeptOf(parent)
	if kept.Agent != nil {
		if kept.Agent, err = s.partAgent(kept.Agent, ch.Suffix); err != nil {
			return nil, agentapi.InProcess(err)
		}
	}
	made, err := s.open.PartOf(ctx, Part{State: state, Meta: s.partMeta(about, parent, ch), Kept: kept, Profile: s.of.Info.Profile})
	if err != nil {
		return nil, err
	}
	return Controlled{made}, nil
}

// partAgent makes the agent of a part: it begins now, and its prompt says where it
// works.
func (s *Session) partAgent(parent json.RawMessage, suffix string) (json.RawMessage, error) {
	made := storedagent.Agent{}
	if err := json.Unmarshal(parent, &made); err != nil {
		return nil, apierr.Refused("The stored agent of this conversation cannot be read.", err)
	}
	words := made.Object("agent_context")
	if raw := words["current_datetime"]; len(raw) > 0 && string(raw) != "null" { // null: its model is not to know
		delete(words, "current_datetime")
		made.Set("agent_context", words)
	}
	made.Date(s.cfg.Now())
	if suffix != "" {
		made.AddSuffix(suffix)
	}
	return json.Marshal(made)
}

// partMeta is what is said of a part: what the request for the whole said, but for what
// belongs to that alone.
func (s *Session) partMeta(about store.RawMeta, parent string, ch control.Child) store.Meta {
	others := maps.Clone(map[string]json.RawMessage(about))
	for _, name := range []string{"parent_conversation_id", "forked_from_conversation_id", "forked_from_event_id", "initial_message"} {
		delete(others, name)
	}
	if _, said := others["worktree"]; said || ch.Worktree {
		others["worktree"] = json.RawMessage(map[bool]string{true: "true", false: "false"}[ch.Worktree])
	}
	now := s.cfg.Now()
	return store.Meta{
		Created: now, Updated: now, Parent: parent, Title: ch.Title, WantsTitle: string(about["autotitle"]) == "true", Others: others,
	}
}

// Part is what a part of a conversation, which Meta names as its parent, begins with.
type Part struct {
	State   store.State
	Meta    store.Meta
	Kept    vault.Clear // what its directory does not have
	Profile string      // which answers where the part has no model of its own
}
