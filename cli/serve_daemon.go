package cli

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/token"
)

// newDaemon gives the settings to the daemon, in the form that it has them.
func newDaemon(
	s *config.Settings, backend chosenBackend, tokens *token.Store, state string, log *slog.Logger, now func() time.Time,
) (*daemon.Daemon, error) {
	build := buildinfo.Get()
	c := daemon.Config{
		Backend: backend.Backend, Why: backend.why, Version: build.Version, Logger: log, Now: now,
		Revision: build.Revision, NoAuth: s.NoAuth, MetricsOpen: s.MetricsOpen, AllowHosts: s.AllowHosts, AllowOrigins: s.AllowOrigins,
		Limits: daemon.Limits{
			Body: int64(s.Limits.Body), Messages: s.Limits.Messages, Text: int(s.Limits.Message), Images: s.Limits.Images,
		},
		ImageURLs: s.ImageURLs, AnswerOnly: s.StreamText == "answer", HideProgress: s.Progress == "off", IgnoreHistory: s.History == "ignore",
		Drain: s.Drain, MaxRuns: s.MaxRuns, MaxQueue: s.MaxQueue, OneShotTTL: s.OneShotTTL, RunTimeout: s.RunTimeout,
		Workspace: s.Workspace, StateDir: state, Complete: backend.complete,
	}
	if c.MaxQueue == 0 {
		c.MaxQueue = -1 // there 0 is the default
	}
	if tokens != nil {
		c.Tokens = doorkeeper{tokens}
	}
	return daemon.New(c)
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
	return daemon.Client{ID: t.ID, Name: t.Name, Models: t.Models}, nil
}

// chosenBackend is a backend, and how it was when the daemon started.
type chosenBackend struct {
	agentapi.Backend

	why    string // it was chosen
	status agentapi.Status

	complete daemon.CompleteFunc
}
