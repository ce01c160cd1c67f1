package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/internal/budget"
)

// Agents are the agents that are models besides the profiles.
type Agents interface {
	// List gives them with names that begin with [agentapi.AgentPrefix] or
	// [agentapi.TeamPrefix].
	List(ctx context.Context) ([]agentapi.Profile, error)
	// Load is what a conversation in a workspace is made of. name is that of
	// [agentapi.AgentOf]; an unknown one is agentapi.ErrProfileNotFound.
	Load(ctx context.Context, name, workspace string) (Agent, error)
}

// Agent is an agent that is a model.
type Agent struct {
	Name    string // as in [agentapi.AgentOf]
	Profile string // its LLM profile
	// Settings are agent_settings: those of its members that are there take the
	// place of the user's, and MCP servers always do.
	Settings json.RawMessage
	// Secrets are the names of the user's secrets that the agent may have; nil: all.
	Secrets       *[]string
	MaxIterations int           // of a run; 0: as the settings say
	MaxRun        budget.Amount // of a run
	// Confirm names actions that wait for a person. Those that wait anyway stay.
	Confirm agentapi.Confirmation
	// Hooks run in its conversations beside the user's; they are of a file of the user.
	Hooks json.RawMessage
	Team  *team.Team // whose conversation it is; nil for an agent
}

// mark notes the agent in the tags of a conversation; the zero value leaves them unchanged.
func (a Agent) mark(tags map[string]string) {
	if a.Name == "" {
		return
	}
	tags[tag.Agent] = a.Name
	tag.SetLimits(tags, a.MaxRun)
}

// noted are the members of meta.json by which a conversation keeps its team.
func (a Agent) noted() (map[string]json.RawMessage, error) {
	if a.Team == nil {
		return nil, nil
	}
	data, err := a.Team.Encode()
	return map[string]json.RawMessage{team.MetaMember: data}, err
}

// withAgents adds the agents to a list of profiles, whose names come first.
func (r *roster) withAgents(ctx context.Context, list []agentapi.Profile) ([]agentapi.Profile, error) {
	if r.cfg.Agents == nil {
		return list, nil
	}
	agents, err := r.cfg.Agents.List(ctx)
	for _, a := range agents {
		if !slices.ContainsFunc(list, func(p agentapi.Profile) bool { return p.Name == a.Name }) {
			list = append(list, a)
		}
	}
	return list, err
}

// ingredients puts together what a new conversation with a profile, or with an agent,
// is made of. The agent is the zero value for a profile.
func (r *roster) ingredients(ctx context.Context, name, workspace string) (modelset.Profile, Settings, Agent, error) {
	profile, err := r.cfg.Profiles.Load(ctx, name)
	own, isAgent := Agent{}, false
	if errors.Is(err, agentapi.ErrProfileNotFound) {
		if own, isAgent, err = r.named(ctx, name, workspace, err); isAgent && err == nil {
			profile, err = r.cfg.Profiles.Load(ctx, own.Profile)
		}
	}
	if err != nil {
		return modelset.Profile{}, Settings{}, Agent{}, err
	}
	settings, err := r.settings(ctx)
	if err == nil && isAgent {
		settings, err = settings.of(own)
	}
	return profile, settings, own, err
}

// named finds an agent. Where the name is not one of an agent, the error is that
// given.
func (r *roster) named(ctx context.Context, name, workspace string, not error) (Agent, bool, error) {
	short, ok := agentapi.AgentOf(name)
	if !ok || r.cfg.Agents == nil {
		return Agent{}, false, not
	}
	a, err := r.cfg.Agents.Load(ctx, short, workspace)
	if errors.Is(err, agentapi.ErrProfileNotFound) {
		return Agent{}, false, err
	}
	return a, true, err
}

// of returns the settings for the conversations of an agent. The user's secrets are
// the agent's, too, as far as it may have them.
func (s Settings) of(a Agent) (Settings, error) {
	users, own := storedagent.Agent{}, storedagent.Agent{}
	for data, into := range map[*json.RawMessage]*storedagent.Agent{&s.Agent: &users, &a.Settings: &own} {
		if len(*data) > 0 && json.Unmarshal(*data, into) != nil {
			return s, apierr.Refused(fmt.Sprintf("The settings of the agent %q cannot be read.", a.Name), nil)
		}
	}
	context := own.Object("agent_context")
	if secrets := users.Object("agent_context").Object("secrets"); len(secrets) > 0 {
		maps.DeleteFunc(secrets, func(name string, _ json.RawMessage) bool {
			return a.Secrets != nil && !slices.Contains(*a.Secrets, name)
		})
		context.Set("secrets", secrets)
	}
	if users.Remembers() && a.Team == nil {
		own.Set("agent_context", context)
		own.Remember()
		context = own.Object("agent_context")
	}
	delete(users, "mcp_config")
	maps.Copy(users, own)
	users.Set("agent_context", context)
	data, err := json.Marshal(users)
	s.Agent = data
	s.least = a.Confirm
	if a.MaxIterations > 0 {
		s.MaxIterations = a.MaxIterations
	}
	return s, err
}

// reopened returns the settings for a conversation that goes on: those of its agent,
// as they are now. Without the agent there are none, and the conversation has what is
// stored with it.
func (r *roster) reopened(ctx context.Context, s store.State, settings Settings) (_ Settings, run budget.Amount) {
	run = tag.Limits(s.Tags)
	name := s.Tags[tag.Agent]
	if name == "" {
		return settings, run
	}
	a, ok, err := r.named(ctx, agentapi.AgentProfile(name), s.Workspace.WorkingDir, nil)
	if ok && err == nil {
		var now Settings
		if now, err = settings.of(a); err == nil {
			return now, run
		}
	}
	r.cfg.Log.Warn("the agent of a conversation is not there; it goes on as it was stored", "conversation", s.ID, "agent", name, "err", err)
	settings.Agent = nil
	return settings, run
}

// mayBecome refuses to make a conversation with an agent one with another, or with a
// profile, and the reverse: tools and instructions stay with a conversation.
func (r *roster) mayBecome(ctx context.Context, current, profile string) error {
	_, err := r.cfg.Profiles.Load(ctx, profile)
	other, isAgent := agentapi.AgentOf(profile)
	isAgent = isAgent && errors.Is(err, agentapi.ErrProfileNotFound)
	switch {
	case current == "" && !isAgent:
		return nil
	case current == "":
		return unchangeable("This conversation has no agent of its own; start a new conversation with the agent " + strconv.Quote(other) + ".")
	}
	return unchangeable(fmt.Sprintf("This conversation is one with the agent %q and cannot change to another model; use the model of this agent, whose ID ends in %s, also if the agent was removed, or start a new conversation.", current, agentapi.AgentProfile(current)))
}

func unchangeable(msg string) error {
	return agentapi.InProcess(&agentapi.Error{Kind: agentapi.ErrUnsupported, Msg: msg})
}

func (r *roster) settings(ctx context.Context) (Settings, error) {
	if r.cfg.Settings == nil {
		return Settings{}, nil
	}
	s, err := r.cfg.Settings(ctx)
	return s, apierr.Of(ctx, err, agentapi.ErrUnavailable, "OpenHands' settings cannot be read.")
}

func (r *roster) profileNames(ctx context.Context) ([]string, error) {
	list, err := r.list(ctx)
	names := make([]string, 0, len(list))
	for _, p := range list {
		if p.Agent == "" {
			names = append(names, p.Name)
		}
	}
	return names, err
}

// confirm is the policy of a new conversation, and its analyzer: what was chosen for this
// engine, or else what the settings say. A nil value leaves what OpenHands begins with.
func (s Settings) confirm(chosen agentapi.Confirmation) (policy, analyzer json.RawMessage) {
	if chosen == "" {
		chosen = s.Confirm
	}
	chosen = chosen.Stricter(s.least)
	if s.Analyzer || chosen == agentapi.ConfirmRisky { // without an analyzer everything would be risky
		analyzer = json.RawMessage(agentapi.AnalyzerLLM)
	}
	if chosen != "" {
		policy = chosen.Policy()
	}
	return policy, analyzer
}

// roster has what conversations are made with: LLM profiles, agents, and settings.
type roster struct{ cfg *Config }

// list is the profiles and the agents as they are now.
func (r *roster) list(ctx context.Context) ([]agentapi.Profile, error) {
	list, err := r.cfg.Profiles.List(ctx)
	if err != nil {
		return nil, agentapi.InProcess(apierr.Of(ctx, err, agentapi.ErrUnavailable, "The LLM profiles cannot be read."))
	}
	if list, err = r.withAgents(ctx, list); err != nil {
		return nil, agentapi.InProcess(apierr.Of(ctx, err, agentapi.ErrUnavailable, "The agents cannot be listed."))
	}
	slices.SortFunc(list, func(x, y agentapi.Profile) int { return strings.Compare(x.Name, y.Name) })
	return list, nil
}
