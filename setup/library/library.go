// Package library opens the conversations of a backend without its agents: to list, show,
// copy and remove them. Which backend that is, is chosen in package agents.
//
// The conversations of the embedded agent are read from their files: no agent starts, and
// no LLM key is read.
package library

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/pool"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/agents"
)

// Library is the conversations of a backend, without its agents.
type Library struct {
	control.Library

	// Place says where they are: "the embedded agent", or the address of an
	// agent-server.
	Place string
	close func() error
}

// Close lets go of them.
func (l Library) Close() error { return l.close() }

// Open finds the conversations of the backend that a daemon with these settings
// would choose. Conversations of the embedded agent are read from their files: no
// daemon has to run, and one may.
func Open(ctx context.Context, env *setup.Env, s *config.Settings, log *slog.Logger) (Library, error) {
	if s.Backend == "cloud" {
		return Library{}, fault.NewUsage("the conversations of the cloud belong to a server ("+s.Origin("backend").String()+")", "name it: ohgw conversations list --server NAME")
	}
	if agents.IsEmbedded(ctx, env, s) {
		return ownLibrary(env, log)
	}
	if pool.IsPool(s.AgentServer.URLs) {
		return Library{}, fault.NewUsage("the conversations are on several agent-servers ("+s.Origin("agent_server.url").String()+")", "name one of them: --agent-server URL; ohgw pool list shows them")
	}
	b, server, err := agents.ReachServer(ctx, env, s, log)
	if err == nil {
		return Library{Library: server.Library(), Place: "the agent-server at " + b.Status.Address, close: b.Close}, nil
	}
	if fault.CodeOf(err) == fault.Unreachable && s.Backend == "auto" && len(s.AgentServer.URLs) == 0 {
		return ownLibrary(env, log)
	}
	return Library{}, err
}

// ownLibrary is the conversations of the embedded agent.
func ownLibrary(env *setup.Env, log *slog.Logger) (Library, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return Library{}, err
	}
	host, err := env.Hostname()
	if err != nil {
		return Library{}, fault.New("cannot read the host name", "set a host name; it is recorded in each conversation's lease", err)
	}
	b := engine.New(engine.Config{
		Dir: filepath.Join(dirs.State, "conversations"), Holder: agents.LeaseHolder(env, host), Now: env.Now, Log: log, TellsLeftOut: true,
	})
	return Library{Library: b.Library(), Place: "the embedded agent", close: b.Close}, nil
}

// At is the conversations of the agent-server at an address, which takes this
// key. It is not asked yet.
func At(address, key string, log *slog.Logger) (Library, error) {
	b, err := agentserver.New(agentserver.Config{URL: address, Key: func() string { return key }, Logger: log})
	if err != nil {
		return Library{}, fault.New("the address of the agent-server cannot be used", "run the command again with --debug to see it", err)
	}
	return Library{Library: b.Library(), Place: "the agent-server at " + address, close: b.Close}, nil
}
