package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/confirm"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/delegation"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/secretenv"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
	"github.com/ohgw/ohgw/internal/worktree"
)

// founding is what a new conversation begins with, whoever asks for it: a turn with a
// profile, or a request of OpenHands' API, which may bring its own agent.
type founding struct {
	id, workspace    string
	agent            json.RawMessage // as it is stored
	secrets          *secretenv.Registry
	tags             map[string]string
	iterations       int             // of a run; 0: as many as OpenHands allows
	noStuck          bool            // an agent that repeats itself goes on
	policy, analyzer json.RawMessage // nil: nothing is confirmed or rated
	hooks            json.RawMessage // as they are stored; nil: those of the user
	own              Agent           // whose hooks it has beside those; the zero value: none
	meta             store.Meta      // without its times
	unmade           string          // the refusal where the workspace cannot be made
	// undo takes back what was made beside the directory; nil for nothing. It is called also
	// where the founding itself has failed.
	undo func()
}

// founder finds what new conversations begin with, and makes their directories.
type founder struct {
	cfg     *Config
	roster  *roster
	vault   *vault.Vault
	plugins *pluginset.Set
	agents  *storedagent.Cache
}

// found makes the directory of a new conversation that is not a copy or a part of another.
func (r *founder) found(begin func() (founding, error), disk store.Options) (dir *store.Dir, err error) {
	f, err := begin()
	if err == nil {
		dir, err = f.create(r.cfg, r.vault.Seal, disk)
	}
	if err != nil && f.undo != nil && !errors.Is(err, store.ErrExists) {
		f.undo()
	}
	return dir, err
}

// create makes the directory, and the workspace if that is not there.
func (f founding) create(cfg *Config, seal func(string) (string, error), disk store.Options) (*store.Dir, error) {
	state := store.NewState(f.id, f.agent, f.workspace)
	if f.iterations > 0 {
		state.MaxIterations = f.iterations
	}
	if f.policy != nil {
		state.ConfirmationPolicy = f.policy
	}
	state.SecurityAnalyzer, state.HookConfig, state.StuckDetection = f.analyzer, f.hooks, !f.noStuck
	if f.tags != nil {
		state.Tags = f.tags
	}
	if err := delegation.Equip(&state, f.own.Name, f.own.Hooks); err != nil {
		return nil, err
	}
	var err error
	if state.SecretRegistry, err = f.secrets.Encode(seal); err != nil {
		return nil, err
	}
	_, before := os.Stat(f.workspace)
	if err := os.MkdirAll(f.workspace, 0o750); err != nil {
		return nil, apierr.Refused(f.unmade, err)
	}
	f.meta.Created = cfg.Now()
	f.meta.Updated = f.meta.Created
	dir, err := store.Create(cfg.Dir, state, f.meta, disk)
	if err != nil && errors.Is(before, fs.ErrNotExist) {
		_ = os.Remove(f.workspace) // made above for a conversation that is not there; it is empty
	}
	return dir, err
}

// ofTurn puts together what a conversation begins with whose first turn names a
// profile or an agent.
func (r *founder) ofTurn(ctx context.Context, req agentapi.OpenRequest) (founding, error) {
	profile, settings, named, err := r.roster.ingredients(ctx, req.Profile, req.Workspace)
	if err != nil {
		return founding{}, err
	}
	source := sourceOf(profile, settings, req.System)
	source.Memory = !req.OneShot
	stored, err := r.agents.Of(source, r.cfg.Seal)
	if err != nil {
		return founding{}, err
	}
	f := founding{
		id: req.ID, workspace: req.Workspace, agent: stored, iterations: settings.MaxIterations,
		tags: map[string]string{
			conversation.TagProfile: profile.Name, conversation.TagUsage: storedagent.AgentUsage, tag.System: storedagent.SystemMark(req.System),
		},
		unmade: "The workspace of the conversation cannot be created; make the directory of --workspace, or ohgw's state directory, writable.",
	}
	if req.ReadOnly {
		f.tags[tag.Access] = tag.Read
	}
	if t := named.Team; t != nil && t.Isolated && !req.ReadOnly {
		if err := worktree.Check(req.Workspace); err != nil {
			return founding{}, apierr.Refused("The team needs git worktrees (isolation: worktree), and "+err.Error()+".", err)
		}
	}
	named.mark(f.tags)
	f.own = named
	if f.meta.Others, err = named.noted(); err != nil {
		return founding{}, err
	}
	f.policy, f.analyzer = settings.confirm(r.cfg.Confirm)
	f.secrets, err = r.vault.OfSettings(settings.Agent)
	return f, err
}

// sourceOf is what the agent of a new conversation with a profile is made of.
func sourceOf(p modelset.Profile, s Settings, system string) storedagent.Source {
	return storedagent.Source{Name: p.Name, Revision: p.Revision, LLM: p.LLM, Settings: s.Agent, System: system, Browser: s.Browser}
}

// foundingOf puts together what a request of OpenHands' API and its agent come to.
func (r *founder) foundingOf(s control.Start, from beginning) (f founding, err error) {
	f = founding{
		id: s.ID, workspace: s.Workspace, iterations: from.settings.MaxIterations, noStuck: s.NoStuck, policy: s.Policy, tags: maps.Clone(s.Tags),
		unmade: "The workspace of the conversation cannot be created; make its directory writable, or use another one.",
	}
	if s.MaxIterations > 0 {
		f.iterations = s.MaxIterations
	}
	if f.tags == nil {
		f.tags = make(map[string]string)
	}
	maps.Copy(f.tags, from.tags)
	if f.agent, err = sealed(from.agent, r.vault.Seal); err != nil {
		return founding{}, err
	}
	if f.hooks, err = hook.Stored(s.Hooks); err != nil {
		return founding{}, err
	}
	if string(s.Analyzer) != "null" {
		f.analyzer = s.Analyzer
	}
	if f.secrets, err = r.givenSecrets(s, from); err != nil {
		return founding{}, err
	}
	f.meta, err = metaOf(s)
	return f, err
}

// sealed is an agent as it is stored.
func sealed(plain storedagent.Agent, seal func(string) (string, error)) (json.RawMessage, error) {
	sealed, err := plain.Replaced(seal)
	if err != nil {
		return nil, fmt.Errorf("encrypt the secrets of the agent: %w", err)
	}
	return json.Marshal(sealed)
}

// checkAnalyzer refuses an analyzer that is not valid. One that only an agent-server has is
// kept.
func checkAnalyzer(given json.RawMessage) error {
	if _, err := confirm.ParseAnalyzer(given); err != nil && !errors.Is(err, confirm.ErrElsewhere) {
		return apierr.Refused(apierr.Sentence(err), err)
	}
	return nil
}

// givenSecrets takes the secrets of a new conversation from its request. What cannot
// be stored is kept beside it.
func (r *founder) givenSecrets(s control.Start, from beginning) (*secretenv.Registry, error) {
	plain, err := json.Marshal(from.agent)
	if err != nil {
		return nil, err
	}
	registry, err := r.vault.OfSettings(plain)
	if err != nil {
		return nil, err
	}
	if err := r.vault.Give(registry, s.Secrets); err != nil || r.cfg.Seal != nil {
		return registry, err
	}
	values, err := registry.Encode(storedagent.InClear)
	if err == nil {
		r.vault.Keep(s.ID, vault.Clear{Agent: plain, Secrets: values})
	}
	return registry, err
}

// metaOf is what is said of a new conversation.
func metaOf(s control.Start) (store.Meta, error) {
	meta := store.Meta{Parent: s.Parent, WantsTitle: s.Title}
	if len(s.Request) > 0 {
		if err := json.Unmarshal(s.Request, &meta.Others); err != nil {
			return store.Meta{}, apierr.Refused("The request is not a JSON object.", err)
		}
	}
	// The state has the agent and the secrets, and what follows is said elsewhere in the file.
	// A team is only that of a file.
	for _, name := range []string{"agent", "agent_settings", "secrets", "agent_profile_id", "agent_launch_additions", "conversation_id", "secrets_encrypted", team.MetaMember} {
		delete(meta.Others, name)
	}
	return meta, nil
}

// ofStart puts together what a conversation begins with that OpenHands' API starts.
func (r *founder) ofStart(ctx context.Context, s control.Start) (founding, error) {
	if err := errors.Join(tag.Check(s.Tags), r.checkParent(s), checkAnalyzer(s.Analyzer)); err != nil {
		return founding{}, err
	}
	from, err := r.beginning(ctx, s)
	if err != nil {
		return founding{}, err
	}
	if err := from.agent.AddClientTools(s.Request); err != nil {
		return founding{}, err
	}
	if s.Prepare != nil {
		if err := s.Prepare(ctx, &s); err != nil {
			return founding{}, err
		}
	}
	if s.Suffix != "" {
		from.agent.AddSuffix(s.Suffix)
	}
	from.agent.Date(r.cfg.Now())
	if err := r.remember(ctx, from.agent); err != nil {
		return founding{}, err
	}
	from.agent.AddLaunchSkills(s.Skills, skill.User{Home: r.cfg.Home, Base: r.cfg.Base})
	tags, err := r.plugins.Add(ctx, &s, from.agent)
	if err != nil {
		return founding{}, err
	}
	if len(tags) > 0 {
		maps.Copy(tags, from.tags)
		from.tags = tags
	}
	return r.foundingOf(s, from)
}

// remember has an agent keep notes where the user's settings say so, whoever sends it.
func (r *founder) remember(ctx context.Context, a storedagent.Agent) error {
	settings, err := r.roster.settings(ctx)
	if err != nil {
		return err
	}
	users := storedagent.Agent{}
	if len(settings.Agent) > 0 && json.Unmarshal(settings.Agent, &users) == nil && users.Remembers() {
		a.Remember()
	}
	return nil
}
