package agentserver

import (
	"context"
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
// settings name no active agent profile is not asked.
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
	return list.Profiles, b.fault(ctx, "list its agent profiles", err)
}

// agentModels are the agents as profiles: those whose LLM profile is listed, too, and
// whose name no LLM profile has.
func agentModels(agents []listedAgent, llms []agentapi.Profile) []agentapi.Profile {
	byName := make(map[string]agentapi.Profile, len(llms))
	for _, p := range llms {
		byName[p.Name] = p
	}
	var models []agentapi.Profile
	for _, a := range agents {
		name := agentapi.AgentProfile(a.Name)
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

// agentOf is the agent profile that a profile of ours is; nil: it is none.
func (b *Backend) agentOf(ctx context.Context, v version, profile string) (*listedAgent, error) {
	name, ok := agentapi.AgentName(profile)
	if !ok || name == "" || v < sinceLaunchAddition || strings.HasPrefix(profile, agentapi.TeamPrefix) {
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

// launchAgent starts a conversation with an agent profile of the server. Its
// settings for conversations count as for every other.
func (b *Backend) launchAgent(ctx context.Context, a *listedAgent, req agentapi.OpenRequest, start *startRequest) error {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var stored storedSettings
	if _, err := b.client.do(limited, request{method: http.MethodGet, path: "/api/settings", out: &stored}); err != nil {
		return b.fault(ctx, "read its settings", err)
	}
	stored.Conversation.apply(start)
	start.byAgentProfile(a.ID, req)
	return nil
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
