package modelset

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
)

// ofProfile finds a secret for an LLM object that came without any: the one of the
// profile with the same model at the same address. OpenHands' programs send the user's
// settings, which have no key where ohgw keeps it for the profile. It is not stored with
// the conversation. Of several such profiles the active one comes first.
func (m *Shared) ofProfile(ctx context.Context, object storedagent.Agent, field string) (string, error) {
	list, err := m.profiles.List(ctx)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(list, func(a, b agentapi.Profile) int {
		switch {
		case a.Active == b.Active:
			return 0
		case a.Active:
			return -1
		}
		return 1
	})
	var first error
	for _, one := range list {
		p, err := m.profiles.Load(ctx, one.Name)
		if err != nil {
			continue // a profile that cannot be used has no part in this
		}
		stored := storedagent.Agent{}
		if json.Unmarshal(p.LLM, &stored) != nil || !sameServer(stored, object) {
			continue
		}
		key, err := p.Key(ctx, field)
		if key != "" && err == nil {
			return key, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// sameServer reports whether two LLM objects have one model at one address: a key is for
// its profile's server only.
func sameServer(a, b storedagent.Agent) bool {
	for _, field := range []string{"model", "base_url", "ollama_base_url", "aws_bedrock_runtime_endpoint", "aws_region_name"} {
		if strings.TrimRight(a.Text(field), "/") != strings.TrimRight(b.Text(field), "/") {
			return false
		}
	}
	return true
}
