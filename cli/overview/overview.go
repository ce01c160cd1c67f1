// Package overview is what "ohgw" alone does: on a terminal it opens the chat, after
// the questions that set up an LLM where there is none; elsewhere, and where
// something is missing, it says what is there and what to do next.
package overview

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/agents"
	"github.com/ohgw/ohgw/setup/doctor"
	"github.com/ohgw/ohgw/setup/firstrun"
	"github.com/ohgw/ohgw/setup/inspect"
)

// glance bounds how long the bare command looks for an agent-server.
const glance = 300 * time.Millisecond

// options is what the command takes.
type options struct {
	*kit.App

	open Opener
}

// Opener opens the chat, after the questions that set up an LLM if guided.
type Opener func(ctx context.Context, guided bool) error

// New is what "ohgw" alone does. On a terminal, it calls open if a chat is possible
// or nothing is set up yet.
func New(a *kit.App, open Opener) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &options{a, open}) }
}

// run answers "ohgw" alone: what is there, and what to do from here.
func run(ctx context.Context, o *options) error {
	s := lookAround(ctx, o.App)
	if ready := s.isReady(); o.open != nil && o.CanAsk() && o.Stdout.TTY() && (ready || s.isEmpty()) {
		return o.open(ctx, !ready)
	}
	s.Next = s.steps()
	if o.JSON {
		return o.PrintJSON(s)
	}
	lines := s.lines()
	width := 0
	for _, n := range s.Next {
		width = max(width, len(n.Command))
	}
	for _, n := range s.Next {
		lines = append(lines, fmt.Sprintf("  %-*s  %s", width, n.Command, n.Text))
	}
	return kit.WriteText(o.Stdout, strings.Join(lines, "\n")+"\n")
}

// lookAround finds out what is there.
func lookAround(ctx context.Context, a *kit.App) *situation {
	s := &situation{Version: buildinfo.Get().Version}
	settings, err := a.Settings(nil)
	if err != nil {
		s.Problem = setup.Clean(err.Error())
		return s
	}
	dirs, err := a.Setup().Dirs()
	if err != nil {
		s.Problem = setup.Clean(err.Error())
		return s
	}
	if info, err := instance.Find(dirs.Runtime); err == nil {
		s.Daemon = info.URL + "/v1"
	}
	look, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	s.AgentServer = agents.Find(look, a.Setup(), settings)
	s.elsewhere = settings.Backend == "cloud" ||
		s.AgentServer != "" && (settings.Backend == "agent-server" || len(settings.AgentServer.URLs) > 0 || firstrun.ChoseServer(dirs, s.AgentServer))
	active, count, err := activeProfile(ctx, a, settings)
	if err != nil {
		s.Problem = setup.Clean(err.Error())
		return s
	}
	s.Profiles = count
	if active == nil {
		return s
	}
	s.Model, s.HasKey = active.Model, active.KeyFrom != "" || active.NeedsNone != ""
	if active.only {
		s.only = active.Name
	} else {
		s.Active = active.Name
	}
	return s
}

// chosenProfile is the active profile, or the only one.
type chosenProfile struct {
	*doctor.ActiveProfile

	only bool
}

// activeProfile reads the active profile, or the only one; nil if there is none.
func activeProfile(ctx context.Context, a *kit.App, s *config.Settings) (*chosenProfile, int, error) {
	store, err := a.Setup().ProfileStore(0)
	if err != nil {
		return nil, 0, err
	}
	list, err := store.List(ctx)
	if err != nil {
		return nil, 0, a.Setup().ProfileFault(ctx, err, "")
	}
	keyStore, err := a.Setup().OpenKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		return nil, 0, err
	}
	keys := secret.NewResolver(keyStore, secret.Providers(), a.Setup().Lookup)
	names, err := keys.Names(ctx)
	if err != nil {
		names = nil // ohgw doctor reports the error
	}
	for i := range list {
		if list[i].Active {
			return &chosenProfile{inspect.ActiveProfile(&list[i], keys, names), false}, len(list), nil
		}
	}
	if len(list) == 1 {
		return &chosenProfile{inspect.ActiveProfile(&list[0], keys, names), true}, 1, nil
	}
	return nil, len(list), nil
}
