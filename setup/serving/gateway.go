// Package serving makes gateways: a daemon with its backend, its listener and
// those who may call it.
package serving

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/daemon/completions"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/workdir"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/agents"
)

// Options is what a gateway needs beside its settings.
type Options struct {
	Tokens     gate.Tokens // nil: everybody may come in
	State      string      // directory of its records; no other process uses it while it is open
	Workspaces string      // directory of those that it makes
	Log        *slog.Logger
	// Alone says that this process starts no programs but those of agents: with it
	// everything ends that they leave behind.
	Alone bool
	// Shared is what this gateway shares with others; nil: it is the only one.
	Shared *daemon.Shared
	// Pool is what the gateways have noted of their agent-servers; nil: this one notes it alone.
	Pool placement.Placer
}

// Gateway is a daemon with its backend. Close ends both.
type Gateway struct {
	*daemon.Daemon

	Backend agents.Backend
	leave   func() error
}

// Open opens the backend that the settings choose, and makes a daemon
// that answers for it. It does not listen yet.
func Open(ctx context.Context, env *setup.Env, s *config.Settings, in Options) (*Gateway, error) {
	backend, err := agents.OpenNoted(ctx, env, s, in.Log, in.Pool)
	if err != nil {
		return nil, err
	}
	backend.OfferKeys(ctx, env)
	if err := checkWorkspace(env, s, backend); err != nil {
		return nil, errors.Join(err, backend.Close())
	}
	d, err := daemon.New(daemonConfig(s, backend, in, env.Now))
	if err != nil {
		return nil, errors.Join(fault.New("the gateway cannot start", "look at the state directory "+in.State, err), backend.Close())
	}
	g := &Gateway{Daemon: d, Backend: backend, leave: func() error { return nil }}
	if backend.Programs != "" && env.Adopt != nil {
		g.leave = env.Adopt(backend.Programs, in.Alone)
	}
	return g, nil
}

// checkWorkspace looks for the directory that all conversations work in, where
// the agents run in this process. Elsewhere this machine need not have it.
func checkWorkspace(env *setup.Env, s *config.Settings, backend agents.Backend) error {
	if s.Workspace == "" {
		return nil
	}
	_, err := workdir.Resolve(s.Workspace)
	switch from := s.Origin("workspace").String(); {
	case err == nil:
	case !backend.InProcess():
		env.Note("warning: there is no directory %s on this machine (%s); it must exist where the agent-server runs", s.Workspace, from)
	case workdir.NotDir(err):
		return fault.NewUsage("the workspace "+s.Workspace+" is not a directory", "choose a directory ("+from+")")
	case workdir.Missing(err):
		return fault.NewUsage("there is no directory "+s.Workspace+" for the agents ("+from+")", "create it: mkdir -p "+s.Workspace)
	default:
		return fault.New("the directory "+s.Workspace+" cannot be used ("+from+")", "check its permissions: ls -ld "+s.Workspace, err)
	}
	return nil
}

// Close interrupts what still runs and lets go of everything.
func (g *Gateway) Close() error {
	return errors.Join(g.Daemon.Close(), g.Backend.Close(), g.leave())
}

// daemonConfig returns the settings in the daemon's form.
func daemonConfig(s *config.Settings, backend agents.Backend, in Options, now func() time.Time) daemon.Config {
	build := buildinfo.Get()
	c := daemon.Config{
		Config: gate.Config{
			Backend: backend.Backend, InProcess: backend.InProcess(), Logger: in.Log, Now: now,
			Tokens: in.Tokens, NoAuth: in.Tokens == nil, MetricsOpen: s.MetricsOpen, AllowHosts: s.AllowHosts, AllowOrigins: s.AllowOrigins,
			Limits: gate.Limits{
				Body: int64(s.Limits.Body), Messages: s.Limits.Messages, Text: int(s.Limits.Message), Images: s.Limits.Images,
			},
			ImageURLs: s.ImageURLs, OneShotTTL: s.OneShotTTL, Workspace: s.Workspace, WorkspaceRoot: in.Workspaces, StateDir: in.State,
		},
		Options: completions.Options{
			Complete: backend.Complete, Router: backend.Router, Housekeeping: completions.Housekeeping(s.Housekeeping), Sees: llm.Sees,
			Chats: chats.Finder{Headers: s.ChatHeaders, Fields: s.ChatFields}, WorkspacePerChat: s.WorkspacePer == "chat",
			AnswerOnly: s.StreamText == "answer", HideProgress: s.Progress == "off", IgnoreHistory: s.History == "ignore",
		},
		Native: backend.Native, Shared: in.Shared,
		BackendID: backend.ID(), Why: backend.Why, Version: build.Version, Revision: build.Revision,
		Drain: s.Drain, MaxRuns: s.MaxRuns, BySlots: s.Origin("max_runs").Kind == config.FromDefault, MaxQueue: s.MaxQueue, RunTimeout: s.RunTimeout, Tidy: backend.Tidy, ResponsesTTL: kept(s.ResponsesTTL),
	}
	if s.Origin("confirm").Kind != config.FromDefault && backend.InProcess() {
		c.Confirm = agentapi.Confirmation(s.Confirm)
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = -1 // there 0 is the default
	}
	return c
}

// kept is how long something is kept, in the daemon's form: 0 is for ever in a
// setting.
func kept(ttl time.Duration) time.Duration {
	if ttl == 0 {
		return -1
	}
	return ttl
}
