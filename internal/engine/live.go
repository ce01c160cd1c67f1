package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/engine/condenser"
	"github.com/ohgw/ohgw/internal/engine/conversation"
	"github.com/ohgw/ohgw/internal/engine/prompt"
	"github.com/ohgw/ohgw/internal/engine/store"
	"github.com/ohgw/ohgw/internal/engine/tool"
)

// live makes the conversation of an open directory.
func (b *Backend) live(ctx context.Context, dir *store.Dir, req agentapi.OpenRequest) (*conversation.Conversation, agentapi.Info, error) {
	s := dir.State
	stored := agent{}
	if err := json.Unmarshal(s.Agent, &stored); err != nil {
		return nil, agentapi.Info{}, fmt.Errorf("%w: base_state.json: agent: %w", store.ErrCorrupt, err)
	}
	if kind := stored.text("kind"); kind != "Agent" && kind != "" {
		return nil, agentapi.Info{}, refused(fmt.Sprintf("The conversation belongs to an agent of the kind %s, which runs in an agent-server only; open it there.", kind), nil)
	}
	info := agentapi.Info{ID: s.ID, Profile: s.Tags[conversation.TagProfile], Workspace: s.Workspace.WorkingDir}
	suffix := stored.object("agent_context").text("system_message_suffix")
	info.System, info.SystemKnown = recallSystem(s.Tags[tagSystem], suffix)
	choice := conversation.Choice{Profile: info.Profile, Usage: s.Tags[conversation.TagUsage]}
	if choice.Profile == "" {
		// Somebody else made it: its own model is in none of our profiles.
		choice = conversation.Choice{Profile: req.Profile, Usage: stored.object("llm").text("usage_id")}
	}
	if choice.Usage == "" {
		choice.Usage = agentUsage
	}
	settings, err := b.settings(ctx)
	if err != nil {
		return nil, agentapi.Info{}, err
	}
	cfg := conversation.Config{
		Dir: dir, Models: b.models, Model: choice, Condenser: condenserOf(stored),
		Tools: func(ctx context.Context, host conversation.Host) ([]tool.Tool, error) {
			return b.cfg.NewTools(ctx, ToolEnv{
				Conversation: s.ID, Dir: dir.Path(), Workspace: s.Workspace.WorkingDir,
				Agent: s.Agent, Settings: settings.Agent, Host: host, Profiles: b.profileNames, Log: b.cfg.Log,
			})
		},
		Prompt:      prompt.New(prompt.Config{Workspace: s.Workspace.WorkingDir, Home: b.cfg.Home, Suffix: suffix, Now: b.cfg.Now}),
		Concurrency: concurrency(stored), MaxCost: b.cfg.MaxCost,
		Now: b.cfg.Now, NewID: b.cfg.NewID, Log: b.cfg.Log,
	}
	conv, err := conversation.Open(cfg)
	return conv, info, err
}

func (b *Backend) profileNames(ctx context.Context) ([]string, error) {
	list, err := b.Profiles(ctx)
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name
	}
	return names, err
}

func concurrency(stored agent) int {
	n := 1
	_ = json.Unmarshal(stored["tool_concurrency_limit"], &n) // the default stays
	return max(1, n)
}

// condenserOf reads the stored condenser; others than the summarizing one do
// nothing.
func condenserOf(stored agent) condenser.Settings {
	c := stored.object("condenser")
	if c.text("kind") != "LLMSummarizingCondenser" {
		return condenser.Settings{}
	}
	set := condenser.Settings{MaxSize: 240, KeepFirst: 2}
	_ = json.Unmarshal(c["max_size"], &set.MaxSize)     // the defaults stay
	_ = json.Unmarshal(c["keep_first"], &set.KeepFirst) // where there is no number
	_ = json.Unmarshal(c["max_tokens"], &set.MaxTokens)
	return set
}
