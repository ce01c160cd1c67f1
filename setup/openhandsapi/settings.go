package openhandsapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
	"github.com/ohgw/ohgw/daemon/openhandsapi/settings"
	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/directllm"
)

// OpenFiles opens what OpenHands keeps beside its LLM profiles. browser reports whether there
// is one for agents.
func OpenFiles(env *setup.Env, profiles *profile.Store, ciphers *profile.Ciphers, keys *setup.KeyStore, user skill.User, browser func() bool, log *slog.Logger) *files.Store {
	return files.New(files.Config{
		Profiles: profiles, Ciphers: ciphers, Wire: fernet.NewKey(rand.Text() + rand.Text()), Keys: keys, Resolver: secret.NewResolver(keys, secret.Providers(), env.Lookup),
		Skills: func(context.Context) ([]string, error) {
			found, _ := skill.Find("", user)
			names := make([]string, 0, len(found))
			for _, s := range found {
				names = append(names, s.Name)
			}
			return names, nil
		},
		Browser: browser, Locking: env.Locking(lockPatience), Now: env.Now, Log: log,
	})
}

// lockPatience is how long a request waits for another program's lock.
const lockPatience = 10 * time.Second

// launches gives conversations the agent profiles that they begin with.
type launches struct{ *files.AgentProfiles }

// AgentProfile implements [conversations.AgentProfiles].
func (l launches) AgentProfile(ctx context.Context, id, llm string) (conversations.AgentProfile, error) {
	launch, err := l.ResolveAll(ctx, id, llm)
	return conversations.AgentProfile{
		ID: launch.ID, Revision: launch.Revision, Settings: launch.Settings, LLM: launch.LLM, Secrets: launch.Secrets, Ignored: launch.Ignored,
	}, err
}

// settingsStore is what the routes of the settings change.
func settingsStore(kept *files.Store) settings.Store {
	return settings.Store{
		Settings: kept.Settings, Servers: kept.Servers, Secrets: kept.Secrets, Connections: kept.Connections,
		LLMProfiles: kept.LLMProfiles, AgentProfiles: kept.AgentProfiles, MetaProfiles: kept.MetaProfiles,
	}
}

// secretOr finds secrets of the user; one that is not there is "".
func secretOr(secrets *files.Secrets) func(context.Context, string) (string, error) {
	return func(ctx context.Context, name string) (string, error) {
		value, err := secrets.Get(ctx, name)
		if e, ok := errors.AsType[*openhands.Error](err); ok && e.Kind == openhands.NotFound {
			return "", nil
		}
		return value, err
	}
}

// trialLimit is how long an LLM may take for a small question, as in an agent-server. One
// with a shorter timeout has that.
const trialLimit = 15 * time.Second

// tryLLM asks an LLM one small question. That a provider is busy or slow says nothing about
// the LLM.
func tryLLM(base llm.Config) func(context.Context, json.RawMessage) settings.Trial {
	return func(ctx context.Context, data json.RawMessage) settings.Trial {
		cfg := base
		var err error
		if cfg.Profile, err = llm.ParseProfile(data); err != nil {
			return failedTrial(err)
		}
		model, err := llm.New(directllm.Brief(cfg, 1))
		if err != nil {
			return failedTrial(err)
		}
		limit := trialLimit
		if t := cfg.Profile.Timeout; t != nil && *t > 0 {
			limit = min(limit, time.Duration(*t*float64(time.Second)))
		}
		trial, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ping := event.LLMMessage{Role: "user", Content: []event.Content{event.Text("ping")}}
		if _, err := model.Generate(trial, llm.Request{Messages: []event.LLMMessage{ping}}, nil); err != nil && (trial.Err() == nil || ctx.Err() != nil) {
			return failedTrial(err)
		}
		return settings.Trial{OK: true}
	}
}

func failedTrial(err error) settings.Trial {
	failed, ok := errors.AsType[*llm.Error](err)
	switch {
	case !ok:
		return settings.Trial{Type: "ValueError", Msg: err.Error()}
	case failed.Code == llm.CodeRateLimit || failed.Code == llm.CodeTimeout:
		return settings.Trial{OK: true}
	}
	return settings.Trial{Type: failed.Code, Msg: failed.Detail}
}
