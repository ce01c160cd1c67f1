package agents

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/boxpool"
	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
	"github.com/ohgw/ohgw/daemon/openhandsapi/githost"
	"github.com/ohgw/ohgw/daemon/openhandsapi/live"
	"github.com/ohgw/ohgw/daemon/openhandsapi/logins"
	"github.com/ohgw/ohgw/daemon/openhandsapi/probes"
	"github.com/ohgw/ohgw/daemon/openhandsapi/session"
	"github.com/ohgw/ohgw/daemon/openhandsapi/settings"
	"github.com/ohgw/ohgw/daemon/openhandsapi/trajectory"
	"github.com/ohgw/ohgw/daemon/openhandsapi/workspaces"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/sandboxes"
)

// nativeParts are what OpenHands' own API is made of.
type nativeParts struct {
	env    *setup.Env
	engine control.Engine
	boxes  *sandboxes.Boxes
	api    *boxpool.Pool
	user   skill.User   // where the user's own skills are
	kept   *files.Store // OpenHands' own files
	// address is where ohgw serves this API; "" before it does.
	address func() string
	trial   func(ctx context.Context, llm json.RawMessage) settings.Trial
	log     *slog.Logger
}

// nativeAPI serves OpenHands' own API over the engine in this process, if it is wanted.
func nativeAPI(s *config.Settings, p nativeParts) (daemon.Native, error) {
	if !s.Native {
		return nil, nil
	}
	dir, err := p.env.Getwd()
	if err != nil {
		return nil, fault.New("cannot find the working directory", "start ohgw in a directory that exists", err)
	}
	places, err := p.env.Places()
	if err != nil {
		return nil, err
	}
	servers := newTrial(p.env, p.kept, p.boxes.Make, p.log)
	return openhandsapi.Over(openhandsapi.Parts{
		Engine: p.engine, Boxes: p.api, Logger: p.log,
		Probes: probes.Config{Now: p.env.Now, Tools: toolset.Names()},
		Conversations: conversations.Config{
			Engine: p.engine, Dir: dir, Profiles: launches{p.kept}, Unseal: p.kept.Unseal, LLM: p.kept.ResolveLLM, Worktree: p.api.Worktree, Logger: p.log,
		},
		Catalogue:  catalogueOf(p.user, servers),
		Logins:     logins.New(logins.Config{Try: servers.login, Address: p.address, Now: p.env.Now, NewID: uuid.New}),
		Extensions: extensionsOf(p.env, p.user, p.log),
		Settings:   settings.Config{Store: p.kept, Try: p.trial, Providers: setup.ProviderPrefixes(), Logger: p.log},
		Commands:   p.api.Commands(p.env.Now, p.log),
		Trajectory: trajectory.Config{Engine: p.engine, Logger: p.log},
		GitHosts:   githost.Config{Secret: secretOr(p.kept), HTTP: p.env.HTTP},
		Cookies:    session.New(p.env.Now),
		Workspaces: workspaces.Config{Dir: places.Stores[0].Base},
		Events:     live.New(live.Config{Engine: p.engine, Now: p.env.Now, NewID: uuid.New, Logger: p.log}),
	}), nil
}
