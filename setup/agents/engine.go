package agents

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/conversation"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/id"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/agentmodels"
	"github.com/ohgw/ohgw/setup/browsers"
	"github.com/ohgw/ohgw/setup/catalogue"
	"github.com/ohgw/ohgw/setup/directllm"
	"github.com/ohgw/ohgw/setup/openhandsapi"
	"github.com/ohgw/ohgw/setup/sandboxes"
)

// openEngine makes the embedded agent, if the browser that was asked for is there.
func openEngine(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger, why string) (Backend, error) {
	if err := browsers.Asked(env, s); err != nil {
		return Backend{}, err
	}
	return makeEngine(ctx, env, s, log, why)
}

// makeEngine makes the embedded agent: it needs no server.
func makeEngine(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger, why string) (Backend, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return Backend{}, err
	}
	places, err := env.Places()
	if err != nil {
		return Backend{}, err
	}
	ciphers := env.Ciphers(places)
	files := profile.Open(profile.Config{Base: places.Stores[0].Base, Ciphers: ciphers})
	host, err := env.Hostname()
	if err != nil {
		return Backend{}, fault.New("cannot read the host name", "set a host name; it is recorded in each conversation's lease", err)
	}
	keys, err := env.OpenKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		return Backend{}, err
	}
	profiles := &engineProfiles{store: files, state: dirs.State, keys: secret.NewResolver(keys, secret.Providers(), env.Lookup), demo: s.Demo}
	seal, unseal := sealer(env, ciphers)
	settings, base := newEngineSettings(files, s.BrowserTools, log), directllm.Config(env, s, log)
	conversations := filepath.Join(dirs.State, "conversations")
	boxes, err := sandboxes.Open(ctx, env, s, dirs, places, conversations, log)
	if err != nil {
		return Backend{}, err
	}
	profiles.alone = boxes.WhyDemoAlone()
	browser := browsers.Open(env, s, dirs, conversations, log)
	kept := openhandsapi.OpenFiles(env, files, ciphers, keys, catalogue.User(dirs, places), browser.Usable, log)
	profiles.agents = agentmodels.New(agentmodels.Config{Project: s.Workspace, Home: dirs.Home, Base: places.Base(), Recipes: kept.AgentProfiles, Profiles: profiles.List, Log: log})
	backend := engine.New(engine.Config{
		Dir:      conversations,
		Profiles: profiles,
		Agents:   profiles.agents, Opened: profiles.agents.Opened,
		NewModel: profiles.newModel(base),
		NewTools: boxes.Tools(toolset.New(toolset.Config{
			Environ: env.Environ(), User: userName(env), Host: host, Confined: s.Workspace != "",
			LookupEnv: env.Lookup, HTTP: llm.NewHTTPClient(env.Getenv).Transport, Version: buildinfo.Get().Version,
			Shared: boxes.Outside("shared"), Logins: catalogue.Logins(kept.Logins), Now: env.Now, Router: files.Router, Browser: browsers.Of(browser, boxes.Manager),
		})),
		Boxes: boxes.Make, Sandbox: boxes.ForPeople, Allow: boxes.Allow,
		Settings: settings.read, Confirm: chosenConfirm(s), Seal: seal, Unseal: unseal,
		Version: buildinfo.Get().Version, Home: dirs.Home, Base: places.Base(), SkillEnv: tool.CleanEnvironment(env.Environ(), nil),
		Titles: s.Titles == titlesByLLM, PromptSize: promptSize(s), Idle: s.Idle.Time, MaxIdle: maxIdle(s), IdleMemory: int64(s.Idle.Memory),
		Holder: LeaseHolder(env, host), BaseURL: ownAddress(s, dirs.Runtime),
		Now: env.Now, Log: log,
	})
	own := openhandsapi.NewPool(env, s, dirs, boxes)
	api, err := openhandsapi.Over(s, openhandsapi.Parts{
		Env: env, Engine: backend.Control(), Boxes: boxes, Pool: own, User: catalogue.User(dirs, places), Log: log,
		Files: kept, LLM: base, Address: ownAddress(s, dirs.Runtime),
	})
	if err != nil {
		return Backend{}, errors.Join(err, backend.Close())
	}
	boxes.SweepHomes(dirs, conversations)
	return Backend{
		Backend: backend, Native: api, Programs: conversations, Why: why, Status: backend.Status(context.Background()),
		Complete: (&directllm.LLM{Base: base, Load: profiles.llm}).Complete, Router: routerOf(files), api: own, boxes: boxes, browser: browser, sandboxBy: sandboxes.SwitchedOff(s),
	}, nil
}

// maxIdle returns how many unused conversations stay open.
func maxIdle(s *config.Settings) int {
	if s.Idle.Max == 0 || s.Idle.Time == 0 {
		return -1 // the engine's word for none
	}
	return s.Idle.Max
}

// ownAddress is where this daemon serves OpenHands' own API, once it does: programs
// name secrets that it stores by their paths there.
func ownAddress(s *config.Settings, runtime string) func() string {
	if !s.Native {
		return nil
	}
	return func() string {
		info, err := instance.Find(runtime)
		if err != nil {
			return "" // not published: such a secret cannot be looked up
		}
		return info.URL
	}
}

// LeaseHolder is this process in the leases of its conversations.
func LeaseHolder(env *setup.Env, host string) store.Holder {
	return store.Holder{Instance: id.New(""), Host: host, PID: env.PID, Alive: processLives}
}

// promptSize is how much agents are told, by the settings.
func promptSize(s *config.Settings) conversation.PromptSize {
	if s.PromptSize == "auto" {
		return conversation.AutoPrompt
	}
	return conversation.PromptSize(s.PromptSize)
}
