// Package openhandsapi puts OpenHands' own API together over the embedded agent, and opens
// the files that OpenHands has for it. The routes are in package daemon/openhandsapi. An
// agent-server serves this API itself: its requests are passed on.
package openhandsapi

import (
	"log/slog"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/skill"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
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
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/catalogue"
	"github.com/ohgw/ohgw/setup/sandboxes"
)

// Parts are what the API is made of.
type Parts struct {
	Env    *setup.Env
	Engine control.Engine
	Boxes  *sandboxes.Boxes
	Pool   *boxpool.Pool
	User   skill.User   // where the user's own skills are
	Files  *files.Store // OpenHands' own files
	// Address is where ohgw serves this API; "" before it does.
	Address func() string
	LLM     llm.Config // what all LLMs have in common
	Log     *slog.Logger
}

// Over serves the API over the engine in this process, if it is wanted.
func Over(s *config.Settings, p Parts) (daemon.Native, error) {
	if !s.Native {
		return nil, nil
	}
	dir, err := p.Env.Getwd()
	if err != nil {
		return nil, fault.New("cannot find the working directory", "start ohgw in a directory that exists", err)
	}
	places, err := p.Env.Places()
	if err != nil {
		return nil, err
	}
	servers := catalogue.NewTrial(p.Env, p.Files, p.Boxes.Make, p.Log)
	return openhandsapi.Over(openhandsapi.Parts{
		Engine: p.Engine, Boxes: p.Pool, Logger: p.Log,
		Probes: probes.Config{Now: p.Env.Now, Tools: toolset.Names()},
		Conversations: conversations.Config{
			Engine: p.Engine, Dir: dir, Profiles: launches{p.Files.AgentProfiles}, Unseal: p.Files.Sealing.Unseal, LLM: p.Files.LLMProfiles.Resolve, Worktree: p.Pool.Worktree, Logger: p.Log,
		},
		Catalogue:  catalogue.Of(p.User, servers),
		Logins:     logins.New(logins.Config{Try: servers.Login, Address: p.Address, Now: p.Env.Now, NewID: uuid.New}),
		Extensions: catalogue.Extensions(p.Env, p.User, p.Log),
		Settings:   settings.Config{Store: settingsStore(p.Files), Try: tryLLM(p.LLM), Providers: setup.ProviderPrefixes(), Logger: p.Log},
		Commands:   p.Pool.Commands(p.Env.Now, p.Log),
		Trajectory: trajectory.Config{Engine: p.Engine, Logger: p.Log},
		GitHosts:   githost.Config{Secret: secretOr(p.Files.Secrets), HTTP: p.Env.HTTP},
		Cookies:    session.New(p.Env.Now),
		Workspaces: workspaces.Config{Dir: places.Stores[0].Base},
		Events:     live.New(live.Config{Engine: p.Engine, Now: p.Env.Now, NewID: uuid.New, Logger: p.Log}),
	}), nil
}

// NewPool makes the boxes in which the API works beside conversations.
func NewPool(env *setup.Env, s *config.Settings, dirs paths.Set, boxes *sandboxes.Boxes) *boxpool.Pool {
	return boxpool.New(boxpool.Config{
		Manager: boxes.Manager, Dir: filepath.Join(dirs.State, "native"), Only: s.Workspace, Home: dirs.Home,
		Environ: env.Environ(), Clean: tool.CleanEnvironment(env.Environ(), nil),
	})
}
