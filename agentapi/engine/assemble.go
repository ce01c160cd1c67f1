package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/critic"
	"github.com/ohgw/ohgw/agentapi/engine/delegation"
	"github.com/ohgw/ohgw/agentapi/engine/hook"
	"github.com/ohgw/ohgw/agentapi/engine/hookagent"
	"github.com/ohgw/ohgw/agentapi/engine/memory"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/prompt"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/team"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/hidden"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// assembler makes conversations of their directories.
type assembler struct {
	cfg        *Config
	roster     *roster
	models     *modelset.Shared
	vault      *vault.Vault
	plugins    *pluginset.Set
	delegation *delegation.Delegation
	hookAgents hookagent.Config
	schemas    *tool.Schemas // of the tools of all conversations
}

// seat is where a conversation is open.
type seat struct {
	memory *atomic.Int64 // gets what the conversation holds, in bytes
	ended  func()        // called when a run has ended
	others opener        // opens the conversations of its tasks and of its hooks
	bare   bool          // it has neither MCP servers nor a title
	kept   bool          // a conversation of a person that is not a one-shot
	shown  []string      // directories that its box shows besides those of its plugins
}

// assembled is a conversation and what it was made of. It does not change.
type assembled struct {
	conv   *conversation.Conversation
	info   agentapi.Info
	words  *prompt.Prompt
	models *modelset.Own
	agent  string // the name of the agent that it is a conversation with; "" for a profile
	// servers has the MCP servers once there are tools.
	servers *atomic.Pointer[func() []agentapi.MCPServer]
}

// assemble makes the conversation of an open directory.
func (a *assembler) assemble(ctx context.Context, dir *store.Dir, req agentapi.OpenRequest, at seat) (*assembled, error) {
	if len(dir.State.Agent) == 0 {
		if err := a.rebuildAgent(ctx, dir, req); err != nil {
			return nil, err
		}
	}
	s := dir.State
	stored, err := runnable(s.Agent)
	if err != nil {
		return nil, err
	}
	models, choice, own := a.modelsOf(s, stored, req)
	settings, err := a.roster.settings(ctx)
	if err != nil {
		return nil, err
	}
	settings, maxRun := a.roster.reopened(ctx, s, settings)
	if own { // with its model it brings all that is the user's otherwise
		settings.Agent = nil
	}
	secrets, err := a.vault.Of(s, settings.Agent)
	if err != nil {
		return nil, err
	}
	notes := a.notes(s, stored)
	words := a.prompt(s, stored, notes)
	a.cfg.Opened(s.Workspace.WorkingDir)
	var status atomic.Pointer[func() []agentapi.MCPServer]
	// The directory is the conversation's once that is open.
	hadShell, shown, members, defs := hadShell(dir), append(a.plugins.Shown(dir.Meta()), at.shown...), team.Of(dir.Meta()), storedagent.ToolsOf(stored)
	servers, lost := a.servers(s.ID, stored, settings.Agent, at)
	hooks, err := a.hooks(s)
	if err != nil {
		return nil, err
	}
	answering, panel := panelOf(members, models)
	conv, err := conversation.Open(conversation.Config{
		Dir: dir, Models: answering, Unasked: panel != nil, Schemas: a.schemas, Model: choice, ModelName: storedagent.ModelName(stored), Condenser: storedagent.Condenser(stored),
		Tools: func(ctx context.Context, host conversation.Host) ([]tool.Tool, error) {
			tools, err := a.tools(ctx, ToolEnv{
				Secrets: secrets, HadShell: hadShell, New: s.LastUserMessageID == "",
				Conversation: s.ID, Dir: dir.Path(), Workspace: s.Workspace.WorkingDir, ReadOnly: tag.ReadOnly(s), Profile: onlyProfile(s),
				Shown: shown, Memory: notes.UserDir(), Agent: defs, Team: members, Panel: panel, Servers: servers, Host: host, Profiles: a.roster.profileNames, Log: a.cfg.Log,
				SwitchOwn: a.toRouted(host, s.ID, models),
				Watch:     func(servers func() []agentapi.MCPServer) { status.Store(&servers) },
			}, words.Skills(), hooks, at.others)
			if err == nil && len(lost) > 0 {
				host.Notice(lostText(lost))
			}
			return tools, err
		},
		Prompt: words, Hooks: hooks, Titles: a.titled(dir, at), Secrets: secrets,
		Critic: a.critic(s.ID, stored, settings.Agent), HookAgent: a.hookAgent(hookagent.Place{Dir: dir.Path(), Shown: shown}, at.others),
		Concurrency: storedagent.Concurrency(stored), PromptSize: a.cfg.PromptSize, MaxCost: a.cfg.MaxCost, MaxRun: maxRun, Grace: a.cfg.Grace,
		RunEnded: at.ended, Memory: at.memory,
		Now: a.cfg.Now, NewID: a.cfg.NewID, Log: a.cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	return &assembled{conv: conv, info: infoOf(s, stored), words: words, models: models, agent: s.Tags[tag.Agent], servers: &status}, nil
}

// runnable reads a stored agent, and refuses one of a kind that is not run here.
func runnable(data json.RawMessage) (storedagent.Agent, error) {
	stored := storedagent.Agent{}
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, &store.DamageError{File: "base_state.json", Err: fmt.Errorf("agent: %w", err)}
	}
	if kind := stored.Text("kind"); kind != "Agent" && kind != "" {
		return nil, apierr.Refused(fmt.Sprintf("The conversation belongs to an agent of the kind %s, which only an agent-server can run; open the conversation there.", kind), nil)
	}
	return stored, nil
}

// servers finds the MCP servers of a conversation, and the names of those that it has lost.
func (a *assembler) servers(id string, stored storedagent.Agent, settings json.RawMessage, at seat) (all json.RawMessage, lost []string) {
	if at.bare {
		return nil, nil
	}
	return a.vault.Servers(id, stored, settings)
}

// titled reports whether the conversation of a directory gets a title from its model. A
// request of OpenHands' own API says it; for others the setting does.
func (a *assembler) titled(dir *store.Dir, at seat) bool {
	if at.bare || dir.State.LastUserMessageID != "" {
		return false
	}
	_, ours := dir.State.Tags[tag.System]
	return dir.WantsTitle() || a.cfg.Titles && at.kept && ours
}

// critic reads the critic of an agent; nil for none, and for one that cannot be used here. Its
// key is that of the conversation, or else the one that the settings have now.
func (a *assembler) critic(id string, stored storedagent.Agent, settings json.RawMessage) *critic.Critic {
	given := stored["critic"]
	if stored.Object("critic").Text("kind") == critic.KindService {
		plain, _ := a.vault.PlainAgent(id, stored)
		object := plain.Object("critic")
		if key := object.Text("api_key"); key == "" || key == hidden.Redacted {
			object.Set("api_key", storedagent.CriticKey(settings, object.Text("server_url")))
		}
		plain.Set("critic", object)
		given = plain["critic"]
	}
	c, err := critic.Of(given, a.cfg.HTTP)
	if err != nil {
		a.cfg.Log.Warn("the critic of the agent is not used", "conversation", id, "err", err)
		return nil
	}
	return c
}

// hookAgent has agents answer for the hooks of a conversation.
func (a *assembler) hookAgent(at hookagent.Place, others opener) func(context.Context, store.State, hook.Question) (string, event.Stats, error) {
	return func(ctx context.Context, parent store.State, q hook.Question) (string, event.Stats, error) {
		return hookagent.Ask(ctx, a.hookAgents, at, parent, others, q)
	}
}

// infoOf is what the state and the agent of a conversation say about it.
func infoOf(s store.State, stored storedagent.Agent) agentapi.Info {
	system, known := storedagent.RecallSystem(s.Tags[tag.System], stored.Object("agent_context").Text("system_message_suffix"))
	return agentapi.Info{
		ID: s.ID, Profile: s.Tags[conversation.TagProfile], Workspace: s.Workspace.WorkingDir, ReadOnly: tag.ReadOnly(s), System: system, SystemKnown: known,
	}
}

// hadShell reports whether the log has a result of a terminal. A log that cannot
// be read is the business of whoever opens the conversation.
func hadShell(dir *store.Dir) bool {
	events, err := dir.Events()
	return err == nil && slices.ContainsFunc(events, func(e event.Event) bool {
		o, ok := e.Body.(*event.Observation)
		return ok && o.ToolName == "terminal"
	})
}

// notes are where the agent of a conversation keeps notes for later ones; nil if it keeps
// none. Where the directory of the user's cannot be used, there are those of the workspace.
func (a *assembler) notes(s store.State, stored storedagent.Agent) *memory.Places {
	if !stored.Remembers() {
		return nil
	}
	at := memory.Places{Home: a.cfg.Home, Workspace: s.Workspace.WorkingDir}
	if a.cfg.Base == "" {
		return &at
	}
	var err error
	if at.User, err = memory.Prepare(a.cfg.Base); err != nil {
		a.cfg.Log.Warn("the notes of the user are not used", "conversation", s.ID, "err", err)
	}
	return &at
}

// prompt assembles what the agent is told from what is stored of it.
func (a *assembler) prompt(s store.State, stored storedagent.Agent, notes *memory.Places) *prompt.Prompt {
	words := stored.Object("agent_context")
	cfg := prompt.Config{
		Workspace: s.Workspace.WorkingDir, User: skill.User{Home: a.cfg.Home, Base: a.cfg.Base}, Static: stored.Text("system_prompt"), Persona: stored.Text("persona"),
		Suffix: words.Text("system_message_suffix"), MessageSuffix: words.Text("user_message_suffix"),
		NoRisk: string(stored.Object("system_prompt_kwargs")["llm_security_analyzer"]) == "false",
		NoDate: string(words["current_datetime"]) == "null",
		Now:    a.cfg.Now,
		Warn:   func(err error) { a.cfg.Log.Warn("read skills and notes", "conversation", s.ID, "err", err) },
	}
	_ = json.Unmarshal(words["disabled_skills"], &cfg.Disabled) // no list: none
	cfg.Given = skill.Given(words["skills"])
	// Where neither is said, both are read.
	cfg.NoUserSkills, cfg.NoProject = string(words["load_user_skills"]) == "false", string(words["load_project_skills"]) == "false"
	// OpenHands reads those of a workspace only where it is asked to, and then they come first.
	cfg.ProjectFirst = string(words["load_project_skills"]) == "true"
	cfg.Memory, cfg.Notes = words.Text("memory_context"), notes
	cfg.Secrets = storedagent.SecretNames(s.SecretRegistry)
	box := a.cfg.sandbox()
	cfg.Sandboxed = box.Level == string(sandbox.Full) || box.Level == string(sandbox.Reduced)
	cfg.Open, cfg.ReadOnly = box.Open, tag.ReadOnly(s)
	return prompt.New(cfg)
}

// lostText is what the model and the person read about servers that cannot be used here.
func lostText(names []string) string {
	return "The MCP servers " + strings.Join(names, ", ") + " of this conversation cannot be used here, because their secrets were not stored with the conversation. Their tools are missing."
}
