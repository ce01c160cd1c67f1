package cli

import (
	"context"

	"github.com/ohgw/ohgw/internal/setup"
)

// keyStore opens the store of keys. It asks no keyring yet.
func (a *App) keyStore(flags settingFlags) (*setup.KeyStore, error) {
	s, err := a.settings(flags)
	if err != nil {
		return nil, err
	}
	return a.Setup().OpenKeyStore(s, a.Setup().KeyringPatience())
}

// keys opens the store that the flags name, and looks there.
func (a *App) keys(ctx context.Context, flags settingFlags) (setup.KeyFinder, error) {
	store, err := a.keyStore(flags)
	if err != nil {
		return setup.KeyFinder{}, err
	}
	return a.Setup().FindKeys(ctx, store), nil
}
