// Package accounts opens the accounts on the stored servers of OpenHands: their
// clients, with key and what a probe found before, and their failures as a person
// should read them. It runs no agent.
package accounts

import (
	"context"
	"log/slog"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup"
)

// Account is the account on one server.
type Account struct {
	*account.Client

	Server servers.Server
}

// Open opens the account that a command means: that on the server of a name, or, for
// "", on the one that package servers finds. It asks the server nothing yet.
func Open(ctx context.Context, env *setup.Env, s *config.Settings, name string, log *slog.Logger) (Account, error) {
	stored, err := env.Servers(s)
	if err != nil {
		return Account{}, err
	}
	return open(ctx, env, stored, name, log)
}

// OpenAt opens the account on the server at a URL, which may be stored or not.
func OpenAt(ctx context.Context, env *setup.Env, s *config.Settings, url string, log *slog.Logger) (Account, error) {
	stored, err := env.Servers(s)
	if err != nil {
		return Account{}, err
	}
	stored.URL = url
	return open(ctx, env, stored, "", log)
}

func open(ctx context.Context, env *setup.Env, stored setup.Servers, name string, log *slog.Logger) (Account, error) {
	server, err := stored.Find(name)
	if err != nil {
		return Account{}, err
	}
	if server.Kind == servers.AgentServer {
		return Account{}, fault.NewUsage("the server "+server.Name+" is an agent-server, which has no accounts", "use --agent-server "+shellword.Of(server.URL))
	}
	key, err := stored.Key(ctx, server)
	if err != nil {
		return Account{}, err
	}
	c, err := Client(env, server, key.Value, log)
	return Account{c, server}, err
}

// Client is the account on a server with a key. What a probe found before is not asked
// for again.
func Client(env *setup.Env, server servers.Server, key secret.Value, log *slog.Logger) (*account.Client, error) {
	o := account.Options{
		URL: server.URL, Header: transport.Header(server.Header), Client: "ohgw", Version: buildinfo.Get().Version, Logger: log, Now: env.Now,
		Key: func(context.Context) (secret.Value, error) { return key, nil },
	}
	if env.HTTP != nil {
		o.HTTP = env.HTTP.Transport
	}
	if server.Header != "" {
		o.Known = &account.Server{URL: server.URL, Kind: account.KindCloud, V0: server.V0, V1: server.V1, Header: transport.Header(server.Header)}
	}
	return account.New(o)
}

// Found is a stored server with what a probe found.
func Found(server servers.Server, found account.Server) servers.Server {
	server.Kind, server.V0, server.V1, server.Header = servers.Kind(found.Kind), found.V0, found.V1, string(found.Header)
	return server
}
