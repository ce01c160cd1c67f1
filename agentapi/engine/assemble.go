package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/prompt"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/internal/sandbox"
)

// assemble makes the conversation of an open directory.
func (b *Backend) assemble(ctx context.Context, e *entry, dir *store.Dir, req agentapi.OpenRequest) (*conversation.Conversation, agentapi.Info, error) {
	if len(dir.State.Agent) == 0 {
		if err := b.rebuildAgent(ctx, dir, req); err != nil {
			return nil, agentapi.Info{}, err
		}
	}
	s := dir.State
	stored := storedagent.Agent{}
	if err := json.Unmarshal(s.Agent, &stored); err != nil {
		return nil, agentapi.Info{}, &store.DamageError{File: "base_state.json", Err: fmt.Errorf("agent: %w", err)}
	}
	if kind := stored.Text("kind"); kind != "Agent" && kind != "" {
		return nil, agentapi.Info{}, apierr.Refused(fmt.Sprintf("The conversation belongs to an agent of the kind %s, which only an agent-server can run; open the conversation there.", kind), nil)
	}
	info := agentapi.Info{ID: s.ID, Profile: s.Tags[conversation.TagProfile], Workspace: s.Workspace.WorkingDir, ReadOnly: tag.ReadOnly(s)}
	suffix := stored.Object("agent_context").Text("system_message_suffix")
	info.System, info.SystemKnown = storedagent.RecallSystem(s.Tags[tag.System], suffix)
	models, choice, own := b.modelsOf(s, stored, req)
	settings, err := b.settings(ctx)
	if err != nil {
		return nil, agentapi.Info{}, err
	}
	e.agent = s.Tags[tag.Agent]
	settings, runCost := b.reopened(ctx, s, settings)
	if own { // with its model it brings all that is the user's otherwise
		settings.Agent = nil
	}
	secrets, err := b.vault.Of(s, settings.Agent)
	if err != nil {
		return nil, agentapi.Info{}, err
	}
	words := b.prompt(s, stored)
	b.cfg.Opened(s.Workspace.WorkingDir)
	e.words, e.models = words, models
	e.servers.Store(nil)
	hadShell, shown := hadShell(dir), b.plugins.Shown(dir.Meta()) // the directory is the conversation's once that is open
	servers, lost := b.vault.Servers(s.ID, stored, settings.Agent)
	hooks, err := b.hooks(s)
	if err != nil {
		return nil, agentapi.Info{}, err
	}
	cfg := conversation.Config{
		Dir: dir, Models: models, Schemas: &b.schemas, Model: choice, Condenser: storedagent.Condenser(stored),
		Tools: func(ctx context.Context, host conversation.Host) ([]tool.Tool, error) {
			tools, err := b.tools(ctx, ToolEnv{
				Secrets: secrets, HadShell: hadShell, New: s.LastUserMessageID == "",
				Conversation: s.ID, Dir: dir.Path(), Workspace: s.Workspace.WorkingDir, ReadOnly: tag.ReadOnly(s), Profile: onlyProfile(s),
				Shown: shown, Agent: s.Agent, Servers: servers, Host: host, Profiles: b.profileNames, Log: b.cfg.Log,
				SwitchOwn: b.toRouted(host, s.ID, models),
				Watch:     func(status func() []agentapi.MCPServer) { e.servers.Store(&status) },
			}, words.Skills(), hooks)
			if err == nil && len(lost) > 0 {
				host.Notice(lostText(lost))
			}
			return tools, err
		},
		Prompt: words, Hooks: hooks, Titles: b.cfg.Titles || s.LastUserMessageID == "" && dir.WantsTitle(), Secrets: secrets,
		Concurrency: storedagent.Concurrency(stored), PromptSize: b.cfg.PromptSize, MaxCost: b.cfg.MaxCost, MaxRunCost: runCost, Grace: b.cfg.Grace,
		RunEnded: b.look, Memory: &e.memory,
		Now: b.cfg.Now, NewID: b.cfg.NewID, Log: b.cfg.Log,
	}
	conv, err := conversation.Open(cfg)
	return conv, info, err
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

// prompt is what the agent is told, by what is stored of it.
func (b *Backend) prompt(s store.State, stored storedagent.Agent) *prompt.Prompt {
	words := stored.Object("agent_context")
	cfg := prompt.Config{
		Workspace: s.Workspace.WorkingDir, User: skill.User{Home: b.cfg.Home, Base: b.cfg.Base}, Static: stored.Text("system_prompt"), Persona: stored.Text("persona"),
		Suffix: words.Text("system_message_suffix"), MessageSuffix: words.Text("user_message_suffix"),
		NoRisk: string(stored.Object("system_prompt_kwargs")["llm_security_analyzer"]) == "false",
		NoDate: string(words["current_datetime"]) == "null",
		Now:    b.cfg.Now,
		Warn:   func(err error) { b.cfg.Log.Warn("read skills", "conversation", s.ID, "err", err) },
	}
	_ = json.Unmarshal(words["disabled_skills"], &cfg.Disabled) // no list: none
	cfg.Given = skill.Given(words["skills"])
	// Where neither is said, both are read.
	cfg.NoUserSkills, cfg.NoProject = string(words["load_user_skills"]) == "false", string(words["load_project_skills"]) == "false"
	// OpenHands reads those of a workspace only where it is asked to, and then they come first.
	cfg.ProjectFirst = string(words["load_project_skills"]) == "true"
	cfg.Memory = words.Text("memory_context")
	cfg.Secrets = secretNames(s.SecretRegistry)
	box := b.Sandbox(context.Background())
	cfg.Sandboxed = box.Level == string(sandbox.Full) || box.Level == string(sandbox.Reduced)
	cfg.Open, cfg.ReadOnly = box.Open, tag.ReadOnly(s)
	return prompt.New(cfg)
}

// secretNames are the secrets of a conversation, without their values.
func secretNames(registry json.RawMessage) []prompt.Secret {
	var stored struct {
		Sources map[string]struct {
			Description string `json:"description"`
		} `json:"secret_sources"`
	}
	if json.Unmarshal(registry, &stored) != nil {
		return nil
	}
	list := make([]prompt.Secret, 0, len(stored.Sources))
	for _, name := range slices.Sorted(maps.Keys(stored.Sources)) {
		list = append(list, prompt.Secret{Name: name, Description: stored.Sources[name].Description})
	}
	return list
}

func (b *Backend) profileNames(ctx context.Context) ([]string, error) {
	list, err := b.Profiles(ctx)
	names := make([]string, 0, len(list))
	for _, p := range list {
		if p.Agent == "" {
			names = append(names, p.Name)
		}
	}
	return names, err
}

// lostText is what the model and the person read about servers that cannot be used here.
func lostText(names []string) string {
	return "The MCP servers " + strings.Join(names, ", ") + " of this conversation cannot be used here, because their secrets were not stored with the conversation. Their tools are missing."
}
