package agents

import (
	"log/slog"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/agentmodels"
	"github.com/ohgw/ohgw/setup/browsers"
)

// OpenRoster finds the agents that the embedded agent would offer as models with
// these settings. It needs no key.
func OpenRoster(env *setup.Env, s *config.Settings) (*agentmodels.Roster, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	places, err := env.Places()
	if err != nil {
		return nil, err
	}
	ciphers := env.Ciphers(places)
	store := profile.Open(profile.Config{Base: places.Stores[0].Base, Ciphers: ciphers})
	profiles := &engineProfiles{store: store, state: dirs.State, demo: s.Demo}
	recipes := files.New(files.Config{Profiles: store, Ciphers: ciphers, Now: env.Now, Log: slog.New(slog.DiscardHandler)})
	return agentmodels.New(agentmodels.Config{
		Project: s.Workspace, Home: dirs.Home, Base: places.Base(), Recipes: recipes.AgentProfiles, Profiles: profiles.List,
		Browser: func() error {
			_, err := browsers.Find(env, s)
			return err
		},
	}), nil
}
