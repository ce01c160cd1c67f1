package agentserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
)

// listedAgent is an agent profile as the server lists it.
type listedAgent struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Kind     string `json:"agent_kind"`
	Revision int    `json:"revision"`
	LLM      string `json:"llm_profile_ref"`
}

// isModel reports whether the agent profile is a model: those that we made for LLM
// profiles are not, and neither are agents of other makers.
func (a listedAgent) isModel() bool {
	return a.Kind == "openhands" && a.ID != "" && !strings.HasPrefix(a.Name, agentProfilePrefix)
}

// agents lists the server's agent profiles. A server that has none makes one of its
// settings when it is asked for the list, and an LLM profile with it. So one whose
// settings name no active agent profile is not asked. One that cannot list them has its LLM
// profiles all the same.
func (b *Backend) agents(ctx context.Context, v version, settings object) ([]listedAgent, error) {
	if v < sinceLaunchAddition || settings.text("active_agent_profile_id") == "" {
		return nil, nil
	}
	var list struct {
		Profiles []listedAgent `json:"profiles"`
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := b.client.do(limited, request{method: http.MethodGet, path: "/api/agent-profiles", out: &list})
	if answered(err) > 0 {
		b.log.WarnContext(ctx, "the agent-server does not list its agent profiles; only its LLM profiles are models", "err", err)
		return nil, nil
	}
	return list.Profiles, b.fault(ctx, "list its agent profiles", err)
}

// agentModels makes profiles of the agents whose LLM profile is listed, too, and whose
// name no LLM profile has.
func agentModels(agents []listedAgent, llms []agentapi.Profile) []agentapi.Profile {
	byName := make(map[string]agentapi.Profile, len(llms))
	for _, p := range llms {
		byName[p.Name] = p
	}
	var models []agentapi.Profile
	for _, a := range agents {
		name := agentapi.AgentPrefix + a.Name
		llm, known := byName[a.LLM]
		if _, taken := byName[name]; taken || !known || !a.isModel() {
			continue
		}
		models = append(models, agentapi.Profile{
			Name: name, Agent: a.Name, Description: "An agent of the agent-server.", Model: llm.Model, BaseURL: llm.BaseURL,
			Revision: revision(a.ID, strconv.Itoa(a.Revision), llm.Revision),
		})
	}
	return models
}

// agentOf returns the agent profile that a profile of ours stands for; nil for an LLM
// profile.
func (b *Backend) agentOf(ctx context.Context, v version, profile string) (*listedAgent, error) {
	name, ok := strings.CutPrefix(profile, agentapi.AgentPrefix)
	if !ok || name == "" || v < sinceLaunchAddition {
		return nil, nil
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err := b.client.do(limited, request{method: http.MethodGet, path: "/api/profiles/" + url.PathEscape(profile)})
	if answered(err) != http.StatusNotFound {
		return nil, b.fault(ctx, "look for the LLM profile", err)
	}
	var found struct {
		Profile listedAgent `json:"profile"`
	}
	_, err = b.client.do(limited, request{method: http.MethodGet, path: "/api/agent-profiles/" + url.PathEscape(name), out: &found})
	switch status := answered(err); {
	case status == http.StatusNotFound, status == http.StatusUnprocessableEntity, err == nil && !found.Profile.isModel():
		return nil, nil
	case err != nil:
		return nil, b.fault(ctx, "look for the agent profile", err)
	}
	return &found.Profile, nil
}

// launchAgent makes the start request name an agent profile of the server. The server's
// settings for conversations count as for every other one.
func (b *Backend) launchAgent(ctx context.Context, a *listedAgent, req agentapi.OpenRequest, start *startRequest) error {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var stored storedSettings
	if _, err := b.client.do(limited, request{method: http.MethodGet, path: "/api/settings", out: &stored}); err != nil {
		return b.fault(ctx, "read its settings", err)
	}
	llm, err := b.profileConfig(limited, a.LLM, "")
	if err != nil {
		return b.fault(ctx, "read the LLM profile of its agent", err)
	}
	own, err := b.secrets(ctx, LLMProfile{Name: a.LLM, Model: llm.text("model"), BaseURL: llm.text("base_url")})
	if err != nil {
		return err
	}
	start.handOver = len(own) > 0
	stored.Conversation.apply(start)
	start.byAgentProfile(a.ID, req)
	return nil
}

// equipped hands the LLM of a new conversation over with our own secrets, which the
// server does not have.
func (c *conversation) equipped(ctx context.Context) (agentapi.Conversation, error) {
	if err := c.handOver(ctx, c.info.Profile); err != nil {
		return nil, errors.Join(err, c.backend.Remove(context.WithoutCancel(ctx), c.info.ID))
	}
	c.uncounted.Store(true)
	return c, nil
}

// byAgentProfile lets the server make the agent.
func (s *startRequest) byAgentProfile(id string, req agentapi.OpenRequest) {
	s.AgentProfileID = id
	s.Encrypted = false
	// The server cuts white space off and chooses the usage id.
	system := strings.TrimSpace(req.System)
	s.Tags = newTags(req.Profile, "", system)
	if system != "" {
		s.Additions = &additions{SystemSuffix: system}
	}
}

// llmOf is the LLM profile of an agent, or the profile itself.
func (b *Backend) llmOf(ctx context.Context, v version, profile string) (string, error) {
	a, err := b.agentOf(ctx, v, profile)
	if err != nil || a == nil {
		return profile, err
	}
	return a.LLM, nil
}

// mayBecome refuses to make a conversation with an agent one with another, or with an
// LLM profile, and the reverse: tools and instructions stay with a conversation.
func (c *conversation) mayBecome(ctx context.Context, profile string) error {
	for _, name := range []string{c.info.Profile, profile} {
		a, err := c.backend.agentOf(ctx, c.version, name)
		if err != nil {
			return err
		}
		if a != nil && c.info.Profile != profile {
			return unsupported("The agent of a conversation cannot be changed on an agent-server. Use the model of the conversation, or start a new one.")
		}
	}
	return nil
}
