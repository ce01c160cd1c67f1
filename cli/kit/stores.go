package kit

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/running"
)

// CompleteProfiles offers the names of profiles.
func (a *App) CompleteProfiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
}

// ModelList is what is read of the answer to GET /v1/models.
type ModelList struct {
	Data []struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"data"`
}

// DaemonClient finds the daemon that the command line, or another source of
// settings, names.
func (a *App) DaemonClient(ctx context.Context, flags SettingFlags) (*running.Daemon, error) {
	s, err := a.Settings(flags)
	if err != nil {
		return nil, err
	}
	return running.Require(ctx, a.Setup(), s)
}

// CompleteModels offers the ids of the running daemon's models. A key press
// does not wait long for them.
func (a *App) CompleteModels(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	c, err := a.DaemonClient(ctx, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list ModelList
	if _, err := c.Get(ctx, "/v1/models", &list); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		ids = append(ids, m.ID+"\t"+m.Description)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// KeyStore opens the key store. It asks no keyring yet.
func (a *App) KeyStore(flags SettingFlags) (*setup.KeyStore, error) {
	s, err := a.Settings(flags)
	if err != nil {
		return nil, err
	}
	return a.Setup().OpenKeyStore(s, a.Setup().KeyringPatience())
}

// Keys opens the store that the flags name, and looks there.
func (a *App) Keys(ctx context.Context, flags SettingFlags) (setup.KeyFinder, error) {
	store, err := a.KeyStore(flags)
	if err != nil {
		return setup.KeyFinder{}, err
	}
	return a.Setup().FindKeys(ctx, store), nil
}
