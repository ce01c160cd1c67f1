package agentserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"

	"github.com/ohgw/ohgw/agentapi"
)

// agentProfilePrefix begins the names of the agent profiles that we make.
const agentProfilePrefix = "ohgw."

// launchByAgentProfile makes the start request name an agent profile of the server.
// It is for LLM profiles whose key is in a provider connection: only the server can
// resolve those, and only in an agent profile. The server gets one agent profile for
// each such LLM profile at its first use. Later starts keep it in step with the
// server's settings.
func (b *Backend) launchByAgentProfile(ctx context.Context, v version, req agentapi.OpenRequest, settings object, start *startRequest) error {
	if v < sinceLaunchAddition {
		return unsupported("This agent-server cannot start a conversation with a provider connection. Update it, or set an API key in the profile.")
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	want := agentProfile(v, req.Profile, openHandsAgent(settings))
	id, err := b.keepAgentProfile(limited, agentProfileName(req.Profile), want)
	if err != nil {
		return b.fault(ctx, "store an agent profile for the LLM profile", err)
	}
	start.byAgentProfile(id, req)
	return nil
}

// agentProfile converts the settings to an agent profile.
func agentProfile(v version, llmProfile string, settings object) object {
	p := object{}
	p.set("agent_kind", "openhands")
	p.set("llm_profile_ref", llmProfile)
	for _, name := range []string{"tools", "condenser", "enable_sub_agents", "tool_concurrency_limit"} {
		if value, ok := settings[name]; ok {
			p[name] = value
		}
	}
	keepModel(v, p)
	if _, ok := settings["verification"]; ok {
		verification := settings.object("verification")
		delete(verification, "critic_api_key") // agent profiles hold no secret
		p.set("verification", verification)
	}
	agentContext := settings.object("agent_context")
	for _, name := range []string{"system_message_suffix", "disabled_skills"} {
		if value, ok := agentContext[name]; ok {
			p[name] = value
		}
	}
	return p
}

// agentProfileName fits the server's limit of 64 characters.
func agentProfileName(llmProfile string) string {
	const limit = 64
	name := agentProfilePrefix + llmProfile
	if len(name) > limit {
		sum := sha256.Sum256([]byte(llmProfile))
		name = name[:limit-9] + "-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// keepAgentProfile makes sure that there is an agent profile like want, and
// gives its id.
func (b *Backend) keepAgentProfile(ctx context.Context, name string, want object) (string, error) {
	path := "/api/agent-profiles/" + url.PathEscape(name)
	var stored struct {
		Profile object `json:"profile"`
	}
	get := request{method: http.MethodGet, path: path, out: &stored}
	_, err := b.client.do(ctx, get)
	switch {
	case err == nil && stored.Profile.holds(want):
		return stored.Profile.text("id"), nil
	case err != nil && answered(err) != http.StatusNotFound:
		return "", err
	}
	if _, err := b.client.do(ctx, request{method: http.MethodPost, path: path, in: want}); err != nil {
		return "", err
	}
	stored.Profile = nil
	_, err = b.client.do(ctx, get)
	return stored.Profile.text("id"), err
}

// holds reports whether o has all that want has, with the same meaning.
func (o object) holds(want object) bool {
	for name, value := range want {
		var a, b any
		if json.Unmarshal(value, &a) != nil || json.Unmarshal(o[name], &b) != nil || !reflect.DeepEqual(a, b) {
			return false
		}
	}
	return true
}
