package setup

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/servers"
)

// Servers is the stored servers of OpenHands, with their keys in the key store of the
// settings.
type Servers struct {
	servers.Finder

	KeyStore *KeyStore
	env      *Env
}

// Servers opens the list of servers. It asks no keyring yet.
func (env *Env) Servers(s *config.Settings) (Servers, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return Servers{}, err
	}
	keys, err := env.OpenKeyStore(s, env.KeyringPatience())
	if err != nil {
		return Servers{}, err
	}
	keys.ofServers = true
	return Servers{servers.Finder{Store: servers.NewStore(dirs.Config), Keys: keys, Getenv: env.Getenv}, keys, env}, nil
}

// Key finds the key of a server.
func (s Servers) Key(ctx context.Context, server servers.Server) (servers.Key, error) {
	defer s.env.TellLate(KeyringSlow)()
	key, err := s.Finder.Key(ctx, server)
	return key, s.fault(ctx, err)
}

// Keep stores the key of a server in the place of the one before.
func (s Servers) Keep(ctx context.Context, server servers.Server, key secret.Value) error {
	defer s.env.TellLate(KeyringSlow)()
	entry := secret.ParseEntry(secret.ServerEntry(server.URL, server.Name))
	_, err := s.env.KeepKey(ctx, s.KeyStore, entry, key, true)
	return s.fault(ctx, err)
}

// Forget removes the stored key of a server. It reports whether there was one.
func (s Servers) Forget(ctx context.Context, server servers.Server) (bool, error) {
	defer s.env.TellLate(KeyringSlow)()
	err := s.KeyStore.Delete(ctx, secret.ServerEntry(server.URL, server.Name))
	if errors.Is(err, secret.ErrNotFound) {
		return false, nil
	}
	return err == nil, s.fault(ctx, err)
}

// fault explains an error of the key store to a person; a [*fault.Error] stays as it
// is.
func (s Servers) fault(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return KeyFault(ctx, err, s.KeyStore)
}
