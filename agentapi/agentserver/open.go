package agentserver

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/event"
)

// conversationInfo is what we read of the server's description of a
// conversation.
type conversationInfo struct {
	event.State
	Agent struct {
		LLM struct {
			Model   string `json:"model"`
			BaseURL string `json:"base_url"`
			UsageID string `json:"usage_id"`
		} `json:"llm"`
		Context *struct {
			SystemSuffix string `json:"system_message_suffix"`
		} `json:"agent_context"`
	} `json:"agent"`
	Hooks   json.RawMessage   `json:"hook_config"`
	Blocked map[string]string `json:"blocked_messages"` // why a hook refused a message, by its id
	Title   string            `json:"title"`
	Created string            `json:"created_at"`
}

// hasHooks reports whether a hook may change the course of a run.
func (c conversationInfo) hasHooks() bool { return len(c.Hooks) > 0 && string(c.Hooks) != "null" }

// Open continues the conversation, or makes it.
func (b *Backend) Open(ctx context.Context, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	if req.New && req.Existing {
		return nil, &agentapi.Error{Kind: agentapi.ErrRefused, Msg: "A conversation cannot be both new and existing."}
	}
	server, err := b.info(ctx)
	if err != nil {
		return nil, err
	}
	if !req.New {
		known, err := b.describe(ctx, req.ID)
		if err == nil {
			return b.handle(ctx, server.version, known, false)
		}
		if !gone(err) {
			return nil, b.fault(ctx, "look for the conversation", err)
		}
		if req.Existing {
			return nil, conversationNotFound(req.ID, err)
		}
	}
	start, err := b.launch(ctx, server.version, req)
	if err != nil {
		return nil, err
	}
	made, created, err := b.create(ctx, start, req.Progress)
	if err != nil {
		return nil, err
	}
	c, err := b.handle(ctx, server.version, made, created)
	if err == nil && created && start.handOver {
		return c.equipped(ctx)
	}
	return c, err
}

// describe asks the server for the conversation.
func (c *conversation) describe(ctx context.Context) (conversationInfo, error) {
	return c.backend.describe(ctx, c.info.ID)
}

// describe asks the server for a conversation.
func (b *Backend) describe(ctx context.Context, id string) (conversationInfo, error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var info conversationInfo
	_, err := b.client.do(limited, request{method: http.MethodGet, path: conversationPath(id), out: &info})
	return info, err
}

func (b *Backend) handle(ctx context.Context, v version, c conversationInfo, created bool) (*conversation, error) {
	info := agentapi.Info{ID: c.ID, Created: created, Workspace: c.Workspace.WorkingDir}
	if mark, ok := c.Tags[tagSystem]; ok {
		suffix := ""
		if c.Agent.Context != nil {
			suffix = c.Agent.Context.SystemSuffix
		}
		info.System, info.SystemKnown = recallSystem(mark, suffix)
	}
	profile, err := b.profileOf(ctx, v, c)
	if err != nil {
		return nil, err
	}
	info.Profile = profile
	return &conversation{backend: b, version: v, info: info, counts: true}, nil
}

// profileOf finds out which profile the agent's LLM comes from.
func (b *Backend) profileOf(ctx context.Context, v version, c conversationInfo) (string, error) {
	llm := c.Agent.LLM
	usage, ours := c.Tags[tagUsage]
	if name, ok := c.Tags[tagProfile]; ok && (!ours || usage == llm.UsageID) {
		return name, nil
	}
	if v < sinceProfiles {
		if b.llm != nil && b.llm.Model == llm.Model && b.llm.BaseURL == llm.BaseURL {
			return b.llm.Profile, nil
		}
		return "", nil
	}
	profiles, err := b.Profiles(ctx)
	if err != nil {
		return "", err
	}
	// Two profiles of the same model may differ in all the rest. Then it is unknown which
	// of them it was.
	found := ""
	for _, p := range profiles {
		if p.Agent == "" && p.Model == llm.Model && p.BaseURL == llm.BaseURL {
			if found != "" {
				return "", nil
			}
			found = p.Name
		}
	}
	return found, nil
}
