package cli

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/chats"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/token"
)

// gatewayInput is what a gateway needs beside its settings.
type gatewayInput struct {
	tokens     daemon.Tokens // nil: everybody may come in
	state      string        // directory of its records; nobody else's while it is open
	workspaces string        // directory of those that it makes
	log        *slog.Logger
}

// openedGateway is a daemon with its backend. Close ends both.
type openedGateway struct {
	*daemon.Daemon

	backend chosenBackend
}

// openGateway opens the backend that the settings choose, and makes a daemon
// that answers for it. It does not listen yet.
func (a *app) openGateway(ctx context.Context, s *config.Settings, in gatewayInput) (*openedGateway, error) {
	backend, err := a.openBackend(ctx, s, in.log)
	if err != nil {
		return nil, err
	}
	d, err := daemon.New(daemonConfig(s, backend, in, a.Now)) //nolint:contextcheck // It ends with Close.
	if err != nil {
		return nil, errors.Join(fault.New("the gateway cannot start", "look at the state directory "+in.state, err), backend.Close())
	}
	return &openedGateway{Daemon: d, backend: backend}, nil
}

// Close interrupts what still runs and lets go of everything.
func (g *openedGateway) Close() error { return errors.Join(g.Daemon.Close(), g.backend.Close()) }

// daemonConfig gives the settings to the daemon, in the form that it has them.
func daemonConfig(s *config.Settings, backend chosenBackend, in gatewayInput, now func() time.Time) daemon.Config {
	build := buildinfo.Get()
	c := daemon.Config{
		Backend: backend.Backend, BackendID: backend.id(), InProcess: backend.status.Address == "", Why: backend.why, Version: build.Version, Revision: build.Revision, Logger: in.log, Now: now,
		Tokens: in.tokens, NoAuth: in.tokens == nil, MetricsOpen: s.MetricsOpen, AllowHosts: s.AllowHosts, AllowOrigins: s.AllowOrigins,
		Limits: daemon.Limits{
			Body: int64(s.Limits.Body), Messages: s.Limits.Messages, Text: int(s.Limits.Message), Images: s.Limits.Images,
		},
		ImageURLs: s.ImageURLs, AnswerOnly: s.StreamText == "answer", HideProgress: s.Progress == "off", IgnoreHistory: s.History == "ignore",
		Drain: s.Drain, MaxRuns: s.MaxRuns, MaxQueue: s.MaxQueue, OneShotTTL: s.OneShotTTL, RunTimeout: s.RunTimeout,
		Workspace: s.Workspace, WorkspaceRoot: in.workspaces, StateDir: in.state,
		Complete: backend.complete, Housekeeping: daemon.Housekeeping(s.Housekeeping), Sees: llm.Sees,
		Chats: chats.Finder{Headers: s.ChatHeaders, Fields: s.ChatFields}, WorkspacePerChat: s.WorkspacePer == "chat",
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = -1 // there 0 is the default
	}
	return c
}

// doorkeeper is the store of tokens as the daemon asks for it.
type doorkeeper struct{ store *token.Store }

func (k doorkeeper) Check(presented string) (daemon.Client, error) {
	t, err := k.store.Check(presented)
	switch {
	case errors.Is(err, token.ErrUnknown):
		return daemon.Client{}, daemon.ErrUnknownKey
	case errors.Is(err, token.ErrExpired):
		return daemon.Client{}, daemon.ErrExpiredKey
	case err != nil:
		return daemon.Client{}, err
	}
	return daemon.Client{ID: t.ID, Name: t.Name, Models: t.Models, ChatBy: t.ChatBy}, nil
}

// chosenBackend is a backend, and how it was when the daemon started.
type chosenBackend struct {
	agentapi.Backend

	why    string // it was chosen
	status agentapi.Status

	complete daemon.CompleteFunc
}

// id names the backend in the state directory.
func (c chosenBackend) id() string { return strings.TrimSpace(c.status.Name + " " + c.status.Address) }
