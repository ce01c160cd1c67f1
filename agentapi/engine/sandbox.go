package engine

import (
	"context"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tag"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/uuid"
)

var _ agentapi.Sandboxed = (*Backend)(nil)

// Sandbox is the sandbox of new conversations.
func (b *Backend) Sandbox(context.Context) agentapi.SandboxStatus { return b.cfg.sandbox() }

func (cfg *Config) sandbox() agentapi.SandboxStatus {
	if cfg.Sandbox == nil {
		return agentapi.SandboxStatus{Level: string(sandbox.Off)}
	}
	return cfg.Sandbox()
}

// Allow answers what the sandbox of a conversation has refused.
func (b *Backend) Allow(ctx context.Context, id string, g agentapi.Grant) error {
	if canonical, err := uuid.Parse(id); err != nil || canonical != id {
		return apierr.NotFound(id)
	}
	state, err := store.Peek(b.cfg.Dir, id)
	if err != nil {
		return agentapi.InProcess(b.opening.Explain(ctx, id, err))
	}
	if b.cfg.Allow == nil {
		return &agentapi.Error{
			Kind: agentapi.ErrUnsupported, InProcess: true,
			Msg: "The conversation does not run in a sandbox, so there is nothing to allow.",
		}
	}
	e := BoxEnv{Conversation: id, Dir: store.Path(b.cfg.Dir, id), Workspace: state.Workspace.WorkingDir, Profile: onlyProfile(state), ReadOnly: tag.ReadOnly(state)}
	return agentapi.InProcess(apierr.Of(ctx, b.cfg.Allow(ctx, e, g), agentapi.ErrRefused, "The sandbox does not take this grant."))
}

// onlyProfile is the profile that a conversation was made with, if no other has
// answered in it.
func onlyProfile(s store.State) string {
	if s.Tags[conversation.TagUsage] != storedagent.AgentUsage { // of a model that came later, or not set
		return ""
	}
	return s.Tags[conversation.TagProfile]
}

// pathOf is where an environment has its programs.
func pathOf(environ []string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			return value
		}
	}
	return ""
}
