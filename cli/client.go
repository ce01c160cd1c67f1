package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/setup/running"
)

// daemonClient finds the daemon that the command line, or another source of
// settings, names.
func (a *App) daemonClient(ctx context.Context, flags settingFlags) (*running.Daemon, error) {
	s, err := a.settings(flags)
	if err != nil {
		return nil, err
	}
	return running.Require(ctx, a.Setup(), s)
}

// completeModels offers the ids of the running daemon's models. A key press
// does not wait long for them.
func (a *App) completeModels(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	c, err := a.daemonClient(ctx, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list modelList
	if _, err := c.Get(ctx, "/v1/models", &list); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		ids = append(ids, m.ID+"\t"+m.Description)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
