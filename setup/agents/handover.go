package agents

import (
	"context"
	"log/slog"
	"slices"

	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
)

// llmSecrets hands the stored keys of profiles to an agent-server that may have them.
// It is nil for a server elsewhere: its profiles are not those of this machine,
// and a key that was stored here is not meant to leave it.
func llmSecrets(env *setup.Env, s *config.Settings, adopted *adoption, log *slog.Logger) (func(context.Context, agentserver.LLMProfile) ([]agentserver.Secret, error), error) {
	adopted.stored = func(context.Context) bool { return false }
	if !setup.OnThisMachine(adopted.address) {
		return nil, nil
	}
	places, err := env.Places()
	if err != nil {
		return nil, err
	}
	store, err := env.OpenKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		return nil, err
	}
	h := &handover{adopted: adopted, store: store, base: places.Stores[0].Base, log: log, finder: secret.NewResolver(store, secret.Providers(), env.Lookup)}
	adopted.stored = h.any
	return h.secrets, nil
}

// handover finds the stored keys of profiles when an agent gets its LLM.
type handover struct {
	adopted *adoption
	store   *setup.KeyStore
	base    string // of the profiles
	finder  *secret.Resolver
	log     *slog.Logger
}

// any reports whether there is a stored key that the server could get.
func (h *handover) any(ctx context.Context) bool {
	names, err := h.store.List(ctx)
	return err == nil && slices.ContainsFunc(names, func(name string) bool {
		e := secret.ParseEntry(name)
		return e.Profile != "" || e.Provider != ""
	})
}

// secrets returns what is stored for a profile. It logs a store that cannot be
// read, and the server continues with the keys that it has.
func (h *handover) secrets(ctx context.Context, p agentserver.LLMProfile) ([]agentserver.Secret, error) {
	names, err := h.store.List(ctx)
	if err != nil {
		h.log.Warn("stored keys cannot be listed", "err", err)
		return nil, nil
	}
	var found []agentserver.Secret
	if len(names) > 0 && !h.adopted.may() {
		h.log.Warn("stored keys are not given to an agent-server that was found; set OHGW_AGENT_SERVER_URL to name it", "address", h.adopted.address)
		return nil, nil
	}
	for _, field := range append([]string{secret.APIKey}, setup.KeyFields()...) {
		key, err := h.finder.Stored(ctx, secret.Subject{Base: h.base, Profile: p.Name, Model: p.Model, BaseURL: p.BaseURL, Field: field}, names)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			h.log.Warn("stored key cannot be read; the agent-server uses its own", "profile", p.Name, "err", err)
			continue
		}
		if !key.IsZero() {
			found = append(found, agentserver.Secret{Field: setup.FieldName(field), Value: key})
		}
	}
	return found, nil
}
