package agentserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ohgw/ohgw/agentapi"
)

// The ways in which the server shows secrets: not at all without the header.
const (
	exposeEncrypted = "encrypted"
	exposeCleartext = "plaintext"
)

type profileList struct {
	Profiles []listedProfile `json:"profiles"`
	Active   string          `json:"active_profile"`
}

type listedProfile struct {
	Name               string `json:"name"`
	Model              string `json:"model"`
	BaseURL            string `json:"base_url"`
	ProviderConnection string `json:"provider_connection_id"`
	KeySet             bool   `json:"api_key_set"`
}

// Profiles lists the server's LLM profiles and its agents, or the LLM profile of our
// own where the server has none.
func (b *Backend) Profiles(ctx context.Context) ([]agentapi.Profile, error) {
	info, err := b.info(ctx)
	if err != nil {
		return nil, err
	}
	if info.version < sinceProfiles {
		if b.llm == nil {
			return nil, b.needsLLM()
		}
		return []agentapi.Profile{{
			Name: b.llm.Profile, Model: b.llm.Model, BaseURL: b.llm.BaseURL, Active: true,
			Revision: revision(b.llm.Model, b.llm.BaseURL, b.stamp()),
		}}, nil
	}
	var list profileList
	settings := object{}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	group, both := errgroup.WithContext(limited)
	group.Go(func() error {
		_, err := b.client.do(both, request{method: http.MethodGet, path: "/api/profiles", out: &list})
		return err
	})
	group.Go(func() error {
		_, err := b.client.do(both, request{method: http.MethodGet, path: "/api/settings", out: &settings})
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, b.fault(ctx, "list its LLM profiles", err)
	}
	agents, err := b.agents(ctx, info.version, settings)
	if err != nil {
		return nil, err
	}
	return b.listed(list, settings, agents)
}

func (b *Backend) listed(list profileList, settings object, agents []listedAgent) ([]agentapi.Profile, error) {
	common, err := json.Marshal(settledSettings(settings))
	if err != nil {
		return nil, err
	}
	stamp := b.stamp()
	profiles := make([]agentapi.Profile, 0, len(list.Profiles))
	for _, p := range list.Profiles {
		own, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		profiles = append(profiles, agentapi.Profile{
			Name: p.Name, Model: p.Model, BaseURL: p.BaseURL, Active: p.Name == list.Active,
			Revision: revision(string(own), string(common), stamp),
		})
	}
	profiles = append(profiles, agentModels(agents, profiles)...)
	slices.SortFunc(profiles, func(a, b agentapi.Profile) int { return cmp.Compare(a.Name, b.Name) })
	return profiles, nil
}

// settledSettings are the settings without what differs at each look.
func settledSettings(settings object) object {
	if settings == nil { // the server said null
		settings = object{}
	}
	agent := settings.object("agent_settings")
	context := agent.object("agent_context")
	delete(context, "current_datetime")
	agent.set("agent_context", context)
	settings.set("agent_settings", agent)
	return settings
}

// revision is a short text that differs when one of the parts does.
func revision(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// profileConfig reads one profile with its secrets in the given form.
func (b *Backend) profileConfig(ctx context.Context, name, expose string) (object, error) {
	if name == "" { // its path would be that of the list
		return nil, profileNotFound(name, nil)
	}
	var profile struct {
		Config object `json:"config"`
	}
	_, err := b.client.do(ctx, request{
		method: http.MethodGet, path: "/api/profiles/" + url.PathEscape(name), expose: expose, out: &profile,
	})
	if answered(err) == http.StatusNotFound || answered(err) == http.StatusUnprocessableEntity {
		return nil, profileNotFound(name, err)
	}
	if err == nil && profile.Config == nil {
		return nil, fmt.Errorf("read profile %q: no config: %w", name, errGarbled)
	}
	return profile.Config, err
}
